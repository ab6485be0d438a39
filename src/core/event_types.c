/*
 * event_types.c - the table of events, as core/event_table.inc has it, and the search in it.
 */
#include "core/event_types.h"
#include "base/rc.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The line in timelines is of core/run/timeline.c. */
#define EVENT(name, type, version, context, severity, key, volume, line, meaning)               \
    {type,           meaning, version, CONTEXT_##context, SEVERITY_##severity, EVENT_KEY_##key, \
     VOLUME_##volume},
static const struct event_type entries[] = {
#include "core/event_table.inc"
};

static const struct {
    const char *name, *meaning;
} contexts[] = {
#define CONTEXT(name, text, meaning) {text, meaning},
#include "core/event_table.inc"
};

static int compare(const void *type, const void *entry)
{
    return strcmp(type, ((const struct event_type *)entry)->type);
}

const struct event_type *event_type_find(const char *type)
{
    return type == NULL ? NULL
                        : bsearch(type, entries, COUNT_OF(entries), sizeof entries[0], compare);
}

const struct event_type *event_type_at(size_t index)
{
    return index < COUNT_OF(entries) ? &entries[index] : NULL;
}

size_t event_type_index(const struct event_type *entry)
{
    assert(entry >= entries && entry < entries + COUNT_OF(entries));
    return (size_t)(entry - entries);
}

const char *event_context_name(enum event_context context)
{
    assert((size_t)context < COUNT_OF(contexts));
    return contexts[context].name;
}

const char *event_context_meaning(enum event_context context)
{
    assert((size_t)context < COUNT_OF(contexts));
    return contexts[context].meaning;
}
