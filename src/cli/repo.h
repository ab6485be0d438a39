/*
 * repo.h - a repository's configuration file, checked here and sent to the server.
 */
#ifndef CLI_REPO_H
#define CLI_REPO_H
#include "cli/faults.h"

/* Sends it with the url over its own, which may be NULL.  Returns the exit status; errors have been
   printed, with the lines of the file. */
int cli_repo_put(struct cli *cli, const char *name, const struct cli_source *source,
                 const char *url);

/* Asks the server to look at the repository's origin, and prints what is wrong with it, if anything
   is: "Mind  drover runs as user ...". */
void cli_repo_look(struct cli *cli, const char *name);

/* What is given beside a file; each may be NULL. */
struct cli_repo_beside {
    const char *url;
    const char *defaults; /* A server's configuration file, whose defaults count. */
};
/* As the server would. */
MUST_USE enum rc cli_repo_check(struct cli *cli, const struct cli_source *source,
                                const struct cli_repo_beside *beside, struct faults *ret_faults,
                                struct err *err);
#endif
