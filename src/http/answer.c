/*
 * answer.c - answers and streams: filling them in, and writing them one after the other into a
 * connection's output.
 *
 * An answer without a body (HEAD, 204, 304) is sent without one even if a body was filled in: the
 * client would read it as the beginning of the next answer.
 */
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "http/conn.h"
#include <assert.h>
#include <event2/buffer.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum {
    ANSWER_BYTES_MAX = 256 * 1024 * 1024,
    ANSWER_COPY_MAX = 4 * 1024, /* Smaller bodies are copied, larger ones handed over. */
    ANSWER_HEAD_MAX = 16 * 1024,
    STREAM_SEND_BYTES = 128 * 1024,
};

/* ---- Filling it in ---- */

void http_answer_reset(struct http_request *request)
{
    struct http_answer *answer = &request->answer;
    if (answer->status) /* A new request has nothing to close. */
        fd_close(answer->file_fd);
    buf_release(&answer->body);
    *answer = (struct http_answer){.status = 200, .file_fd = -1};
    buf_init(&answer->body, ANSWER_BYTES_MAX);
}

void http_answer_header(struct http_request *request, const char *name, const char *value)
{
    struct http_answer *answer = &request->answer;
    assert(answer->header_count < HTTP_ANSWER_HEADERS_MAX);
    assert(strpbrk(value, "\r\n") == NULL);
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
    text_copy(answer->code, sizeof answer->code, full.code);
    struct jw jw = jw_to(&answer->body);
    problem_write(&jw, &full);
    if (full.status == problem_status(RC_UNAUTHORIZED))
        http_answer_header(request, "WWW-Authenticate", "Bearer");
    int64_t seconds = problem_retry_seconds(&full);
    if (seconds)
        http_answer_header(request, "Retry-After",
                           arena_printf(&request->arena, "%lld", (long long)seconds));
}

/* ---- Writing it ---- */

const char *http_date(struct http *http)
{
    int64_t now_s = clock_now_us(&http->options.clock) / US_PER_SECOND;
    if (now_s == http->date_s)
        return http->date;
    time_t seconds = (time_t)now_s;
    struct tm tm;
    if (gmtime_r(&seconds, &tm) == NULL ||
        strftime(http->date, sizeof http->date, "%a, %d %b %Y %H:%M:%S GMT", &tm) == 0)
        http->date[0] = '\0';
    http->date_s = now_s;
    return http->date;
}

static bool has_body(const struct http_request *request)
{
    int status = request->answer.status;
    return request->method != HTTP_HEAD && status != 204 && status != 304;
}

/* The head without its last, empty line. */
static void write_head(struct http_request *request, struct buf *to)
{
    const struct http_answer *answer = &request->answer;
    struct http *http = request->http;
    buf_addf(to, "HTTP/1.1 %d %s\r\n", answer->status, problem_title(answer->status));
    if (answer->content_type != NULL)
        buf_addf(to, "Content-Type: %s\r\n", answer->content_type);
    buf_addf(to, "X-Request-Id: %s\r\nDate: %s\r\n", request->id, http_date(http));
    for (size_t i = 0; i < answer->header_count; i++)
        buf_addf(to, "%s: %s\r\n", answer->headers[i].name, answer->headers[i].value);
    request->conn->last |= http->draining;
    if (request->conn->last)
        buf_adds(to, "Connection: close\r\n");
    else if (!request->is_1_1)
        buf_adds(to, "Connection: keep-alive\r\n");
}

static void free_memory(const void *data, size_t len, void *arg)
{
    (void)data, (void)len;
    mem_free(arg);
}

static void put(struct evbuffer *output, struct str bytes)
{
    int rc = evbuffer_add(output, bytes.at, bytes.len);
    assert(rc == 0);
}

/* The head is in *head; the body goes with it when it is small. */
static void queue(struct http_answer *answer, struct buf *head, struct evbuffer *output,
                  bool with_body)
{
    int rc = 0;
    bool file = answer->file_fd >= 0;
    if (with_body && !file && answer->body.len <= ANSWER_COPY_MAX)
        buf_add(head, buf_text(&answer->body), answer->body.len);
    put(output, buf_str(head));
    if (!with_body)
        return;
    if (file && answer->file_bytes > 0) {
        rc = evbuffer_add_file(output, answer->file_fd, 0, answer->file_bytes);
        answer->file_fd = -1; /* Closed by libevent. */
    } else if (!file && answer->body.len > ANSWER_COPY_MAX) {
        rc = evbuffer_add_reference(output, answer->body.data, answer->body.len, free_memory,
                                    answer->body.data);
        buf_init(&answer->body, ANSWER_BYTES_MAX);
    }
    assert(rc == 0);
}

