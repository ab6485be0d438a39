/*
 * http.c - requests and answers over evhttp.
 *
 * What libevent frees behind our back: a request whose connection ends.  on_dead in http_conn.c is
 * called for every such end and clears request->conn and request->ev, so that whoever holds the
 * request later finds nobody there.  Once an answer is handed to libevent the request is its own.
 */
#include "edge/http.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/mem.h"
#include "edge/http_conn.h"
#include "edge/spool.h"
#include <assert.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    ANSWER_BYTES_MAX = 256 * 1024 * 1024,
    ANSWER_COPY_MAX = 1024, /* Smaller bodies are copied, larger ones handed over. */
    ANSWER_LARGE_BYTES = 256 * 1024,
    LIBRARY_HEAD_SLACK = 8 * 1024, /* Our own limit is met first. */
    BACKLOG = 1024,
    SOCKET_BACKLOG = 128,
    PORT_ACCEPTS = 64,   /* In one turn of the loop. */
    SOCKET_ACCEPTS = 16, /* In HTTP_ACCEPT_PAUSE_MS. */
    STREAM_SEND_BYTES = 128 * 1024
};

/* ---- Requests ---- */

static bool request_id_sane(const char *text)
{
    size_t len = text ? strlen(text) : 0;
    return len > 0 && len < HTTP_REQUEST_ID_BYTES &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == len;
}

static enum http_method method_of(struct evhttp_request *ev)
{
    switch (evhttp_request_get_command(ev)) {
    case EVHTTP_REQ_GET:
        return HTTP_GET;
    case EVHTTP_REQ_HEAD:
        return HTTP_HEAD;
    case EVHTTP_REQ_POST:
        return HTTP_POST;
    case EVHTTP_REQ_PUT:
        return HTTP_PUT;
    case EVHTTP_REQ_DELETE:
        return HTTP_DELETE;
    case EVHTTP_REQ_PATCH:
        return HTTP_PATCH;
    case EVHTTP_REQ_TRACE:
        return HTTP_TRACE;
    case EVHTTP_REQ_OPTIONS:
    case EVHTTP_REQ_CONNECT: /* Refused by http_head.c. */
        break;
    }
    return HTTP_OPTIONS;
}

static struct http_request *request_new(struct conn *conn, struct evhttp_request *ev)
{
    struct http *http = conn->http;
    struct http_request *request = mem_alloc(http->options.request_bytes);
    request->http = http;
    request->conn = conn;
    request->ev = ev;
    request->method = method_of(ev);
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(ev);
    const char *path = evhttp_uri_get_path(uri), *query = evhttp_uri_get_query(uri);
    request->path = arena_strdup(&request->arena, path ? path : "");
    request->query = str_of(arena_strdup(&request->arena, query));
    request->started_us = clock_mono_us();
    http_answer_reset(request);
    const char *id = evhttp_find_header(evhttp_request_get_input_headers(ev), "X-Request-Id");
    if (request_id_sane(id))
        text_copy(request->id, sizeof request->id, id);
    else
        text_copy(request->id, sizeof request->id,
                  id_new(clock_now_us(&http->options.clock), &http->dice).text);
    struct evbuffer *input = evhttp_request_get_input_buffer(ev);
    if (evbuffer_get_length(input)) {
        request->body = evbuffer_new();
        int rc = request->body ? evbuffer_add_buffer(request->body, input) : -1;
        assert(rc == 0);
    }
    request->spooled = conn->spooled;
    conn->spooled = NULL;
    conn->request = request;
    http->held++;
    atomic_fetch_add(&http->requests, 1);
    return request;
}

static void request_free(struct http_request *request)
{
    struct http *http = request->http;
    assert(!request->conn && !request->ev);
    http->options.finished(http->options.ctx, request);
    http_answer_reset(request);
    http_shed(request);
    if (request->holder) {
        caps_give(request->holder, request->held_as, 1);
        caps_unref(request->holder);
    }
    http->held--;
    mem_free(request);
}

static void refuse_here(struct http_request *request, int status, const struct err *err)
{
    http_answer_problem(request, &(struct problem){.status = status,
                                                   .code = err->code,
                                                   .detail = err->text,
                                                   .field = err->field});
    request->conn->extra = true; /* What follows cannot be trusted: close behind the answer. */
    http_finish(request);
}

