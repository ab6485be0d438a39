/*
 * saga_flow.h - a saga while a command works on it: its row, its plan, what has happened so far.
 *
 * The only code that moves a saga: saga_flow_move lets core/queue/saga.c decide, makes the next
 * job, writes the history and appends the event.  All of it happens in the transaction that settled
 * the job before, so that each step and each compensation is made exactly once.
 *
 * Locks: the job in flight first, then its saga.
 */
#ifndef CONTROL_MESSAGING_SAGA_FLOW_H
#define CONTROL_MESSAGING_SAGA_FLOW_H
#include "control/commit/context.h"
#include "store/jobs.h"
#include "store/sagas.h"

struct saga_flow {
    struct saga_row row;
    struct js *document; /* The definition; the plan points into it. */
    struct saga_plan plan;
    struct saga_step_row *history;
    size_t history_count;
};

void saga_flow_release(struct saga_flow *flow); /* For CLEANUP; start from {0}. */
/* RC_NOT_FOUND as sagas_get has it. */
MUST_USE enum rc saga_flow_load(struct context *ctx, const struct id *saga_id,
                                struct saga_flow *flow);
/* Reads flow->row.definition, of a saga that is about to be made. */
MUST_USE enum rc saga_flow_plan(struct context *ctx, struct saga_flow *flow);

/* Makes the first job, the row and agent.saga.started. */
MUST_USE enum rc saga_flow_start(struct context *ctx, struct saga_flow *flow);
/* RC_CONFLICT, without a text, when core refuses; nothing was written then.  error: for the event,
   if it is one of a failure. */
struct saga_error {
    const char *code, *message; /* or NULL */
};
struct saga_end {
    const struct job_row *job;      /* What has ended; NULL: nothing has, it is cancelled. */
    const struct saga_error *error; /* or NULL */
};
MUST_USE enum rc saga_flow_move(struct context *ctx, struct saga_flow *flow, enum saga_event event,
                                const struct saga_end *end);

/* For callers that make the jobs themselves (run/saga_publish.c).  The headers of the job of
   row.life, in the command's arena. */
struct str saga_flow_headers(struct context *ctx, const struct saga_flow *flow);
/* The job row.job_id of row.life goes into the history, as running. */
MUST_USE enum rc saga_flow_record(struct context *ctx, const struct saga_flow *flow, int64_t no);
/* error may be NULL. */
MUST_USE enum rc saga_flow_emit(struct context *ctx, const struct saga_flow *flow, const char *type,
                                const struct saga_error *error);
#endif
