/*
 * frame.h - where requests begin and end in the bytes of a connection (RFC 9112): the one
 * place that decides it.
 *
 *            +---------------------------- body whole --------------------------+
 *            v                                                                  |
 *   HEAD --head complete--> LENGTH (Content-Length, or no body) ----------------+
 *     |                 \-> CHUNKED (http_chunks.h) -----------------------------+
 *     +--> BROKEN <-- from each of them
 *
 * Invariants
 * 1. What comes out does not depend on how the bytes were cut into pieces.
 * 2. A byte belongs to one request: content is what the head announced, for every method.
 * 3. BROKEN is final: where the next request would begin cannot be determined.
 * 4. No more than a head is kept, and only one that arrived in pieces.
 *
 * Pure: its input is bytes, its output is events.
 */
#ifndef CORE_HTTP_FRAME_H
#define CORE_HTTP_FRAME_H
#include "base/buf.h"
#include "core/http/chunks.h"
#include "core/http/head.h"

enum http_frame_state { FRAME_HEAD, FRAME_LENGTH, FRAME_CHUNKED, FRAME_BROKEN };

enum http_frame_event {
    FRAME_MORE,    /* All bytes were taken, and more must come. */
    FRAME_BEGIN,   /* A head is complete: out.head. */
    FRAME_CONTENT, /* Some of its body: out.content. */
    FRAME_END,     /* The body is whole; the next byte belongs to another request. */
    FRAME_REFUSE,  /* out.status and out.err have the reason; the frame is BROKEN. */
};

struct http_frame_out {
    struct http_head head; /* Valid until the next call. */
    struct str content;    /* In the bytes that were given. */
    int status;
    bool head_only; /* REFUSE: the answer to such a request has no body. */
    struct err err;
};

struct http_frame {
    const struct http_head_limits *limits;
    enum http_frame_state state;
    enum { LEAD_NONE, LEAD_CR, LEAD_OVER } lead; /* One empty line may stand before a request. */
    struct http_scan scan;
    struct buf gathered; /* A head that arrived in pieces. */
    int64_t left;        /* LENGTH: bytes that are still to come. */
    struct http_chunks chunks;
    bool head_only;
};

void http_frame_init(struct http_frame *frame, const struct http_head_limits *limits);
void http_frame_release(struct http_frame *frame);
/* Between two requests: no byte of the next one has arrived. */
bool http_frame_is_idle(const struct http_frame *frame);
/* Takes bytes from the front of *bytes. */
enum http_frame_event http_frame_next(struct http_frame *frame, struct str *bytes,
                                      struct http_frame_out *out);
#endif
