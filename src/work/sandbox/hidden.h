/*
 * hidden.h - the paths that no sandbox may show, as sandbox_options has them.
 *
 * Given ones (token files, configuration files, databases), and the data directories that the
 * worker's own one lies in: the default of `drover worker` is a directory in that of a server.
 */
#ifndef WORK_SANDBOX_HIDDEN_H
#define WORK_SANDBOX_HIDDEN_H

/* data_dir: without links.  given: NULL-terminated or NULL; relative ones are looked up from the
   working directory.  A NULL-terminated list, owned by the caller. */
char **hidden_list(const char *data_dir, const char *const *given);
void hidden_free(char **list);
#endif
