/*
 * run_batch.h - what ties a run to the batch that its task is a member of: news for the batch, and
 * limits of the batch for the run.  The batch itself is moved in control/admit/batch_flow.h.
 *
 * A run never locks its batch.  It sets a timer of it, in the transaction of the change: so the end
 * of a member does not wait for a turn that makes tasks of others, many ends cost one turn, and a
 * crash loses none.
 *
 *     TIMER_BATCH         a turn: a member has ended, or was retried
 *     TIMER_BATCH_NET     a turn: some time has passed since the last one
 *     TIMER_BATCH_SPENT   a turn: money was spent; on a grid, for the reports are many
 *     TIMER_BATCH_STOP    cancel the members that are under way
 */
#ifndef CONTROL_RUN_RUN_BATCH_H
#define CONTROL_RUN_RUN_BATCH_H
#include "control/run/flow.h"

#define TIMER_BATCH       "batch"
#define TIMER_BATCH_NET   "batch_net"
#define TIMER_BATCH_SPENT "batch_spent"
#define TIMER_BATCH_STOP  "batch_stop"

/* The limit that a run passed which was stopped for the budget of its batch: run.stop_by. */
#define RUN_BATCH_LIMIT "batch.maxBudgetUsd"
#define RUN_BATCH_CODE  "batch_budget_exceeded"

/* For control/hooks.c, after every event of a run or task: the batch is to look when a member ends
   or is retried. */
MUST_USE enum rc run_batch_event(struct context *ctx, const struct flow *flow, const char *type);
/* The run has used something: the batch is to look soon, if it has a budget. */
MUST_USE enum rc run_batch_spent(struct context *ctx, const struct run_row *run);
/* What the budget of the batch leaves for a new run; 0: there is no limit.  RC_DENIED,
   batch_budget_exceeded: nothing is left. */
MUST_USE enum rc run_batch_left(struct context *ctx, const struct id *batch_id,
                                int64_t *ret_microusd);
/* May a task of the batch have another run?  RC_CONFLICT, BATCH_STOPPING: not now. */
MUST_USE enum rc run_batch_may_retry(struct context *ctx, const struct id *batch_id);
/* For admission: why the batch holds back a run that could start otherwise; NULL: it does not.
   Sub-tasks of members are part of them and are never held back. */
MUST_USE enum rc run_batch_gate(struct context *ctx, const struct run_row *run,
                                const char **ret_detail);
#endif
