/*
 * tokens.c - tokens: made, listed, revoked.  The secret is in one answer and nowhere else.
 *
 * These run on a pool thread, because this server must have read the changed tokens before it
 * answers.
 */
#include "control/watch/tokens.h"
#include "api/audit_calls.h"
#include "api/listing.h"
#include "api/routes.h"
#include "base/fields.h"
#include "base/log.h"
#include "core/conductor/issue_kind.h"
#include "core/queue/queue_config.h"
#include <assert.h>
#include <string.h>

enum { TOKEN_QUEUES_MAX = 16 };

static bool name_valid(const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@-";
    size_t len = strspn(name, allowed);
    return len >= 1 && len <= TOKEN_NAME_MAX && name[len] == '\0';
}

/* Into one text, with blanks between. */
static void read_queues(struct fields *fields, struct cmd_token_create *cmd)
{
    const struct js *names = NULL;
    char *text = NULL;
    fields_strings(fields, "queues", FIELD_OPTIONAL, TOKEN_QUEUES_MAX,
                   &(struct field_text){.min = 1, .max = TOKEN_QUEUES_BYTES_MAX}, &names);
    for (size_t i = 0; i < js_count(names); i++) {
        const char *name = js_str(js_at(names, i), "");
        if (!queue_name_valid(name))
            fields_fail(fields, "queues", "queues[%zu] is not a queue's name", i);
        text = text != NULL ? arena_printf(&cmd->base.arena, "%s %s", text, name)
                            : arena_strdup(&cmd->base.arena, name);
    }
    if (text != NULL && strlen(text) > TOKEN_QUEUES_BYTES_MAX)
        fields_fail(fields, "queues", "the queues of a token have at most %d bytes in all",
                    TOKEN_QUEUES_BYTES_MAX);
    if (names != NULL && text == NULL)
        fields_fail(fields, "queues", "queues must not be empty");
    if (text != NULL && cmd->role != ROLE_WORKER)
        fields_fail(fields, "queues", "only a token of role worker can be bound to queues");
    cmd->queues = text;
}

/* Writers of events of issues, and the agent that it writes for. */
static void read_writes(struct fields *fields, struct cmd_token_create *cmd)
{
    const struct js *names = NULL;
    enum issue_writer writer;
    char *text = NULL;
    fields_strings(fields, "writes", FIELD_OPTIONAL, WRITER_COUNT,
                   &(struct field_text){.min = 1, .max = TOKEN_NAME_MAX}, &names);
    fields_string(fields, "agent", FIELD_OPTIONAL, &(struct field_text){1, AGENT_NAME_MAX},
                  &cmd->agent);
    for (size_t i = 0; i < js_count(names); i++) {
        const char *name = js_str(js_at(names, i), "");
        if (!issue_writer_parse(name, &writer) || writer == WRITER_CONDUCTOR)
            fields_fail(fields, "writes",
                        "writes[%zu] must be cto, dev-agent, review-agent or ci, not %s", i, name);
        text = text != NULL ? arena_printf(&cmd->base.arena, "%s %s", text, name)
                            : arena_strdup(&cmd->base.arena, name);
    }
    if (text != NULL && (cmd->role == ROLE_VIEWER || strlen(text) > TOKEN_WRITES_BYTES_MAX))
        fields_fail(fields, "writes", "a token that writes events is of role worker or operator");
    if (cmd->agent != NULL && text == NULL)
        fields_fail(fields, "agent", "only a token with writes can be bound to an agent");
    cmd->writes = text;
}

