/*
 * accounts.c - provider accounts that were parked: listed, and resumed by hand.
 */
#include "control/run/accounts.h"
#include "api/routes.h"

static void write_account(struct jw *jw, const struct account_row *row)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "name", row->name);
    jw_kstr(jw, "status", row->parked_until_us > 0 ? "parked" : "in_use");
    jw_ktime(jw, "parkedUntil", row->parked_until_us);
    jw_ktime(jw, "parkedAt", row->parked_us);
    jw_kstr(jw, "reason", row->reason);
    jw_kint(jw, "hits", row->hits);
    jw_ktime(jw, "probeAt", row->probe_us);
    jw_kstr(jw, "probeRunId", id_is_none(&row->probe_run_id) ? NULL : row->probe_run_id.text);
    jw_ktime(jw, "updatedAt", row->updated_us);
    jw_end(jw, '}');
}

enum rc api_account_list(struct call *call, struct db *db, struct err *err)
{
    struct params params;
    struct account_row *rows = NULL;
    size_t count = 0;
    struct arena *arena = &call->http.arena;
    enum rc rc = call_params(call, &params, err);
    if (rc != RC_OK)
        return rc;
    struct page page = call_page_by_name(call, &params);
    rc = params_end(&params);
    if (rc == RC_OK)
        rc = accounts_list(db, page.after, page.limit + 1, arena, &rows, &count, err);
    if (rc != RC_OK)
        return rc;
    size_t shown = page_rows(&page, count);
    struct jw jw = call_list_begin(call);
    for (size_t i = 0; i < shown; i++)
        write_account(&jw, &rows[i]);
    call_list_end(&jw, shown ? call_next_name(call, &page, count, rows[shown - 1].name) : NULL);
    return RC_OK;
}

enum rc api_account_resume(struct call *call, struct command **ret_command, struct err *err)
{
    struct cmd_account *cmd = cmd_account_resume_new();
    CLEANUP(call_command_freep) struct command *owned = &cmd->base;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_reason(call, &cmd->base, &cmd->reason, err);
    if (rc != RC_OK)
        return rc;
    cmd->name = arena_strdup(&cmd->base.arena, call->vars[0]);
    owned = NULL;
    *ret_command = &cmd->base;
    return RC_OK;
}

void api_account_resume_answer(struct call *call, struct command *command)
{
    struct jw jw = call_answer(call, 200);
    write_account(&jw, &((const struct cmd_account *)command)->row);
}
