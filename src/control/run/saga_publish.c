#include "control/run/saga_publish.h"
#include "base/log.h"
#include "control/messaging/saga_flow.h"
#include "control/run/assignment.h"
#include "core/event_types.h"
#include "core/publish_parts.h"
#include "store/events.h"
#include <assert.h>

enum { REPORTS_MAX = 100, DEFINITION_BYTES_MAX = 8 * 1024 };

/* How far the publish came.  A step of the saga is a part that was reported, or may have been done
   by a worker that did not report. */
struct undoing {
    const struct job_row *publish;
    struct publish_parts steps;
    bool reported[PART_COUNT]; /* Of steps.items. */
};

/* ---- what is known ---- */

static int last_part(const struct publish_parts *parts)
{
    return parts->count > 0 ? (int)parts->items[parts->count - 1].part : -1;
}

/* The failure that came furthest, of all attempts.  *ret_reports: how many were reported. */
static enum rc read_reports(struct context *ctx, const struct id *run_id,
                            struct publish_parts *ret_parts, int64_t *ret_reports)
{
    const struct event_filter filter = {
        .run_id = *run_id, .type_pattern = EV_PR_CREATION_FAILED, .limit = REPORTS_MAX};
    struct event *events = NULL;
    size_t count = 0;
    enum rc rc = events_list(ctx->db, &filter, ctx->arena, &events, &count, ctx->err);
    *ret_parts = (struct publish_parts){.count = 0};
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        CLEANUP(js_freep) struct js *data = NULL;
        struct publish_parts parts;
        if (js_parse(events[i].data.at, events[i].data.len, &data, NULL) != RC_OK)
            continue;
        publish_parts_read(js_get(data, "parts"), &parts);
        for (size_t at = 0; at < parts.count; at++) {
            const char *detail = parts.items[at].detail;
            parts.items[at].detail = detail != NULL ? arena_strdup(ctx->arena, detail) : NULL;
        }
        if (last_part(&parts) >= last_part(ret_parts))
            *ret_parts = parts;
    }
    *ret_reports = (int64_t)count;
    return rc;
}

enum rc saga_publish_failed(struct context *ctx, struct flow *flow)
{
    struct publish_parts known;
    int64_t reports = 0;
    enum rc rc = read_reports(ctx, &flow->run.id, &known, &reports);
    if (rc != RC_OK || reports > 0)
        return rc;
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "branch", flow->run.branch);
    jw_kraw(&body.jw, "parts", STR("[]")); /* Which were done is not known. */
    jw_optstr(&body.jw, "errorCode", flow->run.error_code);
    jw_optstr(&body.jw, "errorMessage", flow->run.error_message);
    return flow_emit(ctx, flow, EV_PR_CREATION_FAILED, &body);
}

/* Every worker that had the job has reported where it failed.  Else one may have done all of it and
   died before its result was recorded. */
static bool is_certain(const struct job_row *publish, int64_t reports)
{
    return publish->life.epoch == publish->life.attempt && publish->life.attempt == reports;
}

static enum rc find_steps(struct context *ctx, const struct id *run_id, struct undoing *undoing)
{
    struct publish_parts known;
    int64_t reports = 0;
    size_t at = 0;
    enum rc rc = read_reports(ctx, run_id, &known, &reports);
    if (rc != RC_OK)
        return rc;
    bool certain = is_certain(undoing->publish, reports) && known.count > 0;
    for (int part = 0; part < PART_COUNT; part++) {
        bool reported = at < known.count && (int)known.items[at].part == part;
        bool possible = !certain &&
                        (part == PART_RECORDED || publish_part_undone((enum publish_part)part));
        if (!reported && !possible)
            continue;
        undoing->reported[undoing->steps.count] = reported;
        struct publish_part_state *step = &undoing->steps.items[undoing->steps.count++];
        *step = reported ? known.items[at] : (struct publish_part_state){.detail = NULL};
        step->part = (enum publish_part)part;
        at += reported;
    }
    return RC_OK;
}

/* ---- the saga ---- */

