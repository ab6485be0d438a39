/*
 * auth.c - the token file, and the checks.
 */
#include "edge/auth.h"
#include "base/dice.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "control/control.h"
#include "store/runs.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define TOKEN_PREFIX "drv_"
#define BEARER       "Bearer "
enum { SECRET_BYTES = 32, TOKEN_BYTES_MIN = 32, TOKEN_BYTES_MAX = 256, TOKEN_FILE_MODE = 0600 };

struct auth {
    const struct control *control;
    char admin_sha256[SHA256_TEXT_BYTES];
};

static enum rc make_token(const char *path, struct buf *into, struct err *err)
{
    unsigned char secret[SECRET_BYTES];
    char hex[2 * SECRET_BYTES + 1];
    secret_bytes(secret, sizeof secret);
    hex_encode(hex, secret, sizeof secret);
    buf_clear(into);
    buf_addf(into, TOKEN_PREFIX "%s\n", hex);
    explicit_bzero(secret, sizeof secret);
    explicit_bzero(hex, sizeof hex);
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
        rc = make_token(path, into, err);
    }
    if (rc != RC_OK)
        return rc;
    while (into->len && strchr(" \t\r\n", into->data[into->len - 1]))
        buf_cut(into, into->len - 1);
    if (into->len < TOKEN_BYTES_MIN || strlen(buf_text(into)) != into->len)
        return err_set(err, RC_CORRUPT, "ADMIN_TOKEN",
                       "%s does not hold a token of at least %d characters; remove it to have a "
                       "new one made",
                       path, TOKEN_BYTES_MIN);
    return RC_OK;
}

enum rc auth_open(const char *data_dir, const struct control *control, struct auth **ret_auth,
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
    sha256_hex(token.data, token.len, auth->admin_sha256);
    explicit_bzero(token.data, token.len);
    *ret_auth = auth;
    return RC_OK;
}

void auth_free(struct auth *auth)
{
    mem_free(auth);
}

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

enum rc auth_check(const struct auth *auth, struct str authorization, struct identity *ret_identity,
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
    } else if (auth->control && token.len < sizeof text) {
        memcpy(text, token.at, token.len);
        text[token.len] = '\0';
        if (control_run_token_check(auth->control, text, &identity.run_id))
            identity.role = ROLE_AGENT;
    }
    if (identity.role == ROLE_NOBODY)
        return err_set(err, RC_UNAUTHORIZED, "TOKEN_UNKNOWN", "the token is not known");
    *ret_identity = identity;
    return RC_OK;
}

enum rc auth_route(const struct identity *identity, const struct route *route, struct err *err)
{
    if (identity->role == ROLE_ADMIN || route->agent != AGENT_NEVER)
        return RC_OK;
    return err_set(err, RC_DENIED, "ROLE_NOT_ALLOWED",
                   "an agent's token is good for reading about its own run only");
}

enum rc auth_agent(const struct identity *identity, const struct route *route, const char *subject,
                   struct db *db, struct arena *arena, struct err *err)
{
    if (identity->role == ROLE_ADMIN)
        return RC_OK;
    struct run_row run;
    enum rc rc = runs_get(db, &identity->run_id, arena, &run, err);
    if (rc == RC_NOT_FOUND || (rc == RC_OK && run_is_terminal(run.status)))
        return err_set(err, RC_UNAUTHORIZED, "TOKEN_EXPIRED",
                       "the run that this token was given for has ended");
    if (rc != RC_OK)
        return rc;
    const struct id *own = route->agent == AGENT_OWN_TASK ? &run.task_id : &run.id;
    struct id asked = {0};
    if (!id_parse(subject, &asked) || !id_same(&asked, own))
        return err_set(err, RC_DENIED, "NOT_YOUR_RUN",
                       "an agent's token is good for reading about its own run only");
    return RC_OK;
}

struct actor auth_actor(const struct identity *identity)
{
    if (identity->role == ROLE_AGENT)
        return (struct actor){.type = "agent", .id = identity->run_id.text};
    return (struct actor){.type = "user", .id = "admin"};
}
