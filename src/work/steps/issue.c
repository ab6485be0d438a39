/*
 * issue.c - reads an issue for intake, as an artifact: the server decides by it.
 *
 *   payload  {"number": 12, ...}
 *   result   {"number": 12, "issueSha256": "..."}; without the hash there is no such issue
 */
#include "work/job/repo_step.h"
#include "work/steps/issue_reading.h"

static enum rc store_view(struct step *step, const struct issue_view *view, const char **ret_sha256,
                          struct err *err)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, ISSUE_VIEW_BYTES_MAX);
    struct jw jw = jw_to(&text);
    issue_view_write(&jw, view);
    if (text.overflow)
        return err_set(err, RC_TOO_LARGE, "ISSUE_TOO_LARGE", "The issue has more than %d bytes.",
                       ISSUE_VIEW_BYTES_MAX);
    return step_put(step, "issue", "issue.json", buf_str(&text), ret_sha256, err);
}

enum rc step_issue(struct step *step, struct err *err)
{
    struct issue_view view = {.number = 0};
    const char *sha256 = NULL;
    struct issue_wanted wanted = {.number = js_get_int(step->input.payload, "number", 0),
                                  .acts = true};
    enum rc rc = repo_step_open(step, err);
    if (rc != RC_OK)
        return rc;
    rc = issue_reading(step, &wanted, &view, err);
    bool gone = rc == RC_NOT_FOUND && text_same(err->code, "ISSUE_NOT_FOUND");
    view.repository_id = js_get_str(step->input.payload, "repositoryId", NULL);
    if (rc == RC_OK)
        rc = store_view(step, &view, &sha256, err);
    if (rc != RC_OK && !gone)
        return step_forge_fail(step, rc, err, "issue_unreadable");
    struct jw jw = jw_to(step->result);
    jw_begin(&jw, '{');
    jw_kint(&jw, "number", wanted.number);
    jw_optstr(&jw, "issueSha256", sha256);
    jw_end(&jw, '}');
    return RC_OK;
}
