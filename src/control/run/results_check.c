/*
 * results_check.c - what verification means for the run: on, back to the agent, or out.
 */
#include "control/run/assignment.h"
#include "control/run/ending.h"
#include "control/run/pipeline.h"
#include "control/run/results.h"
#include "core/event_types.h"
#include "core/run/retry_rule.h"
#include "store/patches.h"
#include "store/verifications.h"
#include <string.h>

/* ---- repair ---- */

static struct spending spent_so_far(struct context *ctx, const struct run_row *run)
{
    struct spending spending = {
        .cost_microusd = run->cost_microusd,
        .wall_us = run_work_us(run, ctx->now_us),
    };
    memcpy(spending.used, run->used, sizeof spending.used);
    return spending;
}

/* One more of this kind; RC_LIMIT when the budget is used up. */
static enum rc spend(struct context *ctx, struct flow *flow, enum budget_kind kind)
{
    const struct repo_config *config;
    enum rc rc = flow_config(ctx, flow, &config);
    if (rc != RC_OK)
        return rc;
    struct budget budget = config->budget;
    budget.cost_microusd_max = flow->run.budget_microusd;
    struct spending before = spent_so_far(ctx, &flow->run), after;
    rc = budget_spend(&budget, &before, kind, &after, ctx->err);
    if (rc == RC_OK)
        memcpy(flow->run.used, after.used, sizeof flow->run.used);
    return rc;
}

static enum rc give_up(struct context *ctx, struct flow *flow, const struct repair *repair)
{
    if (remote_has_pr(flow)) {
        err_clear(ctx->err);
        return remote_keep_pr(ctx, flow, repair);
    }
    struct ending ending = {
        .event = RUN_EV_FAIL,
        .code = "retry_budget_exhausted",
        .message = arena_printf(ctx->arena, "%s The last failure (%s): %s", ctx->err->text,
                                repair->reason, repair->summary),
    };
    err_clear(ctx->err);
    return flow_end(ctx, flow, &ending);
}

enum rc result_repair(struct context *ctx, struct flow *flow, const struct repair *repair)
{
    if (remote_has_pr(flow))
        return remote_keep_pr(ctx, flow, repair);
    enum rc rc = spend(ctx, flow, BUDGET_AGENT);
    if (rc == RC_LIMIT)
        return give_up(ctx, flow, repair);
    if (rc != RC_OK)
        return rc;
    flow->run.attempt++;
    flow->run.feedback_sha256 = repair->feedback_sha256;
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "reason", repair->reason);
    jw_kint(&body.jw, "attempt", flow->run.attempt);
    jw_kstr(&body.jw, "summary", repair->summary);
    jw_kstr(&body.jw, "feedbackArtifactId", repair->feedback_sha256);
    rc = flow_emit(ctx, flow, EV_RUN_RETRY_WITH_FEEDBACK, &body);
    if (rc == RC_OK)
        rc = flow_move(ctx, flow, RUN_EV_REPAIR, "The failure goes back to the agent");
    return rc == RC_OK ? pipeline_start_agent(ctx, flow) : rc;
}

/* ---- verify ---- */

static const char *const verify_events[VERIFY_STATUS_COUNT] = {
    [VERIFY_PASSED] = EV_VERIFICATION_PASSED,   [VERIFY_FAILED] = EV_VERIFICATION_FAILED,
    [VERIFY_ERRORED] = EV_VERIFICATION_ERRORED, [VERIFY_TIMED_OUT] = EV_VERIFICATION_TIMED_OUT,
    [VERIFY_SKIPPED] = EV_VERIFICATION_SKIPPED,
};

static enum verify_status status_of(const struct js *check)
{
    enum verify_status status;
    return verify_status_parse(js_get_str(check, "status", ""), &status) ? status : VERIFY_ERRORED;
}

