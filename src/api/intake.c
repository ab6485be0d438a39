/*
 * intake.c - issues that were looked at, and what was decided about them.
 */
#include "store/intake.h"
#include "api/listing.h"
#include "api/routes.h"

enum { REPOSITORY_NAME_MAX = 200 };

static void write_intake(struct jw *jw, const struct intake_row *row)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "id", row->id.text);
    jw_kstr(jw, "repository", row->repository);
    jw_kint(jw, "number", row->issue_number);
    jw_kstr(jw, "state", issue_state_name(row->state));
    jw_kstr(jw, "reason", row->reason);
    jw_kstr(jw, "taskId", id_or_null(&row->task_id));
    jw_kstr(jw, "askedBy", row->asked_by);
    jw_kstr(jw, "by", row->started_by);
    jw_ktime(jw, "askedAt", row->act_us);
    jw_kstr(jw, "textSha256", row->text_sha256);
    jw_kstr(jw, "approvedSha256", row->prompt_sha256);
    jw_kbool(jw, "changed", row->changed);
    jw_kstr(jw, "comment", row->wanted);
    jw_kbool(jw, "commentWritten", row->wanted != NULL && text_same(row->wanted, row->told));
    jw_ktime(jw, "lookedAt", row->looked_us);
    jw_ktime(jw, "updatedAt", row->updated_us);
    jw_end(jw, '}');
}

enum rc api_intake_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct intake_row *rows = NULL;
    enum issue_state state;
    listing_open(&list, call, CURSOR_ID, err);
    struct intake_filter filter = {.before = list.before, .limit = list.query_limit};
    params_text(&list.params, "repository", REPOSITORY_NAME_MAX, &filter.repository);
    params_text(&list.params, "state", 20, &filter.state);
    if (filter.state != NULL && !issue_state_parse(filter.state, &state))
        params_fail(&list.params, "state", "%.20s is none of seen, awaiting, active and done",
                    filter.state);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = intake_list(db, &filter, list.arena, &rows, &list.count, err);
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        write_intake(&list.jw, &rows[i]);
        list.last = rows[i].id.text;
    }
    return listing_end(&list, rc);
}
