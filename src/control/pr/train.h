/*
 * train.h - the merge train of a target branch: pull requests that are ready, in order.
 *
 * The shepherd puts a pull request in; the train merges candidates, has them verified, and moves
 * the target.  It then says how that ended (shepherd.h).
 */
#ifndef CONTROL_PR_TRAIN_H
#define CONTROL_PR_TRAIN_H
#include "control/commit/context.h"
#include "store/pull_requests.h"

/* Enters it at this head; already in it at this head is RC_OK, at another: it starts again. */
MUST_USE enum rc train_enter(struct context *ctx, const struct pull_request_row *pr, bool urgent);
/* Takes it out, unless it has landed; not in one is RC_OK. */
MUST_USE enum rc train_leave(struct context *ctx, const struct id *pull_request_id,
                             const char *reason);
/* The target may have moved: control/pr/look.h. */
MUST_USE enum rc train_look(struct context *ctx, const struct id *repository_id,
                            const char *branch);

/* Forgets cars that ended long ago, some at a time; *ret_more: there may be more. */
MUST_USE enum rc train_prune(struct context *ctx, bool *ret_more);

/* What people ask for.  RC_CONFLICT: PULL_REQUEST_NOT_OPEN, TRAIN_OFF, TRAIN_LANDING.  RC_LIMIT:
   TRAIN_FULL.  RC_NOT_FOUND: NOT_IN_TRAIN. */
struct cmd_train_add {
    struct command base;
    struct id pull_request_id;
    bool urgent;
    int64_t number; /* The answer: */
    const char *repository, *target_branch;
};
struct cmd_train_add *cmd_train_add_new(void);

struct cmd_train_remove {
    struct command base;
    struct id pull_request_id;
};
struct cmd_train_remove *cmd_train_remove_new(void);
#endif
