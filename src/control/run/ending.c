#include "control/run/ending.h"
#include "base/log.h"
#include "control/run/account_pool.h"
#include "control/run/assignment.h"
#include "control/run/memories.h"
#include "control/run/questions.h"
#include "control/run/run_clock.h"
#include "control/run/saga_publish.h"
#include "control/run/usage.h"
#include "core/event_types.h"
#include "store/approvals.h"
#include "store/timers.h"
#include <assert.h>

/* The cleanup does not move the run, and a run that cannot be cleaned up ends all the same: a
   failure to make the job has written nothing. */
static enum rc enqueue_clean(struct context *ctx, struct flow *flow)
{
    struct job_row job = {0};
    enum rc rc = assignment_make(ctx, flow, STEP_CLEAN, &job);
    if (rc != RC_OK) {
        LOG(LOG_ERROR, "no job can be made to clean up after a run; drover prune removes its files",
            LOG_STR("runId", flow->run.id.text), LOG_STR("code", ctx->err->code),
            LOG_STR("error", ctx->err->text));
        err_clear(ctx->err);
        return RC_OK;
    }
    context_ready(ctx, job.queue);
    return jobs_insert(ctx->db, &job, ctx->err);
}

/* Cancels questions that need no answer any more. */
static enum rc close_approvals(struct context *ctx, struct flow *flow)
{
    struct waiting_filter filter = {.status = "pending", .run_id = flow->run.id, .limit = 10};
    struct approval_row *rows;
    size_t count;
    enum rc rc = approvals_list(ctx->db, &filter, ctx->arena, &rows, &count, ctx->err);
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        rows[i].status = "cancelled";
        rows[i].decided_us = ctx->now_us;
        rc = approvals_save(ctx->db, &rows[i], ctx->err);
        if (rc == RC_OK)
            rc = timers_clear_subject(ctx->db, &rows[i].id, ctx->err);
    }
    return rc;
}

/* They are rows of other commands, too: due.c locks them in their order. */
static enum rc end_subtasks(struct context *ctx, const struct flow *flow)
{
    return timer_start(ctx, TIMER_SUBTASKS_END, &flow->task.id, ctx->now_us);
}

static const struct {
    const char *run, *task;
} terminal_events[RUN_STATUS_COUNT] = {
    [RUN_COMPLETED] = {EV_RUN_COMPLETED, EV_TASK_COMPLETED},
    [RUN_FAILED] = {EV_RUN_FAILED, EV_TASK_FAILED},
    [RUN_CANCELLED] = {EV_RUN_CANCELLED, EV_TASK_CANCELLED},
    [RUN_TIMED_OUT] = {EV_RUN_TIMED_OUT, EV_TASK_TIMED_OUT},
};

static void write_ending(struct event_body *body, const struct flow *flow)
{
    event_body_open(body);
    jw_kstr(&body->jw, "taskId", flow->task.id.text);
    jw_kstr(&body->jw, "runId", flow->run.id.text);
    jw_kint(&body->jw, "runNo", flow->run.run_no);
    jw_optstr(&body->jw, "errorCode", flow->run.error_code);
    jw_optstr(&body->jw, "errorMessage", flow->run.error_message);
    jw_optstr(&body->jw, "requestedBy", flow->run.stop_by);
    jw_kint(&body->jw, "attempts", flow->run.attempt);
    jw_kreal(&body->jw, "costUsd", (double)flow->run.cost_microusd / 1e6);
    if (!id_is_none(&flow->run.pull_request_id))
        jw_kstr(&body->jw, "pullRequestId", flow->run.pull_request_id.text);
    usage_write_run(&body->jw, &flow->run);
}

static enum rc emit_ending(struct context *ctx, struct flow *flow)
{
    assert(terminal_events[flow->run.status].run != NULL);
    CLEANUP(event_body_release) struct event_body of_run, of_task;
    write_ending(&of_run, flow);
    write_ending(&of_task, flow);
    enum rc rc = flow_emit(ctx, flow, terminal_events[flow->run.status].run, &of_run);
    if (rc == RC_OK)
        rc = flow_emit_task(ctx, flow, terminal_events[flow->run.status].task, &of_task);
    return rc;
}

/* Without a pull request, and not because a person has stopped it. */
static bool has_failed(const struct run_row *run)
{
    return (run->status == RUN_FAILED || run->status == RUN_TIMED_OUT) &&
           id_is_none(&run->pull_request_id);
}

enum rc flow_end(struct context *ctx, struct flow *flow, const struct ending *ending)
{
    enum run_status before = flow->run.status;
    struct id mover = flow->run.job_id;
    enum rc rc = flow_move(ctx, flow, ending->event, ending->message);
    if (rc != RC_OK)
        return rc;
    flow->run.error_code = flow->task.error_code = ending->code;
    flow->run.error_message = flow->task.error_message = ending->code != NULL ? ending->message
                                                                              : NULL;
    flow->run.job_id = (struct id){0};
    flow->run.paused_us = 0;
    flow->run.paused_by = NULL;
    /* A run that was sent back to the queue has worked, too. */
    bool worked = before != RUN_QUEUED || flow->run.base_commit != NULL;
    if (worked)
        rc = memories_record(ctx, flow);
    if (rc == RC_OK)
        rc = question_cancel(ctx, flow);
    if (rc == RC_OK && before == RUN_CREATING_PR && has_failed(&flow->run))
        rc = saga_publish_failed(ctx, flow);
    if (rc == RC_OK)
        rc = emit_ending(ctx, flow);
    if (rc == RC_OK)
        rc = timers_clear_subject(ctx->db, &flow->run.id, ctx->err);
    if (rc == RC_OK)
        rc = pool_book(ctx, &flow->run);
    if (rc == RC_OK && before == RUN_AWAITING_APPROVAL)
        rc = close_approvals(ctx, flow);
    if (rc == RC_OK && before == RUN_CREATING_PR && id_is_none(&flow->run.pull_request_id) &&
        id_is_none(&flow->task.pull_request_id)) /* A repair's branch is not its own. */
        rc = saga_undo_publish(ctx, flow, &mover);
    if (rc == RC_OK && worked)
        rc = enqueue_clean(ctx, flow);
    if (rc == RC_OK && !id_is_none(&flow->task.pull_request_id))
        rc = timer_start(ctx, TIMER_SHEPHERD, &flow->task.pull_request_id, ctx->now_us);
    if (rc == RC_OK && flow->run.status != RUN_COMPLETED && !id_is_none(&flow->run.root_run_id))
        rc = end_subtasks(ctx, flow);
    ctx->round->admit = true;
    return rc;
}

void flow_warn(struct flow *flow, const char *code, const char *message)
{
    if (flow->run.warning_code != NULL)
        return;
    flow->run.warning_code = code;
    flow->run.warning_message = message;
}
