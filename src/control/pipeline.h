/*
 * pipeline.h - what a step's end means for its run.
 *
 *   prepare -> hydrate -> agent -> verify -> judge -> [person] -> publish
 *                           ^         |        |
 *                           +---------+--------+   feedback, within budgets
 *
 * Each function is called in the transaction that settled the job, after it was settled.  A job
 * that is not (or no longer) what moves its run is none of the run's business.
 */
#ifndef CONTROL_PIPELINE_H
#define CONTROL_PIPELINE_H
#include "control/flow.h"

/* A worker took the step of this run. */
MUST_USE enum rc pipeline_started(struct cx *cx, const struct job_row *job, struct flow *flow);
/* The step's result is well formed?  Asked before the job is settled. */
MUST_USE enum rc pipeline_check_result(const struct job_row *job, struct str result,
                                       struct js **ret_tree, struct err *err);
MUST_USE enum rc pipeline_completed(struct cx *cx, const struct job_row *job,
                                    const struct js *result);
/* The step failed: it is tried again (job scheduled) or the run ends. */
struct step_failure {
    const char *code, *message;
    bool quarantine; /* The repository is not to be worked on any more. */
};
MUST_USE enum rc pipeline_failed(struct cx *cx, const struct job_row *job,
                                 const struct step_failure *failure);
/* The worker was lost; worker is its name. */
MUST_USE enum rc pipeline_lost(struct cx *cx, struct job_row *job, const char *worker);
/* The worker gave the step back in good order. */
MUST_USE enum rc pipeline_released(struct cx *cx, struct job_row *job);
/* Opens the question that ends judging, or publishes, or keeps the patch. */
MUST_USE enum rc pipeline_accept(struct cx *cx, struct flow *flow);
#endif
