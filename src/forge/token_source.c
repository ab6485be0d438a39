#include "forge/token_source.h"
#include "base/str.h"
#include "forge/github/app_token.h"
#include <stdlib.h>
#include <string.h>

static const char *const access_names[ACCESS_COUNT + 1] = {[ACCESS_READ] = "read",
                                                           [ACCESS_WRITE] = "write",
                                                           [ACCESS_REVIEW] = "review",
                                                           [ACCESS_AGENT] = "agent",
                                                           NULL};

const char *forge_access_name(enum forge_access access)
{
    return access_names[access];
}

bool forge_access_parse(const char *name, enum forge_access *ret_access)
{
    for (int i = 0; i < ACCESS_COUNT; i++) {
        if (text_same(access_names[i], name)) {
            *ret_access = (enum forge_access)i;
            return true;
        }
    }
    return false;
}

void forge_token_wipe(struct forge_token *token)
{
    explicit_bzero(token->text, sizeof token->text);
}

/* Whose key it is: the reviewing identity's where one is configured, else the one that writes. */
struct key {
    const char *variable;
    const struct app_config *app; /* NULL: none */
};

static struct key key_of(const struct repo_config *config, enum forge_access access)
{
    const struct app_config *app = config->app.id != NULL ? &config->app : NULL;
    const struct app_config *reviewer = config->reviewer_app.id != NULL ? &config->reviewer_app
                                                                        : NULL;
    if (access == ACCESS_REVIEW && (config->reviewer_credential != NULL || reviewer != NULL))
        return (struct key){config->reviewer_credential, reviewer};
    if (access == ACCESS_AGENT && (config->agent_credential != NULL || app == NULL))
        return (struct key){config->agent_credential, NULL};
    return (struct key){config->forge_credential, app};
}

bool token_source_named(const struct repo_config *config)
{
    return config->forge_credential != NULL || config->app.id != NULL ||
           config->reviewer_credential != NULL || config->reviewer_app.id != NULL;
}

bool token_source_for_agents(const struct repo_config *config)
{
    return config->agent_credential != NULL || config->app.id != NULL;
}

bool token_source_reviews(const struct repo_config *config)
{
    return config->reviewer_credential != NULL || config->reviewer_app.id != NULL;
}

const char *token_source_name(const struct repo_config *config, enum forge_access access,
                              struct arena *arena)
{
    const struct key key = key_of(config, access);
    if (key.app != NULL)
        return arena_printf(arena, "app %s", key.app->id);
    return key.variable != NULL ? arena_strdup(arena, key.variable) : NULL;
}

/* Not in the text of an error: it is a secret at any length. */
static enum rc take_variable(const char *name, struct forge_token *ret_token, struct err *err)
{
    const char *value = name != NULL ? getenv(name) : NULL;
    if (value == NULL || value[0] == '\0')
        return RC_OK;
    if (strlen(value) >= FORGE_TOKEN_BYTES || strpbrk(value, "\r\n") != NULL)
        return err_set(err, RC_INVALID, "CREDENTIAL_INVALID",
                       "The variable %.100s holds no token: it has several lines, or more than %d "
                       "bytes.",
                       name, FORGE_TOKEN_BYTES - 1);
    text_copy(ret_token->text, sizeof ret_token->text, value);
    return RC_OK;
}

static enum rc make_token(const struct repo_config *config, enum forge_access access,
                          const struct key *key, const struct git *how,
                          struct forge_token *ret_token, struct err *err)
{
    struct app_token made = {.expires_us = 0};
    const struct app_token_want want = {.app = key->app,
                                        .url = config->url,
                                        .api = config->api,
                                        .write = access != ACCESS_READ && access != ACCESS_AGENT};
    enum rc rc = app_token_get(&want, how, &made, err);
    if (rc == RC_OK) {
        text_copy(ret_token->text, sizeof ret_token->text, made.text);
        ret_token->expires_us = made.expires_us;
    }
    explicit_bzero(made.text, sizeof made.text);
    return rc;
}

enum rc token_source_get(const struct repo_config *config, enum forge_access access,
                         const struct git *how, struct forge_token *ret_token, struct err *err)
{
    const struct key key = key_of(config, access);
    ret_token->text[0] = '\0';
    ret_token->expires_us = 0;
    return key.app != NULL ? make_token(config, access, &key, how, ret_token, err)
                           : take_variable(key.variable, ret_token, err);
}

void token_source_refused(const char *sha256)
{
    app_token_forget(sha256);
}

enum rc token_source_unavailable(enum rc rc, struct err *err)
{
    if (rc == RC_UNAUTHORIZED || rc == RC_DENIED) { /* Not the caller's own token. */
        struct err why = *err;
        return err_set(err, RC_CONFLICT, "TOKEN_REFUSED", "the forge makes no token: %.400s",
                       why.text);
    }
    if (rc != RC_UNREACHABLE && rc != RC_TIMEOUT && rc != RC_IO && rc != RC_LIMIT &&
        rc != RC_CORRUPT)
        return rc;
    struct err why = *err;
    rc = err_set(err, RC_UNREACHABLE, "TOKEN_UNAVAILABLE", "no token could be made: %.400s",
                 why.text);
    err->retry_ms = why.retry_ms;
    return rc;
}
