/*
 * cli_faults.h - what is wrong with a file, told as compilers do:
 *
 *     billing.yaml:14:5: agent.adapter: "cluade" is not known; allowed: none, ndjson, ...
 *        14 |     adapter: cluade
 *           |     ^
 *
 * The line itself is shown on a terminal only.
 */
#ifndef EDGE_CLI_FAULTS_H
#define EDGE_CLI_FAULTS_H
#include "base/buf.h"
#include "core/faults.h"
#include "edge/cli_command.h"

/* A document that a command was given; start from {0}. */
struct cli_source {
    const char *name; /* Of its file; "-" is standard input. */
    struct buf text;
    struct js *tree; /* A mapping. */
};
void cli_source_release(struct cli_source *source); /* For CLEANUP. */

/* False: it is told what is wrong, and *ret_exit is how the command ends. */
MUST_USE bool cli_source_read(struct cli *cli, const char *path, struct cli_source *source,
                              int *ret_exit);

/* Finds the lines and prints all to stderr; gives back the exit status. */
int cli_tell_faults(struct cli *cli, const struct cli_source *source, struct faults *faults);
#endif
