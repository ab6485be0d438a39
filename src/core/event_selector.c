#include "core/event_selector.h"
#include "base/str.h"
#include "core/event.h"
#include "core/event_tags.h"
#include <string.h>

bool event_selector_takes_type(const struct event_selector *selector, const char *type)
{
    if (selector->types[0] == NULL)
        return true;
    for (size_t i = 0; selector->types[i] != NULL; i++)
        if (event_type_match(selector->types[i], type))
            return true;
    return false;
}

bool event_selector_match(const struct event_selector *selector, const struct event_traits *traits)
{
    if (traits->severity < selector->min_severity)
        return false;
    for (size_t i = 0; selector->tags[i] != NULL; i++)
        if (!event_tags_have(traits->tags, str_of(selector->tags[i])))
            return false;
    return event_selector_takes_type(selector, traits->type);
}

bool event_selector_narrows(const struct event_selector *selector)
{
    return selector->types[0] != NULL || selector->tags[0] != NULL ||
           selector->min_severity > SEVERITY_DEBUG;
}

static size_t list_bytes(const char *const *list)
{
    size_t bytes = 0;
    for (size_t i = 0; list[i] != NULL; i++)
        bytes += strlen(list[i]) + 1;
    return bytes;
}

size_t event_selector_bytes(const struct event_selector *selector)
{
    return list_bytes(selector->types) + list_bytes(selector->tags);
}

static char *pack_list(const char **to, const char *const *from, char *texts)
{
    for (size_t i = 0; from[i] != NULL; i++) {
        size_t bytes = strlen(from[i]) + 1;
        memcpy(texts, from[i], bytes);
        to[i] = texts;
        texts += bytes;
    }
    return texts;
}

void event_selector_pack(struct event_selector *to, const struct event_selector *from, char *texts)
{
    *to = (struct event_selector){.min_severity = from->min_severity};
    texts = pack_list(to->types, from->types, texts);
    (void)pack_list(to->tags, from->tags, texts);
}
