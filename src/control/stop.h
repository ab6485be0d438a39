/*
 * stop.h - ending a run before its time: a person cancels, or a deadline passes.
 *
 *   queued, awaiting_approval, or its job not leased    ends at once
 *   a worker has its job                                asked to stop, ends when the worker says
 *                                                       so, or when TIMER_STOP_DEADLINE passes
 *   creating_pr, leased                                 finishes first, for publishMs at most:
 *                                                       half a pull request helps nobody
 */
#ifndef CONTROL_STOP_H
#define CONTROL_STOP_H
#include "control/flow.h"
#include "control/isolate.h"

struct stop_request {
    enum run_stop kind;
    const char *by;
    const char *reason; /* or NULL */
};
/* *ret_stopping: a worker was asked; else the run has ended.  Saves the flow. */
MUST_USE enum rc stop_run(struct cx *cx, struct flow *flow, const struct stop_request *request,
                          bool *ret_stopping);
/* The worker did not stop in time: ends the run and takes the job away from it. */
MUST_USE enum rc stop_by_force(struct cx *cx, struct flow *flow);
/* The run cannot be taken further: fails it with control_error and takes its job away, whoever has
   it.  Does nothing when the run has ended. */
MUST_USE enum rc stop_failed(struct cx *cx, const struct id *run_id, const struct failure *why);
/* Is a worker of this step to be told to stop? */
bool stop_reaches_step(const struct run_row *run, const char *step);
#endif
