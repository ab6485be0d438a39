/*
 * auth.c - the token file, the tokens of the store, and the checks.
 */
#include "api/auth.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "control/control.h"
#include "control/watch/audit.h"
#include "control/watch/tokens.h"
#include "store/runs.h"
#include "store/tasks.h"
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BEARER "Bearer "
enum { TOKEN_BYTES_MIN = 32, TOKEN_BYTES_MAX = 256, TOKEN_FILE_MODE = 0600 };
#define NOTE_USE_EVERY_US US_PER_MINUTE

/* A token of the store: the fields that authentication needs. */
struct known_token {
    struct id id;
    char sha256[SHA256_TEXT_BYTES];
    char name[TOKEN_NAME_MAX + 1];
    char queues[TOKEN_QUEUES_BYTES_MAX + 1];
    char writes[TOKEN_WRITES_BYTES_MAX + 1];
    char agent[AGENT_NAME_MAX + 1];
    enum role role;
    int64_t expires_us;
    int64_t used_us;  /* 0: not since the start. */
    int64_t noted_us; /* The last use that is stored. */
};

struct auth {
    struct control *control;
    struct clock clock;
    char admin_sha256[SHA256_TEXT_BYTES];
    atomic_int_fast64_t admin_day; /* The day (UTC) of its last use that is recorded. */
    void (*on_lost)(void *ctx);    /* NULL: none */
    void *on_lost_ctx;
    /* Held from the query to the exchange of the list: of two refreshes at once, the one that read
       before a token was made must not replace the list of the one that read after it. */
    pthread_mutex_t refresh_lock;
    pthread_mutex_t lock; /* Guards what follows. */
    struct known_token tokens[TOKENS_LIVE_MAX];
    size_t token_count;
};

/* ---- The admin's file ---- */

void auth_make_token(const char *prefix, char to[AUTH_TOKEN_BYTES])
{
    unsigned char secret[AUTH_SECRET_BYTES];
    secret_bytes(secret, sizeof secret);
    assert(strlen(prefix) + 2 * sizeof secret < AUTH_TOKEN_BYTES);
    text_copy(to, AUTH_TOKEN_BYTES, prefix);
    hex_encode(to + strlen(prefix), secret, sizeof secret);
    explicit_bzero(secret, sizeof secret);
}

static enum rc make_admin_token(const char *path, struct buf *into, struct err *err)
{
    char token[AUTH_TOKEN_BYTES];
    auth_make_token(AUTH_TOKEN_PREFIX, token);
    buf_clear(into);
    buf_addf(into, "%s\n", token);
    explicit_bzero(token, sizeof token);
    enum rc rc = file_write_durable(path, into->data, into->len, TOKEN_FILE_MODE, err);
    if (rc == RC_OK)
        LOG(LOG_INFO, "made the admin token", LOG_STR("file", path));
    return rc;
}

static enum rc read_token(const char *path, struct buf *into, struct err *err)
{
    enum rc rc = file_read(path, into, err);
    if (rc == RC_NOT_FOUND) {
        err_clear(err);
        rc = make_admin_token(path, into, err);
    }
    if (rc != RC_OK)
        return rc;
    while (into->len && strchr(" \t\r\n", into->data[into->len - 1]) != NULL)
        buf_cut(into, into->len - 1);
    if (into->len < TOKEN_BYTES_MIN || strlen(buf_text(into)) != into->len)
        return err_set(err, RC_CORRUPT, "ADMIN_TOKEN",
                       "%s does not hold a token of at least %d characters; remove it to have a "
                       "new one made",
                       path, TOKEN_BYTES_MIN);
    return RC_OK;
}

enum rc auth_open(const char *data_dir, struct control *control, struct auth **ret_auth,
                  struct err *err)
{
    struct arena arena = {0};
    CLEANUP(buf_release) struct buf token;
    buf_init(&token, TOKEN_BYTES_MAX);
    enum rc rc = read_token(arena_printf(&arena, "%s/admin.token", data_dir), &token, err);
    arena_release(&arena);
    if (rc != RC_OK)
        return rc;
    struct auth *auth = mem_alloc(sizeof *auth);
    auth->control = control;
    auth->clock = control != NULL ? control_clock(control) : clock_real();
    (void)pthread_mutex_init(&auth->refresh_lock, NULL);
    (void)pthread_mutex_init(&auth->lock, NULL);
    sha256_hex(token.data, token.len, auth->admin_sha256);
    explicit_bzero(token.data, token.len);
    *ret_auth = auth;
    return RC_OK;
}

