/*
 * faults.h - errors in a file, printed as compilers do:
 *
 *     billing.yaml:14:5: agent.adapter: "cluade" is not known; allowed: none, ndjson, ...
 *        14 |     adapter: cluade
 *           |     ^
 *
 * The line itself is shown on a terminal only.
 */
#ifndef CLI_FAULTS_H
#define CLI_FAULTS_H
#include "base/buf.h"
#include "cli/command.h"
#include "core/config/faults.h"

/* A document that a command was given; start from {0}. */
struct cli_source {
    const char *name; /* Of its file; "-" is standard input. */
    struct buf text;
    struct js *tree; /* A mapping. */
};
void cli_source_release(struct cli_source *source); /* For CLEANUP. */

/* False: the errors were printed, and *ret_exit is the exit status. */
MUST_USE bool cli_source_read(struct cli *cli, const char *path, struct cli_source *source,
                              int *ret_exit);

/* The errors of a server's answer, if it has a list of them by path. */
void cli_problem_faults(struct cli *cli, struct str problem, struct faults *faults);
/* Finds the lines and prints all to stderr; returns the exit status. */
int cli_print_faults(struct cli *cli, const struct cli_source *source, struct faults *faults);
#endif
