/*
 * day_budget.h - what a workspace may spend in a day (UTC): limits.costPerDayUsd.
 *
 *   costPerDayAction   once it is spent
 *   finish             nothing new starts (admission), what runs goes on
 *   stop               the same, and runs that may still call a model are stopped: when a report
 *                      passes the budget it sets TIMER_DAY_BUDGET, which stops them
 *
 * The sum is read from the rows of runs (store/capacity.h).
 */
#ifndef CONTROL_RUN_DAY_BUDGET_H
#define CONTROL_RUN_DAY_BUDGET_H
#include "control/run/ending.h"
#include "control/run/flow.h"

#define TIMER_DAY_BUDGET "day_budget" /* Of the workspace: day_stop.h */
#define DAY_BUDGET_LIMIT "limits.costPerDayUsd"

/* The start of the day (UTC) in which the time lies. */
int64_t day_start_us(int64_t time_us);
/* What the workspace has spent today.  A run counts with its limit at most. */
MUST_USE enum rc day_budget_spent(struct context *ctx, int64_t *ret_microusd);

/* *ret_why: the budget stops what runs, and is passed; else NULL. */
MUST_USE enum rc day_budget_passed(struct context *ctx, const char **ret_why);

/* A run has spent something.  Looks once a batch, and only where the budget stops what runs. */
MUST_USE enum rc day_budget_note(struct context *ctx);
/* An agent is about to begin an attempt.  *ret_ending: the budget stops what runs and is spent, and
   the run ends so; else NULL. */
MUST_USE enum rc day_budget_begin(struct context *ctx, const struct ending **ret_ending);
#endif
