/*
 * shepherd_failures.c - failures of checks, by fingerprint: each is paid for once.
 *
 *   seen first          its cause as core/pr/ci_failure.h classified it
 *   a repair begins     paid + 1
 *   checks are green    cure: rerun at the same head, repair at a later one; paid 0
 *   seen again          cure rerun: flaky.  Paid and not cured: repeated, a person is asked.
 */
#include "control/pr/shepherd_flow.h"
#include "core/event_types.h"
#include "core/pr/ci_failure.h"
#include "core/text/prose.h"
#include <string.h>

enum { FAILURES_BYTES_MAX = 16 * 1024, FAILURES_MAX = 10, LINE_BYTES_MAX = 300 };
#define OWN_CHECK "drover"

/* The row of a fingerprint; *ret_known: there was one. */
static enum rc load(struct context *ctx, const struct shepherding *it, const char *fingerprint,
                    struct ci_failure_row *ret_row, bool *ret_known)
{
    enum rc rc = ci_failures_get(ctx->db, &it->pr.repository_id, fingerprint, ctx->arena, ret_row,
                                 ctx->err);
    *ret_known = rc == RC_OK;
    if (rc != RC_NOT_FOUND)
        return rc;
    err_clear(ctx->err);
    *ret_row = (struct ci_failure_row){
        .repository_id = it->pr.repository_id, .fingerprint = fingerprint, .first_us = ctx->now_us};
    return RC_OK;
}

/* What the store knows of it may change its cause. */
static enum ci_cause cause_with(const struct ci_failure_row *row, enum ci_cause cause)
{
    bool of_patch = cause == CI_PATCH || cause == CI_FLAKY;
    if (of_patch && row->paid > 0 && row->cure == NULL)
        return CI_REPEATED;
    if (cause == CI_PATCH && text_same(row->cure, "rerun"))
        return CI_FLAKY;
    return cause;
}

static enum rc emit(struct context *ctx, struct shepherding *it, const struct js *failure,
                    enum ci_cause cause)
{
    CLEANUP(event_body_release) struct event_body body;
    shepherd_event_open(&body, it);
    jw_kstr(&body.jw, "head", it->row.head);
    jw_kstr(&body.jw, "check", js_get_str(failure, "check", ""));
    jw_kstr(&body.jw, "cause", ci_cause_name(cause));
    jw_optstr(&body.jw, "why", js_get_str(failure, "why", NULL));
    jw_kstr(&body.jw, "fingerprint", js_get_str(failure, "fingerprint", ""));
    jw_optstr(&body.jw, "line", js_get_str(failure, "line", NULL));
    return flow_emit(ctx, &it->flow, EV_PR_CHECK_FAILED, &body);
}

static enum rc take_one(struct context *ctx, struct shepherding *it, const struct js *failure,
                        enum ci_cause *ret_cause)
{
    const char *fingerprint = arena_strdup(ctx->arena, js_get_str(failure, "fingerprint", ""));
    enum ci_cause cause = CI_PATCH;
    struct ci_failure_row row;
    bool known;
    enum rc rc = load(ctx, it, fingerprint, &row, &known);
    if (rc != RC_OK)
        return rc;
    (void)ci_cause_parse(js_get_str(failure, "cause", ""), &cause);
    *ret_cause = known ? cause_with(&row, cause) : cause;
    row.check_name = arena_strdup(ctx->arena, js_get_str(failure, "check", ""));
    row.cause = cause;
    row.line = arena_strdup(ctx->arena, js_get_str(failure, "line", NULL));
    row.pull_request_id = it->pr.id;
    row.seen++;
    row.last_us = ctx->now_us;
    rc = ci_failures_put(ctx->db, &row, ctx->err);
    return rc == RC_OK ? emit(ctx, it, failure, *ret_cause) : rc;
}

