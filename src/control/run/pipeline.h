/*
 * pipeline.h - what a step's end means for its run.
 *
 *   prepare -> hydrate -> [plan] -> agent -> verify -> judge -> [person] -> publish
 *                                     ^         |        |
 *                                     +---------+--------+   feedback, within budgets
 *
 * with the repository's own steps between them, in the order of its blueprint.
 *
 * Each function is called in the transaction that settled the job, after it was settled.  A job
 * that is not (or no longer) the one that moves its run is ignored.
 */
#ifndef CONTROL_RUN_PIPELINE_H
#define CONTROL_RUN_PIPELINE_H
#include "control/queue/job_hooks.h"
#include "control/run/flow.h"

struct ending;

/* A worker took the step of this run. */
MUST_USE enum rc pipeline_started(struct context *ctx, const struct job_row *job,
                                  struct flow *flow);
/* Is the step's result well formed, and does it agree with the rows of the store?  Called before
   the job is settled.  RC_INVALID: INVALID_RESULT or RESULT_REFUSED, with the member that is
   wrong. */
struct step_result {
    struct js *tree; /* NULL: the job is not a step of a run. */
    struct flow flow;
    bool moves; /* The job moves its run: the flow is loaded. */
};
void step_result_release(struct step_result *result); /* For CLEANUP. */
MUST_USE enum rc pipeline_check_result(struct context *ctx, const struct job_row *job,
                                       struct str result, struct step_result *ret_result);
MUST_USE enum rc pipeline_completed(struct context *ctx, const struct job_row *job,
                                    struct step_result *result);
/* A result was refused: appends an event and logs a line. */
MUST_USE enum rc pipeline_refused(struct context *ctx, const struct job_row *job,
                                  const struct err *why);
/* The step failed: it is tried again (job scheduled) or the run ends. */
MUST_USE enum rc pipeline_failed(struct context *ctx, const struct job_row *job,
                                 const struct job_failure *failure);
/* The worker was lost; worker is its name. */
MUST_USE enum rc pipeline_lost(struct context *ctx, struct job_row *job, const char *worker);
/* The worker gave the step back in good order. */
MUST_USE enum rc pipeline_released(struct context *ctx, struct job_row *job);

/* ---- along the blueprint (advance.c) ---- */

/* After the step that is done: the next one, the question before publishing, or the end. */
MUST_USE enum rc pipeline_next(struct context *ctx, struct flow *flow);
/* This step now; the run walks to its state. */
MUST_USE enum rc pipeline_enter(struct context *ctx, struct flow *flow,
                                const struct blueprint_step *step);
/* Through all states up to this one; each move's event has the reason, NULL: its usual one. */
MUST_USE enum rc pipeline_walk(struct context *ctx, struct flow *flow, enum run_status state,
                               const char *reason);
/* With the prompt that is there: to the agent, or to its plan if that is still to be made. */
MUST_USE enum rc pipeline_resume(struct context *ctx, struct flow *flow);
/* *ret_ending: of a limit nothing is left for the agent, and the run would end so; NULL: it may
   start. */
MUST_USE enum rc pipeline_used_up(struct context *ctx, struct flow *flow,
                                  const struct ending **ret_ending);
/* The next attempt of a running run: its agent starts, unless the run has used up its turns, its
   money or its tokens, or an ancestor has (it ends), the agent's question is open (it waits for the
   answer), or the agent's account is parked (it is queued again). */
MUST_USE enum rc pipeline_start_agent(struct context *ctx, struct flow *flow);
/* Publishes, or keeps the patch: judged good, or approved. */
MUST_USE enum rc pipeline_accept(struct context *ctx, struct flow *flow);
MUST_USE enum rc pipeline_plan_approved(struct context *ctx, struct flow *flow);
/* A step after the pull request failed: what is published stays so, with a warning.  The agent may
   have opened it before the step: then the patch is not checked further. */
MUST_USE enum rc pipeline_warn_published(struct context *ctx, struct flow *flow, const char *code,
                                         const char *message);

/* ---- for what people have said (recall.c) ---- */

/* The agent of a run that is running, verifying or judging starts again.  No retry is counted. */
struct recall {
    const char *reason;  /* message, question */
    const char *summary; /* For people. */
};
MUST_USE enum rc pipeline_recall(struct context *ctx, struct flow *flow,
                                 const struct recall *recall);
/* The reason why its agent is to start again: its question is open, so that the run waits for the
   answer; or messages are unread, and the run may still use its agent.  NULL: none. */
MUST_USE enum rc pipeline_recalls(struct context *ctx, struct flow *flow,
                                  const struct recall **ret_recall);
/* The question that the run waited for is closed: the agent starts. */
MUST_USE enum rc pipeline_answered(struct context *ctx, struct flow *flow);
#endif
