#include "base/js_peek.h"

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n'))
        at++;
    return at;
}

/* From its opening quote to behind its closing one. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++) {
        if (*at == '\\' && at + 1 < end)
            at++;
    }
    return at < end ? at + 1 : end;
}

/* To the comma or bracket behind it. */
static const char *skip_value(const char *at, const char *end)
{
    int depth = 0;
    while (at < end) {
        if (*at == '"') {
            at = skip_string(at, end);
            continue;
        }
        bool opens = *at == '{' || *at == '[', closes = *at == '}' || *at == ']';
        if (depth == 0 && (closes || *at == ','))
            break;
        depth += opens - closes;
        at++;
    }
    return at;
}

struct str js_peek(struct str object, const char *key)
{
    const char *end = object.at + object.len;
    const char *at = skip_space(object.at, end);
    while (at < end && (*at == '{' || *at == ',')) {
        const char *name = skip_space(at + 1, end);
        if (name == end || *name != '"')
            break;
        const char *behind = skip_string(name, end);
        struct str found = {name + 1, behind > name + 1 ? (size_t)(behind - name - 2) : 0};
        at = skip_space(behind, end);
        if (at == end || *at != ':')
            break;
        const char *value = skip_space(at + 1, end);
        at = skip_value(value, end);
        if (str_is(found, key))
            return (struct str){value, (size_t)(at - value)};
    }
    return (struct str){0};
}

size_t js_peek_count(struct str json)
{
    const char *at = json.at, *end = json.at + json.len;
    size_t count = 1;
    while (at < end) {
        if (*at == '"') {
            at = skip_string(at, end);
        } else {
            count += *at == ',' || *at == '{' || *at == '[';
            at++;
        }
    }
    return count;
}
