/*
 * http_multi.h - many requests to one HTTP server at once, on one thread.
 *
 *     http_multi_start --> on_bytes ... --> on_end       once for each request, unless
 *                                 \--> http_multi_cancel   closes its connection: nothing follows
 *
 * A body is sent at most once.  Redirects are not followed.  Every answer is handed out, with any
 * status.  on_bytes may not start or cancel a request; on_end may.
 */
#ifndef NET_HTTP_MULTI_H
#define NET_HTTP_MULTI_H
#include "base/buf.h"
#include "base/rc.h"
#include "net/http_client.h"
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

struct http_multi;
struct http_ask; /* One request under way; owned by its http_multi. */

/* timeout_ms of the options is not used: see idle_timeout_ms. */
MUST_USE enum rc http_multi_new(const struct http_client_options *options,
                                struct http_multi **ret_multi, struct err *err);
void http_multi_free(struct http_multi *multi); /* Cancels all; NULL is fine. */
/* For requests that are started from now on; those under way stay with the old server. */
MUST_USE enum rc http_multi_aim(struct http_multi *multi, const struct http_client_options *options,
                                struct err *err);
const char *http_multi_url(const struct http_multi *multi);
size_t http_multi_count(const struct http_multi *multi); /* Under way. */

/* What is known of an answer. */
struct http_seen {
    int status;               /* 0: none came. */
    const char *content_type; /* "" when the server sent none. */
    const struct buf *head;   /* See http_head_field. */
    int64_t retry_ms;         /* Its Retry-After; 0: none. */
};

struct http_ask_spec {
    const char *method;
    const char *path;
    const struct http_field *headers; /* or NULL */
    struct str body;                  /* JSON.  The caller keeps it until the end. */
    int64_t idle_timeout_ms;          /* No byte for so long: RC_TIMEOUT. */
    bool (*on_bytes)(void *ctx, const struct http_seen *seen, struct str bytes); /* false: enough */
    /* RC_OK: a whole answer, or enough of it. */
    void (*on_end)(void *ctx, const struct http_seen *seen, enum rc rc, const struct err *err);
    void *ctx;
};
/* A failure here calls nothing. */
MUST_USE enum rc http_multi_start(struct http_multi *multi, const struct http_ask_spec *spec,
                                  struct http_ask **ret_ask, struct err *err);
void http_multi_cancel(struct http_multi *multi, struct http_ask *ask);

/* Moves what can be moved without waiting, and hands out what arrived. */
void http_multi_step(struct http_multi *multi);
/* Waits until a request can move or one of the descriptors is ready, for at most timeout_ms (-1: no
   limit).  Fills in revents of all descriptors. */
void http_multi_wait(struct http_multi *multi, struct pollfd *looks, size_t count, int timeout_ms);
#endif
