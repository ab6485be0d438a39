/*
 * conn.c - connections: reading, sending, limits, deadlines and refusals.
 *
 * Events are edge-triggered, so that a connection whose request is with its owner costs nothing:
 * `readable` notes that there is something to read, and conn_run reads it when the answer is sent.
 */
#include "http/conn.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/mem.h"
#include "http/body.h"
#include "http/parting.h"
#include <assert.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

enum {
    HEAD_READ_BYTES = 16 * 1024, /* At most so many bytes after a request are in memory. */
    BODY_READ_BYTES = 64 * 1024,
    TURN_STEPS = 16, /* Reads, requests or writes in one turn of the loop: others wait. */
    REFUSAL_BYTES_MAX = 4096,
};

/* ---- The work list ---- */

/* libevent runs events that become active during a turn before it polls again: connections that
   always have more to do would keep it from polling, and all others from being served. */
void http_work_soon(struct http *http)
{
    if (http->working)
        event_add(http->work, &(struct timeval){0});
    else
        event_active(http->work, EV_READ, 0);
}

static void put_on_work_list(struct conn *conn)
{
    if (conn->on_work_list)
        return;
    conn->on_work_list = true;
    TAILQ_INSERT_TAIL(&conn->http->work_list, conn, work);
    http_work_soon(conn->http);
}

static void take_off_work_list(struct conn *conn)
{
    if (!conn->on_work_list)
        return;
    conn->on_work_list = false;
    TAILQ_REMOVE(&conn->http->work_list, conn, work);
}

/* ---- Refusing ---- */

void conn_refuse(struct conn *conn, int status, const struct err *err)
{
    if (conn->phase == CONN_REFUSED)
        return;
    if (conn->phase == CONN_SENDING)
        conn->http->answering--;
    conn->phase = CONN_REFUSED;
    conn->refuse_status = status;
    if (conn->incoming != NULL)
        conn->refuse_head_only = conn->incoming->method == HTTP_HEAD;
    if (err != NULL) {
        conn->refuse_err = mem_alloc(sizeof *conn->refuse_err);
        *conn->refuse_err = *err;
    }
    put_on_work_list(conn);
}

