/*
 * comment.c - keeps drover's one comment on an issue up to date, and closes the issue when its pull
 * request was merged.
 *
 *   payload  {"number": 12, "key": "issue", "body": "...", "close": false, ...}
 *   result   {"number": 12, "closed": false}
 *
 * Both may be repeated: the comment is found by its mark, and a closed issue stays closed.
 */
#include "base/clock.h"
#include "base/fault.h"
#include "forge/port/issues.h"
#include "forge/port/prs.h"
#include "work/job/repo_step.h"

struct comment {
    struct step *step;
    struct forge_call *call;
    const struct forge_ops *forge;
    int64_t number;
    struct err *err;
};

static enum rc write_comment(const struct comment *comment, const struct forge_comment *words)
{
    const struct pr_ops *prs = comment->forge->prs;
    const struct issue_ops *issues = comment->forge->issues;
    const struct pr_ref ref = {
        .url = comment->step->input.config.url, .number = comment->number, .issue = true};
    if (issues != NULL && issues->note != NULL)
        return issues->note(issues, comment->call, ref.url, ref.number, words, comment->err);
    if (prs == NULL || prs->comment == NULL)
        return err_set(comment->err, RC_INVALID, "NO_COMMENTS",
                       "The forge %.50s has no comments that can be edited.", comment->forge->name);
    return prs->comment(comment->call, &ref, words, comment->err);
}

static enum rc close_issue(const struct comment *comment)
{
    struct step *step = comment->step;
    const struct issue_ops *issues = comment->forge->issues;
    const struct issue_words words = {.state = "closed",
                                      .body = "",
                                      .author = "drover",
                                      .time_us = clock_now_us(&step->site->clock)};
    struct issue issue;
    if (issues == NULL)
        return RC_OK;
    enum rc rc = fault_point("comment.close", comment->err);
    if (rc != RC_OK)
        return rc;
    rc = issues->change(issues, comment->call, step->input.config.url, comment->number, &words,
                        step->arena, &issue, comment->err);
    return rc == RC_CONFLICT && text_same(comment->err->code, "ISSUE_CLOSED") ? RC_OK : rc;
}

enum rc step_comment(struct step *step, struct err *err)
{
    const struct js *payload = step->input.payload;
    const struct forge_comment words = {.key = js_get_str(payload, "key", "issue"),
                                        .body = js_get_str(payload, "body", "")};
    struct comment comment = {.step = step, .number = js_get_int(payload, "number", 0), .err = err};
    bool closes = js_get_bool(payload, "close", false);
    CLEANUP(forge_call_release) struct forge_call call = {.gate = NULL};
    enum rc rc = repo_step_open(step, err);
    if (rc != RC_OK)
        return rc;
    rc = step_forge_open(step, ACCESS_WRITE, &call, &comment.forge, err);
    comment.call = &call;
    if (rc == RC_OK)
        rc = fault_point("comment.write", err);
    if (rc == RC_OK)
        rc = write_comment(&comment, &words);
    if (rc == RC_OK)
        rc = fault_point("comment.written", err);
    if (rc == RC_OK && closes)
        rc = close_issue(&comment);
    if (rc != RC_OK)
        return step_forge_fail(step, rc, err, "comment_failed");
    struct jw jw = jw_to(step->result);
    jw_begin(&jw, '{');
    jw_kint(&jw, "number", comment.number);
    jw_kbool(&jw, "closed", closes);
    jw_end(&jw, '}');
    return RC_OK;
}
