#include "control/messaging/sagas.h"
#include "control/messaging/saga_flow.h"
#include "control/queue/settle.h"
#include <assert.h>

/* ---- the end of a job ---- */

static struct saga_error error_of(const struct job_row *job)
{
    if (job->life.state == JOB_SUCCEEDED)
        return (struct saga_error){0};
    bool cancelled = job->life.state == JOB_CANCELLED;
    const char *code = job->error_code;
    if (code == NULL)
        code = cancelled ? "cancelled" : dead_reason_name(job->life.dead_reason);
    const char *message = job->error_message;
    if (message == NULL && cancelled)
        message = "Cancelled before it was taken";
    return (struct saga_error){code, message};
}

/* Records how the job ended, in the store and in the history in memory. */
static enum rc close_record(struct context *ctx, struct saga_flow *flow, const struct job_row *job,
                            const struct saga_error *error)
{
    for (size_t i = flow->history_count; i-- > 0;) {
        struct saga_step_row *step = &flow->history[i];
        if (!id_same(&step->job_id, &job->id) || step->phase != flow->row.life.phase)
            continue;
        bool succeeded = job->life.state == JOB_SUCCEEDED;
        step->status = succeeded ? "succeeded" : "failed";
        step->result = succeeded ? job->result : (struct str){0};
        step->error_code = error->code;
        step->error_message = error->message;
        step->ended_us = ctx->now_us;
        return saga_steps_save(ctx->db, step, ctx->err);
    }
    return err_set(ctx->err, RC_CORRUPT, "SAGA_HISTORY", "saga %s does not know its job %s",
                   flow->row.id.text, job->id.text);
}

enum rc saga_job_settled(struct context *ctx, const struct job_row *job)
{
    assert(job_is_settled(job->life.state));
    if (id_is_none(&job->saga_id))
        return RC_OK;
    CLEANUP(saga_flow_release) struct saga_flow flow = {0};
    enum rc rc = saga_flow_load(ctx, &job->saga_id, &flow);
    if (rc == RC_NOT_FOUND)
        return err_set(ctx->err, RC_CORRUPT, "SAGA_MISSING", "job %s has no saga", job->id.text);
    if (rc != RC_OK)
        return rc;
    if (!id_same(&flow.row.job_id, &job->id) || saga_is_finished(flow.row.life.status))
        return RC_OK;
    bool succeeded = job->life.state == JOB_SUCCEEDED;
    struct saga_error error = error_of(job);
    rc = close_record(ctx, &flow, job, &error);
    if (rc != RC_OK)
        return rc;
    /* The first error is kept: it is the cause that people look for. */
    if (!succeeded && flow.row.error_code == NULL) {
        flow.row.error_code = error.code;
        flow.row.error_message = error.message;
    }
    enum saga_event event = saga_event_of(flow.row.life.phase, succeeded);
    rc = saga_flow_move(ctx, &flow, event,
                        &(struct saga_end){.job = job, .error = succeeded ? NULL : &error});
    if (rc == RC_CONFLICT)
        return err_set(ctx->err, RC_CORRUPT, "SAGA_OUT_OF_PLACE",
                       "saga %s is %s and cannot take %s", flow.row.id.text,
                       saga_status_name(flow.row.life.status), saga_event_name(event));
    return rc;
}

enum rc saga_allows_replay(struct context *ctx, const struct job_row *job)
{
    if (id_is_none(&job->saga_id))
        return RC_OK;
    struct saga_row saga;
    enum rc rc = sagas_get(ctx->db, &job->saga_id, ctx->arena, &saga, ctx->err);
    if (rc != RC_OK)
        return rc;
    if (saga.life.status == SAGA_STUCK && id_same(&saga.job_id, &job->id))
        return RC_OK;
    return err_set(ctx->err, RC_CONFLICT, "SAGA_MOVED_ON",
                   "saga %s is %s and has moved on without job %s; start a new saga instead",
                   saga.id.text, saga_status_name(saga.life.status), job->id.text);
}

/* ---- start ---- */

static enum rc find_duplicate(struct context *ctx, struct cmd_saga_start *cmd)
{
    cmd->duplicate = false;
    if (cmd->dedup_key == NULL)
        return RC_OK;
    struct saga_row row;
    enum rc rc = sagas_by_dedup(ctx->db, cmd->name, cmd->dedup_key, ctx->arena, &row, ctx->err);
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    cmd->saga_id = row.id;
    cmd->status = row.life.status;
    cmd->duplicate = true;
    return RC_OK;
}

