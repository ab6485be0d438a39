/*
 * event_types.h - the types of events: a name for each, EV_..., and what core/event_table.inc says
 * of it.
 */
#ifndef CORE_EVENT_TYPES_H
#define CORE_EVENT_TYPES_H
#include <stddef.h>

#define EVENT(name, type, ...) static const char EV_##name[] = type;
#include "core/event_table.inc"

/* Only their number is used. */
enum event_entry {
#define EVENT(name, ...) EVENT_ENTRY_##name,
#include "core/event_table.inc"
    EVENT_TYPE_COUNT
};

enum severity { SEVERITY_DEBUG, SEVERITY_INFO, SEVERITY_WARNING, SEVERITY_ERROR };

enum event_context {
#define CONTEXT(name, ...) CONTEXT_##name,
#include "core/event_table.inc"
    CONTEXT_COUNT
};

/* What events are ordered by: the first that it has of its run, task, repository and subject, from
   here on.  See event_partition_key() of core/event.h. */
enum event_key { EVENT_KEY_RUN, EVENT_KEY_TASK, EVENT_KEY_REPOSITORY, EVENT_KEY_SUBJECT };

enum event_volume {
    VOLUME_LIFECYCLE,  /* What has changed. */
    VOLUME_DIAGNOSTIC, /* What an agent does: many, and kept for a shorter time. */
    VOLUME_UNLOGGED,   /* Has a name and a schema, is never in the log. */
};

struct event_type {
    const char *type;
    const char *meaning; /* One sentence. */
    int version;         /* Of its data: eventversion. */
    enum event_context context;
    enum severity severity;
    enum event_key key;
    enum event_volume volume;
};

/* NULL: not one of drover's own.  Binary search, for each event of a stream. */
const struct event_type *event_type_find(const char *type);
/* All of them from 0 on, sorted; NULL behind the last. */
const struct event_type *event_type_at(size_t index);
/* The other way: the entry is one of these. */
size_t event_type_index(const struct event_type *entry);

const char *event_context_name(enum event_context context);    /* "task" */
const char *event_context_meaning(enum event_context context); /* One line. */
#endif
