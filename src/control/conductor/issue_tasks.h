/*
 * issue_tasks.h - issues that agents of drover work on: a task for each, and what its run says
 * becomes events of the issue.
 *
 *   agent.run.started                        WORK_STARTED, BRANCH_CREATED
 *   agent.pr.created                         PR_CREATED, CI_PASSED and REVIEW_PASSED: drover has
 *                                            verified and judged what it publishes
 *   agent.pr.check.failed                    CI_FAILED
 *   agent.pr.updated                         PR_CREATED
 *   agent.pr.state.changed, checks green     CI_PASSED
 *   agent.pr.merged                          MERGED, and CI_PASSED before it
 *   agent.pr.closed, end of the task without a pull request    AGENT_STUCK
 */
#ifndef CONTROL_CONDUCTOR_ISSUE_TASKS_H
#define CONTROL_CONDUCTOR_ISSUE_TASKS_H
#include "control/conductor/issues.h"
#include "core/conductor/choose.h"

/* Submits the task; RC_CONFLICT, RC_LIMIT, RC_DENIED, RC_NOT_FOUND, RC_INVALID: it was refused,
   ctx->err says why, and nothing but the refusal was written. */
MUST_USE enum rc issue_submit(struct context *ctx, const struct issue_row *issue,
                              const struct conductor_agent *agent, struct id *ret_task_id);
/* Cancels the task that works on the issue, unless it has ended. */
MUST_USE enum rc issue_cancel_task(struct context *ctx, const struct issue_row *issue,
                                   const char *reason);

/* Is an event of this type of interest, if its task works on an issue? */
bool issue_run_event_matters(const char *type);
struct issue_run_event {
    struct id task_id, event_id;
    const char *type;
    struct str data;
};
/* Nothing happens where the task works on no issue, and where a rule forbids it. */
MUST_USE enum rc issue_run_event(struct context *ctx, const struct issue_run_event *event);
#endif
