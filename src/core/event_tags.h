/*
 * event_tags.h - the tags of an event: short words, in one text with commas between.
 *
 *     repository:acme/web,persona:reviewer,agent:bob,urgent
 *
 * Where they come from: repository, persona and agent of the event's task and the task's labels;
 * the agent whose claim makes it; its own extension `tags`, when a client has appended it.
 * A text with commas is several tags.  None stands twice, and what does not fit is left out, so the
 * named ones are put first.
 */
#ifndef CORE_EVENT_TAGS_H
#define CORE_EVENT_TAGS_H
#include "base/arena.h"
#include "base/str.h"
#include <stdbool.h>
#include <stddef.h>

enum {
    EVENT_TAGS_BYTES = 512, /* Of all, with the NUL. */
    EVENT_TAG_MAX = 200,
};

struct event_tags { /* Begins with {0}. */
    char text[EVENT_TAGS_BYTES];
    size_t len;
};

void event_tags_add(struct event_tags *tags, struct str text);
/* "name:value"; NULL: nothing. */
void event_tags_name(struct event_tags *tags, const char *name, const char *value);
/* A copy, or NULL without tags. */
const char *event_tags_text(const struct event_tags *tags, struct arena *arena);

/* Takes the next one off the front of a text; false at the end. */
bool event_tags_next(struct str *rest, struct str *ret_tag);
/* text may be NULL. */
bool event_tags_have(const char *text, struct str tag);

struct task_tags {
    const char *repository, *persona, *agent; /* or NULL */
    struct str labels;                        /* A JSON array of texts; or empty. */
};
void event_tags_of_task(struct event_tags *tags, const struct task_tags *task);
#endif