static enum rc apply_start(struct context *ctx, struct command *command)
{
    struct cmd_saga_start *cmd = (struct cmd_saga_start *)command;
    enum rc rc = find_duplicate(ctx, cmd);
    if (rc != RC_OK || cmd->duplicate)
        return rc;
    CLEANUP(saga_flow_release)
    struct saga_flow flow = {.row = {
                                 .id = context_id(ctx),
                                 .name = cmd->name,
                                 .dedup_key = cmd->dedup_key,
                                 .workspace_id = ctx->workspace_id,
                                 .life = {SAGA_RUNNING, SAGA_STEP, 0},
                                 .definition = cmd->steps,
                                 .created_us = ctx->now_us,
                                 .updated_us = ctx->now_us,
                             }};
    rc = saga_flow_plan(ctx, &flow);
    if (rc == RC_OK)
        rc = saga_flow_start(ctx, &flow);
    cmd->saga_id = cmd->base.made = flow.row.id;
    cmd->status = flow.row.life.status;
    return rc;
}

static const struct command_ops start_ops = {.name = "saga_start", .apply = apply_start};

struct cmd_saga_start *cmd_saga_start_new(void)
{
    return command_new(&start_ops, sizeof(struct cmd_saga_start));
}

/* ---- cancel ---- */

/* Job and saga, locked in this order: RC_BUSY when the saga moved on since it was seen. */
static enum rc load_with_job(struct context *ctx, const struct saga_row *seen,
                             struct saga_flow *flow, struct job_row *ret_job)
{
    enum rc rc = jobs_get(ctx->db, &seen->job_id, ctx->arena, ret_job, ctx->err);
    if (rc == RC_OK)
        rc = saga_flow_load(ctx, &seen->id, flow);
    if (rc == RC_OK &&
        (!id_same(&flow->row.job_id, &seen->job_id) || flow->row.life.status != seen->life.status))
        return err_set(ctx->err, RC_BUSY, "SAGA_MOVES", "saga %s moves just now", seen->id.text);
    return rc;
}

static enum rc stop_going_on(struct context *ctx, struct saga_flow *flow, const char *reason)
{
    struct saga_row *row = &flow->row;
    struct saga_error error = {
        .code = "cancelled",
        .message = reason != NULL
                       ? arena_printf(ctx->arena, "Cancelled by %s: %s", ctx->actor.id, reason)
                       : arena_printf(ctx->arena, "Cancelled by %s", ctx->actor.id)};
    row->error_code = error.code;
    row->error_message = error.message;
    return saga_flow_move(ctx, flow, SAGA_EV_CANCEL, &(struct saga_end){.error = &error});
}

/* RC_OK: it runs, or is being undone already. */
static enum rc check_open(struct context *ctx, const struct saga_row *saga)
{
    if (saga->life.status == SAGA_STUCK)
        return err_set(ctx->err, RC_CONFLICT, "SAGA_STUCK",
                       "saga %s is being undone and is stuck; replay its dead letter %s",
                       saga->id.text, saga->job_id.text);
    if (saga_is_finished(saga->life.status))
        return err_set(ctx->err, RC_CONFLICT, "SAGA_FINISHED",
                       "saga %s is %s already and cannot be cancelled", saga->id.text,
                       saga_status_name(saga->life.status));
    return RC_OK;
}

static enum rc apply_cancel(struct context *ctx, struct command *command)
{
    struct cmd_saga_cancel *cmd = (struct cmd_saga_cancel *)command;
    struct saga_row saga;
    enum rc rc = sagas_peek(ctx->db, &cmd->saga_id, ctx->arena, &saga, ctx->err);
    if (rc == RC_NOT_FOUND)
        return err_set(ctx->err, rc, "SAGA_NOT_FOUND", "there is no saga %s", cmd->saga_id.text);
    if (rc == RC_OK)
        rc = check_open(ctx, &saga);
    cmd->status = SAGA_COMPENSATING;
    if (rc != RC_OK || saga.life.status == SAGA_COMPENSATING)
        return rc;
    CLEANUP(saga_flow_release) struct saga_flow flow = {0};
    struct job_row job;
    rc = load_with_job(ctx, &saga, &flow, &job);
    if (rc == RC_OK)
        rc = stop_going_on(ctx, &flow, cmd->reason);
    if (rc == RC_OK && job.life.state != JOB_LEASED)
        rc = settle_cancel(ctx, &job); /* Not leased: saga_job_settled continues the saga. */
    if (rc == RC_OK)
        rc = sagas_peek(ctx->db, &cmd->saga_id, ctx->arena, &saga, ctx->err);
    if (rc == RC_OK)
        cmd->status = saga.life.status;
    return rc;
}

static const struct command_ops cancel_ops = {.name = "saga_cancel", .apply = apply_cancel};

struct cmd_saga_cancel *cmd_saga_cancel_new(void)
{
    return command_new(&cancel_ops, sizeof(struct cmd_saga_cancel));
}
