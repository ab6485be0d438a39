/*
 * shepherd.h - follows a pull request from open to merged: core/pr/shepherd.h decides, this does.
 */
#ifndef CONTROL_PR_SHEPHERD_H
#define CONTROL_PR_SHEPHERD_H
#include "control/commit/context.h"
#include "store/pull_requests.h"

#define TIMER_SHEPHERD "shepherd" /* Of a pull request: look at it. */

/* Looks at it now. */
MUST_USE enum rc shepherd_look(struct context *ctx, const struct id *pull_request_id);
/* The timer, for due.c. */
MUST_USE enum rc shepherd_due(struct context *ctx, const struct id *pull_request_id);

/* How the train ended for it. */
enum train_end {
    TRAIN_LANDED,   /* The target has it. */
    TRAIN_REJECTED, /* It failed as it would have landed: detail has the checks. */
    TRAIN_CONFLICT, /* It does not merge onto what is before it. */
    TRAIN_LEFT,     /* Taken out by a person or a new head. */
};
struct train_outcome {
    enum train_end end;
    const char *commit; /* TRAIN_LANDED: of the target. */
    const char *detail; /* For people and for a repair; or NULL. */
};
MUST_USE enum rc shepherd_train_ended(struct context *ctx, const struct id *pull_request_id,
                                      const struct train_outcome *outcome);
#endif