enum rc shepherd_take_failures(struct context *ctx, struct shepherding *it,
                               const struct js *failures)
{
    enum ci_cause worst = CI_BASE;
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < js_count(failures) && i < FAILURES_MAX; i++) {
        enum ci_cause cause = CI_PATCH;
        rc = take_one(ctx, it, js_at(failures, i), &cause);
        worst = ci_cause_worse(worst, cause);
    }
    if (rc != RC_OK)
        return rc;
    it->row.cause = worst;
    it->row.failed_head = it->row.head;
    it->row.failures = str_of(js_text(failures, ctx->arena));
    return RC_OK;
}

enum rc shepherd_take_fault(struct context *ctx, struct shepherding *it)
{
    CLEANUP(buf_release) struct buf buf = {0};
    CLEANUP(js_freep) struct js *failures = NULL;
    char fingerprint[SHA256_TEXT_BYTES];
    if (it->row.fault == NULL)
        return RC_OK;
    ci_fingerprint(OWN_CHECK, str_of(it->row.fault), ctx->arena, fingerprint);
    buf_init(&buf, FAILURES_BYTES_MAX);
    struct jw jw = jw_to(&buf);
    jw_begin(&jw, '[');
    jw_begin(&jw, '{');
    jw_kstr(&jw, "check", OWN_CHECK);
    jw_kstr(&jw, "cause", ci_cause_name(CI_PATCH));
    jw_kstr(&jw, "why", "its checks fail on a clean checkout");
    jw_kstr(&jw, "fingerprint", fingerprint);
    jw_kstr(&jw, "line", prose_line(ctx->arena, it->row.fault, LINE_BYTES_MAX));
    jw_end(&jw, '}');
    jw_end(&jw, ']');
    enum rc rc = js_parse(buf_text(&buf), buf.len, &failures, ctx->err);
    return rc == RC_OK ? shepherd_take_failures(ctx, it, failures) : rc;
}

/* Changes every row of the failures that the pull request has. */
static enum rc change(struct context *ctx, struct shepherding *it,
                      void (*edit)(struct ci_failure_row *row, const char *cure), const char *cure)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    if (it->row.failures.len == 0)
        return RC_OK;
    enum rc rc = js_parse(it->row.failures.at, it->row.failures.len, &tree, ctx->err);
    for (size_t i = 0; rc == RC_OK && i < js_count(tree) && i < FAILURES_MAX; i++) {
        struct ci_failure_row row;
        bool known;
        const char *fingerprint = js_get_str(js_at(tree, i), "fingerprint", "");
        rc = load(ctx, it, arena_strdup(ctx->arena, fingerprint), &row, &known);
        if (rc != RC_OK || !known)
            continue;
        edit(&row, cure);
        rc = ci_failures_put(ctx->db, &row, ctx->err);
    }
    return rc;
}

static void set_cured(struct ci_failure_row *row, const char *cure)
{
    row->cure = cure;
    row->paid = 0;
}

static void add_paid(struct ci_failure_row *row, const char *cure)
{
    (void)cure;
    row->paid++;
    row->cure = NULL; /* What cured it before has not kept it away. */
}

static void clear_paid(struct ci_failure_row *row, const char *cure)
{
    (void)cure;
    row->paid = 0;
}

enum rc shepherd_note_cure(struct context *ctx, struct shepherding *it)
{
    if (it->row.failures.len == 0)
        return RC_OK;
    bool same = text_same(it->row.failed_head, it->row.head);
    enum rc rc = change(ctx, it, set_cured, same ? "rerun" : "repair");
    it->row.failures = (struct str){0};
    it->row.failed_head = NULL;
    it->row.fault = NULL;
    it->row.cause = CI_PATCH;
    return rc;
}

enum rc shepherd_note_paid(struct context *ctx, struct shepherding *it)
{
    return change(ctx, it, add_paid, NULL);
}

enum rc shepherd_forget_paid(struct context *ctx, struct shepherding *it)
{
    if (it->row.cause == CI_REPEATED)
        it->row.cause = CI_PATCH;
    return change(ctx, it, clear_paid, NULL);
}
