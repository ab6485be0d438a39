/*
 * sagas.h - commands about sagas, and what the end of a job means for its saga.
 */
#ifndef CONTROL_MESSAGING_SAGAS_H
#define CONTROL_MESSAGING_SAGAS_H
#include "control/commit/command.h"
#include "control/commit/context.h"
#include "core/queue/saga.h"
#include "store/jobs.h"

enum { SAGA_NAME_MAX = 100 };

struct cmd_saga_start {
    struct command base;
    const char *name;
    const char *dedup_key; /* or NULL */
    struct str steps;      /* JSON array that saga_plan_decode takes. */

    struct id saga_id; /* The answer. */
    enum saga_status status;
    bool duplicate; /* A saga with (name, dedup_key) exists. */
};
struct cmd_saga_start *cmd_saga_start_new(void);

/* The step in flight is cancelled unless a worker has leased it: then it may end first.  After it
   all completed steps are compensated. */
struct cmd_saga_cancel {
    struct command base;
    struct id saga_id;
    const char *reason;      /* or NULL */
    enum saga_status status; /* The answer. */
};
struct cmd_saga_cancel *cmd_saga_cancel_new(void);

/* Called in the transaction that settled the job.  A job that is not (or no longer) the saga's
   current one is ignored. */
MUST_USE enum rc saga_job_settled(struct context *ctx, const struct job_row *job);
/* May this dead letter be tried again?  RC_CONFLICT for a step: its saga has moved on without it,
   and no compensation would undo it. */
MUST_USE enum rc saga_allows_replay(struct context *ctx, const struct job_row *job);
#endif