static void on_request(struct evhttp_request *ev, void *arg)
{
    struct http *http = arg;
    struct conn *conn = conn_of(http, evhttp_request_get_connection(ev));
    enum conn_phase phase = conn->phase;
    conn->phase = CONN_HELD;
    conn->first_byte_us = 0;
    conn->extra = conn->reserved || evbuffer_get_length(bufferevent_get_input(conn->bufev)) > 0;
    struct http_request *request = request_new(conn, ev);
    struct err err = {0};
    if (phase == CONN_REFUSED && conn->refuse_err) {
        refuse_here(request, conn->refuse_status, conn->refuse_err);
    } else if (phase == CONN_REFUSED) {
        (void)err_set(&err, RC_BUSY, "TOO_MANY_CONNECTIONS",
                      "the connection is closed to make room for others; try again");
        refuse_here(request, problem_status(RC_BUSY), &err);
    } else if (phase != CONN_BODY) {
        (void)err_set(&err, RC_MALFORMED, "MALFORMED_REQUEST",
                      "lines of a request's head must end in CR LF");
        refuse_here(request, problem_status(RC_MALFORMED), &err);
    } else if (request->body && (int64_t)evbuffer_get_length(request->body) > conn->body_max) {
        (void)err_set(&err, RC_TOO_LARGE, "BODY_TOO_LARGE", "at most %lld bytes are taken here",
                      (long long)conn->body_max);
        refuse_here(request, problem_status(RC_TOO_LARGE), &err);
    } else {
        http->options.handle(http->options.ctx, request);
    }
}

const char *http_header(const struct http_request *request, const char *name)
{
    if (!request->ev)
        return NULL;
    return evhttp_find_header(evhttp_request_get_input_headers(request->ev), name);
}

bool http_on_socket(const struct http_request *request)
{
    struct sockaddr_storage address = {0};
    socklen_t len = sizeof address;
    if (!request->conn)
        return false;
    int fd = bufferevent_getfd(request->conn->bufev);
    return getsockname(fd, (struct sockaddr *)&address, &len) == 0 && address.ss_family == AF_UNIX;
}

struct str http_body(struct http_request *request)
{
    if (!request->body)
        return (struct str){0};
    size_t len = evbuffer_get_length(request->body);
    return (struct str){(const char *)evbuffer_pullup(request->body, -1), len};
}

int http_body_fd(const struct http_request *request)
{
    return request->spooled ? spool_file_fd(request->spooled) : -1;
}

void http_shed(struct http_request *request)
{
    if (request->body)
        evbuffer_free(request->body);
    request->body = NULL;
    request->spooled = NULL;
    request->path = NULL;
    request->query = (struct str){0};
    arena_release(&request->arena);
}

static enum rc too_many(const struct holder *holder, enum caps_use use, struct err *err)
{
    const char *whose = holder->key.kind == CAPS_SOURCE ? "this client" : "this token";
    int64_t max = caps_max(holder, use);
    if (max == 0 || holder->used[use] < max)
        return err_set(err, RC_BUSY, "TOO_MANY_STREAMS",
                       "the server has as many streams as it takes; try again");
    if (use == CAPS_STREAMS)
        return err_set(err, RC_LIMIT, "TOO_MANY_STREAMS",
                       "%s has %lld streams, as many as it may; close some first", whose,
                       (long long)max);
    return err_set(err, RC_LIMIT, "TOO_MANY_REQUESTS",
                   "%s has %lld requests in flight, as many as it may; wait for their answers",
                   whose, (long long)max);
}

enum rc http_charge(struct http_request *request, const struct caps_key *key, enum caps_use use,
                    struct err *err)
{
    assert(request->conn && !request->holder);
    enum rc rc = key ? admit_claim(request->conn, key, err) : RC_OK;
    if (rc != RC_OK) {
        request->conn->extra = true; /* Not kept: it is one too many. */
        return rc;
    }
    struct holder *holder = request->conn->seat.holder;
    if (!caps_take(holder, use, 1)) {
        rc = too_many(holder, use, err);
        if (err)
            err->retry_ms = CAPS_RETRY_MS;
        return rc;
    }
    caps_ref(holder);
    request->holder = holder;
    request->held_as = use;
    return RC_OK;
}

void http_close_watched(struct http *http, bool (*unwanted)(const struct http_request *request))
{
    struct conn *conn;
    LIST_FOREACH(conn, &http->conns, all)
    {
        if (conn->request && conn->request->on_gone && unwanted(conn->request))
            conn_refuse(conn, 0, NULL);
    }
}

