/*
 * agents.c - the registry of agents: registered, listed, launched, killed, deleted; heartbeats.
 *
 * An agent is named by its id or its name.  Commands that revoke its token run on a pool thread,
 * because this server must have read the tokens before it answers.
 */
#include "api/listing.h"
#include "api/routes.h"
#include "base/fields.h"
#include "control/agents/kill.h"
#include "control/agents/launch.h"
#include "control/agents/registry.h"
#include "core/agent/addressee.h"
#include "core/config/launch_config.h"
#include "core/queue/queue_config.h"
#include <string.h>

enum {
    LIST_MAX = 16,
    ITEM_BYTES_MAX = 200,
    PROMPT_BYTES_MAX = 16 * 1024,
    REASON_BYTES_MAX = 1000,
    STATE_BYTES_MAX = 20
};

/* ---- the shape ---- */

static void key_list(struct jw *jw, const char *key, struct str json)
{
    jw_kraw(jw, key, json.len > 0 ? json : STR("[]"));
}

static void write_restart(struct jw *jw, const struct agent_row *row)
{
    jw_key(jw, "restart");
    jw_begin(jw, '{');
    jw_kstr(jw, "policy", restart_policy_name(row->restart));
    jw_kint(jw, "max", row->restart_max);
    jw_kint(jw, "backoffMs", row->backoff_ms);
    jw_end(jw, '}');
}

/* How long its heartbeat has been overdue; null: it is not. */
static void write_late(struct jw *jw, const struct agent_row *row, int64_t now_us)
{
    int64_t late_us = now_us - row->seen_us - row->heartbeat_ms * US_PER_MS;
    if (row->state == INSTANCE_LATE && late_us > 0)
        jw_kint(jw, "lateMs", late_us / US_PER_MS);
    else
        jw_kstr(jw, "lateMs", NULL);
}

/* claims: how many it has. */
static void write_agent(struct jw *jw, const struct agent_row *row, int64_t claims, int64_t now_us)
{
    bool killed = row->state == INSTANCE_KILLED;
    jw_begin(jw, '{');
    jw_kstr(jw, "id", row->id.text);
    jw_kstr(jw, "name", row->name);
    jw_kstr(jw, "persona", row->persona);
    jw_kstr(jw, "state", instance_state_name(row->state));
    jw_kint(jw, "capacity", row->capacity);
    jw_kint(jw, "claims", claims);
    jw_kstr(jw, "queue", row->queue);
    jw_kbool(jw, "general", row->general);
    key_list(jw, "repositories", row->repositories);
    key_list(jw, "labels", row->labels);
    jw_kbool(jw, "launchable", row->config.len > 0);
    jw_kstr(jw, "profile", row->profile);
    jw_kstr(jw, "account", row->account);
    write_restart(jw, row);
    jw_kint(jw, "restarts", row->restarts);
    jw_kstr(jw, "lastError", row->last_error);
    jw_kstr(jw, "worker", row->worker);
    jw_kstr(jw, "jobId", id_or_null(&row->job_id));
    jw_ktime(jw, "startedAt", row->begun_us);
    jw_kint(jw, "heartbeatMs", row->heartbeat_ms);
    jw_ktime(jw, "lastHeartbeatAt", row->seen_us);
    write_late(jw, row, now_us);
    jw_kstr(jw, "killPolicy", killed ? kill_policy_name(row->policy) : NULL);
    jw_kstr(jw, "killReason", killed ? row->reason : NULL);
    jw_kstr(jw, "createdBy", row->created_by);
    jw_ktime(jw, "createdAt", row->created_us);
    jw_ktime(jw, "updatedAt", row->updated_us);
    jw_end(jw, '}');
}

static int64_t now_of(const struct call *call)
{
    struct clock clock = control_clock(call->api->control);
    return clock_now_us(&clock);
}

/* ---- register ---- */

static void read_list(struct fields *fields, const char *key, struct arena *arena,
                      struct str *ret_list)
{
    const struct js *names = NULL;
    fields_strings(fields, key, FIELD_OPTIONAL, LIST_MAX,
                   &(struct field_text){.min = 1, .max = ITEM_BYTES_MAX}, &names);
    if (js_count(names) > 0)
        *ret_list = str_of(js_text(names, arena));
}

