/*
 * results_custom.c - the repository's own steps, and the plan.
 */
#include "control/run/approval.h"
#include "control/run/ending.h"
#include "control/run/pipeline.h"
#include "control/run/questions.h"
#include "control/run/results.h"
#include "core/event_types.h"
#include "core/run/policy.h"
#include <string.h>

/* ---- custom steps ---- */

enum { RESULTS_KEPT = 5, RESULTS_BYTES_MAX = 128 * 1024 };

static void write_result(struct jw *jw, const char *name, const struct js *result)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "name", name);
    jw_kstr(jw, "status", js_get_str(result, "status", ""));
    jw_optstr(jw, "error", js_get_str(result, "error", NULL));
    const struct js *metadata = js_get(result, "metadata");
    if (metadata != NULL) {
        jw_key(jw, "metadata");
        js_write(jw, metadata);
    }
    jw_end(jw, '}');
}

/* Later steps receive the results of the last few. */
static enum rc keep_result(struct context *ctx, struct flow *flow, const struct js *result)
{
    CLEANUP(js_freep) struct js *before = NULL;
    struct str stored = flow->run.step_results;
    enum rc rc = RC_OK;
    if (stored.len > 0)
        rc = js_parse(stored.at, stored.len, &before, ctx->err);
    if (rc != RC_OK)
        return err_wrap(ctx->err, RC_CORRUPT, "the results of earlier steps");
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, RESULTS_BYTES_MAX);
    struct jw jw = jw_to(&buf);
    size_t count = js_count(before);
    jw_begin(&jw, '[');
    for (size_t i = count < RESULTS_KEPT ? 0 : count + 1 - RESULTS_KEPT; i < count; i++)
        js_write(&jw, js_at(before, i));
    write_result(&jw, flow->run.step, result);
    jw_end(&jw, ']');
    if (buf.overflow)
        return err_set(ctx->err, RC_TOO_LARGE, "RESULT_TOO_LARGE",
                       "the results of custom steps pass %d bytes", RESULTS_BYTES_MAX);
    flow->run.step_results = (struct str){arena_strndup(ctx->arena, buf.data, buf.len), buf.len};
    return RC_OK;
}

enum rc result_of_custom(struct context *ctx, struct flow *flow, const struct js *result)
{
    enum rc rc = keep_result(ctx, flow, result);
    if (rc != RC_OK || strcmp(js_get_str(result, "status", ""), "success") == 0)
        return rc == RC_OK ? pipeline_next(ctx, flow) : rc;
    const char *message = arena_printf(ctx->arena, "Step %s failed: %s", flow->run.step,
                                       js_get_str(result, "error", "it did not say why"));
    if (!id_is_none(&flow->run.pull_request_id))
        return pipeline_warn_published(ctx, flow, "custom_step_failed", message);
    struct ending ending = {.event = RUN_EV_FAIL, .code = "custom_step_failed", .message = message};
    return flow_end(ctx, flow, &ending);
}

/* ---- plan ---- */

static enum rc emit_plan(struct context *ctx, struct flow *flow, const char *summary)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "runId", flow->run.id.text);
    jw_kstr(&body.jw, "planArtifactId", flow->run.plan_sha256);
    jw_optstr(&body.jw, "summary", summary);
    return flow_emit(ctx, flow, EV_PLAN_CREATED, &body);
}

static enum rc fail_plan(struct context *ctx, struct flow *flow, const struct js *result)
{
    struct ending ending = {
        .event = RUN_EV_FAIL,
        .code = "plan_failed",
        .message = arena_printf(ctx->arena, "The agent could not make a plan: %s",
                                js_get_str(result, "error", "it did not say why")),
    };
    return flow_end(ctx, flow, &ending);
}

enum rc result_of_plan(struct context *ctx, struct flow *flow, const struct js *result)
{
    const struct repo_config *config;
    bool over;
    enum rc rc = flow_config(ctx, flow, &config);
    if (rc == RC_OK)
        rc = result_agent_over(ctx, flow, result, &over);
    if (rc == RC_OK && !over)
        rc = question_of_record(ctx, flow, js_get(result, "question"));
    if (rc != RC_OK || over)
        return rc;
    if (question_is_open(flow))
        return pipeline_resume(ctx, flow); /* It waits for the answer. */
    if (strcmp(js_get_str(result, "report", ""), "error") == 0)
        return fail_plan(ctx, flow, result);
    const char *summary = js_get_str(result, "summary", NULL);
    flow->run.plan_sha256 = arena_strdup(ctx->arena, js_get_str(result, "planSha256", NULL));
    rc = emit_plan(ctx, flow, summary);
    if (rc != RC_OK)
        return rc;
    if (policy_decide(flow->task.mode, flow->task.risk, config->plan.approval) != POLICY_ASK)
        return pipeline_next(ctx, flow);
    struct approval_request request = {
        .kind = "plan", .reason = "The plan waits for a person's approval", .summary = summary};
    return approval_ask(ctx, flow, &request);
}
