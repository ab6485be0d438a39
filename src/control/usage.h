/*
 * usage.h - what a run has used up, kept while its agent works.
 *
 * An attempt tells its own sums, {turns, inputTokens, outputTokens, costUsd, model}, again and
 * again while it lasts and once more at its end.  What the run had used before it stands in the
 * assignment of its job, as `used`.  The columns are the sum of the two: however often an attempt
 * tells, it counts once.
 */
#ifndef CONTROL_USAGE_H
#define CONTROL_USAGE_H
#include "control/flow.h"

/* Writes the member `used` of an assignment. */
void usage_write(struct jw *jw, const struct run_row *run);
/* Takes the sums of the attempt that was assigned by this payload. */
MUST_USE enum rc usage_take(struct cx *cx, struct run_row *run, struct str payload,
                            const struct js *sums);
/* Do these sums tell of a model turn that was completed?  NULL does not. */
bool usage_shows_work(const struct js *sums);
/* Back to what the run had used before the attempt: it goes on under another assignment and tells
   its sums there again. */
MUST_USE enum rc usage_take_back(struct cx *cx, struct run_row *run, struct str payload);
#endif
