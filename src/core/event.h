/*
 * event.h - a fact, and its CloudEvents 1.0 form.
 */
#ifndef CORE_EVENT_H
#define CORE_EVENT_H
#include "base/id.h"
#include "base/jw.h"
#include "base/str.h"
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
    struct str data;         /* A JSON object, as bytes; of an appended one any JSON. */
    /* Of one that a client has appended (core/cloud_event.h); NULL, empty: drover's own. */
    const char *source, *source_id;
    struct str attributes; /* A JSON object: its time, data's type and schema, extensions. */
};

enum severity { SEVERITY_DEBUG, SEVERITY_INFO, SEVERITY_WARNING, SEVERITY_ERROR };

/* The structured JSON form: lower-case attributes, extensions as the standard requires. */
void event_write(struct jw *jw, const struct event *event);
enum severity event_severity(const char *type);
const char *severity_name(enum severity severity);
MUST_USE bool severity_parse(const char *name, enum severity *ret_severity);

/* The catalogue from 0 on; NULL behind its end. */
const char *event_type_at(size_t index);
/* "agent.run.*" one segment, "agent.>" the rest; or an exact name. */
bool event_type_match(const char *pattern, const char *type);
#endif