void http_watch(struct http_request *request, void (*on_gone)(struct http_request *request))
{
    request->on_gone = on_gone;
    if (request->conn)
        event_add(&request->conn->stirred, NULL);
}

bool http_gone(const struct http_request *request)
{
    return !request->conn;
}

/* ---- Answers ---- */

void http_answer_reset(struct http_request *request)
{
    struct http_answer *answer = &request->answer;
    if (answer->status) /* Of a new request there is nothing to close. */
        fd_close(answer->file_fd);
    buf_release(&answer->body);
    *answer = (struct http_answer){.status = 200, .file_fd = -1};
    buf_init(&answer->body, ANSWER_BYTES_MAX);
}

void http_answer_header(struct http_request *request, const char *name, const char *value)
{
    struct http_answer *answer = &request->answer;
    assert(answer->header_count < HTTP_ANSWER_HEADERS_MAX);
    answer->headers[answer->header_count].name = name;
    answer->headers[answer->header_count].value = value;
    answer->header_count++;
}

void http_answer_problem(struct http_request *request, const struct problem *problem)
{
    struct problem full = *problem;
    full.request_id = request->id;
    http_answer_reset(request);
    struct http_answer *answer = &request->answer;
    answer->status = full.status;
    answer->content_type = PROBLEM_CONTENT_TYPE;
    struct jw jw = jw_to(&answer->body);
    problem_write(&jw, &full);
    if (full.status == problem_status(RC_UNAUTHORIZED))
        http_answer_header(request, "WWW-Authenticate", "Bearer");
    int64_t seconds = problem_retry_seconds(&full);
    if (seconds)
        http_answer_header(request, "Retry-After",
                           arena_printf(&request->arena, "%lld", (long long)seconds));
}

static void free_body(const void *data, size_t len, void *arg)
{
    (void)data, (void)len;
    mem_free(arg);
}

/* Moves the answer's content into libevent's buffer; gives back how many bytes it has. */
static int64_t move_content(struct http_answer *answer, struct evbuffer *to, bool head_only)
{
    int64_t bytes = answer->file_fd >= 0 ? answer->file_bytes : (int64_t)answer->body.len;
    if (head_only || bytes == 0)
        return bytes;
    int rc = 0;
    if (answer->file_fd >= 0) {
        rc = evbuffer_add_file(to, answer->file_fd, 0, answer->file_bytes);
        answer->file_fd = -1; /* Closed by libevent. */
    } else if (bytes <= ANSWER_COPY_MAX) {
        rc = evbuffer_add(to, answer->body.data, answer->body.len);
    } else {
        rc = evbuffer_add_reference(to, answer->body.data, answer->body.len, free_body,
                                    answer->body.data);
        buf_init(&answer->body, ANSWER_BYTES_MAX);
    }
    assert(rc == 0);
    return bytes;
}

static void add_headers(struct http_request *request)
{
    struct evkeyvalq *headers = evhttp_request_get_output_headers(request->ev);
    const struct http_answer *answer = &request->answer;
    if (answer->content_type)
        evhttp_add_header(headers, "Content-Type", answer->content_type);
    evhttp_add_header(headers, "X-Request-Id", request->id);
    for (size_t i = 0; i < answer->header_count; i++)
        evhttp_add_header(headers, answer->headers[i].name, answer->headers[i].value);
    if (request->conn->extra || request->http->draining)
        evhttp_add_header(headers, "Connection", "close");
}

/* The reading side would time out while a long answer is written: nobody reads then. */
static void set_only_writes(struct conn *conn, bool only_writes)
{
    if (conn->only_writes == only_writes)
        return;
    int64_t ms = conn->http->options.idle_ms;
    struct timeval idle = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    bufferevent_set_timeouts(conn->bufev, only_writes ? NULL : &idle, &idle);
    conn->only_writes = only_writes;
}

static void on_sent(struct evhttp_request *ev, void *arg)
{
    (void)ev;
    struct conn *conn = arg;
    assert(conn->answering);
    conn->answering = false;
    conn->http->answering--;
    conn_discharge(conn);
    set_only_writes(conn, false);
}

/* From here on the request is libevent's, and the connection waits for the next one. */
static struct evhttp_request *let_go(struct http_request *request)
{
    struct evhttp_request *ev = request->ev;
    struct conn *conn = request->conn;
    event_del(&conn->stirred);
    conn->request = NULL;
    conn->phase = CONN_HEAD;
    conn->answering = true;
    conn->http->answering++;
    evhttp_request_set_on_complete_cb(ev, on_sent, conn);
    request->ev = NULL;
    request->conn = NULL;
    return ev;
}

