#include "control/run/stop.h"
#include "control/commit/read_ahead.h"
#include "control/queue/settle.h"
#include "control/run/ending.h"
#include "control/run/pull_limits.h"
#include "control/run/results.h"
#include "control/run/run_batch.h"
#include "core/event_types.h"
#include "core/step_kind.h"
#include "store/timers.h"
#include <assert.h>

static bool stop_reaches_step(const struct run_row *run, const char *step)
{
    const struct step_row *row = step_find(step);
    return run->stop != RUN_STOP_NONE && (row == NULL || !row->finishes);
}

/* Checks and judges of a paused run end as usual: the step after them waits. */
static enum job_hold hold_of(const struct run_row *run)
{
    if (run->paused_us > 0)
        return JOB_HOLD_PAUSED;
    return id_is_none(&run->question_id) ? JOB_HOLD_NONE : JOB_HOLD_ASKING;
}

void stop_orders(const struct run_row *run, const char *step, struct job_answer *answer)
{
    answer->cancel = stop_reaches_step(run, step);
    if (answer->cancel || !step_runs_agent(step))
        return;
    answer->hold = hold_of(run);
    answer->message_seq = run->message_seq;
}

/* How long the worker may take to end.  One that opens a pull request may finish: interrupted, it
   might have opened one that is not recorded. */
static int64_t patience_ms(const struct flow *flow, const struct repo_config *config)
{
    int64_t stop_ms = config->timeouts.cancel_ms, publish_ms = config->timeouts.publish_ms;
    bool finishes = flow->run.status == RUN_CREATING_PR && publish_ms > stop_ms;
    return finishes ? publish_ms : stop_ms;
}

static enum rc ask_worker(struct context *ctx, struct flow *flow)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "runId", flow->run.id.text);
    jw_kstr(&body.jw, "kind", run_stop_name(flow->run.stop));
    jw_kstr(&body.jw, "requestedBy", flow->run.stop_by);
    jw_kstr(&body.jw, "reason", flow->run.stop_reason);
    enum rc rc = flow_emit(ctx, flow, EV_RUN_CANCEL_REQUESTED, &body);
    const struct repo_config *config;
    if (rc == RC_OK)
        rc = flow_config(ctx, flow, &config);
    if (rc != RC_OK)
        return rc;
    struct timer_row timer = {
        .kind = TIMER_STOP_DEADLINE,
        .subject = flow->run.id,
        .due_us = ctx->now_us + patience_ms(flow, config) * US_PER_MS,
    };
    context_due(ctx, timer.due_us);
    return timers_set(ctx->db, &timer, ctx->err);
}

/* The run's job, when it has one. */
static enum rc load_job(struct context *ctx, const struct flow *flow, struct job_row *ret_job,
                        bool *ret_has)
{
    *ret_has = !id_is_none(&flow->run.job_id);
    return *ret_has ? jobs_get(ctx->db, &flow->run.job_id, ctx->arena, ret_job, ctx->err) : RC_OK;
}

static enum rc end_now(struct context *ctx, struct flow *flow, struct job_row *job)
{
    enum rc rc = RC_OK;
    if (job != NULL && !job_is_settled(job->life.state))
        rc = settle_cancel(ctx, job);
    if (rc == RC_OK)
        rc = flow_end_stopped(ctx, flow);
    return rc == RC_OK ? flow_save(ctx, flow) : rc;
}

/* A person's request outranks a limit of the agent's, and so does the run's deadline where the run
   would continue with what the agent has done. */
static bool outranks(const struct stop_request *request, const struct run_row *run)
{
    return pull_ending(run) != NULL && (request->kind == RUN_STOP_CANCEL || pull_is_cut_off(run));
}

enum rc stop_run(struct context *ctx, struct flow *flow, const struct stop_request *request,
                 bool *ret_stopping)
{
    struct job_row job;
    bool has_job;
    enum rc rc = load_job(ctx, flow, &job, &has_job);
    if (rc != RC_OK)
        return rc;
    bool leased = has_job && job.life.state == JOB_LEASED;
    *ret_stopping = leased;
    bool asked = leased && flow->run.stop != RUN_STOP_NONE;
    if (asked && !outranks(request, &flow->run))
        return RC_OK;
    flow->run.stop = request->kind;
    flow->run.stop_by = request->by;
    flow->run.stop_reason = request->reason;
    flow->run.stop_us = ctx->now_us;
    if (!leased)
        return end_now(ctx, flow, has_job ? &job : NULL);
    rc = ask_worker(ctx, flow);
    return rc == RC_OK ? flow_save(ctx, flow) : rc;
}

