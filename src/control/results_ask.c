/*
 * results_ask.c - a question to a person, and the run that waits for the answer.
 */
#include "control/results.h"
#include "core/event_types.h"
#include "store/approvals.h"
#include "store/timers.h"
#include <string.h>

static enum rc insert_question(struct cx *cx, struct flow *flow, const struct question *question,
                               struct approval_row *ret_row)
{
    const struct repo_config *config;
    enum rc rc = flow_config(cx, flow, &config);
    if (rc != RC_OK)
        return rc;
    *ret_row = (struct approval_row){
        .id = cx_id(cx),
        .task_id = flow->task.id,
        .run_id = flow->run.id,
        .kind = question->kind,
        .status = "pending",
        .requested_us = cx->now_us,
        .expires_us = cx->now_us + config->timeouts.approval_ms * US_PER_MS,
    };
    rc = approvals_insert(cx->db, ret_row, cx->err);
    struct timer_row timer = {
        .kind = TIMER_APPROVAL_EXPIRY, .subject = ret_row->id, .due_us = ret_row->expires_us};
    cx_due(cx, timer.due_us);
    return rc == RC_OK ? timers_set(cx->db, &timer, cx->err) : rc;
}

enum rc ask_person(struct cx *cx, struct flow *flow, const struct question *question)
{
    struct approval_row row;
    bool plan = strcmp(question->kind, "plan") == 0;
    enum rc rc = insert_question(cx, flow, question, &row);
    if (rc == RC_OK) /* The run's clock stands still while a person thinks: see decide.c. */
        rc = timers_clear(cx->db, TIMER_RUN_DEADLINE, &flow->run.id, cx->err);
    if (rc == RC_OK)
        rc = flow_move(cx, flow, plan ? RUN_EV_ASK_PLAN : RUN_EV_ASK, question->reason);
    if (rc != RC_OK)
        return rc;
    flow->run.job_id = (struct id){0};
    CLEANUP(note_release) struct note note;
    note_open(&note);
    jw_kstr(&note.jw, "approvalId", row.id.text);
    jw_kstr(&note.jw, "kind", row.kind);
    jw_kstr(&note.jw, "reason", question->reason);
    jw_optstr(&note.jw, "summary", question->summary);
    if (question->detail.len > 0)
        jw_kraw(&note.jw, "detail", question->detail);
    jw_ktime(&note.jw, "expiresAt", row.expires_us);
    return flow_tell(cx, flow, EV_APPROVAL_REQUESTED, &note);
}
