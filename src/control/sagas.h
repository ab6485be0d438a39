/*
 * sagas.h - commands about sagas, and what the end of a job means for its saga.
 */
#ifndef CONTROL_SAGAS_H
#define CONTROL_SAGAS_H
#include "control/command.h"
#include "control/cx.h"
#include "core/saga.h"
#include "store/jobs.h"

enum { SAGA_NAME_MAX = 100 };

struct cmd_saga_start {
    struct command base;
    const char *name;
    const char *dedup_key; /* or NULL */
    struct str steps;      /* JSON array that saga_plan_decode takes. */

    struct id saga_id; /* The answer. */
    enum saga_status status;
    bool duplicate; /* (name, dedup_key) was known. */
};
struct cmd_saga_start *cmd_saga_start_new(void);

/* The step in flight ends as it will, unless nobody has it yet; then all is undone. */
struct cmd_saga_cancel {
    struct command base;
    struct id saga_id;
    const char *reason;      /* or NULL */
    enum saga_status status; /* The answer. */
};
struct cmd_saga_cancel *cmd_saga_cancel_new(void);

/* Called in the transaction that settled the job.  A job that is not (or no longer) what moves its
   saga is none of the saga's business. */
MUST_USE enum rc saga_job_settled(struct cx *cx, const struct job_row *job);
/* May this dead letter be tried again?  RC_CONFLICT for a step: its saga has moved on without it,
   and nobody would undo it. */
MUST_USE enum rc saga_allows_replay(struct cx *cx, const struct job_row *job);
#endif
