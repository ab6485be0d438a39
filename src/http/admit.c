/*
 * admit.c - which connections stay when there are too many.
 *
 *   born --counted for its source--> head --authenticated--> counted for its token
 *
 * A listener that is full closes a connection that waits for a request: first of the source with
 * the most connections, then of the run token with the most, the oldest first.  Connections of
 * tokens of the store and of the admin are not closed for a new one.  Where none can be closed the
 * new one may use the reserve: its head is read, and only a request that options.privileged accepts
 * is answered.
 *
 * So a client that holds many connections loses its own, and a client with few is served.
 */
#include "base/clock.h"
#include "base/str.h"
#include "http/conn.h"
#include <arpa/inet.h>
#include <assert.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum { HEADS_BYTES_MAX = 4 * 1024 * 1024, V6_PREFIX_BYTES = 8 };

static struct conn *conn_of_seat(struct seat *seat)
{
    return (struct conn *)((char *)seat - offsetof(struct conn, seat));
}

/* ---- Sources ---- */

/* An IPv6 network of 64 bits is one source: one customer usually gets a whole one. */
static void source_of_port(struct conn *conn, struct caps_key *key)
{
    struct sockaddr_storage address = {0};
    socklen_t len = sizeof address;
    char text[INET6_ADDRSTRLEN] = "";
    if (getpeername(conn->fd, (struct sockaddr *)&address, &len) != 0)
        return; /* The client has disconnected already. */
    if (address.ss_family == AF_INET6) {
        struct in6_addr v6 = ((struct sockaddr_in6 *)&address)->sin6_addr;
        (void)inet_ntop(AF_INET6, &v6, conn->peer, sizeof conn->peer);
        memset(v6.s6_addr + V6_PREFIX_BYTES, 0, sizeof v6.s6_addr - V6_PREFIX_BYTES);
        (void)inet_ntop(AF_INET6, &v6, text, sizeof text);
    } else {
        (void)inet_ntop(AF_INET, &((struct sockaddr_in *)&address)->sin_addr, text, sizeof text);
        text_copy(conn->peer, sizeof conn->peer, text);
    }
    (void)snprintf(key->name, sizeof key->name, "address:%s", text);
}

