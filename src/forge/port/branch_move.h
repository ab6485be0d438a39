/*
 * branch_move.h - moves the branch of an open pull request from one commit to another, behind the
 * fence of the run that does it.
 */
#ifndef FORGE_PORT_BRANCH_MOVE_H
#define FORGE_PORT_BRANCH_MOVE_H
#include "forge/git/fence.h"
#include "forge/port/forge.h"

struct branch_move {
    const struct forge_change *change; /* Holder, url, scratch, run, branch and number. */
    const char *head;                  /* In change->scratch. */
    const char *from;                  /* What the branch must be. */
};

/* Where it is there already, as after an earlier try, that is RC_OK.  RC_CONFLICT, HEAD_MOVED: the
   branch is elsewhere; others have pushed to it. */
MUST_USE enum rc branch_move(struct forge_call *call, const struct forge_ops *forge,
                             const struct branch_move *move, struct err *err);

/* For forge_ops.move_branch: the branch is elsewhere; makes a value of the fence in change->scratch
   and asks whether the holder may still act. */
MUST_USE enum rc branch_move_elsewhere(const struct branch_move *move, const char *branch,
                                       struct err *err);
MUST_USE enum rc branch_move_fence(const struct git *git, const struct branch_move *move,
                                   struct fence *fence, struct err *err);
#endif
