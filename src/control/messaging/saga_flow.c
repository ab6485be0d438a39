#include "control/messaging/saga_flow.h"
#include "base/jw.h"
#include "control/commit/event_body.h"
#include "control/queue/enqueue.h"
#include "control/queue/intake.h"
#include "core/event_types.h"
#include "core/queue/rank.h"
#include <assert.h>

/* The results of earlier steps, together, in the headers of a job; larger ones are left out. */
enum { RESULTS_BYTES_MAX = 32 * 1024, HEADERS_BYTES_MAX = 128 * 1024 };

void saga_flow_release(struct saga_flow *flow)
{
    js_free(flow->document);
    flow->document = NULL;
}

enum rc saga_flow_plan(struct context *ctx, struct saga_flow *flow)
{
    enum rc rc = js_parse(flow->row.definition.at, flow->row.definition.len, &flow->document,
                          ctx->err);
    if (rc == RC_OK)
        rc = saga_plan_decode(flow->document, ctx->arena, &flow->plan, ctx->err);
    return rc == RC_OK ? RC_OK : err_wrap(ctx->err, RC_CORRUPT, "the stored definition");
}

enum rc saga_flow_load(struct context *ctx, const struct id *saga_id, struct saga_flow *flow)
{
    enum rc rc = sagas_get(ctx->db, saga_id, ctx->arena, &flow->row, ctx->err);
    if (rc == RC_OK)
        rc = saga_flow_plan(ctx, flow);
    if (rc == RC_OK)
        rc = saga_steps_list(ctx->db, saga_id, ctx->arena, &flow->history, &flow->history_count,
                             ctx->err);
    return rc;
}

/* ---- what a job is told ---- */

static size_t result_bytes(const struct saga_flow *flow)
{
    size_t bytes = 0;
    for (size_t i = 0; i < flow->history_count; i++)
        if (flow->history[i].phase == SAGA_STEP)
            bytes += flow->history[i].result.len;
    return bytes;
}

static void write_results(struct jw *jw, const struct saga_flow *flow)
{
    jw_key(jw, "results");
    jw_begin(jw, '{');
    for (size_t i = 0; i < flow->history_count; i++) {
        const struct saga_step_row *step = &flow->history[i];
        if (step->phase == SAGA_STEP && text_same(step->status, "succeeded"))
            jw_kraw(jw, step->name, step->result);
    }
    jw_end(jw, '}');
}

struct str saga_flow_headers(struct context *ctx, const struct saga_flow *flow)
{
    const struct saga *life = &flow->row.life;
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, HEADERS_BYTES_MAX);
    struct jw jw = jw_to(&buf);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "sagaId", flow->row.id.text);
    jw_kstr(&jw, "saga", flow->row.name);
    jw_kstr(&jw, "step", flow->plan.steps[life->position].name);
    jw_kstr(&jw, "phase", saga_phase_name(life->phase));
    if (result_bytes(flow) <= RESULTS_BYTES_MAX)
        write_results(&jw, flow);
    else
        jw_kbool(&jw, "resultsOmitted", true);
    jw_end(&jw, '}');
    assert(!buf.overflow);
    return (struct str){arena_strndup(ctx->arena, buf.data, buf.len), buf.len};
}

/* ---- the log ---- */

static const char *const status_events[SAGA_STATUS_COUNT] = {
    [SAGA_RUNNING] = EV_SAGA_STARTED,     [SAGA_COMPENSATING] = EV_SAGA_COMPENSATING,
    [SAGA_COMPLETED] = EV_SAGA_COMPLETED, [SAGA_COMPENSATED] = EV_SAGA_COMPENSATED,
    [SAGA_STUCK] = EV_SAGA_STUCK,
};

enum rc saga_flow_emit(struct context *ctx, const struct saga_flow *flow, const char *type,
                       const struct saga_error *error)
{
    const struct saga_row *row = &flow->row;
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "sagaId", row->id.text);
    jw_kstr(&body.jw, "name", row->name);
    jw_optstr(&body.jw, "runId", id_or_null(&row->run_id));
    jw_kstr(&body.jw, "step", flow->plan.steps[row->life.position].name);
    jw_kstr(&body.jw, "phase", saga_phase_name(row->life.phase));
    jw_optstr(&body.jw, "jobId", id_or_null(&row->job_id));
    if (error != NULL) {
        jw_optstr(&body.jw, "errorCode", error->code);
        jw_optstr(&body.jw, "errorMessage", error->message);
    }
    struct event event = {
        .type = type,
        .subject = arena_printf(ctx->arena, "saga/%s", row->id.text),
        .correlation_id = row->id,
        .data = event_body_close(&body),
    };
    return context_append(ctx, &event, NULL);
}

/* ---- moving ---- */

/* Of drover's own: one more job like the one before, for another step of the saga.  What it works
   on is the run's, and does not depend on the step. */
