/*
 * config_decoder.c - fields that several sections of a repository's configuration have.
 */
#include "core/config/config_decoder.h"
#include <ctype.h>
#include <string.h>

const struct form_range config_timeout_range = {1, 30 * CONFIG_DAY_MS};

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

void config_command(struct form *form, enum form_need need, const char **to)
{
    const struct js *command = NULL;
    form_strings(form, "command", need, CONFIG_ARGS_MAX,
                 &(struct form_text){.max = CONFIG_COMMAND_BYTES_MAX}, &command);
    if (form->rc != RC_OK || command == NULL)
        return;
    size_t count = js_count(command);
    if (count == 0 || text_empty(js_str(js_at(command, 0), ""))) {
        form_fail(form, "command", "command must name a program to run");
        return;
    }
    for (size_t i = 0; i < count; i++)
        to[i] = js_str(js_at(command, i), "");
}

void config_strings(struct form *form, const char *key, const struct config_list *list)
{
    const struct js *texts = NULL;
    form_strings(form, key, FORM_OPTIONAL, list->max, &list->each, &texts);
    for (size_t i = 0; form->rc == RC_OK && i < js_count(texts); i++)
        list->to[i] = js_str(js_at(texts, i), "");
}

void config_name(struct form *form, const char *key, enum form_need need, const char **ret_name)
{
    form_string(form, key, need, &(struct form_text){.min = 1, .max = CONFIG_NAME_BYTES_MAX},
                ret_name);
    const char *name = js_get_str(form->object, key, "");
    if (name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-")] != '\0')
        form_fail(form, key, "%s may hold only lower-case letters, digits, - and _", key);
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

void config_variable(struct form *form, const char *key, const char **ret_name)
{
    const char *name = NULL;
    form_string(form, key, FORM_OPTIONAL, &(struct form_text){.min = 1, .max = 200}, &name);
    if (name == NULL)
        return;
    if (!config_variable_valid(name))
        form_fail(form, key,
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

void config_http_url(struct form *form, const char *key, enum form_need need, const char **ret_url)
{
    const char *url = NULL;
    form_string(form, key, need, &(struct form_text){.min = 1, .max = CONFIG_URL_BYTES_MAX}, &url);
    if (url == NULL)
        return;
    const char *scheme = strstr(url, "://");
    bool web = text_starts(url, "http://") || text_starts(url, "https://");
    if (!web || scheme[3] == '\0' || scheme[3] == '/' || config_text_has_control(url) ||
        strpbrk(url, "?#") != NULL)
        form_fail(form, key, "%s must be an address like https://host/path, without a query", key);
    else if (memchr(scheme + 3, '@', strcspn(scheme + 3, "/?#")) != NULL)
        form_fail(form, key, "%s must not hold a user or password: name a credential", key);
    else
        *ret_url = url;
}

void config_timeout(struct form *form, int64_t *ret_ms)
{
    int64_t seconds = 0, ms = 0;
    form_int(form, "timeoutSeconds", FORM_OPTIONAL,
             &(struct form_range){1, config_timeout_range.max / 1000}, &seconds);
    form_int(form, "timeoutMs", FORM_OPTIONAL, &config_timeout_range, &ms);
    if (seconds > 0 && ms > 0)
        form_fail(form, "timeoutMs", "timeoutMs cannot stand beside timeoutSeconds");
    if (seconds > 0)
        *ret_ms = seconds * 1000;
    if (ms > 0)
        *ret_ms = ms;
}

/* What comes from a cache costs as much as the rest unless its price is given. */
enum rc config_prices(struct decoder *decoder, const struct js *object, const char *path,
                      struct price_config *prices)
{
    const struct form_real range = {.min = 0, .max = 1e6};
    struct form form;
    if (object == NULL)
        return RC_OK;
    form_open(&form, object, path, decoder->err);
    form_real(&form, "inputPerMTok", FORM_REQUIRED, &range, &prices->input);
    prices->cached_input = prices->input;
    form_real(&form, "cachedInputPerMTok", FORM_OPTIONAL, &range, &prices->cached_input);
    form_real(&form, "outputPerMTok", FORM_REQUIRED, &range, &prices->output);
    return form_close(&form);
}
