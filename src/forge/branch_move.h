/*
 * branch_move.h - moves the branch of an open pull request from one commit to another, behind the
 * fence of the run that does it.
 */
#ifndef FORGE_BRANCH_MOVE_H
#define FORGE_BRANCH_MOVE_H
#include "forge/forge.h"

struct branch_move {
    const struct forge_change *change; /* Holder, url, scratch, run, branch and number. */
    const char *head;                  /* In change->scratch. */
    const char *from;                  /* What the branch must be. */
};

/* Where it is there already, as after an earlier try, that is RC_OK.  RC_CONFLICT, HEAD_MOVED: the
   branch is elsewhere; others have pushed to it. */
MUST_USE enum rc branch_move(struct forge_call *call, const struct forge_ops *forge,
                             const struct branch_move *move, struct err *err);
#endif
