#include "control/run/policies.h"
#include "control/run/approval.h"
#include "control/run/ending.h"
#include "control/run/names.h"
#include "core/event_types.h"
#include "store/approvals.h"
#include <string.h>

enum { DECISION_BYTES_MAX = 256 * 1024, OVERRIDES_MAX = 20 };

/* ---- telling ---- */

struct str policies_text(const struct policy_decision *decision, struct arena *arena)
{
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, DECISION_BYTES_MAX);
    struct jw jw = jw_to(&buf);
    jw_begin(&jw, '{');
    policy_write(&jw, decision);
    jw_end(&jw, '}');
    return (struct str){str_dup(arena, buf_str(&buf)), buf.len};
}

enum rc policies_emit(struct context *ctx, struct flow *flow,
                      const struct policy_decision *decision)
{
    struct str data = policies_text(decision, ctx->arena);
    enum rc rc = flow_emit_data(ctx, flow, EV_POLICY_EVALUATED, data);
    if (rc == RC_OK && decision->verdict == POLICY_DENY)
        rc = flow_emit_data(ctx, flow, EV_POLICY_DENIED, data);
    return rc;
}

enum rc policies_emit_refused(struct context *ctx, const struct id *task_id,
                              const struct policy_decision *decision)
{
    static const char *const types[] = {EV_POLICY_EVALUATED, EV_POLICY_DENIED};
    struct id cause = {0};
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < COUNT_OF(types); i++) {
        struct event event = {
            .type = types[i],
            .task_id = *task_id,
            .subject = arena_printf(ctx->arena, "task/%s", task_id->text),
            .correlation_id = *task_id,
            .causation_id = cause,
            .data = policies_text(decision, ctx->arena),
        };
        rc = context_append(ctx, &event, &cause);
    }
    return rc;
}

void policies_audit_override(struct context *ctx, const struct policy_override *override)
{
    struct arena *arena = ctx->batch_arena;
    context_audit(ctx, &(struct audit_entry){
                           .action = "policy.override",
                           .resource_type = override->resource_type,
                           .resource_id = override->resource_id,
                           .details = audit_details(arena, "policyId", override->policy_id,
                                                    "reason", override->reason, NULL),
                       });
}

enum rc policies_override_mode(struct context *ctx, struct flow *flow, const char *reason)
{
    policies_audit_override(ctx, &(struct policy_override){.policy_id = POLICY_EXECUTION_MODE,
                                                           .resource_type = "task",
                                                           .resource_id = flow->task.id.text,
                                                           .reason = reason});
    flow->run.overridden = policy_list_add(flow->run.overridden, POLICY_EXECUTION_MODE, ctx->arena);
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "policyId", POLICY_EXECUTION_MODE);
    jw_kstr(&body.jw, "resourceType", "task");
    jw_kstr(&body.jw, "resourceId", flow->task.id.text);
    jw_kstr(&body.jw, "actor", ctx->actor.id);
    jw_kstr(&body.jw, "reason", reason);
    return flow_emit(ctx, flow, EV_POLICY_OVERRIDE_APPROVED, &body);
}

/* ---- publishing ---- */

enum rc policies_on_publish(struct context *ctx, struct flow *flow,
                            enum policy_verdict *ret_verdict)
{
    const struct repo_config *config;
    enum rc rc = flow_config(ctx, flow, &config);
    if (rc != RC_OK)
        return rc;
    struct mode_question question = {
        .resource_type = "patch",
        .resource_id = id_or_null(&flow->run.patch_id),
        .mode = flow->task.mode,
        .risk = flow->task.risk,
        .rule = config->approval,
        .overridden = policy_list_has(flow->run.overridden, POLICY_EXECUTION_MODE),
    };
    struct policy_decision decision = policy_on_mode(&question, ctx->arena);
    *ret_verdict = decision.verdict;
    return policies_emit(ctx, flow, &decision);
}

/* ---- forbidden paths ---- */

static bool names_have(const struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->at[i], name) == 0)
            return true;
    return false;
}

