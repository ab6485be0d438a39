/*
 * decide.c - a person approves or rejects; and the forge has merged or closed a pull request.
 */
#include "control/admit/decide.h"
#include "control/run/approval.h"
#include "control/run/ending.h"
#include "control/run/flow.h"
#include "control/run/pipeline.h"
#include "control/run/policies.h"
#include "control/run/results.h"
#include "core/event_types.h"
#include "core/run/policy.h"
#include "store/approvals.h"
#include "store/memories.h"
#include "store/pull_requests.h"
#include "store/timers.h"
#include <string.h>

enum { RULE_PATHS_BYTES = 8 * 1024 };

static enum rc load_pending(struct context *ctx, const struct id *id, struct approval_row *ret_row,
                            struct flow *ret_flow)
{
    struct id run_id;
    enum rc rc = approvals_run_of(ctx->db, id, &run_id, ctx->err);
    if (rc == RC_NOT_FOUND)
        return err_set(ctx->err, rc, "APPROVAL_NOT_FOUND", "there is no approval %s", id->text);
    if (rc == RC_OK)
        rc = flow_load(ctx, &run_id, ret_flow);
    if (rc == RC_OK)
        rc = approvals_get(ctx->db, id, ctx->arena, ret_row, ctx->err);
    if (rc == RC_OK && strcmp(ret_row->status, "pending") != 0)
        return err_set(ctx->err, RC_CONFLICT, "APPROVAL_DECIDED", "approval %s is %s already",
                       id->text, ret_row->status);
    return rc;
}

static bool is_override(const struct approval_row *row)
{
    return strcmp(row->kind, "override") == 0;
}

/* A person who overrides a denial must give a reason. */
static enum rc check_reason(struct context *ctx, const struct approval_row *row,
                            const struct cmd_decide *cmd)
{
    if (!is_override(row) || !cmd->approve || !text_empty(cmd->reason))
        return RC_OK;
    return err_field(ctx->err, RC_INVALID, "MISSING_FIELD", "reason",
                     "approval %s overrides a policy: say why (reason)", row->id.text);
}

static enum rc emit_override(struct context *ctx, struct flow *flow, const struct approval_row *row)
{
    bool approved = strcmp(row->status, "approved") == 0;
    if (approved)
        policies_audit_override(ctx,
                                &(struct policy_override){.policy_id = POLICY_FORBIDDEN_PATHS,
                                                          .resource_type = "patch",
                                                          .resource_id = flow->run.patch_id.text,
                                                          .reason = row->reason});
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "approvalId", row->id.text);
    jw_kstr(&body.jw, "policyId", POLICY_FORBIDDEN_PATHS);
    jw_kstr(&body.jw, "resourceType", "patch");
    jw_kstr(&body.jw, "resourceId", flow->run.patch_id.text);
    jw_kstr(&body.jw, "actor", row->decided_by);
    jw_kstr(&body.jw, "reason", row->reason);
    return flow_emit(ctx, flow,
                     approved ? EV_POLICY_OVERRIDE_APPROVED : EV_POLICY_OVERRIDE_REJECTED, &body);
}

static enum rc close_approval(struct context *ctx, struct flow *flow, struct approval_row *row,
                              const struct cmd_decide *cmd)
{
    row->status = cmd->approve ? "approved" : "rejected";
    row->decided_by = ctx->actor.id;
    row->reason = cmd->reason;
    row->decided_us = ctx->now_us;
    enum rc rc = approvals_save(ctx->db, row, ctx->err);
    if (rc == RC_OK)
        rc = timers_clear_subject(ctx->db, &row->id, ctx->err);
    if (rc != RC_OK)
        return rc;
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "approvalId", row->id.text);
    jw_kstr(&body.jw, "kind", row->kind);
    jw_kstr(&body.jw, "actor", row->decided_by);
    jw_optstr(&body.jw, "reason", row->reason);
    rc = flow_emit(ctx, flow, cmd->approve ? EV_APPROVAL_APPROVED : EV_APPROVAL_REJECTED, &body);
    return rc == RC_OK && is_override(row) ? emit_override(ctx, flow, row) : rc;
}

/* The run with the denied patch continues from where it was stopped. */
static enum rc go_on_overridden(struct context *ctx, struct flow *flow)
{
    flow->run.overridden = policy_list_add(flow->run.overridden, POLICY_FORBIDDEN_PATHS,
                                           ctx->arena);
    enum rc rc = flow_move(ctx, flow, RUN_EV_OVERRIDE, "A person has overridden the policy");
    return rc == RC_OK ? pipeline_next(ctx, flow) : rc;
}

