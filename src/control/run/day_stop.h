/*
 * day_stop.h - stops the runs of a workspace that has spent its budget of the day: day_budget.h.
 */
#ifndef CONTROL_RUN_DAY_STOP_H
#define CONTROL_RUN_DAY_STOP_H
#include "control/commit/context.h"

/* TIMER_DAY_BUDGET, for due.c. */
MUST_USE enum rc day_stop(struct context *ctx, const struct id *workspace_id);
#endif
