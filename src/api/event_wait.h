/*
 * event_wait.h - GET /v1/events/next: the next events that match, and if there are none yet a wait
 * for the first.
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
 * While it waits it has neither a thread nor a page of the log: a struct, a subscription for one
 * event, and its connection.
 */
#ifndef API_EVENT_WAIT_H
#define API_EVENT_WAIT_H
#include "api/call.h"

struct event_waits; /* All of them; owned by its maker. */

struct event_waits *event_waits_new(struct api *api);
void event_waits_free(struct event_waits *waits);  /* After event_waits_close and http_free. */
void event_waits_close(struct event_waits *waits); /* Ends every wait, and those that come. */

int64_t event_waits_count(const struct event_waits *waits); /* Any thread. */

/* A route. */
enum rc api_event_next(struct call *call, struct err *err);
#endif