void auth_free(struct auth *auth)
{
    if (auth == NULL)
        return;
    (void)pthread_mutex_destroy(&auth->lock);
    (void)pthread_mutex_destroy(&auth->refresh_lock);
    mem_free(auth);
}

void auth_watch(struct auth *auth, void (*on_lost)(void *ctx), void *ctx)
{
    auth->on_lost = on_lost;
    auth->on_lost_ctx = ctx;
}

/* ---- The store's tokens ---- */

static void note_used_done(struct command *command)
{
    if (command->rc != RC_OK && command->rc != RC_BUSY)
        LOG(LOG_WARN, "cannot note that a token was used", LOG_STR("error", command->err.text));
    command_free(command);
}

/* Under the lock: has its use stored, at most once a minute for each token. */
static void note_use(struct auth *auth, struct known_token *token)
{
    if (token->used_us < token->noted_us + NOTE_USE_EVERY_US)
        return;
    token->noted_us = token->used_us;
    struct cmd_token_used *cmd = cmd_token_used_new();
    cmd->id = token->id;
    cmd->used_us = token->used_us;
    cmd->role = token->role;
    cmd->name = arena_strdup(&cmd->base.arena, token->name);
    cmd->base.done = note_used_done;
    if (committer_post(control_committer(auth->control), &cmd->base) != RC_OK)
        command_free(&cmd->base); /* A later use is noted. */
}

/* The admin's token has no row: its first use of a day is recorded by each server. */
static void note_admin(struct auth *auth)
{
    int64_t today = clock_now_us(&auth->clock) / US_PER_DAY;
    if (auth->control == NULL || atomic_exchange(&auth->admin_day, today) == today)
        return;
    struct cmd_audit *cmd = cmd_audit_new();
    cmd->entry = (struct audit_entry){.actor_type = "user",
                                      .actor_id = AUTH_ADMIN_NAME,
                                      .role = role_name(ROLE_ADMIN),
                                      .action = "token.use",
                                      .resource_id = AUTH_ADMIN_NAME};
    cmd->base.done = note_used_done;
    if (committer_post(control_committer(auth->control), &cmd->base) != RC_OK) {
        command_free(&cmd->base);
        atomic_store(&auth->admin_day, 0);
    }
}

static const struct known_token *find_by_id(const struct auth *auth, const struct id *id)
{
    for (size_t i = 0; i < auth->token_count; i++) {
        if (id_same(&auth->tokens[i].id, id))
            return &auth->tokens[i];
    }
    return NULL;
}

static struct known_token know(const struct auth *auth, const struct token_row *row)
{
    struct known_token token = {.id = row->id,
                                .role = row->role,
                                .expires_us = row->expires_us,
                                .noted_us = row->last_used_us};
    text_copy(token.sha256, sizeof token.sha256, row->sha256);
    text_copy(token.name, sizeof token.name, row->name);
    text_copy(token.queues, sizeof token.queues, row->queues != NULL ? row->queues : "");
    text_copy(token.writes, sizeof token.writes, row->writes != NULL ? row->writes : "");
    text_copy(token.agent, sizeof token.agent, row->agent != NULL ? row->agent : "");
    const struct known_token *before = find_by_id(auth, &row->id);
    if (before != NULL) {
        token.used_us = before->used_us;
        token.noted_us = before->noted_us;
    }
    return token;
}

/* *ret_lost: a token of before is not alive any more. */
static enum rc refresh(struct auth *auth, struct db *db, bool *ret_lost, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct token_row *rows = NULL;
    size_t count = 0;
    enum rc rc = tokens_live(db, clock_now_us(&auth->clock), &arena, &rows, &count, err);
    if (rc != RC_OK)
        return rc;
    struct known_token *fresh = arena_array(&arena, count, sizeof *fresh);
    size_t kept = 0;
    (void)pthread_mutex_lock(&auth->lock);
    for (size_t i = 0; i < count; i++) {
        fresh[i] = know(auth, &rows[i]);
        kept += find_by_id(auth, &rows[i].id) != NULL;
    }
    *ret_lost = kept < auth->token_count;
    if (count > 0)
        memcpy(auth->tokens, fresh, count * sizeof *fresh);
    auth->token_count = count;
    (void)pthread_mutex_unlock(&auth->lock);
    return RC_OK;
}

