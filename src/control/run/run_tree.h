/*
 * run_tree.h - the budget that a run shares with others (core/run/budget_tree.h), as the rows have
 * it.
 *
 * Nothing is summed up in a column: the rows of the tree are read each time, behind the lock of its
 * root, so that reports of one tree come one after the other (control/commit/read_ahead.h).  A run
 * that has neither a parent nor a sub-task has no tree, and costs no query.
 */
#ifndef CONTROL_RUN_RUN_TREE_H
#define CONTROL_RUN_RUN_TREE_H
#include "control/run/ending.h"
#include "control/run/flow.h"
#include "core/run/budget_tree.h"

/* The tree of a run behind the lock of its root, with the run itself as *run has it.  *ret_at: its
   place.  A run without a tree is one of its own. */
MUST_USE enum rc run_tree_load(struct context *ctx, const struct run_row *run,
                               struct budget_tree *ret_tree, int *ret_at);

/* The tree below this root without a lock: what its runs have used only grows. */
MUST_USE enum rc run_tree_read(struct context *ctx, const struct id *root_run_id,
                               struct budget_tree *ret_tree);

/* What is left for the next attempt of its agent goes into flow->left.  *ret_ending: nothing is,
   and the run ends so; else NULL. */
MUST_USE enum rc run_tree_begin(struct context *ctx, struct flow *flow,
                                const struct ending **ret_ending);
/* It has used something: runs that share a budget which is passed are stopped soon, by
   TIMER_SUBTASKS_BUDGET. */
MUST_USE enum rc run_tree_spent(struct context *ctx, const struct run_row *run);
/* Leaves it no more time than its ancestors have. */
MUST_USE enum rc run_tree_time(struct context *ctx, const struct run_row *run, int64_t *left_us);
#endif
