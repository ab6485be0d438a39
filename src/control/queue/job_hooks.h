/*
 * job_hooks.h - what jobs mean to the runs and sagas that made them.
 *
 * A job may belong to a run (run_id) or a saga.  The queue moves jobs and does not depend on
 * either: it calls these hooks, in the current transaction.  control/hooks.c fills them in.
 */
#ifndef CONTROL_QUEUE_JOB_HOOKS_H
#define CONTROL_QUEUE_JOB_HOOKS_H
#include "control/commit/context.h"
#include "control/commit/isolate.h"
#include "control/queue/jobs.h"
#include "core/queue/job_error.h"
#include "store/jobs.h"

struct job_failure {
    const char *code, *message;
    bool quarantine;    /* The repository is not to be worked on any more. */
    const char *worker; /* That had the job: its row names none any more. */
};

struct job_hooks {
    /* ---- jobs with a run_id ---- */

    /* Before the job is claimed.  RC_NOT_FOUND: another transaction has locked the run, and may
       end it.  *ret_held: a person has paused it.  *ret_run lives in the arena until left(). */
    enum rc (*claim)(struct context *ctx, const struct job_row *job, void **ret_run,
                     bool *ret_held);
    enum rc (*claimed)(struct context *ctx, const struct job_row *job, void *run);
    void (*left)(void *run);
    /* Sends the read of the run ahead, for claim(): see db_read_ahead. */
    enum rc (*read_ahead)(struct db *db, const struct job_row *job, struct err *err);
    /* Is a failed job tried again? */
    struct retry_decision (*retry)(const struct reported_error *error);
    /* What its worker is to do: sets cancel, hold and message_seq. */
    enum rc (*orders)(struct context *ctx, const struct job_row *job, struct job_answer *answer);
    /* The control plane failed, not a worker's step: the run ends with control_error. */
    enum rc (*broken)(struct context *ctx, const struct id *run_id, const struct failure *why);

    /* ---- all jobs; those without a run or saga are ignored ---- */

    /* Before a completion is accepted.  RC_INVALID: the result is refused.  *ret_checked lives in
       the arena until checked_free(), and is passed to completed(). */
    enum rc (*check_result)(struct context *ctx, const struct job_row *job, struct str result,
                            void **ret_checked);
    void (*checked_free)(void *checked);
    enum rc (*refused)(struct context *ctx, const struct job_row *job, const struct err *why);
    enum rc (*completed)(struct context *ctx, const struct job_row *job, void *checked);
    enum rc (*failed)(struct context *ctx, const struct job_row *job,
                      const struct job_failure *failure);
    enum rc (*released)(struct context *ctx, struct job_row *job);
    /* It is settled for good. */
    enum rc (*settled)(struct context *ctx, const struct job_row *job);
    /* RC_CONFLICT: the run or saga of the job has moved on without it. */
    enum rc (*may_replay)(struct context *ctx, const struct job_row *job);
};
#endif
