/*
 * pr.h - which pull request a word of the command line means, and how one is shown.
 */
#ifndef CLI_PR_H
#define CLI_PR_H
#include "base/id.h"
#include "base/js.h"
#include "cli/command.h"

/* Its number, where --repo or the checkout says of which repository, or the start of its id. */
MUST_USE enum rc cli_resolve_pr(struct cli *cli, const char *word, struct id *ret_id,
                                struct err *err);
/* Its status: "draft" for an open one that is a draft. */
const char *cli_pr_status(const struct js *pr);
/* The line "Pull request" of what has one as its member; nothing where that is null. */
void cli_show_pr(struct cli *cli, const struct js *owner);
#endif
