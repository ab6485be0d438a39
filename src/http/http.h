/*
 * http.h - the HTTP server: libevent reports when sockets are ready, the rest is drover's own.
 *
 * All functions run on the loop's thread except where a comment names another.
 *
 * A request has one owner at a time.  handle() gets it, may pass it on (to the committer, to a
 * pool thread), and its last owner gives it back once: http_finish on the loop,
 * http_finish_later from any thread, http_stream_end for a stream.  The client may disconnect
 * earlier: then the server frees the connection at once, the owner keeps the request, and its
 * answer is discarded.  on_gone() notifies an owner that must not wait (see http_watch).
 *
 *   head -> gate() -> body -> handle() ... answer filled in ... -> finish -> finished()
 *
 * A handler may make requests of its own on behalf of the one that it has (http_inner_new): they
 * have an owner and an answer like any other, and no connection.
 *
 * Bounded per client (caps.h) and by listener: the port and the unix socket have budgets of their
 * own.  When one is full, admit.c decides which connection is closed.
 *
 * Where a request ends is decided by core/http/frame.h; an ambiguous request is refused and closes
 * the connection.  Requests that follow each other without waiting (pipelining) are answered in
 * their order: the next one is read when the answer to the one before it is sent.
 */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/rc.h"
#include "core/http/head.h"
#include "http/caps.h"
#include "http/loop.h"
#include "http/problem.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http; /* The server; owned by its maker. */
struct conn;

enum { HTTP_REQUEST_ID_BYTES = 65, HTTP_ANSWER_HEADERS_MAX = 4, HTTP_HOLDER_BYTES = 128 };
enum { HTTP_PEER_BYTES = 48, HTTP_CODE_BYTES = 64 };

struct http_answer {
    int status;
    char code[HTTP_CODE_BYTES]; /* Of a problem; or "". */
    const char *content_type;   /* NULL: no content. */
    struct buf body;
    int file_fd; /* A file in place of the body; -1: none.  Owned. */
    int64_t file_bytes;
    struct {
        const char *name, *value; /* Static, or in the request's arena. */
    } headers[HTTP_ANSWER_HEADERS_MAX];
    size_t header_count;
};

struct http_request {
    enum http_method method;
    const char *path; /* Still percent-encoded, without the query. */
    struct str query; /* As sent. */
    char id[HTTP_REQUEST_ID_BYTES];
    struct arena arena;         /* path and query live here. */
    int64_t started_us;         /* On the monotonic clock. */
    char peer[HTTP_PEER_BYTES]; /* The client: an IP address, or "socket:UID". */
    struct http_answer answer;

    /* http.c's own. */
    struct http *http;
    struct conn *conn;          /* NULL: the client is gone. */
    const char *fields;         /* In the arena: name NUL value NUL ... NUL; NULL: shed. */
    struct buf body;            /* Unless it is spooled. */
    struct spool_file *spooled; /* The file that the body is in; NULL: it is in memory.  Owned. */
    bool is_1_1;                /* Of HTTP/1.1; else HTTP/1.0. */
    bool closes;                /* The client sends no other request after it. */
    struct loop_call finish;
    void (*on_gone)(struct http_request *request);
    void (*on_drained)(struct http_request *request);
    struct holder *holder; /* It is counted for this one, as held_as; NULL: not counted. */
    enum caps_use held_as;
    struct http_request *outer; /* Inner: on behalf of this one; NULL: a client's own. */
    void (*answered)(struct http_request *inner); /* Inner: gets the answer. */
    bool given_up;                                /* Inner: its answer is not wanted. */
};

struct spool;
struct spool_file;

/* What is to be done with the body of a request. */
struct http_body_plan {
    int64_t bytes_max;
    bool spool;                     /* Through a file: http/spool.h */
    char holder[HTTP_HOLDER_BYTES]; /* Whose share of the spool it takes. */
    bool admin;                     /* May use the part of the spool that is kept for admins. */
};

