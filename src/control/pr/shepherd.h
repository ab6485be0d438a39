/*
 * shepherd.h - follows a pull request from open to merged: core/pr/shepherd.h decides, this does.
 *
 *   timer due -> job observe -> decision -> +-> job attend: acts at the forge
 *      ^                                    +-> job rebase: rebased or verified, and pushed
 *      |                                    +-> a repair: a task on top of its head
 *      |                                    +-> a person is asked
 *      +--- when a job or a repair ends, a person decides, the forge reports something, or in time
 *
 * At any moment a pull request that is followed has a timer.  What was begun is written in the
 * transaction that begins it, so that a restart at any point repeats at most a look.
 */
#ifndef CONTROL_PR_SHEPHERD_H
#define CONTROL_PR_SHEPHERD_H
#include "control/commit/context.h"
#include "control/run/results.h"
#include "store/jobs.h"
#include "store/pull_requests.h"

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

/* ---- jobs, for control/hooks.c ---- */

/* Is it one of observe, attend, rebase? */
bool shepherd_job_is(const struct job_row *job);
MUST_USE enum rc shepherd_job_completed(struct context *ctx, const struct job_row *job,
                                        const struct js *result);
/* It was settled in another way than by success. */
MUST_USE enum rc shepherd_job_gone(struct context *ctx, const struct job_row *job);
#endif