static enum rc repeat_job(struct context *ctx, struct saga_flow *flow, const struct job_row *before)
{
    const struct saga *life = &flow->row.life;
    const struct saga_plan_step *step = &flow->plan.steps[life->position];
    const struct saga_call *call = life->phase == SAGA_STEP ? &step->call : &step->compensation;
    const struct job_row job = {
        .id = context_id(ctx),
        .queue = call->queue,
        .type = call->type,
        .workspace_id = before->workspace_id,
        .run_id = before->run_id,
        .payload = before->payload,
        .priority = before->priority,
        .rank = before->rank,
        .headers = saga_flow_headers(ctx, flow),
        .dependency = before->dependency,
        .saga_id = flow->row.id,
        .life = {.state = JOB_QUEUED,
                 .due_us = ctx->now_us,
                 .attempt_max = before->life.attempt_max},
        .created_us = ctx->now_us,
        .updated_us = ctx->now_us,
    };
    flow->row.job_id = job.id;
    context_ready(ctx, job.queue);
    return jobs_insert(ctx->db, &job, ctx->err);
}

static enum rc make_job(struct context *ctx, struct saga_flow *flow)
{
    const struct saga *life = &flow->row.life;
    const struct saga_plan_step *step = &flow->plan.steps[life->position];
    const struct saga_call *call = life->phase == SAGA_STEP ? &step->call : &step->compensation;
    struct job_spec spec = {
        .queue = call->queue,
        .type = call->type,
        .payload = call->payload != NULL ? str_of(js_text(call->payload, ctx->arena)) : STR("null"),
        .priority = PRIORITY_NORMAL,
        .max_attempts = call->max_attempts,
        .headers = saga_flow_headers(ctx, flow),
        .saga_id = flow->row.id,
        .always = true, /* A saga that has begun is completed under any load. */
    };
    struct enqueue_answer answer;
    enum rc rc = enqueue_one(ctx, &spec, &answer);
    if (rc == RC_OK)
        flow->row.job_id = answer.id;
    return rc;
}

/* Does the queue of the first step accept the job?  Those of later steps are not checked. */
static enum rc check_intake(struct context *ctx, const struct saga_flow *flow)
{
    const struct saga_call *call = &flow->plan.steps[0].call;
    struct job_spec spec = {.queue = call->queue, .type = call->type, .priority = PRIORITY_NORMAL};
    struct intake_verdict verdict;
    enum rc rc = intake_decide(ctx, &spec, &verdict);
    if (rc == RC_OK && verdict.dropped)
        rc = intake_refuse(ctx, spec.queue, &verdict);
    if (rc != RC_OK)
        intake_forget(ctx);
    return rc;
}

enum rc saga_flow_record(struct context *ctx, const struct saga_flow *flow, int64_t no)
{
    const struct saga *life = &flow->row.life;
    struct saga_step_row row = {
        .saga_id = flow->row.id,
        .no = no,
        .position = life->position,
        .phase = life->phase,
        .name = flow->plan.steps[life->position].name,
        .job_id = flow->row.job_id,
        .status = "running",
        .started_us = ctx->now_us,
    };
    return saga_steps_insert(ctx->db, &row, ctx->err);
}

enum rc saga_flow_start(struct context *ctx, struct saga_flow *flow)
{
    enum rc rc = check_intake(ctx, flow);
    if (rc == RC_OK)
        rc = make_job(ctx, flow);
    if (rc == RC_OK)
        rc = sagas_insert(ctx->db, &flow->row, ctx->err);
    if (rc == RC_CONFLICT) /* Another lane was faster: tried again, it is a duplicate. */
        return err_wrap(ctx->err, RC_BUSY, "another call brings it just now");
    if (rc == RC_OK)
        rc = saga_flow_record(ctx, flow, 1);
    return rc == RC_OK ? saga_flow_emit(ctx, flow, status_events[flow->row.life.status], NULL) : rc;
}

enum rc saga_flow_move(struct context *ctx, struct saga_flow *flow, enum saga_event event,
                       const struct saga_end *end)
{
    struct saga_row *row = &flow->row;
    enum saga_status before = row->life.status;
    struct saga_move move;
    enum rc rc = saga_step(&row->life, &flow->plan, event, &move);
    if (rc != RC_OK)
        return rc;
    row->life = move.next;
    row->updated_us = ctx->now_us;
    if (saga_is_finished(row->life.status))
        row->ended_us = ctx->now_us;
    bool own = !id_is_none(&row->run_id);
    assert(!own || !move.starts || end->job != NULL);
    if (move.starts)
        rc = own ? repeat_job(ctx, flow, end->job) : make_job(ctx, flow);
    if (rc == RC_OK && move.starts)
        rc = saga_flow_record(ctx, flow, (int64_t)flow->history_count + 1);
    if (rc == RC_OK)
        rc = sagas_save(ctx->db, row, ctx->err);
    if (rc == RC_OK && row->life.status != before)
        rc = saga_flow_emit(ctx, flow, status_events[row->life.status], end->error);
    return rc;
}