struct http_options { /* Strings are not copied. */
    struct loop *loop;
    struct clock clock;      /* For request ids. */
    const char *host;        /* A numeric address, or a name that has one. */
    int port;                /* 0: any free one. */
    const char *socket_path; /* A unix socket beside it, for agents (run_gate.h); NULL: none. */
    struct http_head_limits head;
    int64_t body_bytes_max; /* The largest that gate() will ever allow. */
    int64_t connections_max;
    int64_t reserve;                /* Beyond it, for requests that privileged() accepts. */
    int64_t socket_connections_max; /* Of the unix socket. */
    struct caps_limits caps;
    /* From the first byte of a request to its last; for a first one, from the connection on. */
    int64_t request_ms;
    int64_t stall_ms;     /* A spooled body without a new byte. */
    int64_t idle_ms;      /* A connection without a request.  In steps of a second. */
    int64_t unread_ms;    /* A client that reads nothing of an answer or a stream.  The same. */
    size_t request_bytes; /* Of the struct that starts with a struct http_request. */
    struct spool *spool;  /* For large bodies; NULL: all are kept in memory. */
    /* The head is complete: plans how the body is read.  *plan holds body_bytes_max and no spool
       before the call.  Anything but RC_OK refuses the request. */
    enum rc (*gate)(void *ctx, const struct http_head *head, struct http_body_plan *plan,
                    struct err *err);
    /* The client of the request.  false: not authenticated.  NULL: all clients are the same. */
    bool (*claim)(void *ctx, const struct http_head *head, struct caps_key *ret_key);
    /* May it use the reserve?  NULL: nothing may. */
    bool (*privileged)(void *ctx, const struct http_head *head);
    void (*handle)(void *ctx, struct http_request *request);
    /* The answer is being sent, or the client is gone; the request is freed after this call. */
    void (*finished)(void *ctx, struct http_request *request);
    void *ctx;
};

struct http_stats {
    int64_t connections, refused_connections, evicted_connections, requests;
};

/* Listens.  RC_CONFLICT when the address is taken. */
MUST_USE enum rc http_new(const struct http_options *options, struct http **ret_http,
                          struct err *err);
/* Every request must have been finished by its owner. */
void http_free(struct http *http);
int http_port(const struct http *http);
/* Stops listening, closes idle connections, and the others after their answers. */
void http_drain(struct http *http);
bool http_draining(const struct http *http); /* Any thread. */
/* Requests that are not answered yet, or whose answer is not sent to the last byte. */
int64_t http_busy(const struct http *http);
void http_stats(const struct http *http, struct http_stats *ret_stats); /* Any thread. */

/* On the loop while the client is there (of an inner request: always) and nothing was shed; NULL
   otherwise.  Not copied. */
const char *http_header(const struct http_request *request, const char *name);
/* What the request counts for: an address, or a token.  In handle() only. */
const struct caps_key *http_holder(const struct http_request *request);
/* The client that it is counted for, or what it is made on behalf of is: to compare requests that
   are not finished.  NULL: it is not counted. */
const void *http_client(const struct http_request *request);
/* Was it received on the unix socket?  On the loop while the client is there. */
bool http_on_socket(const struct http_request *request);
/* For the owner, on its thread. */
struct str http_body(struct http_request *request);
/* The file that holds the body, as long as the body is there; -1: it is in memory. */
int http_body_fd(const struct http_request *request);
/* Gives back body, arena and what is in it: before a long wait. */
void http_shed(struct http_request *request);
/*
 * Counts the request for its client until it is finished: as CAPS_REQUESTS or CAPS_STREAMS.  key
 * NULL: the client is not authenticated.  In handle() only.  RC_LIMIT
 */
MUST_USE enum rc http_charge(struct http_request *request, const struct caps_key *key,
                             enum caps_use use, struct err *err);
/* Counts it as another use from now on.  RC_LIMIT: it is counted as before. */
MUST_USE enum rc http_recharge(struct http_request *request, enum caps_use use, struct err *err);
/* Closes the connections of watched requests (http_watch) for which unwanted() is true. */
void http_close_watched(struct http *http, bool (*unwanted)(const struct http_request *request));
/* From now on a disconnect of the client is detected: on_gone(request), once, on the loop. */
void http_watch(struct http_request *request, void (*on_gone)(struct http_request *request));
bool http_gone(const struct http_request *request); /* On the loop. */

/* The owner fills the answer, on its thread. */
void http_answer_header(struct http_request *request, const char *name, const char *value);
void http_answer_problem(struct http_request *request, const struct problem *problem);
/* Empties what is in the answer. */
void http_answer_reset(struct http_request *request);

void http_finish(struct http_request *request);
void http_finish_later(struct http_request *request); /* Any thread. */

/*
 * A request of the server itself, on behalf of outer, which must outlive it.  The caller fills in
 * what a handler reads: query, body, and what follows in the struct.  When its owner finishes it,
 * answered(inner) is called on the loop, with the answer filled in, and owns it: it must call
 * http_inner_free.
 */
struct http_request *http_inner_new(struct http_request *outer, enum http_method method,
                                    void (*answered)(struct http_request *inner));
/* Adds a header field, which http_header finds. */
void http_inner_field(struct http_request *inner, const char *name, const char *value);
/* Its answer is not wanted any more: ends a wait of the inner request. */
void http_inner_gone(struct http_request *inner);
void http_inner_free(struct http_request *inner);

/* An answer without an end.  Sends the head now, with the answer's headers and content type. */
void http_stream_begin(struct http_request *request,
                       void (*on_drained)(struct http_request *request));
void http_stream_write(struct http_request *request, struct str bytes);
size_t http_stream_backlog(const struct http_request *request); /* Bytes not sent yet. */
void http_stream_end(struct http_request *request);
#endif
