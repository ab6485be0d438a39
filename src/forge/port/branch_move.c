#include "forge/port/branch_move.h"
#include "base/fault.h"

enum { TRIES_MAX = 4 };

enum rc branch_move_elsewhere(const struct branch_move *move, const char *branch, struct err *err)
{
    return err_set(err, RC_CONFLICT, "HEAD_MOVED",
                   "The branch %.200s is at %.12s, and this belongs on %.12s: commits were pushed "
                   "to it meanwhile.",
                   move->change->branch, branch[0] ? branch : "(nothing)", move->from);
}

enum rc branch_move_fence(const struct git *git, const struct branch_move *move,
                          struct fence *fence, struct err *err)
{
    const struct forge_holder *holder = &move->change->holder;
    const struct fence_text text = {.act = "move", .holder = holder->name};
    enum rc rc = fence_make(git, move->change->scratch, &text, fence, err);
    if (rc == RC_OK)
        rc = holder->may_go_on(holder->ctx, err);
    return rc == RC_OK ? fault_point("move.push", err) : rc;
}

enum rc branch_move(struct forge_call *call, const struct forge_ops *forge,
                    const struct branch_move *move, struct err *err)
{
    enum rc rc;
    int tries = 0;
    do
        rc = forge->move_branch(forge, call, move, err);
    while (rc == RC_IO && ++tries < TRIES_MAX);
    return rc == RC_OK ? fault_point("move.pushed", err) : rc;
}
