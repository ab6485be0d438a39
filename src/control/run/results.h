/*
 * results.h - the meaning of each step's result for the run; see docs/PROTOCOL.md for the shapes.
 */
#ifndef CONTROL_RUN_RESULTS_H
#define CONTROL_RUN_RESULTS_H
#include "control/run/ending.h"
#include "control/run/result_facts.h"
#include "core/step_kind.h"

MUST_USE enum rc result_link_artifacts(struct context *ctx, struct flow *flow,
                                       const struct js *result);

/* In the transaction that settles the job, after it was settled; the run is in the step's state. */
typedef enum rc result_done_fn(struct context *ctx, struct flow *flow, const struct js *result);
result_done_fn result_of_prepare, result_of_hydrate, result_of_plan, result_of_custom,
    result_of_agent, result_of_verify, result_of_judge, result_of_publish;
result_done_fn result_of_pull;    /* An agent that leased its work itself is done. */
result_done_fn result_of_collect; /* A worker has collected what an agent elsewhere has left. */

/* The server's code for a step. */
struct step_handlers {
    result_done_fn *done;   /* NULL: the step does not move a run. */
    result_facts_fn *facts; /* NULL: the shape of the result is all that is checked. */
};
const struct step_handlers *step_handlers(enum step_kind kind);

/* Adds up what an agent has used.  *ret_over: the agent was cut short, and the run moved here. */
MUST_USE enum rc result_agent_over(struct context *ctx, struct flow *flow, const struct js *result,
                                   bool *ret_over);

/* The patch of the agent's step holds secrets. */
MUST_USE enum rc result_of_secrets(struct context *ctx, struct flow *flow,
                                   const struct js *secrets);
/* Ends the run by the rule: failed, and the repository in quarantine where it is malice. */
struct retry_rule;
MUST_USE enum rc result_stop_for(struct context *ctx, struct flow *flow,
                                 const struct retry_rule *rule, const char *text);

/* Sends the run back to the agent with feedback, or ends it when the budget is used up. */
struct repair {
    const char *reason;          /* verification_failed, judge_failed */
    const char *summary;         /* For people. */
    const char *feedback_sha256; /* What the agent gets to read. */
};
MUST_USE enum rc result_repair(struct context *ctx, struct flow *flow, const struct repair *repair);

/* By the decision matrix of core/agent/infer.h: on with the patch, or the end. */
MUST_USE enum rc result_infer(struct context *ctx, struct flow *flow, const struct js *result);
/* Records {number, headCommit, draft} as the run's pull request.  result_check_facts has accepted
   it. */
MUST_USE enum rc result_record_pr(struct context *ctx, struct flow *flow, const struct js *pr);

/* ---- agents elsewhere (results_remote.c) ---- */

/* The agent's part is over; a worker is to collect what it has left. */
MUST_USE enum rc remote_collect(struct context *ctx, struct flow *flow, const struct js *record);
/* The agent opened a pull request itself: that one is the run's, there is no second.  It is
   recorded at once. */
MUST_USE enum rc remote_note_pr(struct context *ctx, struct flow *flow, const struct js *pr);
bool remote_has_pr(const struct flow *flow);
/* From any state with a patch to the one in which a pull request is opened (creating_pr). */
MUST_USE enum rc remote_walk_to_publishing(struct context *ctx, struct flow *flow);
/* Completes a run whose pull request is open, with a warning: what is published stays so. */
MUST_USE enum rc flow_end_published(struct context *ctx, struct flow *flow, const char *code,
                                    const char *message);
/* Ends the publishing with it, from any state before. */
MUST_USE enum rc remote_take_pr(struct context *ctx, struct flow *flow);
/* The patch did not pass, but its pull request is there: completed, with a warning. */
MUST_USE enum rc remote_keep_pr(struct context *ctx, struct flow *flow,
                                const struct repair *repair);
#endif
