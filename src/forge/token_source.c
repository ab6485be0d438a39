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

static const char *variable_of(const struct repo_config *config, enum forge_access access)
{
    (void)access;
    return config->forge_credential;
}

bool token_source_named(const struct repo_config *config)
{
    return config->forge_credential != NULL;
}

const char *token_source_name(const struct repo_config *config, enum forge_access access,
                              struct arena *arena)
{
    const char *variable = variable_of(config, access);
    return variable != NULL ? arena_strdup(arena, variable) : NULL;
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
    return take_variable(variable_of(config, access), ret_token, err);
}
