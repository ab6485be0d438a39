/*
 * envelope.h - an event as it goes over the bus: what filters look at, and its JSON.
 *
 * Immutable once it is posted and shared by all its subscribers; hence the reference count.
 */
#ifndef CONTROL_WATCH_ENVELOPE_H
#define CONTROL_WATCH_ENVELOPE_H
#include "core/event.h"
#include "core/event_selector.h"

enum { ENVELOPE_BYTES_MAX = 1024 * 1024 };

struct envelope {
    int64_t seq; /* Place in the log of events; 0: a line of the server's own log. */
    struct id id, task_id, run_id, correlation_id; /* none: not about one */
    int64_t time_us;
    struct event_traits traits; /* type, tags, severity */
    struct actor actor;
    struct str json;   /* The CloudEvent. */
    struct str data;   /* Its data, a part of that. */
    struct str frame;  /* The JSON in the frame of an event stream: id, event, data. */
    size_t type_index; /* In the table of events; EVENT_TYPE_COUNT: another. */
    int64_t posted_us; /* On the monotonic clock; set by bus_post. */
    int64_t refs;      /* Private to envelope.c. */
};

/* One reference, the caller's.  NULL: it cannot be sent, and *ret_why says why (static text). */
struct envelope *envelope_new(const struct event *event, const char **ret_why);
struct envelope *envelope_ref(struct envelope *envelope);
void envelope_unref(struct envelope *envelope); /* NULL is fine. */
/* JSON of all envelopes that there are, each counted once however many hold it. */
size_t envelope_bytes_alive(void);

/* The frame of an event stream round a CloudEvent. */
void envelope_frame(struct buf *to, const struct event *event, struct str json);
#endif
