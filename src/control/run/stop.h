/*
 * stop.h - ending a run before its time: a person cancels, or a deadline passes.
 *
 *   queued, awaiting_approval, or its job not leased    ends at once
 *   a worker has its job                                asked to stop, ends when the worker reports
 *                                                       it, or when TIMER_STOP_DEADLINE passes
 *   creating_pr, leased                                 finishes first, for publishMs at most:
 *                                                       half a pull request is of no use
 */
#ifndef CONTROL_RUN_STOP_H
#define CONTROL_RUN_STOP_H
#include "control/commit/isolate.h"
#include "control/queue/jobs.h"
#include "control/run/flow.h"

struct stop_request {
    enum run_stop kind;
    const char *by;
    const char *reason; /* or NULL */
};
/* *ret_stopping: a worker was asked; else the run has ended.  Saves the flow. */
MUST_USE enum rc stop_run(struct context *ctx, struct flow *flow,
                          const struct stop_request *request, bool *ret_stopping);
/* The worker did not stop in time: ends the run and takes the job away from it. */
MUST_USE enum rc stop_by_force(struct context *ctx, struct flow *flow);
/* The run cannot be continued: fails it with control_error and cancels its job, also when a worker
   has it.  Does nothing when the run has ended. */
MUST_USE enum rc stop_failed(struct context *ctx, const struct id *run_id,
                             const struct failure *why);
/* What a worker of this step is to do: sets cancel, hold and message_seq.  A request to stop
   outranks a hold. */
void stop_orders(const struct run_row *run, const char *step, struct job_answer *answer);
/* Ends the run by its stop request (cancelled, timed_out, or failed for a budget), or collects what
   an agent elsewhere has done when the request came from a limit on turns or cost. */
MUST_USE enum rc flow_end_stopped(struct context *ctx, struct flow *flow);

struct cmd_cancel {
    struct command base;
    struct id task_id;
    const char *reason;      /* or NULL */
    enum task_status status; /* The answer: cancelled, or still running while a worker stops. */
    bool stopping;           /* A worker was asked to stop. */
};
struct cmd_cancel *cmd_cancel_new(void);
#endif
