/*
 * http_conn.c - connections: limits, deadlines, and refusals before libevent has the request.
 *
 * libevent reads a head line by line and keeps a whole body in memory before it calls anybody.
 * So a callback on the connection's input sees every byte first: it notes when a request began
 * (for the absolute deadline), reads the head strictly, asks gate() how large the body may be,
 * and counts.  Inside that callback nothing may be closed; what is to be refused goes on a list
 * that on_work sees to right behind.  By then libevent may have handed the request to http.c,
 * which refuses it in the usual way; if not, the answer is written straight to the socket.
 */
#include "edge/http_conn.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/mem.h"
#include "edge/http_spool.h"
#include <assert.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    INPUT_VECTORS_MAX = 16,      /* libevent reads into four at most. */
    EXTRA_BYTES_MAX = 64 * 1024, /* Sent while a request is held; more closes the connection. */
    CHUNK_OVERHEAD_BYTES = 64 * 1024,
    PARTINGS_MAX = 64,
    PARTING_SECONDS = 2,
    PARTING_BYTES_MAX = 256 * 1024 * 1024,
    PARTING_READ_BYTES = 64 * 1024,
    REFUSAL_BYTES_MAX = 4096
};

struct parting {
    struct http *http;
    struct event event;
    int fd;
    int64_t bytes;
    int64_t until_us;
    LIST_ENTRY(parting) all;
};

/* ---- Refusing ---- */

static void put_on_work_list(struct conn *conn)
{
    if (conn->on_work_list)
        return;
    conn->on_work_list = true;
    TAILQ_INSERT_TAIL(&conn->http->work_list, conn, work);
    event_active(conn->http->work, EV_READ, 0);
}

static void take_off_work_list(struct conn *conn)
{
    if (!conn->on_work_list)
        return;
    conn->on_work_list = false;
    TAILQ_REMOVE(&conn->http->work_list, conn, work);
}

void conn_refuse(struct conn *conn, int status, const struct err *err)
{
    conn->phase = CONN_REFUSED;
    conn->refuse_status = status;
    if (err && !conn->refuse_err) {
        conn->refuse_err = mem_alloc(sizeof *conn->refuse_err);
        *conn->refuse_err = *err;
    }
    put_on_work_list(conn);
}

static void parting_free(struct parting *parting)
{
    event_del(&parting->event);
    fd_close(parting->fd);
    LIST_REMOVE(parting, all);
    parting->http->parting_count--;
    mem_free(parting);
}

void parting_free_all(struct http *http)
{
    struct parting *parting;
    while ((parting = LIST_FIRST(&http->partings)))
        parting_free(parting);
}

