/*
 * http_conn.h - one client's connection: what the files of the HTTP server share.
 *
 *   HEAD --head whole, gate() passed--> BODY --whole--> HELD --answered--> SENDING --sent--> HEAD
 *     |                                     |
 *     +--------- refused -------------------+--> REFUSED (answered, then closed)
 *
 * Invariants
 * 1. HEAD and BODY read; the others leave what follows in the socket, or in `pending` where it was
 *    read together with the request.  So one request of a connection is in flight at a time, and
 *    answers come in the order of their requests.
 * 2. Nothing is closed while bytes are taken or answers are sent: who wants an end calls
 *    conn_refuse, and the work list sees to it.
 * 3. A connection is owned by the list in struct http, and ends in conn_close.
 */
#ifndef EDGE_HTTP_CONN_H
#define EDGE_HTTP_CONN_H
#include "base/buf.h"
#include "base/dice.h"
#include "core/http_frame.h"
#include "edge/caps.h"
#include "edge/http.h"
#include <event2/event_struct.h>
#include <stdatomic.h>
#include <sys/queue.h>

struct evbuffer;
struct evconnlistener;

enum { HTTP_SWEEP_MS = 1000, HTTP_SWEEP_IDLE_MS = 5000, HTTP_ACCEPT_PAUSE_MS = 10 };
enum { HTTP_DATE_BYTES = 40 };
enum http_listener { HTTP_PORT, HTTP_SOCKET, HTTP_LISTENER_COUNT };
enum conn_phase { CONN_HEAD, CONN_BODY, CONN_HELD, CONN_SENDING, CONN_REFUSED };

/* Each has a budget of its own: connections of the one never take room from the other. */
struct listener {
    struct http *http;
    struct evconnlistener *ev; /* NULL: none, or draining. */
    int64_t open, open_max;
    int64_t reserve;      /* Beyond open_max, for what options.privileged lets in. */
    int accepted;         /* Since the listener was last enabled. */
    int accepted_max;     /* Then the others have their turn. */
    struct event *resume; /* Enables it again later; NULL: in the same turn of the loop. */
    bool paused;
};

struct conn {
    struct http *http;
    struct listener *listener;
    struct seat seat; /* Whose connection it is. */
    bool reserved;    /* Beyond open_max: see struct listener. */
    bool asked;       /* A whole head has come. */
    int64_t born_us;
    struct holder *charged; /* For bytes of the answer on its way; NULL: none. */
    int64_t charged_bytes;
    int fd;
    struct event in, out;          /* Edge-triggered; out only while the socket takes no more. */
    struct evbuffer *output;       /* What the socket did not take yet. */
    struct http_request *incoming; /* BODY; owned. */
    struct http_request *request;  /* HELD: its owner's. */
    enum conn_phase phase;
    bool readable;  /* The socket may hold bytes, or its end. */
    bool peer_done; /* The client sends no more. */
    bool running;   /* Inside conn_run. */
    bool streams;   /* HELD: the answer has begun and has no end yet. */
    bool last;      /* The connection is closed behind the answer, */
    bool as_asked;  /* because the client asked for it. */
    bool parts;     /* REFUSED, without a status: read dry before it is closed. */
    bool on_work_list;
    int64_t first_byte_us; /* Of the request being read; 0: none. */
    int64_t moved_us;      /* When bytes were last read or sent. */
    int64_t body_max;      /* BODY */
    struct http_frame frame;
    struct buf pending;     /* Bytes behind the request. */
    int refuse_status;      /* REFUSED; 0: close without a word. */
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
    struct listener listeners[HTTP_LISTENER_COUNT];
    struct caps *caps;
    int port;
    atomic_bool draining;
    struct conn_list conns;
    struct conn_queue work_list;
    int64_t head_bytes;  /* Of heads that came in pieces. */
    struct event *work;  /* Due when the work list has something: see http_work_soon. */
    bool working;        /* In conn_on_work. */
    struct event *sweep; /* Deadlines, and listening again. */
    struct parting_list partings;
    int64_t parting_count;
    int64_t held;      /* Requests that have an owner. */
    int64_t answering; /* Connections with an answer on its way. */
    struct dice dice;  /* Request ids. */
    int64_t date_s;    /* The second that date was written for. */
    char date[HTTP_DATE_BYTES];
    atomic_int_fast64_t connections, refused_connections, evicted_connections, requests;
};

/* ---- http_conn.c ---- */

/* Takes over a socket that was accepted. */
void conn_new(struct listener *listener, int fd);
void conn_on_work(evutil_socket_t fd, short what, void *http);
/* Runs conn_on_work in this turn of the loop; asked for by conn_on_work itself, in the next one. */
void http_work_soon(struct http *http);
/* Refuses what takes longer to arrive than it may, and closes what does not move. */
void conn_sweep(struct http *http);
/* Ends it; an owner of its request is told. */
void conn_close(struct conn *conn);
/* err is copied; NULL closes without an answer. */
void conn_refuse(struct conn *conn, int status, const struct err *err);
/* Sends what is in output, and goes on when all is sent. */
void conn_flush(struct conn *conn);
/* The same, behind what is at hand. */
void conn_flush_later(struct conn *conn);
/* A watched client that has left already is gone. */
void conn_look_for_end(struct conn *conn);
/* Bytes of the answer that the client has not read; only while it is on its way. */
void conn_discharge(struct conn *conn);

/* ---- http_request.c ---- */

struct http_request *request_new(struct conn *conn, const struct http_head *head);
/* The body is whole: it gets an owner. */
void request_hand_over(struct conn *conn);
/* One that never had an owner; NULL is fine. */
void request_drop(struct http_request *request);
/* One that its owner has given back.  The connection has let it go. */
void request_free(struct http_request *request);

/* ---- http_answer.c ---- */

/* Of now, for answers. */
const char *http_date(struct http *http);

/* ---- http_admit.c: who stays when there are too many ---- */

/* Counts a new connection for its source, and makes room for it or refuses it. */
void admit_newborn(struct conn *conn);
/* The head is there.  whole: with its body.  false: refused. */
bool admit_head(struct conn *conn, const struct http_head *head, bool whole);
/* After bytes of a head were gathered: keeps all of them together within bounds. */
void admit_head_bytes(struct conn *conn);
/* Counts the connection for this key from now on.  RC_LIMIT */
MUST_USE enum rc admit_claim(struct conn *conn, const struct caps_key *key, struct err *err);
/* An accept: pauses the listener when it had its share of the turn. */
void admit_accepted(struct listener *listener);
void admit_resume(struct listener *listener);
#endif