/* A policy, or {policy, max, backoffMs}. */
static enum rc read_restart(const struct js *restart, struct agent_row *row, struct err *err)
{
    struct fields fields;
    int policy = (int)row->restart;
    if (restart == NULL)
        return RC_OK;
    if (js_type(restart) == JS_STRING) {
        if (restart_policy_parse(js_str(restart, ""), &row->restart))
            return RC_OK;
        return err_field(err, RC_INVALID, "INVALID_FIELD", "restart",
                         "restart is never, on_failure or always, or {policy, max, backoffMs}");
    }
    fields_open(&fields, restart, "restart", err);
    fields_choice(&fields, "policy", FIELD_REQUIRED, restart_policy_names, &policy);
    fields_int(&fields, "max", FIELD_OPTIONAL, &(struct field_range){0, RESTARTS_MAX},
               &row->restart_max);
    fields_int(&fields, "backoffMs", FIELD_OPTIONAL,
               &(struct field_range){1, RESTART_BACKOFF_MS_MAX}, &row->backoff_ms);
    row->restart = (enum restart_policy)policy;
    return fields_close(&fields);
}

static void read_who(struct fields *fields, struct agent_row *row)
{
    fields_string(fields, "name", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = AGENT_NAME_MAX}, &row->name);
    fields_string(fields, "persona", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = PERSONA_NAME_MAX}, &row->persona);
    fields_string(fields, "queue", FIELD_OPTIONAL, &(struct field_text){.min = 1, .max = 100},
                  &row->queue);
    fields_bool(fields, "general", FIELD_OPTIONAL, &row->general);
    fields_int(fields, "capacity", FIELD_OPTIONAL, &(struct field_range){1, INSTANCE_CAPACITY_MAX},
               &row->capacity);
    fields_int(fields, "heartbeatMs", FIELD_OPTIONAL,
               &(struct field_range){INSTANCE_HEARTBEAT_MS_MIN, INSTANCE_HEARTBEAT_MS_MAX},
               &row->heartbeat_ms);
    if (row->name != NULL && !agent_name_valid(row->name))
        fields_fail(fields, "name", AGENT_NAME_RULE);
    if (row->persona != NULL && !persona_name_valid(row->persona))
        fields_fail(fields, "persona", PERSONA_NAME_RULE);
    if (!queue_name_valid(row->queue))
        fields_fail(fields, "queue", "queue is not a queue's name");
}

/* What runs commands on workers is for admins, as repositories are. */
static enum rc check_launch(const struct call *call, const struct cmd_agent_register *cmd,
                            struct err *err)
{
    if (cmd->row.config.len > 0 && call->who.role != ROLE_ADMIN)
        return err_set(err, RC_DENIED, "ROLE_NOT_ALLOWED",
                       "an agent with a command is registered by an admin: it runs on workers");
    if (cmd->launch && cmd->row.config.len == 0)
        return err_field(err, RC_INVALID, "INVALID_FIELD", "launch",
                         "launch needs a command, or a profile that has one");
    return RC_OK;
}

