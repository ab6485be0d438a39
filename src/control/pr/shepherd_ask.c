/*
 * shepherd_ask.c - what people are asked about a pull request, and what they have decided.
 *
 *   merge      is this head to be merged?   approved: it is; rejected: drover leaves it alone
 *   shepherd   how to go on?                approved: once more, with new budgets; or as above
 *   rule       is this a rule for later     approved: it stands in the prompts of later runs
 *              runs?                        (control/admit/decide.c)
 *
 * They are approvals of the run that opened the pull request, and no run waits for them.  At most
 * one of the first two is open for a pull request; it is about one head, and is cancelled with it.
 */
#include "control/pr/shepherd_flow.h"
#include "core/event_types.h"
#include "core/pr/repair_prompt.h"
#include "core/text/prose.h"
#include "store/timers.h"
#include <string.h>

enum { DETAIL_BYTES_MAX = 8 * 1024, RULE_BYTES_MAX = 600, RULES_MAX = 5 };

static struct str keep_detail(struct context *ctx, const struct buf *buf)
{
    return (struct str){arena_strndup(ctx->arena, buf->data, buf->len), buf->len};
}

static enum rc insert(struct context *ctx, struct shepherding *it, struct approval_row *row)
{
    row->id = context_id(ctx);
    row->task_id = it->flow.task.id;
    row->run_id = it->flow.run.id;
    row->status = "pending";
    row->requested_us = ctx->now_us;
    enum rc rc = approvals_insert(ctx->db, row, ctx->err);
    const struct reminder reminder = {.kind = TIMER_APPROVAL_REMINDER,
                                      .subject = &row->id,
                                      .since_us = row->requested_us,
                                      .period_ms = it->config->policy.reminder_ms};
    if (rc == RC_OK)
        rc = reminder_start(ctx, &reminder);
    if (rc != RC_OK)
        return rc;
    CLEANUP(event_body_release) struct event_body body;
    shepherd_event_open(&body, it);
    jw_kstr(&body.jw, "approvalId", row->id.text);
    jw_kstr(&body.jw, "kind", row->kind);
    jw_kstr(&body.jw, "reason", row->question);
    jw_optstr(&body.jw, "summary", row->summary);
    if (row->detail.len > 0)
        jw_kraw(&body.jw, "detail", row->detail);
    return flow_emit(ctx, &it->flow, EV_APPROVAL_REQUESTED, &body);
}

enum rc shepherd_ask(struct context *ctx, struct shepherding *it, const char *kind,
                     const char *reason)
{
    CLEANUP(buf_release) struct buf detail = {0};
    enum rc rc = shepherd_take_back(ctx, it); /* One question at a time. */
    if (rc != RC_OK)
        return rc;
    buf_init(&detail, DETAIL_BYTES_MAX);
    struct jw jw = jw_to(&detail);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "pullRequestId", it->pr.id.text);
    jw_kint(&jw, "number", it->pr.number);
    jw_kstr(&jw, "url", it->pr.url);
    jw_kstr(&jw, "head", it->row.head);
    jw_kstr(&jw, "state", shepherd_state_name(it->row.state));
    jw_kint(&jw, "repairs", it->row.repairs);
    jw_kint(&jw, "rebases", it->row.rebases);
    jw_kreal(&jw, "costUsd", (double)it->row.repair_microusd / 1e6);
    jw_end(&jw, '}');
    struct approval_row row = {
        .kind = kind,
        .question = arena_strdup(ctx->arena, reason),
        .summary = it->row.fault != NULL
                       ? prose_line(ctx->arena, it->row.fault, RULE_BYTES_MAX)
                       : arena_printf(ctx->arena, "#%lld %s", (long long)it->pr.number,
                                      it->pr.title != NULL ? it->pr.title : ""),
        .detail = keep_detail(ctx, &detail),
    };
    rc = insert(ctx, it, &row);
    it->row.approval_id = row.id;
    it->row.approval_head = it->row.head;
    return rc;
}