enum rc auth_refresh(struct auth *auth, struct db *db, struct err *err)
{
    bool lost = false;
    (void)pthread_mutex_lock(&auth->refresh_lock);
    enum rc rc = refresh(auth, db, &lost, err);
    (void)pthread_mutex_unlock(&auth->refresh_lock);
    if (lost && auth->on_lost != NULL)
        auth->on_lost(auth->on_lost_ctx);
    return rc;
}

bool auth_alive(struct auth *auth, const struct identity *identity)
{
    if (id_is_none(&identity->token_id))
        return true;
    int64_t now_us = clock_now_us(&auth->clock);
    (void)pthread_mutex_lock(&auth->lock);
    const struct known_token *token = find_by_id(auth, &identity->token_id);
    bool alive = token != NULL && (token->expires_us == 0 || token->expires_us > now_us);
    (void)pthread_mutex_unlock(&auth->lock);
    return alive;
}

/* All are compared, so that the time reveals nothing. */
static void find_token(struct auth *auth, const char *sha256, struct identity *identity)
{
    int64_t now_us = clock_now_us(&auth->clock);
    struct known_token *found = NULL;
    (void)pthread_mutex_lock(&auth->lock);
    for (size_t i = 0; i < auth->token_count; i++) {
        if (secret_same(sha256, auth->tokens[i].sha256))
            found = &auth->tokens[i];
    }
    if (found != NULL && (found->expires_us == 0 || found->expires_us > now_us)) {
        found->used_us = now_us;
        note_use(auth, found);
        identity->role = found->role;
        identity->token_id = found->id;
        identity->expires_us = found->expires_us;
        text_copy(identity->name, sizeof identity->name, found->name);
        text_copy(identity->queues, sizeof identity->queues, found->queues);
        text_copy(identity->writes, sizeof identity->writes, found->writes);
        text_copy(identity->agent, sizeof identity->agent, found->agent);
        identity->principal = principal_of_token(&found->id);
    }
    (void)pthread_mutex_unlock(&auth->lock);
}

/* ---- The checks ---- */

static struct str bearer_of(struct str header)
{
    size_t prefix = strlen(BEARER);
    if (header.len <= prefix || strncasecmp(header.at, BEARER, prefix) != 0)
        return (struct str){0};
    struct str token = {header.at + prefix, header.len - prefix};
    while (token.len && token.at[0] == ' ') {
        token.at++;
        token.len--;
    }
    return token;
}

bool auth_is_of_agent(struct str authorization)
{
    struct str token = bearer_of(authorization);
    static const char *const prefixes[] = {RUN_TOKEN_PREFIX, AUTH_AGENT_PREFIX};
    for (size_t i = 0; i < COUNT_OF(prefixes); i++) {
        size_t len = strlen(prefixes[i]);
        if (token.len > len && memcmp(token.at, prefixes[i], len) == 0)
            return true;
    }
    return false;
}

enum rc auth_check(struct auth *auth, struct str authorization, struct identity *ret_identity,
                   struct err *err)
{
    struct str token = bearer_of(authorization);
    if (token.len == 0)
        return err_set(err, RC_UNAUTHORIZED, "TOKEN_MISSING",
                       "send a token: Authorization: Bearer TOKEN (see admin.token in the "
                       "server's data directory)");
    struct identity identity = {0};
    char text[TOKEN_BYTES_MAX + 1], given[SHA256_TEXT_BYTES];
    sha256_hex(token.at, token.len, given);
    if (secret_same(given, auth->admin_sha256)) {
        identity.role = ROLE_ADMIN;
        text_copy(identity.name, sizeof identity.name, AUTH_ADMIN_NAME);
        identity.principal = principal_of_admin(auth->admin_sha256);
        note_admin(auth);
    } else {
        find_token(auth, given, &identity);
    }
    if (identity.role == ROLE_NOBODY && auth->control != NULL && token.len < sizeof text) {
        memcpy(text, token.at, token.len);
        text[token.len] = '\0';
        if (control_run_token_check(auth->control, text, &identity.run_id))
            identity.role = ROLE_AGENT;
    }
    if (identity.role == ROLE_NOBODY)
        return err_set(err, RC_UNAUTHORIZED, "TOKEN_UNKNOWN",
                       "the token is not known here: it is mistyped, revoked or expired, or of "
                       "another server; an admin makes one with drover token create");
    *ret_identity = identity;
    return RC_OK;
}

