/*
 * approval.c - what a person has to approve, and the run that waits for it.
 *
 *   pending --> approved | rejected   a person (decide.c)
 *      |  +---> expired               timeouts.approvalMs: the run times out
 *      |  +---> cancelled             the run ended otherwise (ending.c)
 *      +--> reminded                  every policy.reminderMs, until one of these
 *
 * The run's clock stands still meanwhile, and its sandbox is free for other runs.
 */
#include "control/run/approval.h"
#include "control/commit/elapsed.h"
#include "control/run/ending.h"
#include "core/event_types.h"
#include "store/approvals.h"
#include "store/patches.h"
#include "store/timers.h"
#include <string.h>

static bool is_about_plan(const char *kind)
{
    return strcmp(kind, "plan") == 0;
}

bool approval_moves_run(const char *kind)
{
    return is_about_plan(kind) || strcmp(kind, "patch") == 0 || strcmp(kind, "override") == 0;
}

/* ---- asking ---- */

/* The agent's summary of its patch, where the question has none. */
static enum rc find_summary(struct context *ctx, struct flow *flow,
                            const struct approval_request *request, const char **ret_summary)
{
    *ret_summary = request->summary;
    if (request->summary != NULL || is_about_plan(request->kind) || id_is_none(&flow->run.patch_id))
        return RC_OK;
    struct patch_row patch;
    enum rc rc = patches_get(ctx->db, &flow->run.patch_id, ctx->arena, &patch, ctx->err);
    if (rc == RC_OK)
        *ret_summary = patch.summary;
    return rc;
}

static enum rc start_reminder(struct context *ctx, const struct approval_row *row,
                              const struct repo_config *config)
{
    const struct reminder reminder = {.kind = TIMER_APPROVAL_REMINDER,
                                      .subject = &row->id,
                                      .since_us = row->requested_us,
                                      .period_ms = config->policy.reminder_ms};
    return reminder_start(ctx, &reminder);
}

static enum rc insert_approval(struct context *ctx, struct flow *flow,
                               const struct approval_request *request, struct approval_row *ret_row)
{
    const struct repo_config *config;
    enum rc rc = flow_config(ctx, flow, &config);
    if (rc != RC_OK)
        return rc;
    struct approval_row row = {
        .id = context_id(ctx),
        .task_id = flow->task.id,
        .run_id = flow->run.id,
        .kind = request->kind,
        .status = "pending",
        .requested_us = ctx->now_us,
        .expires_us = ctx->now_us + config->timeouts.approval_ms * US_PER_MS,
        .question = request->reason,
        .detail = request->detail,
        .artifact_sha256 = is_about_plan(request->kind) ? flow->run.plan_sha256
                                                        : flow->run.patch_sha256,
    };
    rc = find_summary(ctx, flow, request, &row.summary);
    if (rc == RC_OK)
        rc = approvals_insert(ctx->db, &row, ctx->err);
    if (rc == RC_OK)
        rc = timer_start(ctx, TIMER_APPROVAL_EXPIRY, &row.id, row.expires_us);
    if (rc == RC_OK)
        rc = start_reminder(ctx, &row, config);
    *ret_row = row;
    return rc;
}

static enum rc emit_asked(struct context *ctx, struct flow *flow, const struct approval_row *row)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "approvalId", row->id.text);
    jw_kstr(&body.jw, "kind", row->kind);
    jw_kstr(&body.jw, "reason", row->question);
    jw_optstr(&body.jw, "summary", row->summary);
    jw_optstr(&body.jw, "artifactId", row->artifact_sha256);
    if (row->detail.len > 0)
        jw_kraw(&body.jw, "detail", row->detail);
    jw_ktime(&body.jw, "expiresAt", row->expires_us);
    return flow_emit(ctx, flow, EV_APPROVAL_REQUESTED, &body);
}

enum rc approval_ask(struct context *ctx, struct flow *flow, const struct approval_request *request)
{
    struct approval_row row;
    bool plan = is_about_plan(request->kind);
    enum rc rc = insert_approval(ctx, flow, request, &row);
    if (rc == RC_OK)
        rc = flow_move(ctx, flow, plan ? RUN_EV_ASK_PLAN : RUN_EV_ASK, request->reason);
    if (rc != RC_OK)
        return rc;
    flow->run.job_id = (struct id){0};
    ctx->round->admit = true; /* Its sandbox is free. */
    return emit_asked(ctx, flow, &row);
}

/* ---- the timers ---- */

/* RC_OK and *ret_pending false when it was answered meanwhile. */
static enum rc load_pending(struct context *ctx, const struct id *approval_id,
                            struct approval_row *row, struct flow *flow, bool *ret_pending)
{
    struct id run_id;
    enum rc rc = approvals_run_of(ctx->db, approval_id, &run_id, ctx->err);
    if (rc == RC_OK)
        rc = flow_load(ctx, &run_id, flow);
    if (rc == RC_OK)
        rc = approvals_get(ctx->db, approval_id, ctx->arena, row, ctx->err);
    *ret_pending = rc == RC_OK && strcmp(row->status, "pending") == 0;
    return rc;
}

enum rc approval_expired(struct context *ctx, const struct id *approval_id)
{
    struct approval_row row;
    bool pending;
    CLEANUP(flow_release) struct flow flow = {0};
    enum rc rc = load_pending(ctx, approval_id, &row, &flow, &pending);
    if (rc != RC_OK || !pending)
        return rc;
    row.status = "expired";
    row.decided_us = ctx->now_us;
    rc = approvals_save(ctx->db, &row, ctx->err);
    if (rc == RC_OK)
        rc = timers_clear_subject(ctx->db, &row.id, ctx->err);
    if (rc != RC_OK)
        return rc;
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "approvalId", row.id.text);
    jw_kstr(&body.jw, "kind", row.kind);
    rc = flow_emit(ctx, &flow, EV_APPROVAL_EXPIRED, &body);
    struct ending ending = {.event = RUN_EV_TIME_OUT,
                            .code = "approval_expired",
                            .message = "No person decided in time (timeouts.approvalMs)"};
    if (rc == RC_OK)
        rc = flow_end(ctx, &flow, &ending);
    return rc == RC_OK ? flow_save(ctx, &flow) : rc;
}

/* One for each period: the timer is set anew in the transaction that appends the reminder. */
enum rc approval_remind(struct context *ctx, const struct id *approval_id)
{
    struct approval_row row;
    bool pending;
    const struct repo_config *config;
    CLEANUP(flow_release) struct flow flow = {0};
    enum rc rc = load_pending(ctx, approval_id, &row, &flow, &pending);
    if (rc != RC_OK || !pending)
        return rc;
    rc = flow_config(ctx, &flow, &config);
    if (rc != RC_OK || config->policy.reminder_ms == 0)
        return rc;
    row.reminded++;
    rc = approvals_save(ctx->db, &row, ctx->err);
    if (rc == RC_OK)
        rc = start_reminder(ctx, &row, config);
    if (rc != RC_OK)
        return rc;
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "approvalId", row.id.text);
    jw_kstr(&body.jw, "kind", row.kind);
    jw_kint(&body.jw, "count", row.reminded);
    jw_optstr(&body.jw, "summary", row.summary);
    jw_kint(&body.jw, "waitingMs", elapsed_ms(ctx, row.requested_us));
    jw_ktime(&body.jw, "expiresAt", row.expires_us);
    rc = flow_emit(ctx, &flow, EV_APPROVAL_REMINDED, &body);
    return rc == RC_OK ? flow_save_events(ctx, &flow) : rc;
}
