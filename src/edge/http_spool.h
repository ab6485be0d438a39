/*
 * http_spool.h - bodies that are too large for memory go to a file while they arrive.
 *
 * libevent 2.1 hands a body over when it has all of it, and keeps it in the connection's input
 * until then.  So the bytes are taken out of the input as soon as they are there, in the callback
 * that sees them before libevent does, and written to a file.  When the last one has come, the
 * mapped file is put into the input as one piece by reference: libevent finds a whole body that
 * takes no memory of its own.  A chunked body gets a new frame of one chunk.
 */
#ifndef EDGE_HTTP_SPOOL_H
#define EDGE_HTTP_SPOOL_H
#include "edge/http_conn.h"

/* The head is complete.  The refusals of spool_begin. */
MUST_USE enum rc http_spool_begin(struct conn *conn, const struct http_head *head,
                                  const struct http_body_plan *plan, struct err *err);
/* The last `added` bytes of the input belong to the body, or follow it. */
MUST_USE enum rc http_spool_feed(struct conn *conn, struct evbuffer *input, size_t added,
                                 struct err *err);
/* Has no byte of the body come for options.stall_ms? */
bool http_spool_stalled(const struct conn *conn, int64_t now_us);
void http_spool_drop(struct conn *conn);
#endif
