/*
 * config_webhook.c - how drover learns what changes at the repository's forge.
 *
 *   webhook:  {secret, oldSecret}
 *   sync:     {everyMs, recoverMs}
 */
#include "core/config/config_decoder.h"

static const struct field_range pause_range = {1000, CONFIG_DAY_MS};

static void variable_of_server(struct fields *fields, const char *key, const char **ret_name)
{
    const char *name = NULL;
    fields_string(fields, key, FIELD_OPTIONAL, &(struct field_text){.min = 1, .max = 200}, &name);
    if (name != NULL && !config_variable_valid(name))
        fields_fail(fields, key,
                    "%s must be the name of an environment variable of the server that holds the "
                    "secret, not the secret itself",
                    key);
    else if (name != NULL)
        *ret_name = name;
}

enum rc config_decode_webhook(struct decoder *decoder, const struct js *object)
{
    struct repo_config *config = &decoder->config;
    struct fields fields;
    fields_open(&fields, object, "webhook", decoder->err);
    variable_of_server(&fields, "secret", &config->webhook.secret);
    variable_of_server(&fields, "oldSecret", &config->webhook.old_secret);
    if (config->webhook.old_secret != NULL && config->webhook.secret == NULL)
        fields_fail(&fields, "oldSecret", "oldSecret needs secret beside it");
    return fields_close(&fields);
}

enum rc config_decode_sync(struct decoder *decoder, const struct js *object)
{
    struct repo_config *config = &decoder->config;
    struct fields fields;
    fields_open(&fields, object, "sync", decoder->err);
    fields_int(&fields, "everyMs", FIELD_OPTIONAL, &pause_range, &config->sync.poll_ms);
    fields_int(&fields, "recoverMs", FIELD_OPTIONAL, &pause_range, &config->sync.recover_ms);
    return fields_close(&fields);
}