/* The whole answer in one small write: the socket's buffer is empty, so it fits. */
static void send_refusal(struct conn *conn)
{
    struct http *http = conn->http;
    struct id made = id_new(clock_now_us(&http->options.clock), &http->random);
    const char *id = conn->incoming != NULL ? conn->incoming->id : made.text;
    CLEANUP(buf_release) struct buf body;
    CLEANUP(buf_release) struct buf all;
    buf_init(&body, REFUSAL_BYTES_MAX);
    buf_init(&all, REFUSAL_BYTES_MAX * 2);
    struct jw jw = jw_to(&body);
    problem_write(&jw, &(struct problem){.status = conn->refuse_status,
                                         .code = conn->refuse_err->code,
                                         .detail = conn->refuse_err->text,
                                         .field = conn->refuse_err->field,
                                         .request_id = id});
    buf_addf(&all, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nDate: %s\r\n",
             conn->refuse_status, problem_title(conn->refuse_status), PROBLEM_CONTENT_TYPE,
             body.len, http_date(http));
    if (conn->refuse_status == problem_status(RC_UNAUTHORIZED))
        buf_adds(&all, "WWW-Authenticate: Bearer\r\n");
    int retry_seconds = problem_retry_after_seconds(conn->refuse_status);
    if (retry_seconds)
        buf_addf(&all, "Retry-After: %d\r\n", retry_seconds);
    buf_addf(&all, "X-Request-Id: %s\r\nConnection: close\r\n\r\n", id);
    if (!conn->refuse_head_only)
        buf_add(&all, buf_text(&body), body.len);
    (void)!send(conn->fd, all.data, all.len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void close_refused(struct conn *conn)
{
    bool clean = conn->request == NULL && evbuffer_get_length(conn->output) == 0;
    if (conn->refuse_status && conn->refuse_err != NULL && clean) {
        send_refusal(conn);
        conn->parts = true;
    }
    if (conn->parts)
        parting_begin(conn->http, conn->fd);
    conn_close(conn);
}

/* ---- Taking requests ---- */

static void take_head(struct conn *conn, const struct http_head *head, size_t behind_bytes)
{
    struct http *http = conn->http;
    struct err err = {0};
    conn->incoming = request_new(conn, head); /* First: a refusal carries its id. */
    if (!admit_head(conn, head, !head->chunked && head->content_length <= (int64_t)behind_bytes))
        return;
    struct http_body_plan plan = {.bytes_max = http->options.body_bytes_max};
    enum rc rc = http->options.gate(http->options.ctx, head, &plan, &err);
    if (rc == RC_OK && head->content_length > plan.bytes_max)
        rc = err_set(&err, RC_TOO_LARGE, "BODY_TOO_LARGE",
                     "the body has %lld bytes; at most %lld are taken here",
                     (long long)head->content_length, (long long)plan.bytes_max);
    if (rc == RC_OK)
        rc = http_body_begin(conn->incoming, head, &plan, &err);
    if (rc != RC_OK) {
        conn_refuse(conn, problem_status(rc), &err);
        return;
    }
    conn->phase = CONN_BODY;
    conn->asked = true;
    conn->body_max = plan.bytes_max;
    bool waits = head->expects_continue && behind_bytes == 0 &&
                 (head->chunked || head->content_length > 0);
    if (waits) { /* As small as it is, it fits. */
        static const char go[] = "HTTP/1.1 100 Continue\r\n\r\n";
        (void)!send(conn->fd, go, sizeof go - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

static void take_content(struct conn *conn, struct str content)
{
    struct err err = {0};
    enum rc rc = http_body_add(conn->incoming, content, conn->body_max, &err);
    if (rc != RC_OK)
        conn_refuse(conn, problem_status(rc), &err);
}

static void take_end(struct conn *conn)
{
    struct err err = {0};
    enum rc rc = http_body_end(conn->incoming, &err);
    if (rc != RC_OK) {
        conn_refuse(conn, problem_status(rc), &err);
        return;
    }
    request_hand_over(conn);
}

static bool reads(const struct conn *conn)
{
    return conn->phase == CONN_HEAD || conn->phase == CONN_BODY;
}

/* Takes bytes off the front of *bytes, up to the end of one request. */
static void feed(struct conn *conn, struct str *bytes)
{
    struct http *http = conn->http;
    struct http_frame_out out;
    enum http_frame_event event = FRAME_BEGIN;
    out.err = (struct err){0};
    while (reads(conn) && event != FRAME_MORE && event != FRAME_END) {
        http->head_bytes -= (int64_t)conn->frame.gathered.len;
        event = http_frame_next(&conn->frame, bytes, &out);
        http->head_bytes += (int64_t)conn->frame.gathered.len;
        switch (event) {
        case FRAME_MORE:
            if (conn->phase == CONN_HEAD)
                admit_head_bytes(conn);
            break;
        case FRAME_BEGIN:
            take_head(conn, &out.head, bytes->len);
            break;
        case FRAME_CONTENT:
            take_content(conn, out.content);
            break;
        case FRAME_END:
            take_end(conn);
            break;
        case FRAME_REFUSE:
            conn->refuse_head_only = out.head_only;
            conn_refuse(conn, out.status, &out.err);
            break;
        }
    }
    if (reads(conn) && conn->first_byte_us == 0 && !http_frame_is_idle(&conn->frame))
        conn->first_byte_us = conn->moved_us;
}

/* ---- Reading ---- */

/* In the middle of a request it is answered: the client may only have closed its sending side. */
static void take_input_end(struct conn *conn, bool failed)
{
    struct err err = {0};
    if (failed || http_frame_is_idle(&conn->frame)) {
        conn_refuse(conn, 0, NULL);
        return;
    }
    (void)err_set(&err, RC_MALFORMED, "MALFORMED_REQUEST", "the request ends before its end");
    conn_refuse(conn, problem_status(RC_MALFORMED), &err);
}

/* Reads once.  NULL: there is nothing, or the end, which was handled.  The bytes are valid until
   the next read of any connection. */
static const char *read_once(struct conn *conn, size_t bytes_max, size_t *ret_len)
{
    static char bytes[BODY_READ_BYTES]; /* Only the loop's thread runs this. */
    assert(bytes_max <= sizeof bytes);
    ssize_t got;
    do {
        got = recv(conn->fd, bytes, bytes_max, MSG_DONTWAIT);
    } while (got < 0 && errno == EINTR);
    if (got <= 0) {
        conn->readable = false;
        if (got == 0 || errno != EAGAIN)
            take_input_end(conn, got < 0);
        return NULL;
    }
    /* A short read has emptied the socket; later bytes raise a new event, the end only once. */
    if ((size_t)got < bytes_max && !conn->peer_done)
        conn->readable = false;
    conn->moved_us = clock_mono_us();
    *ret_len = (size_t)got;
    return bytes;
}

static void feed_pending(struct conn *conn)
{
    struct str bytes = buf_str(&conn->pending);
    size_t had = bytes.len;
    feed(conn, &bytes);
    buf_drop(&conn->pending, had - bytes.len);
    if (conn->pending.len == 0) {
        buf_release(&conn->pending);
        buf_init(&conn->pending, BODY_READ_BYTES);
    }
}

static void feed_socket(struct conn *conn)
{
    struct str bytes = {0};
    size_t bytes_max = conn->phase == CONN_BODY ? BODY_READ_BYTES : HEAD_READ_BYTES;
    bytes.at = read_once(conn, bytes_max, &bytes.len);
    if (bytes.at == NULL)
        return;
    feed(conn, &bytes);
    if (bytes.len > 0 && conn->phase != CONN_REFUSED)
        buf_add(&conn->pending, bytes.at, bytes.len);
}

static bool has_input(const struct conn *conn)
{
    return conn->pending.len > 0 || conn->readable;
}

/* Reads what has arrived, one request after the other, until one has an owner. */
static void conn_run(struct conn *conn)
{
    if (conn->running)
        return; /* Answered at once: the loop below continues with the next request. */
    conn->running = true;
    for (int i = 0; i < TURN_STEPS && reads(conn) && has_input(conn); i++) {
        if (conn->pending.len > 0)
            feed_pending(conn);
        else
            feed_socket(conn);
    }
    conn->running = false;
    if (reads(conn) && has_input(conn))
        put_on_work_list(conn);
}

/* After a stream no request is answered any more; only the end of the input is detected. */
static void drop_input(struct conn *conn)
{
    size_t len;
    buf_release(&conn->pending);
    buf_init(&conn->pending, BODY_READ_BYTES);
    for (int i = 0; i < TURN_STEPS && conn->readable && conn->phase == CONN_HELD; i++)
        (void)read_once(conn, BODY_READ_BYTES, &len);
    if (conn->readable && conn->phase == CONN_HELD)
        put_on_work_list(conn);
}

void conn_look_for_end(struct conn *conn)
{
    if (conn->phase != CONN_HELD || !conn->readable)
        return;
    char byte;
    ssize_t got = recv(conn->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    bool open = got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
    if (conn->peer_done || !open)
        conn_refuse(conn, 0, NULL);
}

static void on_in(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    struct conn *conn = arg;
    conn->readable = true;
    if (what & EV_CLOSED)
        conn->peer_done = true;
    if (conn->phase == CONN_HELD && conn->streams)
        drop_input(conn);
    else if (conn->phase == CONN_HELD && conn->request->on_gone != NULL)
        conn_look_for_end(conn);
    else
        conn_run(conn);
}

/* ---- Sending ---- */

/* Ends the count of the answer's unread bytes; they count only while it is being sent. */
static void conn_discharge(struct conn *conn)
{
    if (conn->charged == NULL)
        return;
    caps_give(conn->charged, CAPS_BYTES, conn->charged_bytes);
    caps_unref(conn->charged);
    conn->charged = NULL;
    conn->charged_bytes = 0;
}

static void on_sent(struct conn *conn)
{
    conn_discharge(conn);
    if (conn->last || conn->http->draining) {
        conn->parts = has_input(conn) || !conn->as_asked;
        conn_refuse(conn, 0, NULL);
        return;
    }
    conn->http->answering--;
    conn->phase = CONN_HEAD;
    conn_run(conn);
}

static void on_flushed(struct conn *conn)
{
    struct http_request *request = conn->request;
    (void)event_del(&conn->out);
    if (conn->phase == CONN_SENDING)
        on_sent(conn);
    else if (conn->streams && request != NULL && request->on_drained != NULL)
        request->on_drained(request);
}

void conn_flush(struct conn *conn)
{
    for (int i = 0; i < TURN_STEPS && conn->phase != CONN_REFUSED; i++) {
        if (evbuffer_get_length(conn->output) == 0) {
            on_flushed(conn);
            return;
        }
        int put = evbuffer_write(conn->output, conn->fd);
        if (put > 0) {
            conn->moved_us = clock_mono_us();
        } else if (put == 0 || errno == EAGAIN) {
            (void)event_add(&conn->out, NULL);
            return;
        } else if (errno != EINTR) {
            conn_refuse(conn, 0, NULL);
        }
    }
    put_on_work_list(conn);
}

void conn_flush_later(struct conn *conn)
{
    put_on_work_list(conn);
}

static void on_out(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    conn_flush(arg);
}

/* ---- Opening and closing ---- */

void conn_new(struct http_listener *listener, int fd)
{
    struct http *http = listener->http;
    struct conn *conn = mem_alloc(sizeof *conn);
    conn->http = http;
    conn->listener = listener;
    conn->born_us = conn->moved_us = clock_mono_us();
    conn->fd = fd;
    conn->output = evbuffer_new();
    assert(conn->output != NULL);
    evbuffer_set_flags(conn->output, EVBUFFER_FLAG_DRAINS_TO_FD); /* Files by sendfile. */
    http_frame_init(&conn->frame, &http->options.head);
    buf_init(&conn->pending, BODY_READ_BYTES);
    struct event_base *base = loop_base(http->options.loop);
    event_assign(&conn->in, base, fd, EV_READ | EV_CLOSED | EV_ET | EV_PERSIST, on_in, conn);
    event_assign(&conn->out, base, fd, EV_WRITE | EV_ET | EV_PERSIST, on_out, conn);
    LIST_INSERT_HEAD(&http->conns, conn, all);
    atomic_fetch_add(&http->connections, 1);
    listener->open++;
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    int failed = event_add(&conn->in, NULL);
    assert(!failed);
    loop_pace(http->sweep, HTTP_SWEEP_MS);
    admit_accepted(listener);
    admit_newborn(conn);
}

void conn_close(struct conn *conn)
{
    struct http *http = conn->http;
    struct http_request *request = conn->request;
    assert(!conn->running);
    take_off_work_list(conn);
    event_del(&conn->in);
    event_del(&conn->out);
    LIST_REMOVE(conn, all);
    atomic_fetch_sub(&http->connections, 1);
    conn->listener->open--;
    if (conn->phase == CONN_SENDING)
        http->answering--;
    conn_discharge(conn);
    seat_leave(&conn->seat);
    http->head_bytes -= (int64_t)conn->frame.gathered.len;
    http_frame_release(&conn->frame);
    buf_release(&conn->pending);
    if (conn->incoming != NULL)
        conn->incoming->conn = NULL;
    request_drop(conn->incoming);
    evbuffer_free(conn->output);
    fd_close(conn->fd);
    mem_free(conn->refuse_err);
    mem_free(conn);
    if (request == NULL)
        return;
    request->conn = NULL;
    if (request->on_gone != NULL)
        request->on_gone(request);
}

static void work_on(struct conn *conn)
{
    if (conn->phase == CONN_REFUSED) {
        close_refused(conn);
    } else if (reads(conn)) {
        conn_run(conn);
    } else {
        if (conn->streams && conn->readable)
            drop_input(conn);
        if (conn->phase == CONN_SENDING || conn->streams)
            conn_flush(conn);
    }
}

/* Connections that are added meanwhile wait for a later turn, so that others are served too. */
void conn_on_work(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    struct http *http = arg;
    struct conn *conn, *last = TAILQ_LAST(&http->work_list, conn_queue);
    bool more = last != NULL;
    http->working = true;
    while (more && (conn = TAILQ_FIRST(&http->work_list)) != NULL) {
        more = conn != last;
        take_off_work_list(conn);
        work_on(conn);
    }
    for (int i = 0; i < HTTP_LISTENER_COUNT; i++) {
        if (http->listeners[i].resume == NULL)
            admit_resume(&http->listeners[i]);
    }
    http->working = false;
}

/* ---- Deadlines ---- */

static bool body_stalls(const struct conn *conn, int64_t now_us)
{
    int64_t stall_us = conn->http->options.stall_ms * US_PER_MS;
    if (conn->phase != CONN_BODY || conn->incoming->spooled == NULL ||
        now_us - conn->moved_us < stall_us)
        return false;
    char byte; /* After a pause of the loop, bytes may wait in the socket. */
    return recv(conn->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

/* Between two requests, or with an answer that is not read. */
static bool is_idle(const struct conn *conn, int64_t now_us)
{
    const struct http_options *options = &conn->http->options;
    int64_t still_us = now_us - conn->moved_us;
    bool waits = conn->phase == CONN_HEAD && !conn->first_byte_us;
    bool unread = evbuffer_get_length(conn->output) > 0;
    return (waits && still_us > options->idle_ms * US_PER_MS) ||
           (unread && still_us > options->unread_ms * US_PER_MS);
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
        if (body_stalls(conn, now_us))
            conn_refuse(conn, 408, &stalled);
        else if (reads(conn) && conn->first_byte_us && conn->first_byte_us < late_us)
            conn_refuse(conn, 408, &err);
        else if ((reads(conn) && !conn->asked && conn->born_us < late_us) || is_idle(conn, now_us))
            conn_refuse(conn, 0, NULL);
    }
}