static enum rc read_agent(struct call *call, struct cmd_agent_register *cmd, struct err *err)
{
    struct agent_row *row = &cmd->row;
    struct arena *arena = &cmd->base.arena;
    struct launch_parts parts = {0};
    const struct js *restart = NULL;
    struct fields fields;
    *row = (struct agent_row){.queue = AGENT_QUEUE_DEFAULT,
                              .general = true,
                              .capacity = 1,
                              .heartbeat_ms = INSTANCE_HEARTBEAT_MS_DEFAULT,
                              .restart = RESTART_ON_FAILURE,
                              .restart_max = RESTARTS_DEFAULT,
                              .backoff_ms = RESTART_BACKOFF_MS_DEFAULT};
    fields_open(&fields, cmd->base.tree, "", err);
    read_who(&fields, row);
    read_list(&fields, "repositories", arena, &row->repositories);
    read_list(&fields, "labels", arena, &row->labels);
    fields_string(&fields, "profile", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = ITEM_BYTES_MAX}, &row->profile);
    fields_array(&fields, "command", FIELD_OPTIONAL, CONFIG_ARGS_MAX, &parts.command);
    fields_object(&fields, "config", FIELD_OPTIONAL, &parts.config);
    fields_string(&fields, "prompt", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = PROMPT_BYTES_MAX}, &row->prompt);
    fields_string(&fields, "account", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = ITEM_BYTES_MAX}, &row->account);
    fields_any(&fields, "restart", FIELD_OPTIONAL, &restart);
    fields_bool(&fields, "launch", FIELD_OPTIONAL, &cmd->launch);
    const struct addressee to = {row->queue, row->persona, row->name};
    enum rc rc = fields_close(&fields);
    parts.profile = row->profile;
    if (rc == RC_OK)
        rc = read_restart(restart, row, err);
    if (rc == RC_OK)
        rc = addressee_check(&to, arena, err);
    if (rc == RC_OK)
        rc = launch_config_make(&parts, arena, &row->config, err);
    return rc == RC_OK ? check_launch(call, cmd, err) : rc;
}

enum rc api_agent_register(struct call *call, struct err *err)
{
    struct cmd_agent_register *cmd = cmd_agent_register_new();
    call_own(call, &cmd->base);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_json(call, &cmd->base.tree, err);
    return rc == RC_OK ? read_agent(call, cmd, err) : rc;
}

void api_agent_register_answer(struct call *call, struct command *command)
{
    const struct cmd_agent_register *cmd = (const struct cmd_agent_register *)command;
    struct jw jw = call_answer(call, 201);
    write_agent(&jw, &cmd->row, 0, now_of(call));
}

/* ---- list, show ---- */

/* By its id, or by its name. */
static struct agent_ref ref_of(const struct call *call)
{
    struct agent_ref ref = {.name = call->vars[0]};
    if (id_parse(call->vars[0], &ref.id))
        ref.name = NULL;
    return ref;
}

static enum rc write_row(struct call *call, struct db *db, struct jw *jw,
                         const struct agent_row *row, struct err *err)
{
    int64_t claims;
    enum rc rc = agents_count_claims(db, row->name, &claims, err);
    if (rc == RC_OK)
        write_agent(jw, row, claims, now_of(call));
    return rc;
}

enum rc api_agent_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct agent_row *rows = NULL;
    const char *state = NULL;
    enum instance_state parsed = INSTANCE_REGISTERED;
    listing_open(&list, call, CURSOR_ID, err);
    struct agent_filter filter = {.state = -1, .before = list.before, .limit = list.query_limit};
    params_text(&list.params, "persona", PERSONA_NAME_MAX, &filter.persona);
    params_text(&list.params, "name", AGENT_NAME_MAX, &filter.name);
    params_text(&list.params, "state", STATE_BYTES_MAX, &state);
    if (state != NULL && !instance_state_parse(state, &parsed))
        params_fail(&list.params, "state", "%.20s is not a state of an agent", state);
    if (state != NULL)
        filter.state = (int)parsed;
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = agents_list(db, &filter, list.arena, &rows, &list.count, err);
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        rc = write_row(call, db, &list.jw, &rows[i], err);
        list.last = rows[i].id.text;
    }
    return listing_end(&list, rc);
}

