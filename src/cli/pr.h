/*
 * pr.h - which pull request a word of the command line means.
 */
#ifndef CLI_PR_H
#define CLI_PR_H
#include "base/id.h"
#include "cli/command.h"

/* Its number, where --repo or the checkout says of which repository, or the start of its id. */
MUST_USE enum rc cli_resolve_pr(struct cli *cli, const char *word, struct id *ret_id,
                                struct err *err);
#endif
