/*
 * sse_client.h - reads server-sent events (WHATWG HTML, 9.2), and resumes after a broken connection
 * where it stopped.
 *
 *     event: agent.run.completed\n      the type; "message" when there is none
 *     id: 4711\n                        remembered, and sent as Last-Event-ID when reconnecting
 *     data: {...}\n                     may repeat: lines are joined by \n
 *     \n                                an empty line hands the event out
 *     : ...\n                           a comment, sent to keep the connection alive
 */
#ifndef NET_SSE_CLIENT_H
#define NET_SSE_CLIENT_H
#include "base/buf.h"
#include "net/http_client.h"
#include <stdatomic.h>

enum { SSE_EVENT_BYTES_MAX = 1024 * 1024, SSE_FIELD_BYTES_MAX = 256 };

struct sse_event {
    const char *type;
    const char *id; /* The last one that was sent, or "". */
    bool has_id;    /* It was sent with this event. */
    const char *data;
};

/* false: no more events are wanted. */
typedef bool sse_handler(void *ctx, const struct sse_event *event);

struct sse_parser {
    struct buf line, data;
    char type[SSE_FIELD_BYTES_MAX];
    char id[SSE_FIELD_BYTES_MAX];
    int64_t retry_ms; /* As the server sent it, or 0. */
    bool after_cr;    /* A \n that follows belongs to the \r before it. */
    bool has_data, has_id;
    bool too_large; /* An event passed the limit: the stream cannot be trusted. */
    sse_handler *on_event;
    void *ctx;
};

void sse_parser_init(struct sse_parser *parser, sse_handler *on_event, void *ctx);
/* Another limit than SSE_EVENT_BYTES_MAX; before the first byte. */
void sse_parser_limit(struct sse_parser *parser, size_t event_bytes_max);
/* Takes bytes cut anywhere; false once the handler returned false or an event was too large. */
MUST_USE bool sse_parser_feed(struct sse_parser *parser, struct str bytes);
/* A new connection: a partial event is discarded, and so is the last id. */
void sse_parser_restart(struct sse_parser *parser);
void sse_parser_release(struct sse_parser *parser);

struct sse_follow {
    const char *path;
    const char *last_id;      /* Only later events; NULL: the server's default. */
    int64_t idle_timeout_ms;  /* 0: 60 s.  Silence for so long is a broken connection. */
    int tries_max;            /* In a row without anything new; 0: 10 */
    int64_t first_backoff_ms; /* Doubled every time, to 5 s at most; 0: 250 ms */
    const atomic_int *stop;   /* or NULL; RC_CANCELLED */
    sse_handler *on_event;
    void (*on_tick)(void *ctx);                          /* or NULL */
    void (*on_broken)(void *ctx, const struct err *why); /* Once, before it tries again; or NULL */
    void *ctx;
};

/*
 * RC_OK once on_event returned false; otherwise why it could not continue.  No event is handed out
 * twice: ids are numbers that grow, and one that is not larger than the last is skipped.
 */
MUST_USE enum rc sse_follow(struct http_client *client, const struct sse_follow *follow,
                            struct err *err);
#endif
