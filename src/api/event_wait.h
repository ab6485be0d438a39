/*
 * event_wait.h - requests that wait for events: GET /v1/events/next, the next events that match,
 * and if there are none yet a wait for the first; GET /v1/consumers/NAME/next, the same for a
 * consumer whose place and filter are in the store.
 *
 *   READING the log --> WAITING for the bus --> answered
 *         |                    |  its time is over, the server stops: answered with none
 *         +--> answered        +--> the client is gone: freed
 *
 * No event is missed between look and wait: a wait subscribes first, then takes the place up to
 * which the tail has published (tail_seq), and reads the log up to there; what comes later comes by
 * the bus, in order.  A client that is at that place already reads nothing.
 * The answer holds the place from which the next call continues: `cursor`.  What the bus hands over
 * is one event; those that follow it are read from the log by the next call.
 *
 * A wait with a source reads what the source finds, and again when the bus wakes it: the event of
 * the bus is only the sign that there is one.
 *
 * While it waits it has neither a thread nor a page of the log: a struct, a subscription for one
 * event, and its connection.
 */
#ifndef API_EVENT_WAIT_H
#define API_EVENT_WAIT_H
#include "api/call.h"
#include "control/watch/bus.h"

struct event_waits; /* All of them; owned by its maker. */

/* What a read of a source has found. */
struct event_page {
    struct buf text;    /* Events, joined by commas. */
    bool found;         /* There are some, or more of the log is to be read: not to wait. */
    bool unsettled;     /* The log has events that may be read soon: worth another look. */
    const char *cursor; /* For the answer; in `arena`. */
    struct arena arena;
    const char *types[SELECTOR_TYPES_MAX + 1]; /* Wakes the wait; none: every event.  In `arena`. */
};
/* What the size of its text allows, beside the last one. */
bool event_page_full(const struct event_page *page);
void event_page_add(struct event_page *page, const struct event *event);

struct event_source {
    /* On a pool thread.  The page is empty. */
    enum rc (*read)(void *ctx, struct call *call, struct db *db, struct event_page *page,
                    struct err *err);
    void (*free)(void *ctx);
};
/* Owns ctx.  Answers {"events": [...], "cursor": "..."}. */
void event_wait_on(struct call *call, const struct event_source *source, void *ctx,
                   int64_t wait_ms);

struct event_waits *event_waits_new(struct api *api);
void event_waits_free(struct event_waits *waits);  /* After event_waits_close and http_free. */
void event_waits_close(struct event_waits *waits); /* Ends every wait, and those that come. */

int64_t event_waits_count(const struct event_waits *waits); /* Any thread. */

/* A route. */
enum rc api_event_next(struct call *call, struct err *err);
enum { EVENT_WAIT_MS_MAX = 30 * 1000 };
#endif
