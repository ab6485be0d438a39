/*
 * account_config.h - the provider accounts of the server's configuration: a pool that runs are
 * given an account of.
 *
 *     accounts:
 *       - name: claude-one
 *         provider: claude                       # the profile that it is for, `agent: {use: ...}`
 *         home: /srv/accounts/claude-one         # seeds $HOME; one run at a time
 *       - name: claude-api
 *         provider: claude
 *         env: [ANTHROPIC_API_KEY=$KEY_TWO, ANTHROPIC_BASE_URL=https://llm.example.org]
 *         maxRuns: 4
 *         price: 2.5                             # the cheapest free one is taken
 *         reserve: 0.2                           # of each window, kept free
 *         model: claude-opus-4                   # in place of the agent's
 *
 * An entry of env is one of these; the worker looks up what it names:
 *
 *     NAME          its own variable of that name
 *     NAME=$OTHER   its own variable OTHER
 *     NAME=@/path   the first line of a file
 *     NAME=text     this text, which is stored in jobs: refused for what looks like a secret
 */
#ifndef CORE_CONFIG_ACCOUNT_CONFIG_H
#define CORE_CONFIG_ACCOUNT_CONFIG_H
#include "base/js.h"
#include "base/jw.h"
#include <stdint.h>

enum { ACCOUNTS_MAX = 64, ACCOUNT_ENV_MAX = 16 };

struct account_config {
    const char *name;
    const char *provider;
    const char *home; /* Absolute, or NULL. */
    const char *env[ACCOUNT_ENV_MAX + 1];
    const char *model; /* or NULL */
    int64_t max_runs;  /* 0: no limit; 1 with a home. */
    double price;
    double reserve; /* 0 to 1. */
};

struct account_configs {
    const struct account_config *items;
    size_t count;
};

/* RC_INVALID: err names the field.  Texts are copied into the arena. */
MUST_USE enum rc account_configs_decode(const struct js *array, const char *path,
                                        struct arena *arena, struct account_configs *ret_accounts,
                                        struct err *err);
/* NULL: there is none of this name. */
const struct account_config *account_configs_find(const struct account_configs *accounts,
                                                  const char *name);

/* What a worker needs of it, as a JSON object. */
void account_config_write(struct jw *jw, const struct account_config *account);
/* Texts live in the tree. */
MUST_USE enum rc account_config_read(const struct js *object, struct account_config *ret_account,
                                     struct err *err);

enum variable_source { VARIABLE_OWN, VARIABLE_OTHER, VARIABLE_FILE, VARIABLE_TEXT };
struct account_variable {
    const char *name;
    enum variable_source source;
    const char *value; /* The name of the other variable, the path, or the text. */
};
/* An entry of env that was checked. */
struct account_variable account_variable_of(const char *entry, struct arena *arena);
/* A text that looks like a secret, by the name of the variable or by itself. */
bool account_variable_is_secret(const struct account_variable *variable, struct arena *arena);
#endif