static void send_answer(struct http_request *request)
{
    struct http_answer *answer = &request->answer;
    bool head_only = request->method == HTTP_HEAD;
    struct evbuffer *output = evhttp_request_get_output_buffer(request->ev);
    int64_t bytes = move_content(answer, output, head_only);
    add_headers(request);
    if (head_only) {
        char text[24];
        (void)snprintf(text, sizeof text, "%lld", (long long)bytes);
        evhttp_add_header(evhttp_request_get_output_headers(request->ev), "Content-Length", text);
    }
    if (bytes > ANSWER_LARGE_BYTES)
        set_only_writes(request->conn, true);
    struct evhttp_request *ev = let_go(request);
    evhttp_send_reply(ev, answer->status, problem_title(answer->status), NULL);
}

/* false: the client has not read earlier answers, and this one would be too much. */
static bool charge_answer(struct conn *conn, int64_t bytes)
{
    struct holder *holder = conn->seat.holder;
    if (!holder || bytes == 0 || conn->charged)
        return true;
    if (!caps_take(holder, CAPS_BYTES, bytes))
        return false;
    caps_ref(holder);
    conn->charged = holder;
    conn->charged_bytes = bytes;
    return true;
}

/* The answer of a command is always sent: the change is made. */
static void bound_answer(struct http_request *request)
{
    bool reads = request->method == HTTP_GET || request->method == HTTP_HEAD;
    int64_t bytes = request->method == HTTP_HEAD ? 0 : (int64_t)request->answer.body.len;
    if (!request->conn || charge_answer(request->conn, bytes) || !reads)
        return;
    http_answer_problem(request, &(struct problem){.status = problem_status(RC_LIMIT),
                                                   .code = "TOO_MANY_BYTES",
                                                   .detail = "read the answers to earlier "
                                                             "requests first",
                                                   .retry_after_ms = CAPS_RETRY_MS});
}

void http_finish(struct http_request *request)
{
    if (request->answer.body.overflow)
        http_answer_problem(request, &(struct problem){.status = 500,
                                                       .code = "ANSWER_TOO_LARGE",
                                                       .detail = "the answer is too large; ask "
                                                                 "for less with ?limit="});
    bound_answer(request);
    if (request->conn)
        send_answer(request);
    request_free(request);
}

static void finish_now(struct loop_call *call)
{
    struct http_request *request = (struct http_request *)((char *)call -
                                                           offsetof(struct http_request, finish));
    http_finish(request);
}

void http_finish_later(struct http_request *request)
{
    request->finish.run = finish_now;
    loop_post(request->http->options.loop, &request->finish);
}

/* ---- Streams ---- */

void http_stream_begin(struct http_request *request,
                       void (*on_drained)(struct http_request *request))
{
    request->on_drained = on_drained;
    if (!request->conn)
        return;
    event_del(&request->conn->stirred); /* libevent reads again, and sees the end itself. */
    set_only_writes(request->conn, true);
    /* Else the kernel would hold megabytes for each that reads slowly. */
    int send_bytes = STREAM_SEND_BYTES;
    (void)setsockopt(bufferevent_getfd(request->conn->bufev), SOL_SOCKET, SO_SNDBUF, &send_bytes,
                     sizeof send_bytes);
    request->conn->extra = true;
    add_headers(request);
    evhttp_send_reply_start(request->ev, request->answer.status,
                            problem_title(request->answer.status));
}

static void on_stream_drained(struct evhttp_connection *ev, void *arg)
{
    (void)ev;
    struct http_request *request = arg;
    if (request->on_drained)
        request->on_drained(request);
}

void http_stream_write(struct http_request *request, struct str bytes)
{
    if (!request->conn || bytes.len == 0)
        return;
    struct evbuffer *chunk = evbuffer_new();
    int rc = chunk ? evbuffer_add(chunk, bytes.at, bytes.len) : -1;
    assert(rc == 0);
    evhttp_send_reply_chunk_with_cb(request->ev, chunk, on_stream_drained, request);
    evbuffer_free(chunk);
}

size_t http_stream_backlog(const struct http_request *request)
{
    if (!request->conn)
        return 0;
    return evbuffer_get_length(bufferevent_get_output(request->conn->bufev));
}

