/*
 * event_selector.h - which events a stream, a wait or a listing wants: by type, tag and severity.
 * By what else they are chosen (run, task, place in the log) is known to those who ask.
 */
#ifndef CORE_EVENT_SELECTOR_H
#define CORE_EVENT_SELECTOR_H
#include "core/event_types.h"
#include <stdbool.h>
#include <stddef.h>

enum { SELECTOR_TYPES_MAX = 12, SELECTOR_TAGS_MAX = 8 };

struct event_selector {
    const char *types[SELECTOR_TYPES_MAX + 1]; /* Patterns, one must fit; none: all types. */
    const char *tags[SELECTOR_TAGS_MAX + 1];   /* It must have all of them. */
    enum severity min_severity;
};

struct event_traits {
    const char *type;
    const char *tags; /* Or NULL: core/event_tags.h. */
    enum severity severity;
};
bool event_selector_match(const struct event_selector *selector, const struct event_traits *traits);
bool event_selector_takes_type(const struct event_selector *selector, const char *type);
/* Does it leave anything out? */
bool event_selector_narrows(const struct event_selector *selector);

/* To keep one: so many bytes for its texts, and the copy that points into them. */
size_t event_selector_bytes(const struct event_selector *selector);
void event_selector_pack(struct event_selector *to, const struct event_selector *from, char *texts);
#endif