static enum rc go_on(struct context *ctx, struct flow *flow, const struct approval_row *row)
{
    ctx->round->admit = true; /* One question fewer is open. */
    if (strcmp(row->kind, "plan") == 0)
        return pipeline_plan_approved(ctx, flow);
    if (is_override(row))
        return go_on_overridden(ctx, flow);
    return pipeline_accept(ctx, flow);
}

static enum rc end_rejected(struct context *ctx, struct flow *flow, const struct approval_row *row)
{
    struct ending ending = {
        .event = RUN_EV_FAIL,
        .code = is_override(row) ? POLICY_FORBIDDEN_CODE : "approval_rejected",
        .message = row->reason != NULL
                       ? arena_printf(ctx->arena, "Rejected by %s: %s", row->decided_by,
                                      row->reason)
                       : arena_printf(ctx->arena, "Rejected by %s", row->decided_by),
    };
    return flow_end(ctx, flow, &ending);
}

/* What a reviewer has corrected, and a person has agreed to, is told to later runs. */
static enum rc keep_rule(struct context *ctx, const struct flow *flow,
                         const struct approval_row *row)
{
    CLEANUP(js_freep) struct js *detail = NULL;
    enum rc rc = js_parse(row->detail.at, row->detail.len, &detail, ctx->err);
    if (rc != RC_OK)
        return rc;
    const char *path = js_get_str(detail, "path", NULL);
    struct memory_row memory = {
        .id = context_id(ctx),
        .workspace_id = flow->task.workspace_id,
        .repository_id = flow->task.repository_id,
        .task_id = flow->task.id,
        .run_id = flow->run.id,
        .outcome = "rule",
        .summary = arena_printf(ctx->arena, "Rule from a review (%s), agreed to by %s: %s",
                                js_get_str(detail, "source", "unknown"), row->decided_by,
                                row->summary),
        .created_us = ctx->now_us,
    };
    CLEANUP(buf_release) struct buf paths;
    buf_init(&paths, RULE_PATHS_BYTES);
    struct jw jw = jw_to(&paths);
    jw_begin(&jw, '[');
    if (path != NULL)
        jw_str(&jw, path);
    jw_end(&jw, ']');
    memory.paths = buf_str(&paths);
    return memories_insert(ctx->db, &memory, ctx->err);
}

/* No run waits for it: the shepherd of the pull request does, or nothing. */
static enum rc go_on_beside(struct context *ctx, struct flow *flow, const struct approval_row *row)
{
    if (strcmp(row->kind, "rule") != 0)
        return timer_start(ctx, TIMER_SHEPHERD, &flow->run.pull_request_id, ctx->now_us);
    return strcmp(row->status, "approved") == 0 ? keep_rule(ctx, flow, row) : RC_OK;
}

static enum rc apply_decide(struct context *ctx, struct command *command)
{
    struct cmd_decide *cmd = (struct cmd_decide *)command;
    struct approval_row row;
    CLEANUP(flow_release) struct flow flow = {0};
    enum rc rc = load_pending(ctx, &cmd->approval_id, &row, &flow);
    if (rc == RC_OK)
        rc = check_reason(ctx, &row, cmd);
    if (rc != RC_OK)
        return rc;
    cmd->run_id = row.run_id;
    rc = close_approval(ctx, &flow, &row, cmd);
    if (rc == RC_OK && !approval_moves_run(row.kind))
        rc = go_on_beside(ctx, &flow, &row);
    else if (rc == RC_OK)
        rc = cmd->approve ? go_on(ctx, &flow, &row) : end_rejected(ctx, &flow, &row);
    return rc == RC_OK ? flow_save(ctx, &flow) : rc;
}

static const struct command_ops decide_ops = {.name = "decide", .apply = apply_decide};

struct cmd_decide *cmd_decide_new(void)
{
    return command_new(&decide_ops, sizeof(struct cmd_decide));
}

/* ---- the end of a pull request ---- */

