#include "core/config/account_config.h"
#include "core/config/config_decoder.h"
#include "core/config/profile.h"
#include "core/text/secrets.h"
#include <string.h>

enum {
    MAX_RUNS_MAX = 100000,
    ENTRY_BYTES_MAX = 1000,
    HOME_BYTES_MAX = 1024,
    MODEL_BYTES_MAX = 200,
};
static const double price_max = 1e6;

/* ---- variables ---- */

struct account_variable account_variable_of(const char *entry, struct arena *arena)
{
    const char *equals = strchr(entry, '=');
    if (equals == NULL)
        return (struct account_variable){entry, VARIABLE_OWN, entry};
    struct account_variable variable = {
        .name = arena_strndup(arena, entry, (size_t)(equals - entry)),
        .source = VARIABLE_TEXT,
        .value = equals + 1,
    };
    if (equals[1] == '$' || equals[1] == '@') {
        variable.source = equals[1] == '$' ? VARIABLE_OTHER : VARIABLE_FILE;
        variable.value++;
    }
    return variable;
}

/* By the words of its name: ANTHROPIC_API_KEY is one, MAX_OUTPUT_TOKENS is not. */
static bool is_secret_name(const char *name)
{
    static const char *const words[] = {
        "KEY",  "APIKEY",     "TOKEN", "SECRET",     "SECRETS",     "PASSWORD", "PASSWD",
        "PASS", "PASSPHRASE", "AUTH",  "CREDENTIAL", "CREDENTIALS", "COOKIE",   "PAT"};
    while (*name != '\0') {
        size_t len = strcspn(name, "_");
        for (size_t i = 0; i < COUNT_OF(words); i++)
            if (strlen(words[i]) == len && strncasecmp(name, words[i], len) == 0)
                return true;
        name += len + (name[len] == '_');
    }
    return false;
}

static bool holds_secret(const char *text, struct arena *arena)
{
    struct secrets *secrets = arena_alloc(arena, sizeof *secrets);
    enum key_state key = KEY_OUTSIDE;
    struct secret found;
    secrets_init(secrets);
    struct secret_scan scan = secrets_scan(secrets, str_of(text), &key);
    return secrets_next(&scan, &found);
}

bool account_variable_is_secret(const struct account_variable *variable, struct arena *arena)
{
    return is_secret_name(variable->name) || holds_secret(variable->value, arena);
}

static bool path_valid(const char *path)
{
    return path[0] == '/' && path[1] != '\0' && strstr(path, "/../") == NULL &&
           !config_text_has_control(path);
}

/* What is wrong with the value; NULL: nothing. */
static const char *value_fault(const struct account_variable *variable, struct arena *arena)
{
    switch (variable->source) {
    case VARIABLE_OWN:
        return NULL;
    case VARIABLE_OTHER:
        return config_variable_valid(variable->value)
                   ? NULL
                   : "must name a variable of the worker after $";
    case VARIABLE_FILE:
        return path_valid(variable->value) ? NULL
                                           : "must have an absolute path, without .., after @";
    case VARIABLE_TEXT:
        break;
    }
    if (account_variable_is_secret(variable, arena))
        return "looks like a secret: jobs are stored with these texts, so give the name of a "
               "variable of the worker (NAME=$OTHER) or a file (NAME=@/path)";
    return config_text_has_control(variable->value) ? "must not hold control characters" : NULL;
}

static void check_variable(struct fields *fields, const char *key, const char *entry,
                           struct arena *arena)
{
    struct account_variable variable = account_variable_of(entry, arena);
    const char *fault = NULL;
    if (!config_variable_valid(variable.name))
        fault = "must begin with the name of an environment variable";
    else if (text_starts(variable.name, "DROVER_") || text_same(variable.name, "HOME"))
        fault = "must not set HOME or DROVER_...: drover sets these itself";
    else
        fault = value_fault(&variable, arena);
    if (fault != NULL) /* The value may be the secret: only the name is repeated. */
        fields_fail(fields, key, "%s (%.100s) %s", key, variable.name, fault);
}

static void decode_env(struct fields *fields, struct arena *arena, const char **ret_env)
{
    const struct js *entries = NULL;
    fields_strings(fields, "env", FIELD_OPTIONAL, ACCOUNT_ENV_MAX,
                   &(struct field_text){.min = 1, .max = ENTRY_BYTES_MAX}, &entries);
    for (size_t i = 0; fields->rc == RC_OK && i < js_count(entries); i++) {
        const char *entry = js_str(js_at(entries, i), "");
        check_variable(fields, arena_printf(arena, "env[%zu]", i), entry, arena);
        ret_env[i] = arena_strdup(arena, entry);
    }
}

/* ---- the list ---- */

static void decode_home(struct fields *fields, struct account_config *account)
{
    fields_string(fields, "home", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = HOME_BYTES_MAX}, &account->home);
    if (account->home != NULL && !path_valid(account->home))
        fields_fail(fields, "home", "home must be an absolute path, without ..");
}

