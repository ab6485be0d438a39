/*
 * memories.c - what finished runs left for later ones.
 */
#include "control/run/memories.h"
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
    struct params params;
    struct memory_row *rows = NULL;
    size_t count = 0;
    enum rc rc = call_params(call, &params, err);
    if (rc != RC_OK)
        return rc;
    struct page page = call_page(call, &params);
    struct memory_filter filter = {.before = page.before, .limit = page.limit + 1};
    params_text(&params, "repository", REPOSITORY_NAME_MAX, &filter.repository);
    rc = params_end(&params);
    if (rc == RC_OK)
        rc = memories_list(db, &filter, &call->http.arena, &rows, &count, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_list_begin(call);
    size_t shown = page_rows(&page, count);
    for (size_t i = 0; i < shown; i++)
        write_memory(&jw, &rows[i]);
    call_list_end(&jw, call_next_id(call, &page, count, shown ? &rows[shown - 1].id : NULL));
    return RC_OK;
}

enum rc api_memory_remove(struct call *call, struct command **ret_command, struct err *err)
{
    struct cmd_memory_remove *cmd = cmd_memory_remove_new();
    CLEANUP(call_command_freep) struct command *owned = &cmd->base;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_id(call, 0, &cmd->memory_id, err);
    if (rc != RC_OK)
        return rc;
    owned = NULL;
    *ret_command = &cmd->base;
    return RC_OK;
}
