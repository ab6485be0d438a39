#include "control/run/pause.h"
#include "control/queue/settle.h"
#include "core/event_types.h"
#include "core/run/admission.h"

enum rc steer_load(struct context *ctx, const struct id *run_id, struct flow *ret_flow)
{
    enum rc rc = flow_load(ctx, run_id, ret_flow);
    if (rc == RC_NOT_FOUND)
        return err_set(ctx->err, rc, "RUN_NOT_FOUND", "there is no run %s", run_id->text);
    return rc;
}

enum rc steer_check(struct context *ctx, const struct flow *flow, const char *to_do)
{
    const struct run_row *run = &flow->run;
    if (run_is_terminal(run->status))
        return err_set(ctx->err, RC_CONFLICT, "RUN_FINISHED", "run %s is %s already and cannot %s",
                       run->id.text, run_status_name(run->status), to_do);
    if (run->stop != RUN_STOP_NONE)
        return err_set(ctx->err, RC_CONFLICT, "RUN_STOPPING",
                       "run %s is %s and about to end: it cannot %s", run->id.text,
                       run_status_name(run->status), to_do);
    return RC_OK;
}

static enum rc emit(struct context *ctx, struct flow *flow, const char *type,
                    const struct cmd_pause *cmd, int64_t paused_us)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "runId", flow->run.id.text);
    jw_kstr(&body.jw, "status", run_status_name(flow->run.status));
    jw_kstr(&body.jw, "actor", ctx->actor.id);
    jw_optstr(&body.jw, "reason", cmd->reason);
    if (paused_us > 0)
        jw_kint(&body.jw, "pausedMs", paused_us / US_PER_MS);
    return flow_emit(ctx, flow, type, &body);
}

static enum rc apply_pause(struct context *ctx, struct command *command)
{
    struct cmd_pause *cmd = (struct cmd_pause *)command;
    CLEANUP(flow_release) struct flow flow = {0};
    enum rc rc = steer_load(ctx, &cmd->run_id, &flow);
    if (rc == RC_OK)
        rc = steer_check(ctx, &flow, "be paused");
    if (rc == RC_OK && flow.run.paused_us == 0) {
        flow.run.paused_us = ctx->now_us;
        flow.run.paused_by = ctx->actor.id;
        rc = emit(ctx, &flow, EV_RUN_PAUSED, cmd, 0);
        if (rc == RC_OK)
            rc = run_clock_settle(ctx, &flow.run);
        if (rc == RC_OK)
            rc = flow_save(ctx, &flow);
    }
    cmd->run = flow.run;
    return rc;
}

/* The job that was kept from workers. */
static enum rc release_job(struct context *ctx, const struct run_row *run)
{
    struct job_row job;
    if (id_is_none(&run->job_id))
        return RC_OK;
    enum rc rc = jobs_get(ctx->db, &run->job_id, ctx->arena, &job, ctx->err);
    bool held = rc == RC_OK && job.life.state == JOB_SCHEDULED && job.life.due_us == JOB_HELD_US;
    return held ? settle_due(ctx, &job) : rc;
}

/* Admission gives the next reason, if there is one. */
static void explain_anew(struct context *ctx, struct flow *flow)
{
    ctx->round->admit = true;
    if (!text_same(flow->run.deferred_reason, admission_reason(CHECK_PAUSED)))
        return;
    flow->run.deferred_reason = flow->run.deferred_detail = NULL;
    flow->task.status = task_status_of(flow->run.status, false);
}

static enum rc go_on(struct context *ctx, struct flow *flow, const struct cmd_pause *cmd)
{
    int64_t paused_us = ctx->now_us - flow->run.paused_us;
    flow->run.paused_us = 0;
    flow->run.paused_by = NULL;
    enum rc rc = emit(ctx, flow, EV_RUN_RESUMED, cmd, paused_us);
    if (rc == RC_OK)
        rc = run_clock_settle(ctx, &flow->run);
    if (rc == RC_OK)
        rc = release_job(ctx, &flow->run);
    if (rc == RC_OK && flow->run.status == RUN_QUEUED)
        explain_anew(ctx, flow);
    return rc == RC_OK ? flow_save(ctx, flow) : rc;
}

static enum rc apply_resume(struct context *ctx, struct command *command)
{
    struct cmd_pause *cmd = (struct cmd_pause *)command;
    CLEANUP(flow_release) struct flow flow = {0};
    enum rc rc = steer_load(ctx, &cmd->run_id, &flow);
    if (rc == RC_OK && run_is_terminal(flow.run.status))
        rc = steer_check(ctx, &flow, "be resumed");
    if (rc == RC_OK && flow.run.paused_us > 0)
        rc = go_on(ctx, &flow, cmd);
    cmd->run = flow.run;
    return rc;
}

static const struct command_ops pause_ops = {.name = "pause", .apply = apply_pause};
static const struct command_ops resume_ops = {.name = "resume", .apply = apply_resume};

struct cmd_pause *cmd_pause_new(void)
{
    return command_new(&pause_ops, sizeof(struct cmd_pause));
}

struct cmd_pause *cmd_resume_new(void)
{
    return command_new(&resume_ops, sizeof(struct cmd_pause));
}
