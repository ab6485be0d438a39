/*
 * watch.h - follows a run to its end, and prints its events as they are published.
 */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H
#include "cli/command.h"
#include <stdatomic.h>

/* Returns the exit status: CLI_DONE only when the run completed. */
int cli_watch_run(struct cli *cli, const char *run_id);

/* From now on Ctrl-C and SIGTERM set the flag instead of ending the program. */
const atomic_int *cli_catch_interrupt(void);
#endif
