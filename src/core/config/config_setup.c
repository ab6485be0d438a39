/*
 * config_setup.c - the section `setup` of a repository's configuration.
 *
 *   setup: [{name, command, keys, outputs, timeoutSeconds | timeoutMs}]
 */
#include "core/config/config_decoder.h"

static bool name_known(const struct repo_config *config, const char *name)
{
    for (size_t i = 0; i < config->setup_count; i++) {
        if (text_same(config->setup[i].name, name))
            return true;
    }
    return false;
}

enum rc config_decode_setup(struct decoder *decoder, const struct js *object, const char *path)
{
    struct repo_config *config = &decoder->config;
    struct setup_config setup = {.timeout_ms = 15 * CONFIG_MINUTE_MS};
    struct fields fields;
    fields_open(&fields, object, path, decoder->err);
    config_name(&fields, "name", FIELD_REQUIRED, &setup.name);
    if (setup.name != NULL && name_known(config, setup.name))
        fields_fail(&fields, "name", "name %s is there twice", setup.name);
    fields_string(&fields, "command", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = CONFIG_COMMAND_BYTES_MAX}, &setup.command);
    config_strings(&fields, "keys",
                   &(struct config_list){.to = setup.keys,
                                         .max = CONFIG_SETUP_KEYS_MAX,
                                         .each = {.min = 1, .max = CONFIG_GLOB_BYTES_MAX}});
    config_outputs(decoder, &fields, setup.outputs);
    if (fields.rc == RC_OK && setup.outputs[0] == NULL)
        fields_fail(&fields, "outputs",
                    "outputs must name at least one path that the command makes, "
                    "such as node_modules");
    config_timeout(&fields, &setup.timeout_ms);
    enum rc rc = fields_close(&fields);
    if (rc == RC_OK)
        config->setup[config->setup_count++] = setup;
    return rc;
}
