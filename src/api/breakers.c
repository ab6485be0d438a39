/*
 * breakers.c - circuit breakers: list, configure, acquire, report, reset and trip.
 */
#include "control/queue/breakers.h"
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

static enum rc decode_config(const struct breaker_row *row, struct arena *arena,
                             struct breaker_config *ret_config, struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    enum rc rc = js_parse(row->config.at, row->config.len, &tree, err);
    if (rc == RC_OK)
        rc = breaker_config_decode(tree, arena, ret_config, err);
    return rc == RC_OK ? RC_OK : err_wrap(err, RC_CORRUPT, row->name);
}

static void write_breaker(struct jw *jw, const struct breaker_row *row,
                          const struct breaker_config *config)
{
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
    breaker_config_write(jw, config);
    jw_end(jw, '}');
}

static enum rc answer_breaker(struct call *call, const struct breaker_row *row, struct err *err)
{
    struct breaker_config config;
    enum rc rc = decode_config(row, &call->http.arena, &config, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    write_breaker(&jw, row, &config);
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
    return rc == RC_OK ? answer_breaker(call, &row, err) : rc;
}

enum rc api_breaker_list(struct call *call, struct db *db, struct err *err)
{
    struct params params;
    struct breaker_row *rows = NULL;
    size_t count = 0;
    struct arena *arena = &call->http.arena;
    enum rc rc = call_params(call, &params, err);
    if (rc != RC_OK)
        return rc;
    struct page page = call_page_by_name(call, &params);
    rc = params_end(&params);
    if (rc == RC_OK)
        rc = breakers_list(db, page.after, page.limit + 1, arena, &rows, &count, err);
    size_t shown = page_rows(&page, count);
    struct breaker_config *configs = arena_array(arena, shown + 1, sizeof *configs);
    for (size_t i = 0; rc == RC_OK && i < shown; i++)
        rc = decode_config(&rows[i], arena, &configs[i], err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_list_begin(call);
    for (size_t i = 0; i < shown; i++)
        write_breaker(&jw, &rows[i], &configs[i]);
    call_list_end(&jw, shown ? call_next_name(call, &page, count, rows[shown - 1].name) : NULL);
    return RC_OK;
}

/* ---- commands ---- */

typedef enum rc read_fn(struct call *call, struct cmd_breaker *cmd, struct err *err);

/* Passes the command on, filled in by `read`, or frees it. */
static enum rc build(struct call *call, struct cmd_breaker *cmd, read_fn *read,
                     struct command **ret_command, struct err *err)
{
    CLEANUP(call_command_freep) struct command *owned = &cmd->base;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = check_name(call, err);
    if (rc == RC_OK)
        rc = read(call, cmd, err);
    if (rc != RC_OK)
        return rc;
    cmd->name = arena_strdup(&cmd->base.arena, call->vars[0]);
    owned = NULL;
    *ret_command = &cmd->base;
    return RC_OK;
}

static void answer_row(struct call *call, struct command *command)
{
    struct err err = {0};
    enum rc rc = answer_breaker(call, &((const struct cmd_breaker *)command)->row, &err);
    if (rc != RC_OK)
        call_fail(call, rc, &err);
}

static enum rc read_nothing(struct call *call, struct cmd_breaker *cmd, struct err *err)
{
    (void)cmd;
    return call_no_fields(call, err);
}

static enum rc read_reason(struct call *call, struct cmd_breaker *cmd, struct err *err)
{
    return call_reason(call, &cmd->base, &cmd->reason, err);
}

static enum rc read_outcome(struct call *call, struct cmd_breaker *cmd, struct err *err)
{
    enum rc rc = call_json(call, &cmd->base.tree, err);
    if (rc != RC_OK)
        return rc;
    struct fields fields;
    fields_open(&fields, cmd->base.tree, "", err);
    fields_bool(&fields, "ok", FIELD_REQUIRED, &cmd->ok);
    fields_string(&fields, "error", FIELD_OPTIONAL, &(struct field_text){.max = ERROR_TEXT_MAX},
                  &cmd->error);
    return fields_close(&fields);
}

static enum rc read_config(struct call *call, struct cmd_breaker *cmd, struct err *err)
{
    struct breaker_config config;
    enum rc rc = call_json(call, &cmd->base.tree, err);
    if (rc == RC_OK)
        rc = breaker_config_decode(cmd->base.tree, &cmd->base.arena, &config, err);
    if (rc == RC_OK)
        cmd->config = str_of(js_text(cmd->base.tree, &cmd->base.arena));
    return rc;
}

enum rc api_breaker_acquire(struct call *call, struct command **ret_command, struct err *err)
{
    return build(call, cmd_breaker_acquire_new(), read_nothing, ret_command, err);
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

enum rc api_breaker_report(struct call *call, struct command **ret_command, struct err *err)
{
    return build(call, cmd_breaker_report_new(), read_outcome, ret_command, err);
}

void api_breaker_report_answer(struct call *call, struct command *command)
{
    answer_row(call, command);
}

enum rc api_breaker_put(struct call *call, struct command **ret_command, struct err *err)
{
    return build(call, cmd_breaker_set_new(), read_config, ret_command, err);
}

void api_breaker_put_answer(struct call *call, struct command *command)
{
    answer_row(call, command);
}

enum rc api_breaker_reset(struct call *call, struct command **ret_command, struct err *err)
{
    return build(call, cmd_breaker_reset_new(), read_reason, ret_command, err);
}

void api_breaker_reset_answer(struct call *call, struct command *command)
{
    answer_row(call, command);
}

enum rc api_breaker_trip(struct call *call, struct command **ret_command, struct err *err)
{
    return build(call, cmd_breaker_trip_new(), read_reason, ret_command, err);
}

void api_breaker_trip_answer(struct call *call, struct command *command)
{
    answer_row(call, command);
}
