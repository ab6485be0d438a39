/*
 * sse.h - events as they happen: text/event-stream over one held request each.
 *
 *     id: 4711                      place in the log; resume with Last-Event-ID
 *     event: agent.run.completed
 *     data: {"specversion":"1.0",...}
 *
 *   OPENING --> READING the log, page by page --> LIVE from the bus
 *                  ^                                |
 *                  +---- the bus dropped something -+      PAUSED: the client reads too slowly
 *
 * Nothing is lost and nothing comes twice: a stream subscribes before it reads the log, sends
 * only what lies behind the last it sent, and goes back to the log when its channel overflowed.
 * The stream of a run ends by itself when the run has ended and all of it has been sent.
 */
#ifndef EDGE_SSE_H
#define EDGE_SSE_H
#include "edge/api.h"

struct sse; /* All streams; owned by its maker. */

struct sse *sse_new(struct api *api);
void sse_free(struct sse *sse);  /* After sse_close and http_free. */
void sse_close(struct sse *sse); /* Ends every stream with a comment; new ones are refused. */
int64_t sse_count(const struct sse *sse); /* Any thread. */

/* Routes. */
enum rc api_run_stream(struct call *call, struct err *err);
enum rc api_event_stream(struct call *call, struct err *err);
#endif
