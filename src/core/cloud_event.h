/*
 * cloud_event.h - a CloudEvent 1.0 as a client sends it, in the JSON format of the standard.  The
 * names of types and sources that are drover's own are not for clients.
 *
 * How it arrives by HTTP is its mode: structured (one object), batched (an array of them) or binary
 * (attributes as headers, the data as the body), which becomes an object too (api/event_message.h).
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
    CLOUD_EVENT_BATCH_MAX = 500,
};

enum cloud_event_mode { EVENT_MODE_NONE, EVENT_STRUCTURED, EVENT_BATCHED, EVENT_BINARY };

/* By the Content-Type of a request, or NULL; has_headers: it has attributes as headers.  NONE: it
   is no event, or one of a format that is not supported. */
enum cloud_event_mode cloud_event_mode(const char *content_type, bool has_headers);
/* Is it a name that clients may not give: agent.run.started, drover? */
bool cloud_event_is_reserved(const char *type);
/* Is the data of this media type JSON?  NULL: as JSON has it, yes. */
bool cloud_event_is_json(const char *content_type);

/* Among the attributes: data is a text of base64. */
#define EVENT_BINARY_MARK "data_base64"

/* Where sources begin that drover gives to events of the agents of runs. */
#define CLOUD_EVENT_RUNS "runs/"

/* Where types of events of issues begin, which clients may write as far as their tokens allow. */
#define CLOUD_EVENT_ISSUES "conductor."

struct cloud_event {
    const char *id, *source, *type;
    const char *subject;                    /* or NULL */
    const char *traceparent;                /* or NULL */
    const char *tags;                       /* The extension tags: core/event_tags.h; or NULL */
    struct id task_id, run_id;              /* The extensions taskid and runid; none: not given. */
    struct id correlation_id, causation_id; /* The same; of events of a task or run the server's. */
    const char *data_type;                  /* datacontenttype, or NULL */
    const char *data_schema;                /* dataschema, or NULL */
    const struct js *value;                 /* The data; NULL: none, or binary. */
    bool is_binary;                         /* data is a JSON text: bytes in base64. */
    struct str attributes; /* A JSON object: those that no member above has; empty: none. */
    struct str data;       /* JSON; "null" without data. */
};

/* Texts live in the document or in the arena.  RC_INVALID: INVALID_FIELD, MISSING_FIELD; err names
   the attribute.  RC_DENIED, EVENT_RESERVED: type or source are drover's own. */
MUST_USE enum rc cloud_event_decode(const struct js *document, struct arena *arena,
                                    struct cloud_event *ret_event, struct err *err);
#endif