void http_stream_end(struct http_request *request)
{
    if (request->conn)
        evhttp_send_reply_end(let_go(request));
    request_free(request);
}

/* ---- The server ---- */

/* Out of descriptors: trying again at once would only spin.  The sweep listens again. */
static void on_accept_error(struct evconnlistener *listener, void *arg)
{
    (void)arg;
    evconnlistener_disable(listener);
}

static void on_sweep(void *arg)
{
    struct http *http = arg;
    for (int i = 0; i < HTTP_LISTENER_COUNT; i++) {
        struct listener *listener = &http->listeners[i];
        if (listener->bound && !listener->paused)
            evconnlistener_enable(evhttp_bound_socket_get_listener(listener->bound));
    }
    conn_sweep(http);
    if (LIST_EMPTY(&http->conns))
        loop_pace(http->sweep, HTTP_SWEEP_IDLE_MS);
}

static enum rc resolve(const struct http_options *options, struct addrinfo **ret_found,
                       struct err *err)
{
    char port[16];
    (void)snprintf(port, sizeof port, "%d", options->port);
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    int rc = getaddrinfo(options->host, port, &hints, ret_found);
    if (rc != 0)
        return err_set(err, RC_INVALID, "LISTEN_ADDRESS", "cannot listen on %s: %s", options->host,
                       gai_strerror(rc));
    return RC_OK;
}

/* The listener is libevent's; *ret_fd lives as long as it does. */
static enum rc bind_to(struct listener *to, const struct sockaddr *address, socklen_t len,
                       const char *name, int *ret_fd, struct err *err)
{
    int backlog = to == &to->http->listeners[HTTP_SOCKET] ? SOCKET_BACKLOG : BACKLOG;
    unsigned flags = LEV_OPT_REUSEABLE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_CLOSE_ON_FREE;
    struct evconnlistener *listener = evconnlistener_new_bind(
        loop_base(to->http->options.loop), NULL, NULL, flags, backlog, address, (int)len);
    if (!listener)
        return err_set(err, errno == EADDRINUSE ? RC_CONFLICT : RC_IO, "LISTEN",
                       "cannot listen on %s: %s", name, strerror(errno));
    evconnlistener_set_error_cb(listener, on_accept_error);
    to->bound = evhttp_bind_listener(to->ev, listener);
    assert(to->bound);
    *ret_fd = evconnlistener_get_fd(listener);
    return RC_OK;
}

static int port_of(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t len = sizeof address;
    char text[16] = "";
    int64_t port = 0;
    if (getsockname(fd, (struct sockaddr *)&address, &len) == 0)
        (void)getnameinfo((struct sockaddr *)&address, len, NULL, 0, text, sizeof text,
                          NI_NUMERICSERV);
    return text_to_i64(text, &port) ? (int)port : 0;
}

static enum rc listen_on_port(struct http *http, struct err *err)
{
    const struct http_options *options = &http->options;
    struct addrinfo *found = NULL;
    enum rc rc = resolve(options, &found, err);
    if (rc != RC_OK)
        return rc;
    char name[NI_MAXHOST + 16];
    int fd = -1;
    (void)snprintf(name, sizeof name, "%s port %d", options->host, options->port);
    rc = bind_to(&http->listeners[HTTP_PORT], found->ai_addr, found->ai_addrlen, name, &fd, err);
    freeaddrinfo(found);
    if (rc == RC_OK)
        http->port = port_of(fd);
    return rc;
}

/* What a dead predecessor left is in the way.  The store's lock sees to it that it is dead. */
static enum rc listen_on_socket(struct http *http, struct err *err)
{
    const char *path = http->options.socket_path;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!path)
        return RC_OK;
    if (strlen(path) >= sizeof address.sun_path)
        return err_set(err, RC_TOO_LARGE, "LISTEN", "the path %s is too long for a socket", path);
    text_copy(address.sun_path, sizeof address.sun_path, path);
    (void)unlink(path);
    int fd = -1;
    enum rc rc = bind_to(&http->listeners[HTTP_SOCKET], (struct sockaddr *)&address, sizeof address,
                         path, &fd, err);
    if (rc == RC_OK && chmod(path, 0666) != 0)
        rc = err_set(err, RC_IO, "LISTEN", "cannot open %s to agents: %s", path, strerror(errno));
    return rc;
}