enum rc api_agent_get(struct call *call, struct db *db, struct err *err)
{
    struct agent_ref ref = ref_of(call);
    struct agent_row row;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = agents_find(db, &ref, &call->http.arena, &row, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    return write_row(call, db, &jw, &row, err);
}

/* ---- launch, heartbeat ---- */

enum rc api_agent_launch(struct call *call, struct err *err)
{
    struct cmd_agent_launch *cmd = cmd_agent_launch_new();
    call_own(call, &cmd->base);
    cmd->ref = ref_of(call);
    enum rc rc = call_no_params(call, err);
    return rc == RC_OK ? call_no_fields(call, err) : rc;
}

void api_agent_launch_answer(struct call *call, struct command *command)
{
    const struct cmd_agent_launch *cmd = (const struct cmd_agent_launch *)command;
    struct jw jw = call_answer(call, 200);
    write_agent(&jw, &cmd->row, 0, now_of(call));
}

enum rc api_agent_heartbeat(struct call *call, struct err *err)
{
    struct cmd_agent_beat *cmd = cmd_agent_beat_new();
    call_own(call, &cmd->base);
    cmd->ref = ref_of(call);
    cmd->bound_agent = auth_bound_agent(&call->who);
    enum rc rc = call_no_params(call, err);
    return rc == RC_OK ? call_no_fields(call, err) : rc;
}

void api_agent_heartbeat_answer(struct call *call, struct command *command)
{
    const struct cmd_agent_beat *cmd = (const struct cmd_agent_beat *)command;
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "id", cmd->row.id.text);
    jw_kstr(&jw, "name", cmd->row.name);
    jw_kstr(&jw, "state", instance_state_name(cmd->row.state));
    jw_kint(&jw, "heartbeatMs", cmd->row.heartbeat_ms);
    jw_end(&jw, '}');
}

/* ---- kill, delete ---- */

static enum rc commit_and_refresh(struct call *call, struct db *db, struct err *err)
{
    enum rc rc = call_commit(call, err);
    return rc == RC_OK ? auth_refresh(call->api->auth, db, err) : rc;
}

enum rc api_agent_kill(struct call *call, struct db *db, struct err *err)
{
    struct cmd_agent_kill *cmd = cmd_agent_kill_new();
    call_own(call, &cmd->base);
    cmd->ref = ref_of(call);
    int policy = KILL_REQUEUE;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_json_optional(call, &cmd->base.tree, err);
    if (rc == RC_OK && cmd->base.tree != NULL) {
        struct fields fields;
        fields_open(&fields, cmd->base.tree, "", err);
        fields_choice(&fields, "policy", FIELD_OPTIONAL, kill_policy_names, &policy);
        fields_string(&fields, "reason", FIELD_OPTIONAL,
                      &(struct field_text){.max = REASON_BYTES_MAX}, &cmd->reason);
        rc = fields_close(&fields);
    }
    cmd->policy = (enum kill_policy)policy;
    if (rc == RC_OK)
        rc = commit_and_refresh(call, db, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    write_agent(&jw, &cmd->row, cmd->claims, now_of(call));
    return RC_OK;
}

enum rc api_agent_remove(struct call *call, struct db *db, struct err *err)
{
    struct cmd_agent_remove *cmd = cmd_agent_remove_new();
    call_own(call, &cmd->base);
    cmd->ref = ref_of(call);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = commit_and_refresh(call, db, err);
    if (rc == RC_OK)
        call->http.answer.status = 204;
    return rc;
}

/* ---- the token of a launched one ---- */

enum rc api_job_agent_token(struct call *call, struct db *db, struct err *err)
{
    struct cmd_agent_begin *cmd = cmd_agent_begin_new();
    call_own(call, &cmd->base);
    char token[AUTH_TOKEN_BYTES];
    struct fields fields;
    const char *id = NULL;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_json(call, &cmd->base.tree, err);
    if (rc != RC_OK)
        return rc;
    fields_open(&fields, cmd->base.tree, "", err);
    fields_string(&fields, "id", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = ID_TEXT_BYTES}, &id);
    if (id != NULL && !id_parse(id, &cmd->ref.id))
        fields_fail(&fields, "id", "id must be a UUID");
    fields_int(&fields, "epoch", FIELD_REQUIRED, &(struct field_range){0, (int64_t)1 << 53},
               &cmd->ref.epoch);
    rc = fields_close(&fields);
    if (rc != RC_OK)
        return rc;
    auth_make_token(AUTH_AGENT_PREFIX, token);
    sha256_hex(token, strlen(token), cmd->sha256);
    rc = commit_and_refresh(call, db, err);
    if (rc == RC_OK) {
        struct jw jw = call_answer(call, 200);
        jw_begin(&jw, '{');
        jw_kstr(&jw, "token", token);
        jw_end(&jw, '}');
    }
    explicit_bzero(token, sizeof token);
    return rc;
}
