/*
 * memories.c - what finished runs left for later ones.
 */
#include "control/run/memories.h"
#include "api/listing.h"
#include "api/routes.h"
#include "store/memories.h"

enum { REPOSITORY_NAME_MAX = 200 };

static void write_memory(struct jw *jw, const struct memory_row *row)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "id", row->id.text);
    jw_kstr(jw, "repository", row->repository);
    jw_kstr(jw, "taskId", row->task_id.text);
    jw_kstr(jw, "runId", row->run_id.text);
    jw_kstr(jw, "outcome", row->outcome);
    jw_kstr(jw, "errorCode", row->error_code);
    jw_kstr(jw, "summary", row->summary);
    jw_kraw(jw, "paths", row->paths.len > 0 ? row->paths : STR("[]"));
    jw_kstr(jw, "pullRequest", row->pull_request);
    jw_kstr(jw, "headCommit", row->head_commit);
    jw_kint(jw, "turns", row->turns);
    jw_kreal(jw, "costUsd", (double)row->cost_microusd / 1e6);
    jw_ktime(jw, "createdAt", row->created_us);
    jw_end(jw, '}');
}

enum rc api_memory_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct memory_row *rows = NULL;
    listing_open(&list, call, CURSOR_ID, err);
    struct memory_filter filter = {.before = list.before, .limit = list.query_limit};
    params_text(&list.params, "repository", REPOSITORY_NAME_MAX, &filter.repository);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = memories_list(db, &filter, list.arena, &rows, &list.count, err);
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        write_memory(&list.jw, &rows[i]);
        list.last = rows[i].id.text;
    }
    return listing_end(&list, rc);
}

enum rc api_memory_remove(struct call *call, struct err *err)
{
    struct cmd_memory_remove *cmd = cmd_memory_remove_new();
    call_own(call, &cmd->base);
    enum rc rc = call_no_params(call, err);
    return rc == RC_OK ? call_id(call, 0, &cmd->memory_id, err) : rc;
}
