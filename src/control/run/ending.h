/*
 * ending.h - how a run ends: its last state, both errors, its last events, and what is left to do.
 */
#ifndef CONTROL_RUN_ENDING_H
#define CONTROL_RUN_ENDING_H
#include "control/run/flow.h"

struct ending {
    enum run_event event; /* PUBLISHED, KEEP_PATCH, FAIL, CANCEL, TIME_OUT, ... */
    const char *code;     /* NULL when completed. */
    const char *message;
};
/* For agents that drover runs and for those that lease their work. */
#define MESSAGE_MAX_TURNS                                                               \
    "The agent passed its limit of turns; before a retry raise limits.maxTurns of the " \
    "repository, or submit the task with a higher --max-turns"
#define MESSAGE_MAX_BUDGET                                                               \
    "The agent passed its cost budget; before a retry raise limits.maxBudgetUsd of the " \
    "repository, or submit the task with a higher --max-budget"
#define MESSAGE_MAX_TOKENS                                                                \
    "The agent passed its limit of tokens; before a retry raise limits.maxTokens of the " \
    "repository, or submit the task with a higher --max-tokens"
/* Moves to the terminal state, writes both rows' errors, records a memory, appends the events of
   run and task, drops timers, open approvals and questions, undoes a publish without a pull
   request, enqueues the cleanup, has sub-tasks ended unless it completed (subtasks.h), requests
   admission.  The caller settles the job and saves. */
MUST_USE enum rc flow_end(struct context *ctx, struct flow *flow, const struct ending *ending);

/* The run may complete, with this warning; an earlier warning stays. */
void flow_warn(struct flow *flow, const char *code, const char *message);
#endif
