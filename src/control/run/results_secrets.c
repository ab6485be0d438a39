/*
 * results_secrets.c - an agent put secrets into its patch: the run ends here.
 *
 * The patch itself has not left the worker, unless the agent has pushed it.  Events have the rule,
 * the path and the line number of a secret, never its text.
 */
#include "control/run/results.h"
#include "core/event_types.h"
#include "core/run/retry_rule.h"
#include <assert.h>

enum { SECRETS_TOLD_MAX = 20 };

static enum rc emit_secret(struct context *ctx, struct flow *flow, const struct js *secret)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kint(&body.jw, "attemptNo", flow->run.attempt);
    jw_kstr(&body.jw, "rule", js_get_str(secret, "rule", "secret"));
    jw_kstr(&body.jw, "path", js_get_str(secret, "path", ""));
    jw_kint(&body.jw, "line", js_get_int(secret, "line", 0));
    return flow_emit(ctx, flow, EV_SECRET_DETECTED, &body);
}

static enum rc emit_flagged(struct context *ctx, struct flow *flow, size_t count)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kint(&body.jw, "attemptNo", flow->run.attempt);
    jw_kstr(&body.jw, "reason", "secret_detected");
    jw_kint(&body.jw, "findingsCount", (int64_t)count);
    return flow_emit(ctx, flow, EV_PATCH_POLICY_FLAGGED, &body);
}

enum rc result_of_secrets(struct context *ctx, struct flow *flow, const struct js *secrets)
{
    size_t count = js_count(secrets);
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < count && i < SECRETS_TOLD_MAX; i++)
        rc = emit_secret(ctx, flow, js_at(secrets, i));
    if (rc == RC_OK)
        rc = emit_flagged(ctx, flow, count);
    if (rc != RC_OK)
        return rc;
    const struct js *first = js_at(secrets, 0);
    const char *more = count > 1 ? arena_printf(ctx->arena, ", and %zu more", count - 1) : "";
    const char *where = remote_has_pr(flow) ? "the pull request that the agent opened shows it"
                                            : "only its worker holds it";
    context_audit(ctx, &(struct audit_entry){
                           .action = "secret.detected",
                           .resource_type = "run",
                           .resource_id = flow->run.id.text,
                           .count = (int64_t)count,
                           .details = audit_details(ctx->batch_arena, "rule",
                                                    js_get_str(first, "rule", "secret"), "path",
                                                    js_get_str(first, "path", NULL), NULL),
                       });
    const char *text = arena_printf(
        ctx->arena, "The patch holds a secret (%s in %s, line %lld%s); %s",
        js_get_str(first, "rule", "secret"), js_get_str(first, "path", "?"),
        (long long)js_get_int(first, "line", 0), more, where);
    const struct retry_rule *rule = retry_rule_find(RETRY_OF_RESULT, "secret_detected");
    assert(rule != NULL);
    return result_stop_for(ctx, flow, rule, text);
}
