/*
 * here.h - the repository that a command is about when --repo does not name it.
 *
 *     1. a repository of the server whose url is the checkout here, or another worktree of it
 *     2. one whose url is a remote of the checkout
 *
 * The first rule that finds any decides; several are listed, and the caller has to choose.
 */
#ifndef CLI_HERE_H
#define CLI_HERE_H
#include "cli/checkout.h"
#include "cli/command.h"

enum { HERE_NAMES_MAX = 8 };

struct here {
    const char *names[HERE_NAMES_MAX];
    const char *urls[HERE_NAMES_MAX];
    size_t count; /* May be larger: the rest is counted only. */
};
/* The server's repositories that are this checkout. */
MUST_USE enum rc here_find(struct cli *cli, const struct checkout *checkout, struct here *ret_here,
                           struct err *err);

/* --repo, or the only one that is the checkout here.  NULL: the reason was printed, and *ret_status
   is the exit status. */
const char *cli_repo(struct cli *cli, int *ret_status);
/* The only one that is the checkout here; NULL: none is, or several. */
const char *here_only(struct cli *cli);
#endif
