/*
 * breakers.c - circuit breakers: list, configure, acquire, report, reset and trip.
 */
#include "control/queue/breakers.h"
#include "api/listing.h"
#include "api/routes.h"
#include "base/fields.h"

enum { ERROR_TEXT_MAX = 1000 };

static enum rc check_name(const struct call *call, struct err *err)
{
    if (breaker_name_valid(call->vars[0]))
        return RC_OK;
    return err_set(err, RC_MALFORMED, "INVALID_NAME",
                   "a breaker's name has letters, digits and %s, at most %d bytes",
                   BREAKER_NAME_SIGNS, BREAKER_NAME_MAX);
}

/* ---- reading ---- */

/* In the effective configuration, defaults are filled in. */
static enum rc write_breaker(struct jw *jw, const struct breaker_row *row, struct arena *arena,
                             struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    struct breaker_config config;
    enum rc rc = js_parse(row->config.at, row->config.len, &tree, err);
    if (rc == RC_OK)
        rc = breaker_config_decode(tree, arena, &config, err);
    if (rc != RC_OK)
        return err_wrap(err, RC_CORRUPT, row->name);
    const struct breaker *life = &row->life;
    jw_begin(jw, '{');
    jw_kstr(jw, "name", row->name);
    jw_kstr(jw, "state", breaker_state_name(life->state));
    jw_kint(jw, "failures", (int64_t)life->failures.count);
    jw_kint(jw, "successes", life->successes);
    jw_kint(jw, "trips", life->trips);
    jw_kstr(jw, "lastError", row->last_error);
    jw_ktime(jw, "openUntil", life->state == BREAKER_OPEN ? life->open_until_us : 0);
    jw_ktime(jw, "changedAt", life->changed_us);
    jw_ktime(jw, "updatedAt", row->updated_us);
    jw_kraw(jw, "config", row->config);
    jw_key(jw, "effective");
    breaker_config_write(jw, &config);
    jw_end(jw, '}');
    return RC_OK;
}

enum rc api_breaker_get(struct call *call, struct db *db, struct err *err)
{
    struct breaker_row row;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = check_name(call, err);
    if (rc == RC_OK)
        rc = breakers_get(db, call->vars[0], &call->http.arena, &row, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    return write_breaker(&jw, &row, &call->http.arena, err);
}

enum rc api_breaker_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct breaker_row *rows = NULL;
    listing_open(&list, call, CURSOR_NAME, err);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = breakers_list(db, list.after, list.query_limit, list.arena, &rows, &list.count, err);
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        rc = write_breaker(&list.jw, &rows[i], list.arena, err);
        list.last = rows[i].name;
    }
    return listing_end(&list, rc);
}

/* ---- commands ---- */

/* What all of them begin with. */
static enum rc begin(struct call *call, struct cmd_breaker *cmd, struct err *err)
{
    call_own(call, &cmd->base);
    cmd->name = arena_strdup(&cmd->base.arena, call->vars[0]);
    enum rc rc = call_no_params(call, err);
    return rc == RC_OK ? check_name(call, err) : rc;
}

void api_breaker_answer(struct call *call, struct command *command)
{
    const struct cmd_breaker *cmd = (const struct cmd_breaker *)command;
    struct err err = {0};
    struct jw jw = call_answer(call, 200);
    enum rc rc = write_breaker(&jw, &cmd->row, &call->http.arena, &err);
    if (rc != RC_OK)
        call_fail(call, rc, &err);
}

enum rc api_breaker_acquire(struct call *call, struct err *err)
{
    enum rc rc = begin(call, cmd_breaker_acquire_new(), err);
    return rc == RC_OK ? call_no_fields(call, err) : rc;
}

void api_breaker_acquire_answer(struct call *call, struct command *command)
{
    const struct cmd_breaker *cmd = (const struct cmd_breaker *)command;
    const struct breaker_verdict *verdict = &cmd->verdict;
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_kbool(&jw, "allowed", verdict->allowed);
    jw_kstr(&jw, "state", breaker_state_name(verdict->state));
    jw_kint(&jw, "retryAfterMs", (verdict->wait_us + US_PER_MS - 1) / US_PER_MS);
    jw_end(&jw, '}');
}

enum rc api_breaker_report(struct call *call, struct err *err)
{
    struct cmd_breaker *cmd = cmd_breaker_report_new();
    enum rc rc = begin(call, cmd, err);
    if (rc == RC_OK)
        rc = call_json(call, &cmd->base.tree, err);
    if (rc != RC_OK)
        return rc;
    struct fields fields;
    fields_open(&fields, cmd->base.tree, "", err);
    fields_bool(&fields, "ok", FIELD_REQUIRED, &cmd->ok);
    fields_string(&fields, "error", FIELD_OPTIONAL, &(struct field_text){.max = ERROR_TEXT_MAX},
                  &cmd->error);
    return fields_close(&fields);
}

enum rc api_breaker_put(struct call *call, struct err *err)
{
    struct cmd_breaker *cmd = cmd_breaker_set_new();
    struct breaker_config config;
    enum rc rc = begin(call, cmd, err);
    if (rc == RC_OK)
        rc = call_json(call, &cmd->base.tree, err);
    if (rc == RC_OK)
        rc = breaker_config_decode(cmd->base.tree, &cmd->base.arena, &config, err);
    if (rc == RC_OK)
        cmd->config = str_of(js_text(cmd->base.tree, &cmd->base.arena));
    return rc;
}

enum rc api_breaker_reset(struct call *call, struct err *err)
{
    struct cmd_breaker *cmd = cmd_breaker_reset_new();
    enum rc rc = begin(call, cmd, err);
    return rc == RC_OK ? call_reason(call, &cmd->reason, err) : rc;
}

enum rc api_breaker_trip(struct call *call, struct err *err)
{
    struct cmd_breaker *cmd = cmd_breaker_trip_new();
    enum rc rc = begin(call, cmd, err);
    return rc == RC_OK ? call_reason(call, &cmd->reason, err) : rc;
}
