#include "forge/token_source.h"
#include "base/str.h"
#include <stdlib.h>
#include <string.h>

static const char *const access_names[ACCESS_COUNT + 1] = {
    [ACCESS_READ] = "read", [ACCESS_WRITE] = "write", [ACCESS_REVIEW] = "review", NULL};

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
    return (struct key){config->forge_credential, app};
}

bool token_source_named(const struct repo_config *config)
{
    return config->forge_credential != NULL || config->app.id != NULL ||
           config->reviewer_credential != NULL || config->reviewer_app.id != NULL;
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

/* Not in the text of an error: it is a secret whatever its length. */
static enum rc take_variable(const char *name, struct forge_token *ret_token, struct err *err)
{
    const char *value = name != NULL ? getenv(name) : NULL;
    if (text_empty(value))
        return RC_OK;
    if (strlen(value) >= FORGE_TOKEN_BYTES || strpbrk(value, "\r\n") != NULL)
        return err_set(err, RC_INVALID, "CREDENTIAL_INVALID",
                       "The variable %.100s holds no token: it has several lines, or more than %d "
                       "bytes.",
                       name, FORGE_TOKEN_BYTES - 1);
    text_copy(ret_token->text, sizeof ret_token->text, value);
    return RC_OK;
}

enum rc token_source_get(const struct repo_config *config, enum forge_access access,
                         const struct git *how, struct forge_token *ret_token, struct err *err)
{
    (void)how;
    ret_token->text[0] = '\0';
    ret_token->expires_us = 0;
    return take_variable(key_of(config, access).variable, ret_token, err);
}
