/*
 * http_conn.h - one client's connection: what http.c and http_conn.c share.
 *
 *   HEAD --head complete, gate() passed--> BODY --libevent has it all--> HELD --answered--> HEAD
 *     |                                     |
 *     +--------- refused -------------------+--> REFUSED (answered, then closed)
 *
 * A connection is born when libevent asks for its bufferevent and dies in libevent's close
 * callback, which runs for every end there is; it is owned by the list in struct http.
 */
#ifndef EDGE_HTTP_CONN_H
#define EDGE_HTTP_CONN_H
#include "base/buf.h"
#include "base/dice.h"
#include "edge/caps.h"
#include "edge/http.h"
#include "edge/http_chunks.h"
#include <event2/event_struct.h>
#include <stdatomic.h>
#include <sys/queue.h>

struct bufferevent;
struct evbuffer_cb_entry;
struct evhttp;
struct evhttp_bound_socket;
struct evhttp_connection;

/* Without connections there is no deadline to watch; libevent does not say to whom a listener
   belongs that could not accept, so that the sweep cannot stop. */
enum { HTTP_SWEEP_MS = 1000, HTTP_SWEEP_IDLE_MS = 5000, HTTP_ACCEPT_PAUSE_MS = 10 };
enum http_listener { HTTP_PORT, HTTP_SOCKET, HTTP_LISTENER_COUNT };
enum conn_phase { CONN_HEAD, CONN_BODY, CONN_HELD, CONN_REFUSED };

/* Each has a budget of its own: connections of the one never take room from the other. */
struct listener {
    struct http *http;
    struct evhttp *ev;
    struct evhttp_bound_socket *bound; /* NULL: none, or draining. */
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
    struct bufferevent *bufev;
    struct evhttp_connection *ev; /* NULL until birth is complete. */
    struct evbuffer_cb_entry *input;
    struct event stirred;         /* Added while a request is held and somebody watches. */
    struct http_request *request; /* HELD */
    enum conn_phase phase;
    bool answering;   /* The last answer is not sent to its last byte. */
    bool extra;       /* Bytes came behind the request: close behind the answer. */
    bool only_writes; /* A long answer: the reading side has no timeout meanwhile. */
    bool on_work_list;
    int64_t first_byte_us; /* Of the request being read; 0: none. */
    int64_t body_seen, body_raw_max, body_max;
    /* BODY, when it goes through a file (http_spool.h): */
    struct spool_file *spool;   /* While it arrives. */
    struct spool_file *spooled; /* Whole, and owned by libevent's buffer; until HELD. */
    struct http_chunks chunks;
    int64_t body_length;  /* -1: chunked */
    int64_t body_byte_us; /* When its last byte came; until then, its head. */
    bool body_chunked;
    bool moving;            /* Bytes are moved between buffers: on_input is not to look. */
    struct buf head;        /* What is there of a head that came in pieces. */
    int refuse_status;      /* REFUSED; 0: close without a word. */
    struct err *refuse_err; /* REFUSED */
    LIST_ENTRY(conn) all;
    TAILQ_ENTRY(conn) work; /* Newborn, or refused: seen to by on_work. */
};
LIST_HEAD(conn_list, conn);
TAILQ_HEAD(conn_queue, conn);

struct parting; /* A refused client is read dry for a moment, so that it sees the answer. */
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
    struct event *work;  /* Activated when the work list has something. */
    struct event *sweep; /* Request deadlines, and listening again. */
    struct conn **by_fd;
    size_t by_fd_count;
    struct parting_list partings;
    int64_t parting_count;
    int64_t held;      /* Requests that have an owner. */
    int64_t answering; /* Connections with an answer on its way. */
    struct dice dice;  /* Request ids. */
    atomic_int_fast64_t connections, refused_connections, evicted_connections, requests;
};

/* libevent asks for the bufferevent of a connection it has accepted. */
struct bufferevent *conn_new(struct event_base *base, void *listener);
struct conn *conn_of(struct http *http, const struct evhttp_connection *ev);
void conn_on_work(evutil_socket_t fd, short what, void *http);
/* Refuses what takes longer to arrive than it may. */
void conn_sweep(struct http *http);
/* Ends it; an owner of its request is told. */
void conn_close(struct conn *conn);
/* err is copied; NULL closes without an answer. */
void conn_refuse(struct conn *conn, int status, const struct err *err);
void parting_free_all(struct http *http);
/* Bytes of the answer that the client has not read; only while it is on its way. */
void conn_discharge(struct conn *conn);

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
