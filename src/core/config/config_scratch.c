/*
 * config_scratch.c - the section `scratch` of a repository's configuration.
 */
#include "core/config/config_decoder.h"
#include <ctype.h>
#include <string.h>

static const char *const user_names[SCRATCH_USER_COUNT + 1] = {
    [SCRATCH_AGENT] = "agent", [SCRATCH_SETUP] = "setup",   [SCRATCH_VERIFY] = "verify",
    [SCRATCH_JUDGE] = "judge", [SCRATCH_CUSTOM] = "custom", NULL};

static void decode_users(struct fields *fields, unsigned *users)
{
    const struct js *names = NULL;
    fields_strings(fields, "steps", FIELD_OPTIONAL, SCRATCH_USER_COUNT,
                   &(struct field_text){.min = 1, .max = CONFIG_NAME_BYTES_MAX}, &names);
    if (fields->rc != RC_OK || names == NULL)
        return;
    *users = 0;
    for (size_t i = 0; i < js_count(names); i++) {
        int user = 0;
        while (user_names[user] != NULL &&
               !text_same(user_names[user], js_str(js_at(names, i), "")))
            user++;
        if (user_names[user] == NULL)
            fields_fail(fields, "steps", "steps may name agent, setup, verify, judge and custom");
        *users |= 1u << user;
    }
    if (*users == 0)
        fields_fail(fields, "steps", "steps must name at least one");
}

static void decode_env(struct fields *fields, struct database_config *database)
{
    config_strings(fields, "env",
                   &(struct config_list){.to = database->env,
                                         .max = SCRATCH_ENV_MAX,
                                         .each = {.min = 1, .max = 200}});
    for (size_t i = 0; database->env[i] != NULL; i++) {
        if (!config_variable_valid(database->env[i]) || text_starts(database->env[i], "DROVER_"))
            fields_fail(fields, "env",
                        "env must name variables of the worker, not values and none of drover's");
    }
}

/* DROVER_DATABASE_TEST for test. */
static const char *own_variable(const char *name, struct arena *arena)
{
    char *text = arena_printf(arena, "DROVER_DATABASE_%s", name);
    for (char *at = text; *at != '\0'; at++)
        *at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
    return text;
}

static void decode_variable(struct decoder *decoder, struct fields *fields,
                            struct database_config *database)
{
    const struct scratch_config *scratch = &decoder->config.scratch;
    config_variable(fields, "variable", &database->variable);
    if (database->name == NULL || fields->rc != RC_OK)
        return;
    if (database->variable == NULL)
        database->variable = own_variable(database->name, decoder->arena);
    else if (text_starts(database->variable, "DROVER_"))
        fields_fail(fields, "variable", "variable may not start with DROVER_: those are drover's");
    for (size_t i = 0; i < scratch->database_count; i++) {
        if (text_same(scratch->databases[i].variable, database->variable))
            fields_fail(fields, "variable", "variable %s is that of database %s already",
                        database->variable, scratch->databases[i].name);
    }
}

static void check_kind(struct fields *fields, const struct database_config *database)
{
    if (fields->rc != RC_OK)
        return;
    bool commands = database->create != NULL && database->drop != NULL;
    bool any = database->create != NULL || database->drop != NULL || database->url != NULL ||
               database->env[0] != NULL;
    if (database->directory && any)
        fields_fail(fields, "directory",
                    "a directory has no create, drop, url or env: drover makes and removes it");
    else if (!database->directory && !commands)
        fields_fail(fields, database->create == NULL ? "create" : "drop",
                    "a database needs both create and drop, or directory: true");
    else if (database->url != NULL && strstr(database->url, "{database}") == NULL)
        fields_fail(fields, "url",
                    "url must hold {database}: without it all runs would share one database");
    else if (database->url != NULL && config_text_has_control(database->url))
        fields_fail(fields, "url", "url may not hold control characters");
}

static enum rc decode_database(struct decoder *decoder, const struct js *object, const char *path)
{
    struct scratch_config *scratch = &decoder->config.scratch;
    struct database_config database = {.timeout_ms = CONFIG_MINUTE_MS,
                                       .users = 1u << SCRATCH_AGENT | 1u << SCRATCH_VERIFY};
    const struct field_text command = {.min = 1, .max = CONFIG_COMMAND_BYTES_MAX};
    struct fields fields;
    fields_open(&fields, object, path, decoder->err);
    config_name(&fields, "name", FIELD_REQUIRED, &database.name);
    if (database.name != NULL && strlen(database.name) > SCRATCH_NAME_BYTES_MAX)
        fields_fail(&fields, "name", "name may have %d bytes", SCRATCH_NAME_BYTES_MAX);
    fields_bool(&fields, "directory", FIELD_OPTIONAL, &database.directory);
    fields_string(&fields, "create", FIELD_OPTIONAL, &command, &database.create);
    fields_string(&fields, "drop", FIELD_OPTIONAL, &command, &database.drop);
    fields_string(&fields, "url", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = CONFIG_URL_BYTES_MAX}, &database.url);
    decode_env(&fields, &database);
    decode_variable(decoder, &fields, &database);
    decode_users(&fields, &database.users);
    config_timeout(&fields, &database.timeout_ms);
    check_kind(&fields, &database);
    enum rc rc = fields_close(&fields);
    if (rc == RC_OK)
        scratch->databases[scratch->database_count++] = database;
    return rc;
}

enum rc config_decode_scratch(struct decoder *decoder, const struct js *object)
{
    const struct js *databases = NULL;
    struct fields fields;
    fields_open(&fields, object, "scratch", decoder->err);
    fields_int(&fields, "ports", FIELD_OPTIONAL, &(struct field_range){0, SCRATCH_PORTS_MAX},
               &decoder->config.scratch.ports);
    fields_array(&fields, "databases", FIELD_OPTIONAL, SCRATCH_DATABASES_MAX, &databases);
    enum rc rc = fields_close(&fields);
    return rc == RC_OK
               ? config_decode_each(decoder, databases, "scratch.databases", decode_database)
               : rc;
}
