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

/* Writes the member `used` of an assignment. */
void usage_write(struct jw *jw, const struct run_row *run);
/* Takes the sums of the attempt that was assigned by this payload. */
MUST_USE enum rc usage_take(struct context *ctx, struct run_row *run, struct str payload,
                            const struct js *sums);
/* Do these sums contain a completed model turn?  NULL does not. */
bool usage_shows_work(const struct js *sums);
/* Back to what the run had used before the attempt: it continues under another assignment and
   reports its sums there again. */
MUST_USE enum rc usage_take_back(struct context *ctx, struct run_row *run, struct str payload);
#endif