enum rc stop_by_force(struct context *ctx, struct flow *flow)
{
    if (flow->run.stop == RUN_STOP_NONE)
        return RC_OK;
    struct job_row job;
    bool has_job;
    enum rc rc = load_job(ctx, flow, &job, &has_job);
    return rc == RC_OK ? end_now(ctx, flow, has_job ? &job : NULL) : rc;
}

enum rc stop_failed(struct context *ctx, const struct id *run_id, const struct failure *why)
{
    CLEANUP(flow_release) struct flow flow = {0};
    struct job_row job;
    bool has_job = false;
    enum rc rc = flow_load(ctx, run_id, &flow);
    if (rc != RC_OK || run_is_terminal(flow.run.status))
        return rc;
    rc = load_job(ctx, &flow, &job, &has_job);
    if (rc == RC_OK && has_job && !job_is_settled(job.life.state))
        rc = settle_cancel(ctx, &job);
    if (rc != RC_OK)
        return rc;
    struct ending ending = {
        .event = RUN_EV_FAIL,
        .code = "control_error",
        .message = arena_printf(ctx->arena, "The run cannot go on: %s", failure_text(ctx, why)),
    };
    rc = id_is_none(&flow.run.pull_request_id)
             ? flow_end(ctx, &flow, &ending)
             : flow_end_published(ctx, &flow, ending.code, ending.message);
    return rc == RC_OK ? flow_save(ctx, &flow) : rc;
}

/* ---- the command ---- */

static enum rc apply_cancel(struct context *ctx, struct command *command)
{
    struct cmd_cancel *cmd = (struct cmd_cancel *)command;
    CLEANUP(flow_release) struct flow flow = {0};
    enum rc rc = flow_load_latest(ctx, &cmd->task_id, &flow);
    if (rc != RC_OK)
        return rc;
    if (run_is_terminal(flow.run.status))
        return err_set(ctx->err, RC_CONFLICT, "TASK_FINISHED",
                       "task %s is %s already and cannot be cancelled", cmd->task_id.text,
                       task_status_name(flow.task.status));
    struct stop_request request = {
        .kind = RUN_STOP_CANCEL, .by = ctx->actor.id, .reason = cmd->reason};
    rc = stop_run(ctx, &flow, &request, &cmd->stopping);
    cmd->status = flow.task.status;
    return rc;
}

static void cancel_names(const struct command *command, struct read_ahead *read_ahead)
{
    read_ahead_owner(read_ahead, &((const struct cmd_cancel *)command)->task_id);
}

static const struct command_ops cancel_ops = {
    .name = "cancel", .apply = apply_cancel, .names = cancel_names};

struct cmd_cancel *cmd_cancel_new(void)
{
    return command_new(&cancel_ops, sizeof(struct cmd_cancel));
}

/* The codes of the limits that stop a run; a run keeps the name of the limit. */
static const char *code_of_limit(const char *limit)
{
    for (int i = 0; i < MEASURE_COUNT; i++)
        if (text_same(limit, budget_measure_limit((enum budget_measure)i)))
            return budget_measure_code((enum budget_measure)i);
    if (text_same(limit, RUN_BATCH_LIMIT))
        return RUN_BATCH_CODE;
    return "cost_budget_exceeded";
}

static enum rc end_for_budget(struct context *ctx, struct flow *flow)
{
    struct ending ending = {.event = RUN_EV_FAIL,
                            .code = code_of_limit(flow->run.stop_by),
                            .message = flow->run.stop_reason};
    if (!id_is_none(&flow->run.pull_request_id))
        return flow_end_published(ctx, flow, ending.code, ending.message);
    return flow_end(ctx, flow, &ending);
}

enum rc flow_end_stopped(struct context *ctx, struct flow *flow)
{
    assert(flow->run.stop != RUN_STOP_NONE);
    const struct ending *limit = pull_ending(&flow->run);
    if (limit != NULL)
        return pull_is_cut_off(&flow->run) ? pull_collect(ctx, flow) : flow_end(ctx, flow, limit);
    if (flow->run.stop == RUN_STOP_BUDGET)
        return end_for_budget(ctx, flow);
    bool cancel = flow->run.stop == RUN_STOP_CANCEL;
    const char *by = flow->run.stop_by != NULL ? flow->run.stop_by : "drover";
    const char *why = flow->run.stop_reason;
    if (!cancel && !id_is_none(&flow->run.pull_request_id))
        return flow_end_published(ctx, flow, "run_timed_out", why);
    struct ending ending = {
        .event = cancel ? RUN_EV_CANCEL : RUN_EV_TIME_OUT,
        .code = cancel ? "cancelled" : "run_timed_out",
        .message = !cancel       ? why
                   : why != NULL ? arena_printf(ctx->arena, "Cancelled by %s: %s", by, why)
                                 : arena_printf(ctx->arena, "Cancelled by %s", by),
    };
    return flow_end(ctx, flow, &ending);
}