static enum rc read_token(struct call *call, struct cmd_token_create *cmd, struct err *err)
{
    struct clock clock = control_clock(call->api->control);
    const char *expires = NULL;
    int role = 0;
    struct fields fields;
    fields_open(&fields, cmd->base.tree, "", err);
    fields_string(&fields, "name", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = TOKEN_NAME_MAX}, &cmd->name);
    fields_choice(&fields, "role", FIELD_REQUIRED, role_token_names, &role);
    fields_string(&fields, "expiresAt", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = TIME_TEXT_BYTES}, &expires);
    if (cmd->name != NULL && !name_valid(cmd->name))
        fields_fail(&fields, "name", "a token's name has letters, digits, '.', '_', '@' and '-'");
    else if (text_same(cmd->name, AUTH_ADMIN_NAME))
        fields_fail(&fields, "name", "%s is the name of the token in admin.token", AUTH_ADMIN_NAME);
    if (expires != NULL && !time_parse(expires, &cmd->expires_us))
        fields_fail(&fields, "expiresAt", "expiresAt must be a time like 2030-01-31T00:00:00Z");
    else if (expires != NULL && cmd->expires_us <= clock_now_us(&clock))
        fields_fail(&fields, "expiresAt", "expiresAt is in the past");
    bool known = role_parse(role_token_names[role], &cmd->role);
    assert(known);
    (void)known;
    read_queues(&fields, cmd);
    read_writes(&fields, cmd);
    return fields_close(&fields);
}

/* This server knows the change when it answers. */
static enum rc commit_and_refresh(struct call *call, struct db *db, struct err *err)
{
    enum rc rc = call_commit(call, err);
    return rc == RC_OK ? auth_refresh(call->api->auth, db, err) : rc;
}

static void write_words(struct jw *jw, const char *key, const char *words)
{
    if (words == NULL)
        return;
    jw_key(jw, key);
    jw_begin(jw, '[');
    for (const char *at = words; *at; at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");
        jw_strn(jw, at, len);
        at += len;
    }
    jw_end(jw, ']');
}

static void write_token(struct jw *jw, const struct token_row *token, const char *secret)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "id", token->id.text);
    jw_kstr(jw, "name", token->name);
    jw_kstr(jw, "role", role_name(token->role));
    write_words(jw, "queues", token->queues);
    write_words(jw, "writes", token->writes);
    jw_optstr(jw, "agent", token->agent);
    jw_ktime(jw, "createdAt", token->created_us);
    jw_ktime(jw, "lastUsedAt", token->last_used_us);
    jw_ktime(jw, "expiresAt", token->expires_us);
    jw_ktime(jw, "revokedAt", token->revoked_us);
    jw_optstr(jw, "token", secret);
    jw_end(jw, '}');
}

enum rc api_token_create(struct call *call, struct db *db, struct err *err)
{
    struct cmd_token_create *cmd = cmd_token_create_new();
    call_own(call, &cmd->base);
    char secret[AUTH_TOKEN_BYTES];
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_json(call, &cmd->base.tree, err);
    if (rc == RC_OK)
        rc = read_token(call, cmd, err);
    if (rc != RC_OK)
        return rc;
    audit_calls_about(
        call, NULL,
        audit_details(&cmd->base.arena, "name", cmd->name, "role", role_name(cmd->role), NULL));
    auth_make_token(AUTH_TOKEN_PREFIX, secret);
    sha256_hex(secret, strlen(secret), cmd->sha256);
    rc = commit_and_refresh(call, db, err);
    if (rc == RC_OK) {
        LOG(LOG_INFO, "made a token", LOG_STR("id", cmd->row.id.text), LOG_STR("name", cmd->name),
            LOG_STR("role", role_name(cmd->role)), LOG_STR("by", call->who.name));
        struct jw jw = call_answer(call, 201);
        write_token(&jw, &cmd->row, secret);
    }
    explicit_bzero(secret, sizeof secret);
    return rc;
}

enum rc api_token_revoke(struct call *call, struct db *db, struct err *err)
{
    struct cmd_token_revoke *cmd = cmd_token_revoke_new();
    call_own(call, &cmd->base);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_id(call, 0, &cmd->id, err);
    if (rc == RC_OK)
        rc = commit_and_refresh(call, db, err);
    if (rc != RC_OK)
        return rc;
    LOG(LOG_INFO, "revoked a token", LOG_STR("id", cmd->id.text), LOG_STR("by", call->who.name));
    call->http.answer.status = 204;
    return RC_OK;
}

enum rc api_token_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct token_row *rows = NULL;
    listing_open(&list, call, CURSOR_ID, err);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = tokens_list(db, &list.before, list.query_limit, list.arena, &rows, &list.count, err);
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        write_token(&list.jw, &rows[i], NULL);
        list.last = rows[i].id.text;
    }
    return listing_end(&list, rc);
}