static void on_parting(evutil_socket_t fd, short what, void *arg)
{
    struct parting *parting = arg;
    static char dropped[PARTING_READ_BYTES]; /* Only the loop's thread comes here. */
    ssize_t got = 0;
    if (what & EV_READ) {
        got = recv(fd, dropped, sizeof dropped, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
    }
    if (got > 0)
        parting->bytes += got;
    if (got <= 0 || parting->bytes > PARTING_BYTES_MAX || clock_mono_us() > parting->until_us)
        parting_free(parting);
}

/* Closing with unread bytes in the socket would reset the connection and lose the answer. */
static void part_slowly(struct http *http, int fd)
{
    int copy = http->parting_count < PARTINGS_MAX ? dup(fd) : -1;
    if (copy < 0)
        return;
    struct parting *parting = mem_alloc(sizeof *parting);
    parting->http = http;
    parting->fd = copy;
    parting->until_us = clock_mono_us() + PARTING_SECONDS * US_PER_SECOND;
    LIST_INSERT_HEAD(&http->partings, parting, all);
    http->parting_count++;
    struct timeval silence = {.tv_sec = PARTING_SECONDS};
    event_assign(&parting->event, loop_base(http->options.loop), copy, EV_READ | EV_PERSIST,
                 on_parting, parting);
    event_add(&parting->event, &silence);
}

/* The whole answer in one small write: the socket's buffer is empty, so it fits. */
static void send_refusal(struct conn *conn)
{
    struct http *http = conn->http;
    struct id id = id_new(clock_now_us(&http->options.clock), &http->dice);
    CLEANUP(buf_release) struct buf body;
    CLEANUP(buf_release) struct buf all;
    buf_init(&body, REFUSAL_BYTES_MAX);
    buf_init(&all, REFUSAL_BYTES_MAX * 2);
    struct jw jw = jw_to(&body);
    problem_write(&jw, &(struct problem){.status = conn->refuse_status,
                                         .code = conn->refuse_err->code,
                                         .detail = conn->refuse_err->text,
                                         .field = conn->refuse_err->field,
                                         .request_id = id.text});
    buf_addf(&all, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n",
             conn->refuse_status, problem_title(conn->refuse_status), PROBLEM_CONTENT_TYPE,
             body.len);
    if (conn->refuse_status == problem_status(RC_UNAUTHORIZED))
        buf_adds(&all, "WWW-Authenticate: Bearer\r\n");
    int retry_seconds = problem_retry_after_seconds(conn->refuse_status);
    if (retry_seconds)
        buf_addf(&all, "Retry-After: %d\r\n", retry_seconds);
    buf_addf(&all, "X-Request-Id: %s\r\nConnection: close\r\n\r\n%s", id.text, buf_text(&body));
    (void)!send(bufferevent_getfd(conn->bufev), all.data, all.len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void close_refused(struct conn *conn)
{
    bool clean = !conn->answering && !conn->request;
    if (conn->refuse_status && conn->refuse_err && clean) {
        send_refusal(conn);
        part_slowly(conn->http, bufferevent_getfd(conn->bufev));
    }
    conn_close(conn);
}

/* ---- Reading ---- */

static void take_head(struct conn *conn, struct str head, int64_t behind_bytes)
{
    struct http *http = conn->http;
    struct http_head parsed;
    struct err err = {0};
    int status = http_head_parse(head, &http->options.head, &parsed, &err);
    if (status) {
        conn_refuse(conn, status, &err);
        return;
    }
    if (!admit_head(conn, &parsed, !parsed.chunked && parsed.content_length <= behind_bytes))
        return;
    struct http_body_plan plan = {.bytes_max = http->options.body_bytes_max};
    enum rc rc = http->options.gate(http->options.ctx, &parsed, &plan, &err);
    int64_t body_max = plan.bytes_max;
    if (rc == RC_OK && parsed.content_length > body_max)
        rc = err_set(&err, RC_TOO_LARGE, "BODY_TOO_LARGE",
                     "the body has %lld bytes; at most %lld are taken here",
                     (long long)parsed.content_length, (long long)body_max);
    if (rc == RC_OK && plan.spool && http->options.spool)
        rc = http_spool_begin(conn, &parsed, &plan, &err);
    if (rc != RC_OK) {
        conn_refuse(conn, problem_status(rc), &err);
        return;
    }
    conn->phase = CONN_BODY;
    conn->asked = true;
    conn->body_max = body_max;
    conn->body_raw_max = parsed.chunked ? 2 * body_max + CHUNK_OVERHEAD_BYTES : INT64_MAX;
    conn->body_seen = behind_bytes;
}

static void drop_head(struct conn *conn)
{
    conn->http->head_bytes -= (int64_t)conn->head.len;
    buf_release(&conn->head);
}

/* A head that came in pieces is gathered; one that came whole is read where it lies. */
static void feed_head(struct conn *conn, struct str bytes)
{
    size_t had = conn->head.len;
    if (had) {
        buf_add(&conn->head, bytes.at, bytes.len);
        conn->http->head_bytes += (int64_t)(conn->head.len - had);
        bytes = buf_str(&conn->head);
    }
    size_t length = http_head_length(bytes);
    if (length) {
        take_head(conn, (struct str){bytes.at, length}, (int64_t)(bytes.len - length));
        drop_head(conn);
    } else if (bytes.len > conn->http->options.head.bytes_max || conn->head.overflow) {
        struct err err = {0};
        (void)err_set(&err, RC_TOO_LARGE, "HEADERS_TOO_LARGE",
                      "the request's headers are too large");
        conn_refuse(conn, 431, &err);
    } else {
        if (!had) {
            buf_add(&conn->head, bytes.at, bytes.len);
            conn->http->head_bytes += (int64_t)conn->head.len;
        }
        admit_head_bytes(conn);
    }
}

/* The bytes that have just been added to the end of the input, as one piece. */
static void feed_head_from(struct conn *conn, struct evbuffer *input, size_t added)
{
    struct evbuffer_ptr start;
    struct evbuffer_iovec vectors[INPUT_VECTORS_MAX];
    size_t at = evbuffer_get_length(input) - added;
    int rc = evbuffer_ptr_set(input, &start, at, EVBUFFER_PTR_SET);
    assert(rc == 0);
    int count = evbuffer_peek(input, (ev_ssize_t)added, &start, vectors, INPUT_VECTORS_MAX);
    assert(count > 0 && count <= INPUT_VECTORS_MAX);
    size_t left = added;
    for (int i = 0; i < count && conn->phase == CONN_HEAD; i++) {
        size_t len = vectors[i].iov_len < left ? vectors[i].iov_len : left;
        left -= len;
        feed_head(conn, (struct str){vectors[i].iov_base, len});
    }
    if (conn->phase == CONN_BODY)
        conn->body_seen += (int64_t)left;
}

/* What has come of the body so far, or with the head, goes to its file. */
static void spool_input(struct conn *conn, struct evbuffer *input, size_t added)
{
    struct err err = {0};
    enum rc rc = http_spool_feed(conn, input, added, &err);
    if (rc != RC_OK)
        conn_refuse(conn, problem_status(rc), &err);
}

static void on_input(struct evbuffer *input, const struct evbuffer_cb_info *info, void *arg)
{
    struct conn *conn = arg;
    if (info->n_added == 0 || conn->moving)
        return;
    switch (conn->phase) {
    case CONN_HEAD:
        if (!conn->first_byte_us)
            conn->first_byte_us = clock_mono_us();
        feed_head_from(conn, input, info->n_added);
        if (conn->phase == CONN_BODY && conn->spool && conn->body_seen > 0)
            spool_input(conn, input, (size_t)conn->body_seen);
        break;
    case CONN_BODY:
        conn->body_seen += (int64_t)info->n_added;
        if (conn->spool)
            spool_input(conn, input, info->n_added);
        break;
    case CONN_HELD:
        conn->extra = true;
        if (evbuffer_get_length(input) > EXTRA_BYTES_MAX)
            conn_refuse(conn, 0, NULL);
        return;
    case CONN_REFUSED:
        return;
    }
    if (conn->phase == CONN_BODY && conn->body_seen > conn->body_raw_max) {
        struct err err = {0};
        (void)err_set(&err, RC_TOO_LARGE, "BODY_TOO_LARGE", "at most %lld bytes are taken here",
                      (long long)conn->body_max);
        conn_refuse(conn, problem_status(RC_TOO_LARGE), &err);
    }
}

/* ---- Birth and death ---- */

static void remember_fd(struct http *http, int fd, struct conn *conn)
{
    assert(fd >= 0);
    if ((size_t)fd >= http->by_fd_count) {
        size_t count = http->by_fd_count ? http->by_fd_count : 64;
        while (count <= (size_t)fd)
            count *= 2;
        http->by_fd = mem_grow(http->by_fd, count * sizeof *http->by_fd);
        memset(http->by_fd + http->by_fd_count, 0,
               (count - http->by_fd_count) * sizeof *http->by_fd);
        http->by_fd_count = count;
    }
    http->by_fd[fd] = conn;
}

struct conn *conn_of(struct http *http, const struct evhttp_connection *ev)
{
    struct bufferevent *bufev = evhttp_connection_get_bufferevent((struct evhttp_connection *)ev);
    int fd = bufferevent_getfd(bufev);
    assert(fd >= 0 && (size_t)fd < http->by_fd_count && http->by_fd[fd]);
    return http->by_fd[fd];
}

void conn_discharge(struct conn *conn)
{
    if (!conn->charged)
        return;
    caps_give(conn->charged, CAPS_BYTES, conn->charged_bytes);
    caps_unref(conn->charged);
    conn->charged = NULL;
    conn->charged_bytes = 0;
}

static void on_dead(struct evhttp_connection *ev, void *arg)
{
    (void)ev;
    struct conn *conn = arg;
    struct http *http = conn->http;
    struct http_request *request = conn->request;
    take_off_work_list(conn);
    evbuffer_remove_cb_entry(bufferevent_get_input(conn->bufev), conn->input);
    event_del(&conn->stirred);
    remember_fd(http, bufferevent_getfd(conn->bufev), NULL);
    LIST_REMOVE(conn, all);
    atomic_fetch_sub(&http->connections, 1);
    conn->listener->open--;
    if (conn->answering)
        http->answering--;
    conn_discharge(conn);
    seat_leave(&conn->seat);
    drop_head(conn);
    http_spool_drop(conn);
    mem_free(conn->refuse_err);
    mem_free(conn);
    if (!request)
        return;
    /* libevent has taken the request off the connection when it saw the end itself; otherwise it
       frees it with the connection. */
    if (!evhttp_request_get_connection(request->ev))
        evhttp_request_free(request->ev);
    request->ev = NULL;
    request->conn = NULL;
    if (request->on_gone)
        request->on_gone(request);
}

void conn_close(struct conn *conn)
{
    evhttp_connection_free(conn->ev); /* on_dead does the rest. */
}

/*
 * Edge-triggered, for two reasons: bytes that lie unread must not fire again and again, and a
 * connection that was reset is reported as readable, never as closed.
 */
static void on_stirred(evutil_socket_t fd, short what, void *arg)
{
    char byte;
    ssize_t got = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    bool open = got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
    if ((what & EV_CLOSED) || !open)
        conn_close(arg);
}

static void complete_birth(struct conn *conn)
{
    struct http *http = conn->http;
    void *owner = NULL;
    bufferevent_getcb(conn->bufev, NULL, NULL, NULL, &owner);
    conn->ev = owner; /* libevent's callbacks get the connection as their argument. */
    assert(conn->ev && evhttp_connection_get_bufferevent(conn->ev) == conn->bufev);
    int fd = bufferevent_getfd(conn->bufev);
    remember_fd(http, fd, conn);
    evhttp_connection_set_closecb(conn->ev, on_dead, conn);
    event_assign(&conn->stirred, loop_base(http->options.loop), fd,
                 EV_READ | EV_CLOSED | EV_ET | EV_PERSIST, on_stirred, conn);
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    admit_newborn(conn);
}

struct bufferevent *conn_new(struct event_base *base, void *arg)
{
    struct listener *listener = arg;
    struct http *http = listener->http;
    struct bufferevent *bufev = bufferevent_socket_new(base, -1, 0);
    if (!bufev)
        return NULL;
    struct conn *conn = mem_alloc(sizeof *conn);
    conn->http = http;
    conn->listener = listener;
    conn->born_us = clock_mono_us();
    conn->bufev = bufev;
    buf_init(&conn->head, http->options.head.bytes_max + 1);
    conn->input = evbuffer_add_cb(bufferevent_get_input(bufev), on_input, conn);
    assert(conn->input);
    LIST_INSERT_HEAD(&http->conns, conn, all);
    atomic_fetch_add(&http->connections, 1);
    listener->open++;
    put_on_work_list(conn);
    admit_accepted(listener);
    loop_pace(http->sweep, HTTP_SWEEP_MS);
    return bufev;
}

void conn_on_work(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    struct http *http = arg;
    struct conn *conn;
    while ((conn = TAILQ_FIRST(&http->work_list))) {
        take_off_work_list(conn);
        if (!conn->ev)
            complete_birth(conn);
        if (conn->phase == CONN_REFUSED)
            close_refused(conn);
    }
    for (int i = 0; i < HTTP_LISTENER_COUNT; i++) {
        if (!http->listeners[i].resume)
            admit_resume(&http->listeners[i]);
    }
}

void conn_sweep(struct http *http)
{
    int64_t now_us = clock_mono_us(), late_us = now_us - http->options.request_ms * US_PER_MS;
    struct err err = {0}, stalled = {0};
    (void)err_set(&err, RC_TIMEOUT, "REQUEST_TIMEOUT", "the request took too long to arrive");
    (void)err_set(&stalled, RC_TIMEOUT, "REQUEST_TIMEOUT",
                  "no byte of the body arrived for %lld ms: send it without such pauses",
                  (long long)http->options.stall_ms);
    struct conn *conn;
    LIST_FOREACH(conn, &http->conns, all)
    {
        bool reading = conn->phase == CONN_HEAD || conn->phase == CONN_BODY;
        if (conn->phase == CONN_BODY && http_spool_stalled(conn, now_us))
            conn_refuse(conn, 408, &stalled);
        else if (reading && conn->first_byte_us && conn->first_byte_us < late_us)
            conn_refuse(conn, 408, &err);
        else if (reading && !conn->asked && conn->born_us < late_us)
            conn_refuse(conn, 0, NULL);
    }
}