enum rc shepherd_take_back(struct context *ctx, struct shepherding *it)
{
    struct approval_row row;
    if (id_is_none(&it->row.approval_id))
        return RC_OK;
    enum rc rc = approvals_get(ctx->db, &it->row.approval_id, ctx->arena, &row, ctx->err);
    it->row.approval_id = (struct id){0};
    it->merge_asked = it->person_asked = false;
    if (rc != RC_OK || strcmp(row.status, "pending") != 0)
        return rc;
    row.status = "cancelled";
    row.decided_us = ctx->now_us;
    rc = approvals_save(ctx->db, &row, ctx->err);
    return rc == RC_OK ? timers_clear_subject(ctx->db, &row.id, ctx->err) : rc;
}

/* A person lets it go on: all budgets are new, and what failed may be repaired once more. */
enum rc shepherd_begin_again(struct context *ctx, struct shepherding *it)
{
    struct shepherd_row *row = &it->row;
    row->repairs = row->rebases = row->reruns = row->verifies = row->merges = 0;
    row->repair_microusd = 0;
    row->budget_since_us = ctx->now_us;
    row->stuck_head = NULL;
    return shepherd_forget_paid(ctx, it);
}

enum rc shepherd_hear(struct context *ctx, struct shepherding *it)
{
    struct approval_row row;
    it->merge_asked = it->person_asked = false;
    if (id_is_none(&it->row.approval_id))
        return RC_OK;
    enum rc rc = approvals_get(ctx->db, &it->row.approval_id, ctx->arena, &row, ctx->err);
    if (rc != RC_OK)
        return rc;
    bool merge = strcmp(row.kind, APPROVAL_MERGE) == 0;
    if (strcmp(row.status, "pending") == 0) {
        it->merge_asked = merge;
        it->person_asked = !merge;
        return RC_OK;
    }
    it->row.approval_id = (struct id){0};
    if (strcmp(row.status, "rejected") == 0)
        it->row.stopped = true;
    if (strcmp(row.status, "approved") != 0)
        return RC_OK;
    if (!merge)
        return shepherd_begin_again(ctx, it);
    it->row.granted_head = it->row.approval_head;
    return RC_OK;
}

/* ---- rules ---- */

static enum rc propose(struct context *ctx, struct shepherding *it,
                       const struct repair_thread *thread)
{
    CLEANUP(buf_release) struct buf detail;
    buf_init(&detail, DETAIL_BYTES_MAX);
    struct jw jw = jw_to(&detail);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "pullRequestId", it->pr.id.text);
    jw_kstr(&jw, "source", it->pr.url);
    jw_optstr(&jw, "thread", thread->id);
    jw_optstr(&jw, "author", thread->author);
    jw_optstr(&jw, "path", thread->path);
    jw_optstr(&jw, "answer", thread->answer);
    jw_end(&jw, '}');
    struct approval_row row = {
        .kind = APPROVAL_RULE,
        .question = "A reviewer has corrected this; is it a rule for later runs?",
        .summary = prose_line(ctx->arena, thread->text, RULE_BYTES_MAX),
        .detail = keep_detail(ctx, &detail),
    };
    return insert(ctx, it, &row);
}

enum rc shepherd_propose_rules(struct context *ctx, struct shepherding *it)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    struct repair_thread *threads;
    if (!it->config->shepherd.learn || it->row.threads.len == 0)
        return RC_OK;
    enum rc rc = js_parse(it->row.threads.at, it->row.threads.len, &tree, ctx->err);
    size_t count = rc == RC_OK ? repair_threads_read(tree, ctx->arena, &threads) : 0;
    for (size_t i = 0; rc == RC_OK && i < count && i < RULES_MAX; i++)
        rc = propose(ctx, it, &threads[i]);
    return rc;
}
