/*
 * accounts.c - provider accounts that were parked: listed, and resumed by hand.
 */
#include "control/run/accounts.h"
#include "api/listing.h"
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
    struct listing list;
    struct account_row *rows = NULL;
    listing_open(&list, call, CURSOR_NAME, err);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = accounts_list(db, list.after, list.query_limit, list.arena, &rows, &list.count, err);
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        write_account(&list.jw, &rows[i]);
        list.last = rows[i].name;
    }
    return listing_end(&list, rc);
}

enum rc api_account_resume(struct call *call, struct err *err)
{
    struct cmd_account *cmd = cmd_account_resume_new();
    call_own(call, &cmd->base);
    cmd->name = arena_strdup(&cmd->base.arena, call->vars[0]);
    enum rc rc = call_no_params(call, err);
    return rc == RC_OK ? call_reason(call, &cmd->reason, err) : rc;
}

void api_account_resume_answer(struct call *call, struct command *command)
{
    struct jw jw = call_answer(call, 200);
    write_account(&jw, &((const struct cmd_account *)command)->row);
}
