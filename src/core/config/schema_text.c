/*
 * schema_text.c - names of schemas, and those of drover by name.
 */
#include "core/config/schema_text.h"
#include <stdio.h>
#include <string.h>

enum { EVENT_NAME_BYTES = SCHEMA_NAME_MAX + 24, VERSION_MAX = 1000000 };

static struct str find(const char *name)
{
    for (const struct schema_text *each = schema_texts; each->name != NULL; each++) {
        if (text_same(each->name, name))
            return each->json;
    }
    return (struct str){0};
}

struct str schema_text_of(const char *name)
{
    char parsed[SCHEMA_NAME_MAX + 1], of_event[EVENT_NAME_BYTES];
    int64_t version;
    struct str text = find(text_same(name, SCHEMA_DRAFT) ? "schema" : name);
    if (text.len > 0 || !schema_name_parse(name, parsed, &version))
        return text;
    (void)snprintf(of_event, sizeof of_event, "%s.v%lld", parsed,
                   version > 0 ? (long long)version : 1LL);
    return find(of_event);
}

bool schema_name_parse(const char *text, char to[SCHEMA_NAME_MAX + 1], int64_t *ret_version)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/~+";
    if (text_starts(text, SCHEMA_URN))
        text += strlen(SCHEMA_URN);
    size_t len = strspn(text, letters);
    int64_t version = 0;
    if (len == 0 || len > SCHEMA_NAME_MAX || strchr("._-/~+", text[0]) != NULL)
        return false;
    if (text[len] == ':' &&
        (!text_to_i64(text + len + 1, &version) || version < 1 || version > VERSION_MAX))
        return false;
    if (text[len] != ':' && text[len] != '\0')
        return false;
    memcpy(to, text, len);
    to[len] = '\0';
    *ret_version = version;
    return true;
}