static void source_of_socket(struct conn *conn, struct caps_key *key)
{
    struct ucred peer = {0};
    socklen_t len = sizeof peer;
    if (getsockopt(conn->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
        return;
    (void)snprintf(key->name, sizeof key->name, "user:%u", peer.uid);
    (void)snprintf(conn->peer, sizeof conn->peer, "socket:%u", peer.uid);
}

static void count_for_source(struct conn *conn)
{
    struct caps_key key = {.kind = CAPS_SOURCE};
    if (conn->listener == &conn->http->listeners[HTTP_SOCKET])
        source_of_socket(conn, &key);
    else
        source_of_port(conn, &key);
    struct holder *source = caps_hold(conn->http->caps, &key);
    bool taken = seat_take(&conn->seat, source);
    assert(taken); /* Listeners bound the connections of sources, not the caps. */
    caps_unref(source);
}

/* ---- Making room ---- */

/* A client without a token may lose a request that is still arriving. */
static bool can_go(const struct conn *conn)
{
    if (conn->seat.holder->key.kind == CAPS_SOURCE)
        return conn->phase == CONN_HEAD || conn->phase == CONN_BODY;
    return conn->phase == CONN_HEAD && !conn->first_byte_us;
}

/* The oldest of this holder; NULL: none can be closed.  listener NULL: on any. */
static struct conn *oldest_idle(struct holder *holder, const struct http_listener *listener,
                                const struct conn *except)
{
    struct seat *seat;
    TAILQ_FOREACH(seat, &holder->seats, link)
    {
        struct conn *conn = conn_of_seat(seat);
        if (conn != except && (listener == NULL || conn->listener == listener) && can_go(conn))
            return conn;
    }
    return NULL;
}

static struct conn *find_victim(struct http_listener *listener, enum caps_kind kind,
                                const struct conn *except)
{
    struct holder *holder;
    struct conn *victim = NULL;
    int64_t most = 0;
    TAILQ_FOREACH(holder, caps_holders(listener->http->caps), all)
    {
        if (holder->key.kind != kind || holder->used[CAPS_CONNECTIONS] <= most)
            continue;
        struct conn *oldest = oldest_idle(holder, listener, except);
        if (oldest == NULL)
            continue;
        victim = oldest;
        most = holder->used[CAPS_CONNECTIONS];
    }
    return victim;
}

static struct conn *victim_for(struct conn *newcomer)
{
    struct conn *victim = find_victim(newcomer->listener, CAPS_SOURCE, newcomer);
    return victim != NULL ? victim : find_victim(newcomer->listener, CAPS_RUN, newcomer);
}

static void refuse_full(struct conn *conn)
{
    atomic_fetch_add(&conn->http->refused_connections, 1);
    struct err err = {0};
    (void)err_set(&err, RC_BUSY, "TOO_MANY_CONNECTIONS",
                  "the server has as many connections as it takes; try again");
    conn_refuse(conn, problem_status(RC_BUSY), &err);
}

void admit_newborn(struct conn *conn)
{
    struct http_listener *listener = conn->listener;
    count_for_source(conn);
    if (listener->open <= listener->open_max)
        return;
    struct conn *victim = victim_for(conn);
    if (victim != NULL) {
        atomic_fetch_add(&conn->http->evicted_connections, 1);
        conn_close(victim);
    } else if (listener->open <= listener->open_max + listener->reserve) {
        conn->reserved = true;
    } else {
        refuse_full(conn);
    }
}

/* Called while bytes are read: nothing may be closed here, so the victim is refused. */
void admit_head_bytes(struct conn *conn)
{
    if (conn->http->head_bytes <= HEADS_BYTES_MAX)
        return;
    struct conn *victim = victim_for(conn);
    if (victim != NULL) {
        atomic_fetch_add(&conn->http->evicted_connections, 1);
        conn_refuse(victim, 0, NULL);
    } else {
        refuse_full(conn);
    }
}

/* ---- Heads and tokens ---- */

enum rc admit_claim(struct conn *conn, const struct caps_key *key, struct err *err)
{
    struct holder *holder = caps_hold(conn->http->caps, key);
    enum rc rc = RC_OK;
    if (holder != conn->seat.holder) {
        struct conn *idle = NULL;
        int64_t max = caps_max(holder, CAPS_CONNECTIONS);
        if (max > 0 && holder->used[CAPS_CONNECTIONS] >= max)
            idle = oldest_idle(holder, NULL, conn);
        if (idle != NULL) {
            seat_leave(&idle->seat);
            atomic_fetch_add(&conn->http->evicted_connections, 1);
            conn_refuse(idle, 0, NULL);
        }
        struct holder *before = conn->seat.holder;
        caps_ref(before);
        seat_leave(&conn->seat);
        bool moved = seat_take(&conn->seat, holder);
        if (!moved) {
            rc = err_set(err, RC_LIMIT, "TOO_MANY_CONNECTIONS",
                         "this token has %lld connections, as many as it may; close some first",
                         (long long)max);
            err->retry_ms = CAPS_RETRY_MS;
            bool back = seat_take(&conn->seat, before);
            assert(back);
        }
        caps_unref(before);
    }
    caps_unref(holder);
    return rc;
}

bool admit_head(struct conn *conn, const struct http_head *head, bool whole)
{
    const struct http_options *options = &conn->http->options;
    bool full = conn->reserved && conn->listener->open > conn->listener->open_max;
    if (full && !(options->privileged != NULL && options->privileged(options->ctx, head))) {
        refuse_full(conn);
        return false;
    }
    /* A request that has arrived completely is counted where it is handled. */
    struct caps_key key = {0};
    struct err err = {0};
    if (whole || options->claim == NULL || !options->claim(options->ctx, head, &key))
        return true;
    enum rc rc = admit_claim(conn, &key, &err);
    if (rc != RC_OK)
        conn_refuse(conn, problem_status(rc), &err);
    return rc == RC_OK;
}

/* ---- Listening ---- */

static void set_enabled(struct http_listener *listener, bool enabled)
{
    listener->paused = !enabled;
    if (listener->ev == NULL)
        return;
    (void)(enabled ? evconnlistener_enable(listener->ev) : evconnlistener_disable(listener->ev));
}

/* libevent accepts until the queue is empty; a client that connects all the time can keep it from
   ever becoming empty. */
void admit_accepted(struct http_listener *listener)
{
    if (++listener->accepted < listener->accepted_max)
        return;
    set_enabled(listener, false);
    if (listener->resume != NULL)
        loop_pace(listener->resume, HTTP_ACCEPT_PAUSE_MS);
    else
        http_work_soon(listener->http);
}

void admit_resume(struct http_listener *listener)
{
    listener->accepted = 0;
    if (listener->resume != NULL)
        loop_pace(listener->resume, 0);
    if (listener->paused)
        set_enabled(listener, true);
}
