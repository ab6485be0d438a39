/*
 * event.h - a fact, and its CloudEvents 1.0 form.
 */
#ifndef CORE_EVENT_H
#define CORE_EVENT_H
#include "base/id.h"
#include "base/jw.h"
#include "base/str.h"
#include "core/event_types.h"
#include <stdbool.h>
#include <stdint.h>

struct actor {
    const char *type; /* user, worker, agent, system */
    const char *id;   /* "admin", worker name, run id, "drover" */
};

enum { EVENT_TYPE_MAX = 200 }; /* Of a type, and of a pattern of types. */

/* Also stored: a new member means a column in store/events.c and a migration. */
struct event {
    int64_t seq; /* Place in the log; 0 until stored. */
    struct id id;
    const char *type; /* EV_... of core/event_types.h */
    int64_t version;
    struct id workspace_id, task_id, run_id, attempt_id; /* none: not about one */
    const char *subject; /* run/<id>, task/<id>, repository/<name>, job/<id> */
    int64_t time_us;
    int64_t run_seq; /* Gapless from 1 within a run; 0 without a run. */
    struct id correlation_id, causation_id;
    struct actor actor;
    const char *traceparent; /* or NULL */
    const char *tags;        /* or NULL: core/event_tags.h */
    struct str data;         /* A JSON object, as bytes; of an appended one any JSON. */
    /* Of one that a client has appended (core/cloud_event.h); NULL, empty: drover's own. */
    const char *source, *source_id;
    struct str attributes; /* A JSON object: its time, data's type and schema, extensions. */
};

/* The structured JSON form: lower-case attributes, extensions as the standard requires. */
void event_write(struct jw *jw, const struct event *event);
/* urn:drover:schema:TYPE:VERSION */
const char *event_dataschema(const char *type, int64_t version, struct arena *arena);
/*
 * The partition key: the order of events with the same key matters, and no other.  The id of the
 * run, else of the task, else of the repository (data.repositoryId), else the subject, else the
 * source, else "drover".  A long subject or source is cut off.  Returns to.
 */
enum { EVENT_KEY_BYTES = 256 };
const char *event_partition_key(const struct event *event, char to[EVENT_KEY_BYTES]);
enum severity event_severity(const char *type); /* info, when it is not one of drover's own. */
/* Of an appended one what its extension `severity` says, in the words of usual loggers; of a line
   of the log its level. */
enum severity event_severity_of(const struct event *event);
/* What streams cannot carry in this event, whose JSON this is; NULL: nothing.  No event that drover
   has written is such a one: its row was changed, or is damaged. */
const char *event_unsendable(const struct event *event, struct str json);
const char *severity_name(enum severity severity);
MUST_USE bool severity_parse(const char *name, enum severity *ret_severity);

/* "agent.run.*" one segment, "agent.>" the rest; or an exact name. */
bool event_type_match(const char *pattern, const char *type);
/* False: no type would match: a segment is empty, a * or > is not a whole segment, or > is not
   the last. */
bool event_pattern_valid(const char *pattern);
#define EVENT_PATTERN_RULE \
    "in a pattern * is one whole segment and > the rest: agent.run.* or agent.>"
#endif
