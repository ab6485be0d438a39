/*
 * best_of.h - submits the candidates of a task as sub-tasks, in the transaction of the task itself
 * (control/run/candidates.h).
 */
#ifndef CONTROL_ADMIT_BEST_OF_H
#define CONTROL_ADMIT_BEST_OF_H
#include "control/admit/submit.h"
#include "control/run/flow.h"
#include "store/repositories.h"

/* Are the candidates that the task names known to its repository?  RC_INVALID, INVALID_FIELD. */
MUST_USE enum rc best_of_check(struct context *ctx, const struct submission *want,
                               const struct repo_config *config);
/* Stores one sub-task for each candidate of the task in parent, which is stored already.  Does
   nothing when it has none. */
MUST_USE enum rc best_of_submit(struct context *ctx, const struct submission *want,
                                const struct repository_row *repository, struct flow *parent);
#endif
