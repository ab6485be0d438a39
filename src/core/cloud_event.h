/*
 * cloud_event.h - a CloudEvent 1.0 as a client sends it: one JSON object, the "structured mode" of
 * the standard.  The names of types and sources that are drover's own are not for clients.
 */
#ifndef CORE_CLOUD_EVENT_H
#define CORE_CLOUD_EVENT_H
#include "base/arena.h"
#include "base/id.h"
#include "base/js.h"
#include "base/rc.h"
#include "base/str.h"

enum {
    CLOUD_EVENT_DATA_MAX = 64 * 1024, /* As JSON text. */
    CLOUD_EVENT_NAME_MAX = 256,       /* id, source. */
    CLOUD_EVENT_TEXT_MAX = 512,       /* subject, dataschema, the value of an extension. */
    CLOUD_EVENT_EXTENSIONS_MAX = 20,
    CLOUD_EVENT_EXTENSION_NAME_MAX = 20,
};

/* Where sources begin that drover gives to events of the agents of runs. */
#define CLOUD_EVENT_RUNS "runs/"

struct cloud_event {
    const char *id, *source, *type;
    const char *subject;       /* or NULL */
    const char *traceparent;   /* or NULL */
    struct id task_id, run_id; /* The extensions taskid and runid; none: not given. */
    struct str attributes;     /* A JSON object: those that no member above has; empty: none. */
    struct str data;           /* JSON; "null" without data. */
};

/* Texts live in the document or in the arena.  RC_INVALID: INVALID_FIELD, MISSING_FIELD; err names
   the attribute.  RC_DENIED, EVENT_RESERVED: type or source are drover's own. */
MUST_USE enum rc cloud_event_decode(const struct js *document, struct arena *arena,
                                    struct cloud_event *ret_event, struct err *err);
#endif