static void stop_listening(struct http *http)
{
    for (int i = 0; i < HTTP_LISTENER_COUNT; i++) {
        struct listener *listener = &http->listeners[i];
        if (listener->bound)
            evhttp_del_accept_socket(listener->ev, listener->bound);
        listener->bound = NULL;
    }
    if (http->options.socket_path)
        (void)unlink(http->options.socket_path);
}

static void on_resume(void *arg)
{
    admit_resume(arg);
}

static void listener_init(struct http *http, struct listener *listener)
{
    const struct http_options *options = &http->options;
    bool socket = listener == &http->listeners[HTTP_SOCKET];
    listener->http = http;
    listener->open_max = socket ? options->socket_connections_max : options->connections_max;
    listener->reserve = socket ? 0 : options->reserve;
    listener->accepted_max = socket ? SOCKET_ACCEPTS : PORT_ACCEPTS;
    listener->resume = socket ? loop_every(options->loop, 0, on_resume, listener) : NULL;
    struct evhttp *ev = evhttp_new(loop_base(options->loop));
    assert(ev);
    listener->ev = ev;
    evhttp_set_gencb(ev, on_request, http);
    evhttp_set_bevcb(ev, conn_new, listener);
    evhttp_set_default_content_type(ev, NULL);
    evhttp_set_max_headers_size(ev, (ev_ssize_t)options->head.bytes_max + LIBRARY_HEAD_SLACK);
    evhttp_set_max_body_size(ev, options->body_bytes_max);
    evhttp_set_allowed_methods(ev, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST |
                                       EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE | EVHTTP_REQ_PATCH |
                                       EVHTTP_REQ_OPTIONS | EVHTTP_REQ_TRACE);
    struct timeval idle = {.tv_sec = options->idle_ms / 1000,
                           .tv_usec = options->idle_ms % 1000 * 1000};
    evhttp_set_timeout_tv(ev, &idle);
}

enum rc http_new(const struct http_options *options, struct http **ret_http, struct err *err)
{
    assert(options->request_bytes >= sizeof(struct http_request));
    struct http *http = mem_alloc(sizeof *http);
    http->options = *options;
    http->dice = dice_from_os();
    http->caps = caps_new(&options->caps);
    LIST_INIT(&http->conns);
    TAILQ_INIT(&http->work_list);
    LIST_INIT(&http->partings);
    http->work = event_new(loop_base(options->loop), -1, EV_PERSIST, conn_on_work, http);
    assert(http->work);
    http->sweep = loop_every(options->loop, HTTP_SWEEP_IDLE_MS, on_sweep, http);
    for (int i = 0; i < HTTP_LISTENER_COUNT; i++)
        listener_init(http, &http->listeners[i]);
    enum rc rc = listen_on_port(http, err);
    if (rc == RC_OK)
        rc = listen_on_socket(http, err);
    if (rc != RC_OK) {
        http_free(http);
        return rc;
    }
    *ret_http = http;
    return RC_OK;
}

void http_free(struct http *http)
{
    if (!http)
        return;
    conn_on_work(-1, 0, http); /* So that every connection has its close callback. */
    stop_listening(http);
    for (int i = 0; i < HTTP_LISTENER_COUNT; i++) {
        evhttp_free(http->listeners[i].ev);
        loop_event_free(http->listeners[i].resume);
    }
    assert(http->held == 0 && LIST_EMPTY(&http->conns));
    parting_free_all(http);
    loop_event_free(http->sweep);
    event_free(http->work);
    caps_free(http->caps);
    mem_free(http->by_fd);
    mem_free(http);
}

int http_port(const struct http *http)
{
    return http->port;
}

void http_drain(struct http *http)
{
    if (http->draining)
        return;
    http->draining = true;
    stop_listening(http);
    conn_on_work(-1, 0, http);
    struct conn *conn, *next;
    for (conn = LIST_FIRST(&http->conns); conn; conn = next) {
        next = LIST_NEXT(conn, all);
        if (conn->phase == CONN_HEAD && !conn->first_byte_us && !conn->answering)
            conn_close(conn);
    }
}

bool http_draining(const struct http *http)
{
    return http->draining;
}

int64_t http_busy(const struct http *http)
{
    return http->held + http->answering;
}

void http_stats(const struct http *http, struct http_stats *ret_stats)
{
    *ret_stats = (struct http_stats){.connections = atomic_load(&http->connections),
                                     .refused_connections = atomic_load(&http->refused_connections),
                                     .evicted_connections = atomic_load(&http->evicted_connections),
                                     .requests = atomic_load(&http->requests)};
}