static enum rc record_check(struct context *ctx, struct flow *flow, const struct js *check)
{
    enum verify_status status = status_of(check);
    struct verification_row row = {
        .id = context_id(ctx),
        .run_id = flow->run.id,
        .patch_id = flow->run.patch_id,
        .name = js_get_str(check, "name", "check"),
        .command = js_get_str(check, "command", ""),
        .status = status,
        .exit_code = js_get_int(check, "exitCode", -1),
        .category = js_get_str(check, "category", ""),
        .summary = js_get_str(check, "summary", ""),
        .report_sha256 = js_get_str(check, "reportSha256", NULL),
        .duration_ms = js_get_int(check, "durationMs", 0),
        .created_us = ctx->now_us,
    };
    enum rc rc = verifications_insert(ctx->db, &row, ctx->err);
    if (rc != RC_OK)
        return rc;
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "verificationAttemptId", row.id.text);
    jw_kstr(&body.jw, "name", row.name);
    jw_kstr(&body.jw, "verifierName", row.name);
    jw_kstr(&body.jw, "command", row.command);
    jw_kint(&body.jw, "exitCode", row.exit_code);
    jw_optstr(&body.jw, "failureCategory", row.category);
    if (js_get_bool(check, "optional", false))
        jw_kbool(&body.jw, "optional", true);
    jw_optstr(&body.jw, "reportArtifactId", row.report_sha256);
    jw_kint(&body.jw, "durationMs", row.duration_ms);
    jw_kstr(&body.jw, "summary", row.summary);
    return flow_emit(ctx, flow, verify_events[status], &body);
}

struct tally { /* Of the checks that are not optional. */
    int64_t by_status[VERIFY_STATUS_COUNT];
    const char *summary; /* Of the first that did not pass. */
};

static enum rc record_checks(struct context *ctx, struct flow *flow, const struct js *checks,
                             struct tally *ret_tally)
{
    struct tally tally = {.summary = "no summary"};
    bool found = false;
    for (size_t i = 0; i < js_count(checks); i++) {
        const struct js *check = js_at(checks, i);
        enum verify_status status = status_of(check);
        enum rc rc = record_check(ctx, flow, check);
        if (rc != RC_OK)
            return rc;
        if (js_get_bool(check, "optional", false))
            continue;
        tally.by_status[status]++;
        if (!found && status != VERIFY_PASSED && status != VERIFY_SKIPPED) {
            found = true;
            tally.summary = arena_printf(ctx->arena, "%s: %s", js_get_str(check, "name", "check"),
                                         js_get_str(check, "summary", ""));
        }
    }
    *ret_tally = tally;
    return RC_OK;
}

static enum rc accept_verified(struct context *ctx, struct flow *flow, const char *verdict)
{
    enum rc rc = patches_set_status(ctx->db, &flow->run.patch_id, "verified", ctx->err);
    if (rc != RC_OK)
        return rc;
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "patchId", flow->run.patch_id.text);
    jw_kstr(&body.jw, "verdict", verdict);
    jw_kstr(&body.jw, "certificateArtifactId", flow->run.certificate_sha256);
    rc = flow_emit(ctx, flow, EV_PATCH_VERIFIED, &body);
    return rc == RC_OK ? pipeline_next(ctx, flow) : rc;
}

/* A check that could not be run proves nothing about the patch: it is run again. */
static enum rc verify_again(struct context *ctx, struct flow *flow, const struct repair *repair)
{
    enum rc rc = spend(ctx, flow, BUDGET_VERIFIER);
    if (rc == RC_LIMIT)
        return give_up(ctx, flow, repair);
    return rc == RC_OK ? assignment_enqueue(ctx, flow, STEP_VERIFY) : rc;
}

enum rc result_of_verify(struct context *ctx, struct flow *flow, const struct js *result)
{
    struct tally tally;
    enum rc rc = record_checks(ctx, flow, js_get(result, "checks"), &tally);
    if (rc != RC_OK)
        return rc;
    flow->run.certificate_sha256 = arena_strdup(ctx->arena,
                                                js_get_str(result, "certificateSha256", NULL));
    const char *verdict = js_get_str(result, "verdict", "");
    if (strcmp(verdict, "verified") == 0 || strcmp(verdict, "unverifiable") == 0)
        return accept_verified(ctx, flow, verdict);
    bool only_errors = tally.by_status[VERIFY_ERRORED] > 0 &&
                       tally.by_status[VERIFY_FAILED] + tally.by_status[VERIFY_TIMED_OUT] == 0;
    const struct retry_rule *rule = retry_rule_find(
        RETRY_OF_RESULT, only_errors ? "verification_errored" : "verification_failed");
    struct repair repair = {
        .reason = "verification_failed",
        .summary = tally.summary,
        .feedback_sha256 = arena_strdup(ctx->arena, js_get_str(result, "feedbackSha256", NULL)),
    };
    return rule->action == RETRY_AGAIN ? verify_again(ctx, flow, &repair)
                                       : result_repair(ctx, flow, &repair);
}
