/*
 * results_judge.c - the verdicts of the judges, and what they mean for the run.
 *
 *   pass                               on
 *   fail                               back to the agent with all findings, within the budget
 *   needs_human_review, inconclusive   the patch is flagged: a person must approve before it is
 *                                      published, also where policy allows it (advance.c)
 *
 * A finding that retry_rule.c stops for (a secret, malice) ends the run without a repair.
 */
#include "control/run/ending.h"
#include "control/run/pipeline.h"
#include "control/run/quarantine.h"
#include "control/run/results.h"
#include "control/run/usage.h"
#include "core/event_types.h"
#include "core/run/judge.h"
#include "core/run/retry_rule.h"
#include "store/patches.h"
#include <math.h>
#include <string.h>

static const double cost_max_usd = 1e6;

/* ---- telling ---- */

static enum verdict verdict_of(const struct js *judge)
{
    enum verdict verdict;
    bool known = verdict_parse(js_get_str(judge, "verdict", ""), &verdict);
    return known ? verdict : VERDICT_INCONCLUSIVE;
}

static const char *event_of(const struct js *judge)
{
    if (js_get_bool(judge, "errored", false))
        return EV_JUDGE_FAILED;
    return verdict_of(judge) == VERDICT_INCONCLUSIVE ? EV_JUDGE_INCONCLUSIVE : EV_JUDGE_COMPLETED;
}

static enum rc emit_judge(struct context *ctx, struct flow *flow, const struct js *judge)
{
    const struct js *findings = js_get(judge, "findings");
    const struct js *score = js_get(judge, "score");
    int64_t count = js_get_int(judge, "findingsCount", (int64_t)js_count(findings));
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "judgeAttemptId", context_id(ctx).text);
    jw_kstr(&body.jw, "judgeType", js_get_str(judge, "kind", "rules"));
    jw_kstr(&body.jw, "name", js_get_str(judge, "name", "judge"));
    jw_kstr(&body.jw, "patchId", flow->run.patch_id.text);
    jw_kstr(&body.jw, "verdict", verdict_name(verdict_of(judge)));
    if (js_type(score) == JS_INT || js_type(score) == JS_REAL)
        jw_kreal(&body.jw, "score", js_num(score, 0));
    jw_kint(&body.jw, "findingsCount", count);
    jw_optstr(&body.jw, "category", js_get_str(judge, "category", NULL));
    jw_optstr(&body.jw, "problem", js_get_str(judge, "problem", NULL));
    jw_optstr(&body.jw, "reportArtifactId", js_get_str(judge, "reportSha256", NULL));
    if (js_count(findings) > 0)
        jw_kraw(&body.jw, "findings", str_of(js_text(findings, ctx->arena)));
    return flow_emit(ctx, flow, event_of(judge), &body);
}

/* The cost of a judge is added to the run's; its tokens are not: the run counts the agent's. */
static enum rc emit_cost(struct context *ctx, struct flow *flow, const struct js *judge)
{
    const struct js *usage = js_get(judge, "usage");
    if (js_type(usage) != JS_OBJECT)
        return RC_OK;
    double usd = js_num(js_get(usage, "costUsd"), 0);
    bool known = usd > 0 && usd < cost_max_usd;
    if (known)
        flow->run.cost_microusd += (int64_t)llround(usd * 1e6);
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "source", "judge");
    jw_kstr(&body.jw, "name", js_get_str(judge, "name", "judge"));
    jw_kstr(&body.jw, "model", js_get_str(usage, "model", NULL));
    jw_kint(&body.jw, "inputTokens", js_get_int(usage, "inputTokens", 0));
    jw_kint(&body.jw, "outputTokens", js_get_int(usage, "outputTokens", 0));
    if (known)
        jw_kreal(&body.jw, "costUsd", usd);
    usage_write_run(&body.jw, &flow->run);
    return flow_emit(ctx, flow, EV_COST_RECORDED, &body);
}

static enum rc emit_all(struct context *ctx, struct flow *flow, const struct js *judges)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < js_count(judges); i++) {
        rc = emit_judge(ctx, flow, js_at(judges, i));
        if (rc == RC_OK)
            rc = emit_cost(ctx, flow, js_at(judges, i));
    }
    return rc;
}

/* ---- fail ---- */