/* A part that failed may have been done without an answer: so it is undone, too. */
static struct str definition(struct context *ctx, const struct publish_parts *steps)
{
    const struct step_row *publish = step_row(STEP_PUBLISH), *undo = step_row(STEP_UNPUBLISH);
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, DEFINITION_BYTES_MAX);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '[');
    for (size_t i = 0; i < steps->count; i++) {
        jw_begin(&jw, '{');
        jw_kstr(&jw, "name", publish_part_names[steps->items[i].part]);
        jw_kstr(&jw, "queue", publish->queue);
        jw_kstr(&jw, "type", publish->name);
        if (publish_part_undone(steps->items[i].part)) {
            jw_kbool(&jw, "compensateFailed", true);
            jw_key(&jw, "compensation");
            jw_begin(&jw, '{');
            jw_kstr(&jw, "queue", undo->queue);
            jw_kstr(&jw, "type", undo->name);
            jw_end(&jw, '}');
        }
        jw_end(&jw, '}');
    }
    jw_end(&jw, ']');
    assert(!text.overflow);
    return str_of(arena_strdup(ctx->arena, buf_text(&text)));
}

static enum rc open_saga(struct context *ctx, const struct flow *flow,
                         const struct undoing *undoing, struct saga_flow *ret_saga)
{
    ret_saga->row = (struct saga_row){
        .id = context_id(ctx),
        .name = step_row(STEP_PUBLISH)->name,
        .workspace_id = ctx->workspace_id,
        .run_id = flow->run.id,
        .life = {SAGA_RUNNING, SAGA_STEP, (int64_t)undoing->steps.count - 1},
        .job_id = undoing->publish->id,
        .definition = definition(ctx, &undoing->steps),
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

/* ---- its history ---- */

static struct str outcome_of(struct context *ctx, const struct publish_part_state *state)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, DEFINITION_BYTES_MAX);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "outcome", part_outcome_names[state->outcome]);
    jw_optstr(&jw, "detail", state->detail);
    jw_end(&jw, '}');
    return str_of(arena_strdup(ctx->arena, buf_text(&text)));
}

static struct saga_step_row step_of(struct context *ctx, const struct saga_flow *saga,
                                    const struct undoing *undoing, size_t at)
{
    const struct publish_part_state *state = &undoing->steps.items[at];
    bool failed = state->outcome == PART_FAILED, last = at + 1 == undoing->steps.count;
    struct saga_step_row row = {
        .saga_id = saga->row.id,
        .position = (int64_t)at,
        .phase = SAGA_STEP,
        .name = saga->plan.steps[at].name,
        .job_id = undoing->publish->id,
        .status = failed ? "failed" : "succeeded",
        .started_us = undoing->publish->created_us,
        .ended_us = ctx->now_us,
    };
    if (failed) {
        row.error_code = last ? saga->row.error_code : step_row(STEP_PUBLISH)->failure;
        row.error_message = state->detail != NULL ? state->detail : saga->row.error_message;
    } else {
        row.result = outcome_of(ctx, state);
    }
    return row;
}

/* The parts that were reported, the one that failed, and the compensation that has begun. */
static enum rc write_history(struct context *ctx, const struct saga_flow *saga,
                             const struct undoing *undoing)
{
    int64_t no = 0;
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < undoing->steps.count; i++) {
        if (!undoing->reported[i] && i + 1 < undoing->steps.count)
            continue;
        struct saga_step_row row = step_of(ctx, saga, undoing, i);
        row.no = ++no;
        rc = saga_steps_insert(ctx->db, &row, ctx->err);
    }
    return rc == RC_OK ? saga_flow_record(ctx, saga, no + 1) : rc;
}

static enum rc begin_saga(struct context *ctx, const struct flow *flow,
                          const struct undoing *undoing, const struct job_row *unpublish)
{
    CLEANUP(saga_flow_release) struct saga_flow saga = {0};
    struct saga_move move;
    enum rc rc = open_saga(ctx, flow, undoing, &saga);
    if (rc == RC_OK)
        rc = saga_flow_emit(ctx, &saga, EV_SAGA_STARTED, NULL);
    if (rc == RC_OK)
        rc = saga_step(&saga.row.life, &saga.plan, SAGA_EV_STEP_FAILED, &move);
    if (rc != RC_OK)
        return rc;
    saga.row.life = move.next;
    rc = insert_job(ctx, unpublish, &saga);
    if (rc == RC_OK)
        rc = sagas_insert(ctx->db, &saga.row, ctx->err);
    if (rc == RC_OK)
        rc = write_history(ctx, &saga, undoing);
    struct saga_error error = {saga.row.error_code, saga.row.error_message};
    return rc == RC_OK ? saga_flow_emit(ctx, &saga, EV_SAGA_COMPENSATING, &error) : rc;
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
    struct undoing undoing = {.publish = &publish};
    rc = find_steps(ctx, &flow->run.id, &undoing);
    return rc == RC_OK ? begin_saga(ctx, flow, &undoing, &unpublish) : rc;
}
