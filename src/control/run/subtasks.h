/*
 * subtasks.h - tasks that are parts of another one: where they are put, and how they end with it.
 *
 *     submitted below a run that has not finished    --> a run in the budget tree of that run
 *     the parent's run ends, and has not completed   --> TIMER_SUBTASKS_END: its sub-tasks that
 *                                                        have not finished are cancelled, and
 *                                                        theirs with them
 *     a budget is passed (run_tree.h)                --> TIMER_SUBTASKS_BUDGET: runs that share it
 *                                                        and may still call a model are stopped
 *
 * Both timers are set in the transaction of their cause, so that a crash loses neither.
 */
#ifndef CONTROL_RUN_SUBTASKS_H
#define CONTROL_RUN_SUBTASKS_H
#include "control/run/flow.h"

/* May this task, a new one or one that is retried, have a run below the parent's?  RC_LIMIT
   subtask_limit_exceeded; RC_DENIED parent_budget_exceeded: nothing is left for it.  Writes
   nothing. */
MUST_USE enum rc subtasks_check(struct context *ctx, const struct run_row *parent,
                                const struct id *task_id, struct lineage *ret_lineage);
/* Its run is made: the parent's is part of a tree from now on. */
MUST_USE enum rc subtasks_join(struct context *ctx, struct run_row *parent);

/* The timers, for due.c. */
MUST_USE enum rc subtasks_end(struct context *ctx, const struct id *task_id);
MUST_USE enum rc subtasks_budget(struct context *ctx, const struct id *task_id);
#endif
