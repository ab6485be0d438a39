/*
 * settle.h - what happens to a job's row when an attempt ends: its life moves on by
 * core/queue/job.c, the attempt is recorded, and the next job of its ordering key becomes ready.
 */
#ifndef CONTROL_QUEUE_SETTLE_H
#define CONTROL_QUEUE_SETTLE_H
#include "control/commit/context.h"
#include "store/jobs.h"

struct settlement {
    enum job_event event;
    int64_t epoch;     /* FINISH, FAIL, RELEASE: of the lease, */
    const char *owner; /* and the principal that reports. */
    struct str result; /* FINISH */
    const char *code;  /* FAIL */
    const char *message;
    bool retryable, policy;
    bool outside; /* FAIL: what the job depends on failed, not the job itself. */
};
/* job is updated and saved.  RC_STALE or RC_CONFLICT: nothing was written. */
MUST_USE enum rc settle(struct context *ctx, struct job_row *job,
                        const struct settlement *settlement);
MUST_USE enum rc settle_cancel(struct context *ctx, struct job_row *job);
/* queued -> scheduled until then, without an attempt: it is not to be handed out before. */
MUST_USE enum rc settle_hold(struct context *ctx, struct job_row *job, int64_t until_us);
/* A waiting job is due, or is not held any more: scheduled -> queued. */
MUST_USE enum rc settle_due(struct context *ctx, struct job_row *job);
#endif