/* "operator or admin" */
static const char *roles_text(unsigned roles, char *to, size_t to_bytes)
{
    size_t len = 0;
    to[0] = '\0';
    for (int role = 0; role < ROLE_COUNT && len < to_bytes; role++) {
        if (roles & ROLES(role))
            len += (size_t)snprintf(to + len, to_bytes - len, "%s or ", role_name((enum role)role));
    }
    if (len < to_bytes)
        (void)snprintf(to + len, to_bytes - len, "%s", role_name(ROLE_ADMIN));
    return to;
}

enum rc auth_route(const struct identity *identity, const struct route *route, struct err *err)
{
    if (route->wide && auth_bound_to(identity) != NULL)
        return err_set(
            err, RC_DENIED, "QUEUE_NOT_ALLOWED",
            "this token is bound to the queues %s: it leases and reports their jobs, and "
            "does not do this",
            identity->queues);
    if (identity->role == ROLE_ADMIN || (route->roles & ROLES(identity->role)))
        return RC_OK;
    if (identity->role == ROLE_AGENT) {
        if (route->agent != AGENT_NEVER)
            return RC_OK;
        return err_set(err, RC_DENIED, "ROLE_NOT_ALLOWED",
                       "an agent's token is good for reading about its own run, for its "
                       "questions, events and sub-tasks only");
    }
    char needed[128];
    return err_set(err, RC_DENIED, "ROLE_NOT_ALLOWED",
                   "this takes a token of role %s, and %s is of role %s; an admin makes one with "
                   "drover token create --name NAME --role ROLE",
                   roles_text(route->roles, needed, sizeof needed), identity->name,
                   role_name(identity->role));
}

enum rc auth_agent_command(const struct identity *identity, const struct route *route,
                           const char *subject, struct err *err)
{
    struct id asked = {0};
    if (identity->role != ROLE_AGENT || route->agent == AGENT_CHECKED)
        return RC_OK;
    if (route->agent == AGENT_OWN_RUN && id_parse(subject, &asked) &&
        id_same(&asked, &identity->run_id))
        return RC_OK;
    return err_set(err, RC_DENIED, "NOT_YOUR_RUN", "an agent's token is good for its own run only");
}

static enum rc is_subtask(const struct id *asked, const struct id *parent_id, struct db *db,
                          struct arena *arena, bool *ret_is, struct err *err)
{
    struct task_row task;
    if (id_is_none(asked))
        return RC_OK;
    enum rc rc = tasks_get(db, asked, arena, &task, err);
    *ret_is = rc == RC_OK && id_same(&task.parent_id, parent_id);
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc auth_agent(const struct identity *identity, const struct route *route, const char *subject,
                   struct db *db, struct arena *arena, struct err *err)
{
    if (identity->role != ROLE_AGENT)
        return RC_OK;
    struct run_row run;
    enum rc rc = runs_get(db, &identity->run_id, arena, &run, err);
    if (rc == RC_NOT_FOUND || (rc == RC_OK && run_is_terminal(run.status)))
        return err_set(err, RC_UNAUTHORIZED, "TOKEN_EXPIRED",
                       "the run that this token was given for has ended");
    if (rc != RC_OK)
        return rc;
    struct id asked = {0};
    bool own = id_parse(subject, &asked) &&
               id_same(&asked, route->agent == AGENT_OWN_TASK ? &run.task_id : &run.id);
    if (!own && route->agent == AGENT_OWN_TASK)
        rc = is_subtask(&asked, &run.task_id, db, arena, &own, err);
    if (rc != RC_OK || own)
        return rc;
    return err_set(err, RC_DENIED, "NOT_YOUR_RUN",
                   "an agent's token is good for reading about its own run only");
}

void auth_caps_key(const struct identity *identity, struct caps_key *ret_key)
{
    bool agent = identity->role == ROLE_AGENT;
    enum caps_kind kind = id_is_none(&identity->token_id) ? CAPS_ADMIN : CAPS_TOKEN;
    *ret_key = (struct caps_key){.kind = agent ? CAPS_RUN : kind};
    text_copy(ret_key->name, sizeof ret_key->name, agent ? identity->run_id.text : identity->name);
}

const char *auth_bound_to(const struct identity *identity)
{
    return identity->queues[0] ? identity->queues : NULL;
}

const char *auth_bound_agent(const struct identity *identity)
{
    return identity->agent[0] != '\0' ? identity->agent : NULL;
}

struct actor auth_actor(const struct identity *identity)
{
    if (identity->role == ROLE_AGENT)
        return (struct actor){.type = "agent", .id = identity->run_id.text};
    const char *type = identity->role == ROLE_WORKER ? "worker" : "user";
    return (struct actor){.type = type, .id = identity->name};
}