static void decode_provider(struct fields *fields, struct account_config *account)
{
    config_name(fields, "provider", FIELD_REQUIRED, &account->provider);
    if (account->provider == NULL || agent_profile_find(account->provider) != NULL)
        return;
    const char *closest = agent_profile_closest(account->provider);
    fields_fail(fields, "provider",
                "provider: there is no profile \"%.64s\"%s%s%s; see drover agents profiles",
                account->provider, closest != NULL ? " (did you mean " : "",
                closest != NULL ? closest : "", closest != NULL ? "?)" : "");
}

static enum rc decode_one(const struct js *object, const char *path, struct arena *arena,
                          struct account_config *ret_account, struct err *err)
{
    struct account_config account = {.price = 1};
    struct fields fields;
    fields_open(&fields, object, path, err);
    config_name(&fields, "name", FIELD_REQUIRED, &account.name);
    decode_provider(&fields, &account);
    decode_home(&fields, &account);
    decode_env(&fields, arena, account.env);
    fields_string(&fields, "model", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = MODEL_BYTES_MAX}, &account.model);
    fields_int(&fields, "maxRuns", FIELD_OPTIONAL, &(struct field_range){0, MAX_RUNS_MAX},
               &account.max_runs);
    fields_real(&fields, "price", FIELD_OPTIONAL, &(struct field_real){0, price_max},
                &account.price);
    fields_real(&fields, "reserve", FIELD_OPTIONAL, &(struct field_real){0, 1}, &account.reserve);
    if (account.home != NULL && account.max_runs > 1)
        fields_fail(&fields, "maxRuns",
                    "maxRuns must be 1 beside home: two runs in one home would overwrite each "
                    "other's login");
    enum rc rc = fields_close(&fields);
    if (rc != RC_OK)
        return rc;
    if (account.home != NULL)
        account.max_runs = 1;
    account.name = arena_strdup(arena, account.name);
    account.provider = arena_strdup(arena, account.provider);
    account.home = arena_strdup(arena, account.home);
    account.model = arena_strdup(arena, account.model);
    *ret_account = account;
    return RC_OK;
}

/* A name or a home that an account before it has. */
static enum rc check_other(const struct account_config *items, size_t at, const char *path,
                           struct arena *arena, struct err *err)
{
    const struct account_config *account = &items[at];
    for (size_t i = 0; i < at; i++) {
        bool name = text_same(items[i].name, account->name);
        bool home = account->home != NULL && text_same(items[i].home, account->home);
        const char *key = name ? "name" : "home";
        if (name || home)
            return err_field(err, RC_INVALID, "INVALID_FIELD",
                             arena_printf(arena, "%s[%zu].%s", path, at, key),
                             "%s[%zu].%s is that of %s[%zu] too", path, at, key, path, i);
    }
    return RC_OK;
}

enum rc account_configs_decode(const struct js *array, const char *path, struct arena *arena,
                               struct account_configs *ret_accounts, struct err *err)
{
    size_t count = js_count(array);
    if (count > ACCOUNTS_MAX)
        return err_field(err, RC_INVALID, "INVALID_FIELD", path, "%s must have at most %d entries",
                         path, ACCOUNTS_MAX);
    struct account_config *items = arena_array(arena, count, sizeof *items);
    for (size_t i = 0; i < count; i++) {
        enum rc rc = decode_one(js_at(array, i), arena_printf(arena, "%s[%zu]", path, i), arena,
                                &items[i], err);
        if (rc == RC_OK)
            rc = check_other(items, i, path, arena, err);
        if (rc != RC_OK)
            return rc;
    }
    *ret_accounts = (struct account_configs){items, count};
    return RC_OK;
}

const struct account_config *account_configs_find(const struct account_configs *accounts,
                                                  const char *name)
{
    for (size_t i = 0; i < accounts->count; i++)
        if (text_same(accounts->items[i].name, name))
            return &accounts->items[i];
    return NULL;
}

/* ---- for workers ---- */

void account_config_write(struct jw *jw, const struct account_config *account)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "name", account->name);
    jw_kstr(jw, "provider", account->provider);
    jw_optstr(jw, "home", account->home);
    jw_optstr(jw, "model", account->model);
    jw_key(jw, "env");
    jw_begin(jw, '[');
    for (size_t i = 0; account->env[i] != NULL; i++)
        jw_str(jw, account->env[i]);
    jw_end(jw, ']');
    jw_end(jw, '}');
}

enum rc account_config_read(const struct js *object, struct account_config *ret_account,
                            struct err *err)
{
    struct account_config account = {
        .name = js_get_str(object, "name", NULL),
        .provider = js_get_str(object, "provider", ""),
        .home = js_get_str(object, "home", NULL),
        .model = js_get_str(object, "model", NULL),
    };
    const struct js *env = js_get(object, "env");
    bool fits = account.name != NULL && js_count(env) <= ACCOUNT_ENV_MAX &&
                (account.home == NULL || path_valid(account.home));
    for (size_t i = 0; fits && i < js_count(env); i++) {
        account.env[i] = js_str(js_at(env, i), NULL);
        fits = account.env[i] != NULL;
    }
    if (!fits)
        return err_field(err, RC_INVALID, "INVALID_FIELD", "account",
                         "The payload's account is not as the server writes it.");
    *ret_account = account;
    return RC_OK;
}
