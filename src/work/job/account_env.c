#include "work/job/account_env.h"
#include "base/fd.h"
#include "core/config/profile.h"
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 64 * 1024 };

/* NULL: it cannot be read, is empty, or larger than any credential. */
static const char *first_line(const char *path, struct arena *arena)
{
    CLEANUP(buf_release) struct buf text;
    struct str rest, line;
    buf_init(&text, FILE_BYTES_MAX);
    if (file_read(path, &text, NULL) != RC_OK || text.overflow)
        return NULL;
    rest = buf_str(&text);
    if (!str_take_line(&rest, &line) || line.len == 0)
        return NULL;
    return str_dup(arena, line);
}

static const char *value_of(const struct account_variable *variable, struct arena *arena)
{
    switch (variable->source) {
    case VARIABLE_OWN:
    case VARIABLE_OTHER:
        return getenv(variable->value);
    case VARIABLE_FILE:
        return first_line(variable->value, arena);
    case VARIABLE_TEXT:
        break;
    }
    return variable->value;
}

void account_secrets(const struct account_config *account, struct arena *arena,
                     struct secrets *secrets)
{
    for (size_t i = 0; account->env[i] != NULL; i++) {
        struct account_variable variable = account_variable_of(account->env[i], arena);
        if (variable.source != VARIABLE_TEXT)
            secrets_add(secrets, "env", value_of(&variable, arena));
    }
}

/* A credential of drover's own user must not pay for what the account was chosen for. */
static void unset_others(const struct account_config *account, struct childenv *env)
{
    const struct agent_profile *profile = agent_profile_find(account->provider);
    bool has_login = account->home != NULL || account->env[0] != NULL;
    if (!has_login || profile == NULL || profile->credentials == NULL)
        return;
    for (size_t i = 0; profile->credentials[i] != NULL; i++)
        childenv_unset(env, profile->credentials[i]);
}

enum rc account_env_set(const struct account_config *account, struct arena *arena,
                        struct childenv *env, struct err *err)
{
    if (account->name == NULL)
        return RC_OK;
    unset_others(account, env);
    for (size_t i = 0; account->env[i] != NULL; i++) {
        struct account_variable variable = account_variable_of(account->env[i], arena);
        const char *value = value_of(&variable, arena);
        if (value == NULL)
            return err_set(
                err, RC_INVALID, "ACCOUNT_INCOMPLETE",
                "Account %s needs %s, and %s %.200s %s on this worker.", account->name,
                variable.name, variable.source == VARIABLE_FILE ? "the file" : "the variable",
                variable.value, variable.source == VARIABLE_FILE ? "cannot be read" : "is not set");
        childenv_set(env, arena, variable.name, value);
    }
    return RC_OK;
}
