/*
 * usage.h - what a run has used up, kept while its agent works.
 *
 * An attempt reports its own sums, {turns, inputTokens, outputTokens, costUsd, model}, again and
 * again while it lasts and once more at its end.  What the run had used before it is in the
 * assignment of its job, as `used`.  The columns are the sum of the two: however often an attempt
 * reports, it counts once.
 */
#ifndef CONTROL_RUN_USAGE_H
#define CONTROL_RUN_USAGE_H
#include "control/run/flow.h"

/* What the run had used before the attempt of the next job. */
struct used usage_before(const struct flow *flow);
/* The same, as the member `used` of an assignment. */
void usage_write(struct jw *jw, const struct flow *flow);
/* What the run has used so far, as the member `runUsage` of an event. */
void usage_write_run(struct jw *jw, const struct run_row *run);
/* Takes the sums of the attempt that was assigned by this payload. */
MUST_USE enum rc usage_take(struct context *ctx, struct run_row *run, struct str payload,
                            const struct js *sums);
/* Do these sums contain a completed model turn?  NULL does not. */
bool usage_shows_work(const struct js *sums);
/* The attempt that was assigned by this payload continues under another assignment, and reports all
   its sums there again.  What it has reported so far stays booked: it may never report again. */
MUST_USE enum rc usage_continue(struct context *ctx, struct flow *flow, struct str payload);
#endif