/* Separates the connection and the request; the answer is being sent. */
static void let_go(struct http_request *request)
{
    struct conn *conn = request->conn;
    conn->request = NULL;
    request->conn = NULL;
    if (conn->phase != CONN_HELD)
        return; /* Refused meanwhile: it is about to be closed. */
    conn->phase = CONN_SENDING;
    conn->streams = false;
    conn->http->answering++;
}

static void write_answer(struct http_request *request)
{
    struct http_answer *answer = &request->answer;
    struct conn *conn = request->conn;
    CLEANUP(buf_release) struct buf head;
    buf_init(&head, ANSWER_HEAD_MAX);
    write_head(request, &head);
    int64_t bytes = answer->file_fd >= 0 ? answer->file_bytes : (int64_t)answer->body.len;
    if (answer->status != 204 && answer->status != 304)
        buf_addf(&head, "Content-Length: %lld\r\n", (long long)bytes);
    buf_adds(&head, "\r\n");
    assert(!head.overflow);
    queue(answer, &head, conn->output, has_body(request));
    conn->moved_us = clock_mono_us();
}

/* ---- Finishing ---- */

/* false: the client has not read earlier answers, and this one would be too much. */
static bool charge_answer(struct conn *conn, int64_t bytes)
{
    struct holder *holder = conn->seat.holder;
    if (holder == NULL || bytes == 0 || conn->charged != NULL)
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
    if (request->conn == NULL || charge_answer(request->conn, bytes) || !reads)
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
    if (request->answered != NULL) {
        request->answered(request);
        return;
    }
    bound_answer(request);
    struct conn *conn = request->conn;
    if (conn != NULL) {
        if (conn->phase == CONN_HELD)
            write_answer(request);
        let_go(request);
    }
    /* First, so that it is no longer counted when the next request follows at once. */
    request_free(request);
    if (conn != NULL)
        conn_flush(conn);
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

static bool writes(const struct http_request *request)
{
    return request->conn != NULL && request->conn->phase == CONN_HELD;
}

void http_stream_begin(struct http_request *request,
                       void (*on_drained)(struct http_request *request))
{
    request->on_drained = on_drained;
    if (!writes(request))
        return;
    struct conn *conn = request->conn;
    /* Else the kernel would buffer megabytes for each slow reader. */
    int send_bytes = STREAM_SEND_BYTES;
    (void)setsockopt(conn->fd, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof send_bytes);
    CLEANUP(buf_release) struct buf head;
    buf_init(&head, ANSWER_HEAD_MAX);
    conn->last = true;
    conn->streams = true;
    write_head(request, &head);
    /* HTTP/1.0 has no chunks: there the end of the connection ends the stream. */
    buf_adds(&head, request->is_1_1 ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n");
    assert(!head.overflow);
    put(conn->output, buf_str(&head));
    conn->moved_us = clock_mono_us();
    conn_flush_later(conn);
}

void http_stream_write(struct http_request *request, struct str bytes)
{
    if (!writes(request) || bytes.len == 0 || !has_body(request))
        return;
    struct conn *conn = request->conn;
    if (evbuffer_get_length(conn->output) == 0)
        conn->moved_us = clock_mono_us();
    if (request->is_1_1) {
        int rc = evbuffer_add_printf(conn->output, "%zx\r\n", bytes.len);
        assert(rc > 0);
    }
    put(conn->output, bytes);
    if (request->is_1_1)
        put(conn->output, STR("\r\n"));
    conn_flush_later(conn);
}

size_t http_stream_backlog(const struct http_request *request)
{
    return request->conn != NULL ? evbuffer_get_length(request->conn->output) : 0;
}

void http_stream_end(struct http_request *request)
{
    struct conn *conn = request->conn;
    if (conn != NULL) {
        if (writes(request) && request->is_1_1 && has_body(request))
            put(conn->output, STR("0\r\n\r\n"));
        let_go(request);
        conn_flush_later(conn);
    }
    request_free(request);
}
