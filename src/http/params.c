/*
 * params.c - reads a URL's query and refuses by name.
 */
#include "http/params.h"
#include "base/clock.h"
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { CHOICE_MAX = 40 };

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The byte that %XX at text stands for, or -1. */
static int escaped_byte(struct str text)
{
    int high = text.len >= 3 ? hex_digit(text.at[1]) : -1;
    int low = text.len >= 3 ? hex_digit(text.at[2]) : -1;
    return high < 0 || low < 0 ? -1 : high << 4 | low;
}

bool url_decode(struct str text, bool plus_is_space, struct arena *arena, const char **ret_text)
{
    char *to = arena_alloc(arena, text.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (c == '+' && plus_is_space)
            c = ' ';
        if (c == '%') {
            int byte = escaped_byte((struct str){text.at + i, text.len - i});
            if (byte < 0)
                return false;
            c = (char)byte;
            i += 2;
        }
        to[len++] = c;
    }
    if (!text_utf8_valid(to, len))
        return false;
    *ret_text = to;
    return true;
}

/* Removes the text before the separator (or all) from the front. */
static struct str take_until(struct str *rest, char separator)
{
    const char *end = rest->len ? memchr(rest->at, separator, rest->len) : NULL;
    struct str part = {rest->at, end != NULL ? (size_t)(end - rest->at) : rest->len};
    size_t used = part.len + (end != NULL ? 1 : 0);
    rest->at += used;
    rest->len -= used;
    return part;
}

static struct param_text *find(struct params *params, const char *name)
{
    for (size_t i = 0; i < params->count; i++) {
        if (text_same(params->items[i].name, name))
            return &params->items[i];
    }
    return NULL;
}

enum rc params_parse(struct str text, struct arena *arena, struct params *ret_params,
                     struct err *err)
{
    struct params params = {0};
    while (text.len) {
        struct str value = take_until(&text, '&');
        struct str name = take_until(&value, '=');
        if (name.len == 0 && value.len == 0)
            continue;
        if (params.count == PARAMS_MAX)
            return err_set(err, RC_MALFORMED, "TOO_MANY_PARAMETERS",
                           "at most %d parameters are taken", PARAMS_MAX);
        struct param_text param = {0};
        if (!url_decode(name, true, arena, &param.name) ||
            !url_decode(value, true, arena, &param.value))
            return err_set(err, RC_MALFORMED, "MALFORMED_QUERY",
                           "the query is not percent-encoded UTF-8");
        if (find(&params, param.name) != NULL)
            return err_field(err, RC_MALFORMED, "REPEATED_PARAMETER", param.name,
                             "%.100s may be given once only", param.name);
        params.items[params.count++] = param;
    }
    *ret_params = params;
    return RC_OK;
}

void params_begin(struct params *params, struct err *err)
{
    params->err = err;
    params->rc = RC_OK;
}

void params_fail(struct params *params, const char *name, const char *fmt, ...)
{
    if (params->rc != RC_OK)
        return;
    char text[ERR_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    params->rc = err_field(params->err, RC_MALFORMED, "INVALID_PARAMETER", name, "%s", text);
}

/* The value, or NULL: absent, or an error was found before. */
static const char *ask(struct params *params, const char *name)
{
    struct param_text *param = find(params, name);
    if (param == NULL || params->rc != RC_OK)
        return NULL;
    param->asked = true;
    return param->value;
}

void params_text(struct params *params, const char *name, size_t max, const char **ret_text)
{
    const char *value = ask(params, name);
    if (value == NULL)
        return;
    if (*value == '\0' || strlen(value) > max)
        params_fail(params, name, "%s must have 1 to %zu bytes", name, max);
    else
        *ret_text = value;
}

void params_int(struct params *params, const char *name, const struct param_range *range,
                int64_t *ret_value)
{
    const char *value = ask(params, name);
    if (value == NULL)
        return;
    int64_t number = 0;
    if (!text_to_i64(value, &number) || number < range->min || number > range->max)
        params_fail(params, name, "%s must be a number between %" PRId64 " and %" PRId64, name,
                    range->min, range->max);
    else
        *ret_value = number;
}

void params_choice(struct params *params, const char *name, const char *const *names,
                   const char **ret_text)
{
    const char *text = NULL;
    params_text(params, name, CHOICE_MAX, &text);
    if (text == NULL)
        return;
    for (size_t i = 0; names[i] != NULL; i++) {
        if (text_same(names[i], text)) {
            *ret_text = names[i];
            return;
        }
    }
    params_fail(params, name, "%.40s is not a %s here", text, name);
}

void params_id(struct params *params, const char *name, struct id *ret_id)
{
    const char *value = ask(params, name);
    if (value != NULL && !id_parse(value, ret_id))
        params_fail(params, name, "%s must be a UUID", name);
}

void params_time(struct params *params, const char *name, int64_t *ret_us)
{
    const char *value = ask(params, name);
    if (value != NULL && !time_parse(value, ret_us))
        params_fail(params, name, "%s must be a time like 2026-01-31T12:00:00Z", name);
}

enum rc params_end(struct params *params)
{
    for (size_t i = 0; params->rc == RC_OK && i < params->count; i++) {
        const struct param_text *param = &params->items[i];
        if (!param->asked)
            params->rc = err_field(params->err, RC_MALFORMED, "UNKNOWN_PARAMETER", param->name,
                                   "%.100s is not a parameter here", param->name);
    }
    return params->rc;
}