static enum rc load_pull_request(struct context *ctx, const struct id *id,
                                 struct pull_request_row *ret_row, struct flow *ret_flow)
{
    struct id run_id;
    enum rc rc = pull_requests_run_of(ctx->db, id, &run_id, ctx->err);
    if (rc == RC_NOT_FOUND)
        return err_set(ctx->err, rc, "PULL_REQUEST_NOT_FOUND", "there is no pull request %s",
                       id->text);
    if (rc == RC_OK)
        rc = flow_load(ctx, &run_id, ret_flow);
    return rc == RC_OK ? pull_requests_get(ctx->db, id, ctx->arena, ret_row, ctx->err) : rc;
}

/* Its run keeps its status: what it had to do is done. */
static enum rc end_pull_request(struct context *ctx, struct flow *flow,
                                struct pull_request_row *row, const char *event,
                                struct event_body *body)
{
    row->updated_us = ctx->now_us;
    enum rc rc = pull_requests_save(ctx->db, row, ctx->err);
    if (rc != RC_OK)
        return rc;
    ctx->round->admit = true; /* A cap on open pull requests may have held others back. */
    rc = flow_emit(ctx, flow, event, body);
    return rc == RC_OK ? flow_save(ctx, flow) : rc;
}

static void note_pull_request(struct event_body *body, const struct pull_request_row *row)
{
    event_body_open(body);
    jw_kstr(&body->jw, "pullRequestId", row->id.text);
    jw_kint(&body->jw, "number", row->number);
}

enum rc decide_merged(struct context *ctx, struct flow *flow, struct pull_request_row *row,
                      const char *merge_commit)
{
    row->status = "merged";
    row->draft = false;
    row->merge_commit = merge_commit;
    row->merged_us = ctx->now_us;
    CLEANUP(event_body_release) struct event_body body;
    note_pull_request(&body, row);
    jw_kstr(&body.jw, "mergeCommit", row->merge_commit);
    return end_pull_request(ctx, flow, row, EV_PR_MERGED, &body);
}

/* Its shepherd, if it has one, has nothing more to do. */
static enum rc tell_shepherd(struct context *ctx, const struct id *pull_request_id)
{
    return timer_start(ctx, TIMER_SHEPHERD, pull_request_id, ctx->now_us);
}

static enum rc apply_merged(struct context *ctx, struct command *command)
{
    struct cmd_merged *cmd = (struct cmd_merged *)command;
    struct pull_request_row row;
    CLEANUP(flow_release) struct flow flow = {0};
    enum rc rc = load_pull_request(ctx, &cmd->pull_request_id, &row, &flow);
    if (rc != RC_OK || strcmp(row.status, "merged") == 0)
        return rc; /* Recorded already: the same answer again. */
    rc = decide_merged(ctx, &flow, &row, cmd->merge_commit);
    return rc == RC_OK ? tell_shepherd(ctx, &row.id) : rc;
}

static const struct command_ops merged_ops = {.name = "merged", .apply = apply_merged};

struct cmd_merged *cmd_merged_new(void)
{
    return command_new(&merged_ops, sizeof(struct cmd_merged));
}

enum rc decide_closed(struct context *ctx, struct flow *flow, struct pull_request_row *row,
                      const char *reason)
{
    row->status = "closed";
    CLEANUP(event_body_release) struct event_body body;
    note_pull_request(&body, row);
    jw_kstr(&body.jw, "actor", ctx->actor.id);
    jw_kstr(&body.jw, "reason", reason);
    return end_pull_request(ctx, flow, row, EV_PR_CLOSED, &body);
}

static enum rc apply_closed(struct context *ctx, struct command *command)
{
    struct cmd_closed *cmd = (struct cmd_closed *)command;
    struct pull_request_row row;
    CLEANUP(flow_release) struct flow flow = {0};
    enum rc rc = load_pull_request(ctx, &cmd->pull_request_id, &row, &flow);
    if (rc != RC_OK || strcmp(row.status, "closed") == 0)
        return rc; /* As above. */
    if (strcmp(row.status, "open") != 0)
        return err_set(ctx->err, RC_CONFLICT, "PULL_REQUEST_NOT_OPEN", "pull request #%lld is %s",
                       (long long)row.number, row.status);
    rc = decide_closed(ctx, &flow, &row, cmd->reason);
    return rc == RC_OK ? tell_shepherd(ctx, &row.id) : rc;
}

static const struct command_ops closed_ops = {.name = "closed", .apply = apply_closed};

struct cmd_closed *cmd_closed_new(void)
{
    return command_new(&closed_ops, sizeof(struct cmd_closed));
}
