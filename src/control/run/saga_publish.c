#include "control/run/saga_publish.h"
#include "base/log.h"
#include "control/messaging/saga_flow.h"
#include "control/run/assignment.h"
#include "core/event_types.h"
#include <assert.h>

/* A publish that fails may have pushed: so a failed step is compensated, too. */
static const char *definition(struct context *ctx)
{
    const struct step_row *publish = step_row(STEP_PUBLISH), *undo = step_row(STEP_UNPUBLISH);
    return arena_printf(ctx->arena,
                        "[{\"name\":\"%s\",\"queue\":\"%s\",\"type\":\"%s\","
                        "\"compensateFailed\":true,"
                        "\"compensation\":{\"queue\":\"%s\",\"type\":\"%s\"}}]",
                        publish->name, publish->queue, publish->name, undo->queue, undo->name);
}

static enum rc open_saga(struct context *ctx, const struct flow *flow,
                         const struct job_row *publish, struct saga_flow *ret_saga)
{
    ret_saga->row = (struct saga_row){
        .id = context_id(ctx),
        .name = step_row(STEP_PUBLISH)->name,
        .workspace_id = ctx->workspace_id,
        .run_id = flow->run.id,
        .life = {SAGA_RUNNING, SAGA_STEP, 0},
        .job_id = publish->id,
        .definition = str_of(definition(ctx)),
        .error_code = flow->run.error_code,
        .error_message = flow->run.error_message,
        .created_us = ctx->now_us,
        .updated_us = ctx->now_us,
    };
    return saga_flow_plan(ctx, ret_saga);
}

/* At once, also when a lost worker may still be pushing: the compensation moves the run's fence at
   the origin (forge/git/fence.h), and pushes after that are refused. */
static enum rc insert_job(struct context *ctx, const struct job_row *unpublish,
                          struct saga_flow *saga)
{
    struct job_row job = *unpublish;
    job.saga_id = saga->row.id;
    job.headers = saga_flow_headers(ctx, saga);
    context_ready(ctx, job.queue);
    saga->row.job_id = job.id;
    return jobs_insert(ctx->db, &job, ctx->err);
}

/* The step that failed, and the compensation that has begun. */
static enum rc write_history(struct context *ctx, const struct saga_flow *saga,
                             const struct job_row *publish)
{
    struct saga_step_row failed = {
        .saga_id = saga->row.id,
        .no = 1,
        .phase = SAGA_STEP,
        .name = saga->plan.steps[0].name,
        .job_id = publish->id,
        .status = "failed",
        .error_code = saga->row.error_code,
        .error_message = saga->row.error_message,
        .started_us = publish->created_us,
        .ended_us = ctx->now_us,
    };
    enum rc rc = saga_steps_insert(ctx->db, &failed, ctx->err);
    return rc == RC_OK ? saga_flow_record(ctx, saga, 2) : rc;
}

enum rc saga_undo_publish(struct context *ctx, struct flow *flow, const struct id *job_id)
{
    assert(!id_is_none(job_id)); /* A run that publishes is moved by this job. */
    struct job_row publish, unpublish;
    enum rc rc = jobs_get(ctx->db, job_id, ctx->arena, &publish, ctx->err);
    if (rc != RC_OK || publish.life.epoch == 0)
        return rc;
    /* First, since it writes nothing: the run ends, whether what it pushed can be taken back or
       not. */
    if (assignment_make(ctx, flow, STEP_UNPUBLISH, &unpublish) != RC_OK) {
        LOG(LOG_ERROR, "no job can be made to take back what a run has pushed; delete its branch",
            LOG_STR("runId", flow->run.id.text), LOG_STR("branch", flow->run.branch),
            LOG_STR("code", ctx->err->code), LOG_STR("error", ctx->err->text));
        err_clear(ctx->err);
        return RC_OK;
    }
    CLEANUP(saga_flow_release) struct saga_flow saga = {0};
    struct saga_move move;
    rc = open_saga(ctx, flow, &publish, &saga);
    if (rc == RC_OK)
        rc = saga_flow_emit(ctx, &saga, EV_SAGA_STARTED, NULL);
    if (rc == RC_OK)
        rc = saga_step(&saga.row.life, &saga.plan, SAGA_EV_STEP_FAILED, &move);
    if (rc != RC_OK)
        return rc;
    saga.row.life = move.next;
    rc = insert_job(ctx, &unpublish, &saga);
    if (rc == RC_OK)
        rc = sagas_insert(ctx->db, &saga.row, ctx->err);
    if (rc == RC_OK)
        rc = write_history(ctx, &saga, &publish);
    struct saga_error error = {saga.row.error_code, saga.row.error_message};
    return rc == RC_OK ? saga_flow_emit(ctx, &saga, EV_SAGA_COMPENSATING, &error) : rc;
}
