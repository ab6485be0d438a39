/*
 * sse.h - streams of events as they are published: text/event-stream over one held request each.
 *
 *     id: 4711                      place in the log; resume with Last-Event-ID
 *     event: agent.run.completed
 *     data: {"specversion":"1.0",...}
 *
 *   OPENING --> READING the log, page by page --> LIVE from the bus
 *                ^  |  ^                            |
 *                |  v  +--- the bus dropped some, --+
 *               PAUSED      or the client is slow
 *
 * No event is lost and none is sent twice: a stream subscribes before it reads the end of the log,
 * sends only events after the last one it sent, and reads the log again when its channel has
 * overflowed.  PAUSED: the client has not read what was sent yet, or the log cannot be read.
 * A stream ends when its token is revoked or expires.
 * The stream of a run ends by itself when the run has ended and all its events have been sent.
 */
#ifndef API_SSE_H
#define API_SSE_H
#include "api/call.h"

struct sse; /* All streams; owned by its maker. */

struct sse_limits {
    int64_t streams; /* How many there can be; see caps.h. */
    int64_t bytes;   /* Output of all streams together that is not sent yet. */
};
struct sse *sse_new(struct api *api, const struct sse_limits *limits);
void sse_free(struct sse *sse);  /* After sse_close and http_free. */
void sse_close(struct sse *sse); /* Ends every stream with a comment; new ones are refused. */
/* Ends the streams whose tokens were revoked or have expired. */
void sse_end_lost(struct sse *sse);
int64_t sse_count(const struct sse *sse); /* Any thread. */

/* Routes. */
enum rc api_run_stream(struct call *call, struct err *err);
enum rc api_event_stream(struct call *call, struct err *err);
#endif
