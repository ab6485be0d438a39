/*
 * conn.h - one client's connection: what the files of the HTTP server share.
 *
 *   HEAD --head whole, gate() passed--> BODY --whole--> HELD --answered--> SENDING --sent--> HEAD
 *     |                                     |
 *     +--------- refused -------------------+--> REFUSED (answered, then closed)
 *
 * Invariants
 * 1. HEAD and BODY read; the others leave what follows in the socket, or in `pending` where it was
 *    read together with the request.  So one request of a connection is in flight at a time, and
 *    answers are sent in the order of their requests.
 * 2. Nothing is closed while bytes are read or answers are sent: code that wants to close calls
 *    conn_refuse, and conn_on_work closes the connection later.
 * 3. A connection is owned by the list in struct http, and ends in conn_close.
 */
#ifndef HTTP_CONN_H
#define HTTP_CONN_H
#include "base/buf.h"
#include "base/random.h"
#include "core/http/frame.h"
#include "http/caps.h"
#include "http/http.h"
#include <event2/event_struct.h>
#include <stdatomic.h>
#include <sys/queue.h>

struct evbuffer;
struct evconnlistener;

enum { HTTP_SWEEP_MS = 1000, HTTP_SWEEP_IDLE_MS = 5000, HTTP_ACCEPT_PAUSE_MS = 10 };
enum { HTTP_DATE_BYTES = 40 };
enum http_listener_kind { HTTP_PORT, HTTP_SOCKET, HTTP_LISTENER_COUNT };
enum conn_phase { CONN_HEAD, CONN_BODY, CONN_HELD, CONN_SENDING, CONN_REFUSED };

/* Each has a limit of its own: connections of one never count against the other. */
struct http_listener {
    struct http *http;
    struct evconnlistener *ev; /* NULL: none, or draining. */
    int64_t open, open_max;
    int64_t reserve;      /* Beyond open_max, for requests that options.privileged accepts. */
    int accepted;         /* Since the listener was last enabled. */
    int accepted_max;     /* Then it pauses, so that other events are handled. */
    struct event *resume; /* Enables it again later; NULL: in the same turn of the loop. */
    bool paused;
};

struct conn {
    struct http *http;
    struct http_listener *listener;
    struct seat seat; /* The holder it counts for. */
    bool reserved;    /* Beyond open_max: see struct http_listener. */
    bool asked;       /* A whole head was received. */
    int64_t born_us;
    struct holder *charged; /* For bytes of the answer being sent; NULL: none. */
    int64_t charged_bytes;
    int fd;
    char peer[HTTP_PEER_BYTES];    /* See struct http_request. */
    struct event in, out;          /* Edge-triggered; out only while the socket buffer is full. */
    struct evbuffer *output;       /* Not written to the socket yet. */
    struct http_request *incoming; /* BODY; owned. */
    struct http_request *request;  /* HELD: its owner's. */
    enum conn_phase phase;
    bool readable;  /* The socket may hold bytes, or its end. */
    bool peer_done; /* The client sends no more. */
    bool running;   /* Inside conn_run. */
    bool streams;   /* HELD: the answer has begun and has no end yet. */
    bool last;      /* The connection is closed after the answer, */
    bool as_asked;  /* because the client requested it. */
    bool parts;     /* REFUSED, without a status: input is drained before the close. */
    bool on_work_list;
    int64_t first_byte_us; /* Of the request being read; 0: none. */
    int64_t moved_us;      /* When bytes were last read or sent. */
    int64_t body_max;      /* BODY */
    struct http_frame frame;
    struct buf pending;     /* Bytes after the request. */
    int refuse_status;      /* REFUSED; 0: close without an answer. */
    bool refuse_head_only;  /* REFUSED: the answer has no body. */
    struct err *refuse_err; /* REFUSED */
    LIST_ENTRY(conn) all;
    TAILQ_ENTRY(conn) work; /* Has something to send, to read or to end: see conn_on_work. */
};
LIST_HEAD(conn_list, conn);
TAILQ_HEAD(conn_queue, conn);

struct parting;
LIST_HEAD(parting_list, parting);

struct http {
    struct http_options options;
    struct http_listener listeners[HTTP_LISTENER_COUNT];
    struct caps *caps;
    int port;
    atomic_bool draining;
    struct conn_list conns;
    struct conn_queue work_list;
    int64_t head_bytes;  /* Of heads that arrived in several pieces. */
    struct event *work;  /* Due when the work list has something: see http_work_soon. */
    bool working;        /* In conn_on_work. */
    struct event *sweep; /* Deadlines, and listening again. */
    struct parting_list partings;
    int64_t parting_count;
    int64_t held;         /* Requests that have an owner. */
    int64_t answering;    /* Connections that are sending an answer. */
    struct random random; /* Request ids. */
    int64_t date_s;       /* The second that date was written for. */
    char date[HTTP_DATE_BYTES];
    atomic_int_fast64_t connections, refused_connections, evicted_connections, requests;
};

/* ---- conn.c ---- */

/* Takes over a socket that was accepted. */
void conn_new(struct http_listener *listener, int fd);
void conn_on_work(evutil_socket_t fd, short what, void *http);
/* Runs conn_on_work in this turn of the loop; called by conn_on_work itself, in the next one. */
void http_work_soon(struct http *http);
/* Refuses requests that exceed the time to arrive, and closes connections without progress. */
void conn_sweep(struct http *http);
/* Closes it; on_gone() of its request is called. */
void conn_close(struct conn *conn);
/* err is copied; NULL closes without an answer. */
void conn_refuse(struct conn *conn, int status, const struct err *err);
/* Sends what is in output, and continues with the next phase when all is sent. */
void conn_flush(struct conn *conn);
/* The same, later from the work list. */
void conn_flush_later(struct conn *conn);
/* Closes the connection if the watched client has already disconnected. */
void conn_look_for_end(struct conn *conn);

/* ---- request.c ---- */

struct http_request *request_new(struct conn *conn, const struct http_head *head);
/* The body is whole: it gets an owner. */
void request_hand_over(struct conn *conn);
/* One that never had an owner; NULL is fine. */
void request_drop(struct http_request *request);
/* One that its owner has finished.  No connection refers to it any more. */
void request_free(struct http_request *request);

/* ---- answer.c ---- */

/* The current time, for the Date header. */
const char *http_date(struct http *http);

/* ---- admit.c: which connections are closed when there are too many ---- */

/* Counts a new connection for its source; evicts another one for it, or refuses it. */
void admit_newborn(struct conn *conn);
/* The head is complete.  whole: the body is, too.  false: refused. */
bool admit_head(struct conn *conn, const struct http_head *head, bool whole);
/* After bytes of an incomplete head were buffered: bounds the sum over all connections. */
void admit_head_bytes(struct conn *conn);
/* Counts the connection for this key from now on.  RC_LIMIT */
MUST_USE enum rc admit_claim(struct conn *conn, const struct caps_key *key, struct err *err);
/* Counts an accept; pauses the listener after accepted_max of them. */
void admit_accepted(struct http_listener *listener);
void admit_resume(struct http_listener *listener);
#endif