/* Has a person approved these paths before, in this run? */
static enum rc was_passed(struct context *ctx, struct flow *flow, const struct names *wanted,
                          bool *ret_passed)
{
    *ret_passed = false;
    if (!policy_list_has(flow->run.overridden, POLICY_FORBIDDEN_PATHS) ||
        wanted->count == POLICY_PATHS_MAX) /* There may be more than are named. */
        return RC_OK;
    struct waiting_filter filter = {
        .status = "approved", .run_id = flow->run.id, .limit = OVERRIDES_MAX};
    struct approval_row *rows;
    size_t count, passed = 0;
    enum rc rc = approvals_list(ctx->db, &filter, ctx->arena, &rows, &count, ctx->err);
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        struct names seen;
        if (strcmp(rows[i].kind, "override") != 0)
            continue;
        rc = names_read(ctx, rows[i].detail, "details.paths", &seen);
        for (size_t k = 0; rc == RC_OK && k < wanted->count; k++) {
            if (wanted->at[k] != NULL && names_have(&seen, wanted->at[k])) {
                wanted->at[k] = NULL;
                passed++;
            }
        }
    }
    *ret_passed = passed == wanted->count;
    return rc;
}

static enum rc ask_override(struct context *ctx, struct flow *flow,
                            const struct policy_decision *decision)
{
    struct str detail = policies_text(decision, ctx->arena);
    struct approval_request request = {
        .kind = "override",
        .reason = "Policy denies the patch; a person may override it",
        .summary = decision->reason,
        .detail = detail,
    };
    enum rc rc = flow_emit_data(ctx, flow, EV_POLICY_OVERRIDE_REQUESTED, detail);
    return rc == RC_OK ? approval_ask(ctx, flow, &request) : rc;
}

static enum rc deny(struct context *ctx, struct flow *flow, const struct policy_decision *decision)
{
    struct ending ending = {
        .event = RUN_EV_FAIL,
        .code = POLICY_FORBIDDEN_CODE,
        .message = arena_printf(ctx->arena, "Policy " POLICY_FORBIDDEN_PATHS ": %s",
                                decision->reason),
    };
    return flow_end(ctx, flow, &ending);
}

static enum rc flag_patch(struct context *ctx, struct flow *flow,
                          const struct policy_decision *decision)
{
    enum rc rc = policies_emit(ctx, flow, decision);
    if (rc != RC_OK)
        return rc;
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "patchId", flow->run.patch_id.text);
    jw_kstr(&body.jw, "policyId", decision->policy_id);
    jw_kstr(&body.jw, "reasonCode", decision->reason_code);
    jw_kstr(&body.jw, "reason", decision->reason);
    return flow_emit(ctx, flow, EV_PATCH_POLICY_FLAGGED, &body);
}

enum rc policies_on_patch(struct context *ctx, struct flow *flow, int64_t forbidden_count,
                          bool *ret_stopped)
{
    const struct repo_config *config;
    struct names paths;
    bool passed = false;
    *ret_stopped = false;
    enum rc rc = flow_config(ctx, flow, &config);
    if (rc != RC_OK || config->policy.forbidden[0] == NULL)
        return rc;
    rc = names_read(ctx, flow->run.paths, NULL, &paths);
    if (rc != RC_OK)
        return rc;
    struct patch_question question = {
        .patch_id = flow->run.patch_id.text,
        .forbidden = config->policy.forbidden,
        .paths = (const char *const *)paths.at,
        .path_count = paths.count,
        .forbidden_count = forbidden_count,
        .overridable = config->policy.overridable,
    };
    const char *found[POLICY_PATHS_MAX];
    struct names forbidden = {.at = found};
    struct policy_decision decision = policy_on_patch(&question, ctx->arena, found,
                                                      &forbidden.count);
    if (decision.verdict != POLICY_DENY)
        return RC_OK;
    if (forbidden_count <= (int64_t)forbidden.count) /* Else there are more than are named. */
        rc = was_passed(ctx, flow, &forbidden, &passed);
    if (rc != RC_OK || passed)
        return rc;
    *ret_stopped = true;
    rc = flag_patch(ctx, flow, &decision);
    if (rc != RC_OK)
        return rc;
    return question.overridable ? ask_override(ctx, flow, &decision) : deny(ctx, flow, &decision);
}
