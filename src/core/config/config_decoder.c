/*
 * config_decoder.c - fields that several sections of a repository's configuration have.
 */
#include "core/config/config_decoder.h"
#include <ctype.h>
#include <string.h>

const struct field_range config_timeout_range = {1, 30 * CONFIG_DAY_MS};

enum rc config_decode_each(struct decoder *decoder, const struct js *array, const char *key,
                           decode_each_fn *decode)
{
    for (size_t i = 0; i < js_count(array); i++) {
        const char *path = arena_printf(decoder->arena, "%s[%zu]", key, i);
        enum rc rc = decode(decoder, js_at(array, i), path);
        if (rc != RC_OK)
            return rc;
    }
    return RC_OK;
}

void config_command(struct fields *fields, enum field_need need, const char **to)
{
    const struct js *command = NULL;
    fields_strings(fields, "command", need, CONFIG_ARGS_MAX,
                   &(struct field_text){.max = CONFIG_COMMAND_BYTES_MAX}, &command);
    if (fields->rc != RC_OK || command == NULL)
        return;
    size_t count = js_count(command);
    if (count == 0 || text_empty(js_str(js_at(command, 0), ""))) {
        fields_fail(fields, "command", "command must name a program to run");
        return;
    }
    for (size_t i = 0; i < count; i++)
        to[i] = js_str(js_at(command, i), "");
}

void config_strings(struct fields *fields, const char *key, const struct config_list *list)
{
    const struct js *texts = NULL;
    fields_strings(fields, key, FIELD_OPTIONAL, list->max, &list->each, &texts);
    for (size_t i = 0; fields->rc == RC_OK && i < js_count(texts); i++)
        list->to[i] = js_str(js_at(texts, i), "");
}

bool config_name_valid(const char *name)
{
    return name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-")] == '\0';
}

void config_name(struct fields *fields, const char *key, enum field_need need,
                 const char **ret_name)
{
    fields_string(fields, key, need, &(struct field_text){.min = 1, .max = CONFIG_NAME_BYTES_MAX},
                  ret_name);
    if (!config_name_valid(js_get_str(fields->object, key, "")))
        fields_fail(fields, key, "%s may hold only lower-case letters, digits, - and _", key);
}

bool config_variable_valid(const char *name)
{
    if (!isalpha((unsigned char)name[0]) && name[0] != '_')
        return false;
    for (; *name != '\0'; name++) {
        if (!isalnum((unsigned char)*name) && *name != '_')
            return false;
    }
    return true;
}

void config_variable(struct fields *fields, const char *key, const char **ret_name)
{
    const char *name = NULL;
    fields_string(fields, key, FIELD_OPTIONAL, &(struct field_text){.min = 1, .max = 200}, &name);
    if (name == NULL)
        return;
    if (!config_variable_valid(name))
        fields_fail(fields, key,
                    "%s must be the name of an environment variable of the worker that holds the "
                    "secret, not the secret itself",
                    key);
    else
        *ret_name = name;
}

bool config_text_has_control(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return true;
    }
    return false;
}

void config_http_url(struct fields *fields, const char *key, enum field_need need,
                     const char **ret_url)
{
    const char *url = NULL;
    fields_string(fields, key, need, &(struct field_text){.min = 1, .max = CONFIG_URL_BYTES_MAX},
                  &url);
    if (url == NULL)
        return;
    const char *scheme = strstr(url, "://");
    bool web = text_starts(url, "http://") || text_starts(url, "https://");
    if (!web || scheme[3] == '\0' || scheme[3] == '/' || config_text_has_control(url) ||
        strpbrk(url, "?#") != NULL)
        fields_fail(fields, key, "%s must be an address like https://host/path, without a query",
                    key);
    else if (memchr(scheme + 3, '@', strcspn(scheme + 3, "/?#")) != NULL)
        fields_fail(fields, key, "%s must not hold a user or password: name a credential", key);
    else
        *ret_url = url;
}

void config_timeout(struct fields *fields, int64_t *ret_ms)
{
    int64_t seconds = 0, ms = 0;
    fields_int(fields, "timeoutSeconds", FIELD_OPTIONAL,
               &(struct field_range){1, config_timeout_range.max / 1000}, &seconds);
    fields_int(fields, "timeoutMs", FIELD_OPTIONAL, &config_timeout_range, &ms);
    if (seconds > 0 && ms > 0)
        fields_fail(fields, "timeoutMs", "timeoutMs cannot stand beside timeoutSeconds");
    if (seconds > 0)
        *ret_ms = seconds * 1000;
    if (ms > 0)
        *ret_ms = ms;
}

/* What comes from a cache costs as much as the rest unless its price is given. */
enum rc config_prices(struct decoder *decoder, const struct js *object, const char *path,
                      struct price_config *prices)
{
    const struct field_real range = {.min = 0, .max = 1e6};
    struct fields fields;
    if (object == NULL)
        return RC_OK;
    fields_open(&fields, object, path, decoder->err);
    fields_real(&fields, "inputPerMTok", FIELD_REQUIRED, &range, &prices->input);
    prices->cached_input = prices->input;
    fields_real(&fields, "cachedInputPerMTok", FIELD_OPTIONAL, &range, &prices->cached_input);
    fields_real(&fields, "outputPerMTok", FIELD_REQUIRED, &range, &prices->output);
    return fields_close(&fields);
}