/* The first finding that no agent may try to repair, or NULL. */
static const struct retry_rule *final_finding(const struct js *findings, const char **ret_text)
{
    for (size_t i = 0; i < js_count(findings); i++) {
        const struct js *finding = js_at(findings, i);
        const struct retry_rule *rule = retry_rule_find(RETRY_OF_RESULT,
                                                        js_get_str(finding, "rule", ""));
        if (rule != NULL && (rule->action == RETRY_STOP || rule->action == RETRY_QUARANTINE)) {
            *ret_text = js_get_str(finding, "text", rule->why);
            return rule;
        }
    }
    return NULL;
}

enum rc result_stop_for(struct context *ctx, struct flow *flow, const struct retry_rule *rule,
                        const char *text)
{
    struct ending ending = {
        .event = RUN_EV_FAIL, .code = rule->code, .message = arena_strdup(ctx->arena, text)};
    enum rc rc = flow_end(ctx, flow, &ending);
    if (rc == RC_OK && rule->action == RETRY_QUARANTINE)
        rc = quarantine_begin(ctx, &flow->task.repository_id, ending.message);
    return rc;
}

struct objections {
    const struct retry_rule *final; /* NULL: the agent may repair it. */
    const char *text;               /* Of that, or of the first finding. */
};

static struct objections weigh(const struct js *judges)
{
    struct objections found = {.text = "the judge did not accept the patch"};
    bool first = true;
    for (size_t i = 0; found.final == NULL && i < js_count(judges); i++) {
        const struct js *judge = js_at(judges, i);
        const struct js *findings = js_get(judge, "findings");
        if (verdict_of(judge) != VERDICT_FAIL)
            continue;
        if (first && js_count(findings) > 0) {
            first = false;
            found.text = js_get_str(js_at(findings, 0), "text", found.text);
        }
        found.final = final_finding(findings, &found.text);
    }
    return found;
}

static enum rc reject_patch(struct context *ctx, struct flow *flow, const struct js *result)
{
    struct objections found = weigh(js_get(result, "judges"));
    enum rc rc = patches_set_status(ctx->db, &flow->run.patch_id, "rejected", ctx->err);
    if (rc != RC_OK)
        return rc;
    struct repair repair = {
        .reason = "judge_failed",
        .summary = found.text,
        .feedback_sha256 = arena_strdup(ctx->arena, js_get_str(result, "feedbackSha256", NULL)),
    };
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "patchId", flow->run.patch_id.text);
    jw_kstr(&body.jw, "reason", repair.summary);
    rc = flow_emit(ctx, flow, EV_PATCH_REJECTED, &body);
    if (rc != RC_OK)
        return rc;
    return found.final != NULL ? result_stop_for(ctx, flow, found.final, found.text)
                               : result_repair(ctx, flow, &repair);
}

/* ---- doubt ---- */

static enum rc flag_patch(struct context *ctx, struct flow *flow, enum verdict verdict)
{
    enum rc rc = patches_set_status(ctx->db, &flow->run.patch_id, "flagged", ctx->err);
    if (rc != RC_OK)
        return rc;
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "patchId", flow->run.patch_id.text);
    jw_kint(&body.jw, "attemptNo", flow->run.attempt);
    jw_kstr(&body.jw, "reason", verdict_name(verdict));
    rc = flow_emit(ctx, flow, EV_PATCH_POLICY_FLAGGED, &body);
    return rc == RC_OK ? pipeline_next(ctx, flow) : rc;
}

/* The lowest score of those that gave one, in thousandths; -1: none did. */
static int64_t lowest_score(const struct js *judges)
{
    double lowest = -1;
    for (size_t i = 0; i < js_count(judges); i++) {
        double score = js_num(js_get(js_at(judges, i), "score"), -1);
        if (score >= 0 && score <= 1 && (lowest < 0 || score < lowest))
            lowest = score;
    }
    return lowest < 0 ? -1 : (int64_t)llround(lowest * 1000);
}

enum rc result_of_judge(struct context *ctx, struct flow *flow, const struct js *result)
{
    enum rc rc = emit_all(ctx, flow, js_get(result, "judges"));
    if (rc != RC_OK)
        return rc;
    flow->run.judge_score_milli = lowest_score(js_get(result, "judges"));
    enum verdict verdict = verdict_of(result);
    if (verdict == VERDICT_FAIL)
        return reject_patch(ctx, flow, result);
    flow->doubts = str_of(
        arena_printf(ctx->arena, "{\"judges\":%s}", js_text(js_get(result, "judges"), ctx->arena)));
    return verdict == VERDICT_PASS ? pipeline_next(ctx, flow) : flag_patch(ctx, flow, verdict);
}
