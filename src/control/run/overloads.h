/*
 * overloads.h - a run whose provider was overloaded: back to the queue for a while.
 *
 *     running, planning --(outcome overloaded)--> queued, provider_overloaded
 *     queued --(overloaded_until_us has passed, TIMER_RUN_OVERLOADED)--> admitted, the same attempt
 *     too often, or for too long (core/run/overload.h) --> failed, provider_overloaded
 *
 * The attempt does not count.  What the agent had done is kept as a patch.
 */
#ifndef CONTROL_RUN_OVERLOADS_H
#define CONTROL_RUN_OVERLOADS_H
#include "control/run/flow.h"

#define TIMER_RUN_OVERLOADED "run_overloaded"

/* The run must be running or planning. */
MUST_USE enum rc overloads_defer(struct context *ctx, struct flow *flow, const struct js *result);
/* For admission: why the run still waits; NULL: it does not. */
const char *overloads_detail(const struct context *ctx, const struct run_row *run);
/* The timer, for due.c. */
MUST_USE enum rc overloads_over(struct context *ctx, const struct id *run_id);
#endif
