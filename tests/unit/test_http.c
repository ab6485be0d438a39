/*
 * test_http.c - a real server on a free port, its loop on a thread, clients on raw sockets.
 *
 * The handler does what the path says: /echo answers with the body, /hold keeps the request until
 * the test lets it go, /stream begins an endless answer.
 */
#include "base/fd.h"
#include "edge/http.h"
#include "edge/loop.h"
#include "edge/spool.h"
#include "tests/unit/suites.h"
#include <arpa/inet.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    BODY_MAX = 1000,
    SPOOLED_MAX = 300000,
    SPOOL_BYTES = 2 * 1024 * 1024,
    CONNECTIONS_MAX = 8,
    RESERVE = 2,
    RUN_CONNECTIONS = 3,
    REQUEST_MS = 1200,
    WAIT_SECONDS = 20
};

static struct {
    struct loop *loop;
    struct http *http;
    struct spool *spool;
    char dir[64];
    pthread_t thread;
    struct http_request *held; /* The last one of /hold or /stream. */
    sem_t arrived, gone, finished, drained, done;
    atomic_int last_status;
    struct loop_call call;
    void (*job)(void);
} box;

static void await(sem_t *sem)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_SECONDS;
    ck_assert_int_eq(sem_timedwait(sem, &until), 0);
}

/* Runs job on the loop and waits for it. */
static void run_job(struct loop_call *call)
{
    (void)call;
    box.job();
    sem_post(&box.done);
}

static void on_loop(void (*job)(void))
{
    box.job = job;
    box.call.run = run_job;
    loop_post(box.loop, &box.call);
    await(&box.done);
}

static enum rc gate(void *ctx, const struct http_head *head, struct http_body_plan *plan,
                    struct err *err)
{
    (void)ctx;
    plan->bytes_max = BODY_MAX;
    plan->spool = head->target.len > 6 && strncmp(head->target.at, "/file/", 6) == 0;
    if (plan->spool)
        plan->bytes_max = SPOOLED_MAX;
    if (str_is(head->target, "/forbidden"))
        return err_set(err, RC_DENIED, "FORBIDDEN", "not here");
    return RC_OK;
}

/* "Authorization: run-NAME" is a run's token, any other one of the store. */
static bool claim(void *ctx, const struct http_head *head, struct caps_key *ret_key)
{
    (void)ctx;
    if (head->authorization.len == 0)
        return false;
    bool run = strncmp(head->authorization.at, "run-", 4) == 0;
    *ret_key = (struct caps_key){.kind = run ? CAPS_RUN : CAPS_TOKEN};
    (void)snprintf(ret_key->name, sizeof ret_key->name, "%.*s", (int)head->authorization.len,
                   head->authorization.at);
    return true;
}

static bool privileged(void *ctx, const struct http_head *head)
{
    (void)ctx;
    return str_is(head->target, "/health");
}

static void on_gone(struct http_request *request)
{
    ck_assert(http_gone(request));
    ck_assert_ptr_null(http_header(request, "Host"));
    sem_post(&box.gone);
}

static void on_drained(struct http_request *request)
{
    (void)request;
    sem_post(&box.drained);
}

static void echo(struct http_request *request)
{
    struct str body = http_body(request);
    request->answer.content_type = "text/plain";
    buf_addf(&request->answer.body, "%s %s [%.*s] ", http_method_name(request->method),
             request->path, (int)request->query.len, request->query.at ? request->query.at : "");
    buf_adds(&request->answer.body, http_body_fd(request) >= 0 ? "(file) " : "");
    buf_add(&request->answer.body, body.at ? body.at : "", body.len);
    http_answer_header(request, "X-Test", "yes");
    http_finish(request);
}

static bool charge(struct http_request *request)
{
    const char *token = http_header(request, "Authorization");
    struct http_head head = {.authorization = str_of(token)};
    struct caps_key key;
    struct err err = {0};
    bool known = claim(NULL, &head, &key);
    enum rc rc = http_charge(request, known ? &key : NULL, CAPS_REQUESTS, &err);
    if (rc == RC_OK)
        return true;
    struct problem problem = problem_of(rc, &err);
    http_answer_problem(request, &problem);
    http_finish(request);
    return false;
}

static void handle(void *ctx, struct http_request *request)
{
    (void)ctx;
    if (!charge(request))
        return;
    if (text_same(request->path, "/hold") || text_same(request->path, "/stream")) {
        bool stream = text_same(request->path, "/stream");
        box.held = request;
        http_watch(request, on_gone);
        http_shed(request);
        if (stream)
            http_stream_begin(request, on_drained);
        sem_post(&box.arrived);
        return;
    }
    echo(request);
}

static void finished(void *ctx, struct http_request *request)
{
    (void)ctx;
    atomic_store(&box.last_status, request->answer.status);
    sem_post(&box.finished);
}

static void *run(void *arg)
{
    (void)arg;
    loop_run(box.loop);
    return NULL;
}

static void start(void)
{
    struct err err = {0};
    sem_init(&box.arrived, 0, 0);
    sem_init(&box.gone, 0, 0);
    sem_init(&box.finished, 0, 0);
    sem_init(&box.drained, 0, 0);
    sem_init(&box.done, 0, 0);
    ck_assert_int_eq(loop_new(&box.loop, &err), RC_OK);
    text_copy(box.dir, sizeof box.dir, "/tmp/http-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(box.dir));
    ck_assert_int_eq(spool_new(box.dir, SPOOL_BYTES, &box.spool, &err), RC_OK);
    struct http_options options = {
        .loop = box.loop,
        .clock = clock_real(),
        .host = "127.0.0.1",
        .head = {.bytes_max = 2000, .target_max = 200, .fields_max = 10},
        .body_bytes_max = SPOOLED_MAX,
        .spool = box.spool,
        .connections_max = CONNECTIONS_MAX,
        .reserve = RESERVE,
        .caps = {.max = {[CAPS_RUN] = {[CAPS_CONNECTIONS] = RUN_CONNECTIONS,
                                       [CAPS_REQUESTS] = 2,
                                       [CAPS_BYTES] = 1000}}},
        .claim = claim,
        .privileged = privileged,
        .request_ms = REQUEST_MS,
        .idle_ms = 60000,
        .request_bytes = sizeof(struct http_request),
        .gate = gate,
        .handle = handle,
        .finished = finished,
    };
    enum rc rc = http_new(&options, &box.http, &err);
    ck_assert_msg(rc == RC_OK, "%s", err.text);
    ck_assert_int_gt(http_port(box.http), 0);
    ck_assert_int_eq(pthread_create(&box.thread, NULL, run, NULL), 0);
}

static void stop_loop(void)
{
    loop_stop(box.loop);
}

static void stop(void)
{
    on_loop(stop_loop);
    pthread_join(box.thread, NULL);
    loop_drain(box.loop);
    http_free(box.http);
    struct spool_stats stats;
    spool_stats(box.spool, &stats);
    ck_assert_int_eq(stats.reserved, 0);
    spool_free(box.spool);
    ck_assert_int_eq(dir_remove(box.dir, NULL), RC_OK);
    loop_free(box.loop);
}

/* ---- Clients ---- */

static int dial(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)http_port(box.http)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval patience = {.tv_sec = WAIT_SECONDS};
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return fd;
}

static void say(int fd, const char *text)
{
    ck_assert_int_eq(fd_write_all(fd, text, strlen(text), NULL), RC_OK);
}

/* Reads until the text is there, or to the end. */
static void hear(int fd, struct buf *into, const char *until)
{
    char bytes[4096];
    ssize_t got;
    while (!(until && strstr(buf_text(into), until)) && (got = read(fd, bytes, sizeof bytes)) > 0)
        buf_add(into, bytes, (size_t)got);
    if (until)
        ck_assert_msg(strstr(buf_text(into), until) != NULL, "no %s in: %s", until, buf_text(into));
}

static void ask(const char *request, struct buf *into)
{
    int fd = dial();
    say(fd, request);
    hear(fd, into, NULL);
    fd_close(fd);
}

#define END "Host: x\r\nConnection: close\r\n\r\n"

START_TEST(a_request_is_answered)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    ask("POST /echo?a=b HTTP/1.1\r\nContent-Length: 5\r\nX-Request-Id: r.1\r\n" END "hello", &got);
    ck_assert_msg(text_starts(got.data, "HTTP/1.1 200 OK\r\n"), "%s", got.data);
    ck_assert_ptr_nonnull(strstr(got.data, "\r\nX-Request-Id: r.1\r\n"));
    ck_assert_ptr_nonnull(strstr(got.data, "\r\nX-Test: yes\r\n"));
    ck_assert_ptr_nonnull(strstr(got.data, "\r\n\r\nPOST /echo [a=b] hello"));
    await(&box.finished);
    ck_assert_int_eq(atomic_load(&box.last_status), 200);
}
END_TEST

START_TEST(a_connection_takes_one_request_after_the_other)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fd = dial();
    for (int i = 0; i < 5; i++) {
        buf_clear(&got);
        say(fd, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
        hear(fd, &got, "GET /echo [] ");
    }
    fd_close(fd);
}
END_TEST

START_TEST(a_head_in_pieces_is_put_together)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fd = dial();
    static const char request[] = "POST /echo HTTP/1.1\r\nContent-Length: 3\r\n" END "abc";
    for (size_t i = 0; i < sizeof request - 1; i++)
        ck_assert_int_eq(fd_write_all(fd, request + i, 1, NULL), RC_OK);
    hear(fd, &got, "POST /echo [] abc");
    fd_close(fd);
}
END_TEST

static const struct {
    const char *status;
    const char *request;
} refusals[] = {
    {"HTTP/1.1 400 ", "GET /echo HTTP/1.1\nHost: x\n\n"},
    {"HTTP/1.1 400 ", "GET /echo HTTP/1.1\r\nX: a\r\n b\r\n" END},
    {"HTTP/1.1 400 ", "POST /echo HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n" END "a"},
    {"HTTP/1.1 400 ",
     "POST /echo HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n" END "a"},
    {"HTTP/1.1 403 ", "GET /forbidden HTTP/1.1\r\n" END},
    {"HTTP/1.1 403 ", "POST /forbidden HTTP/1.1\r\nContent-Length: 900\r\n" END "not all of it"},
    {"HTTP/1.1 413 ", "POST /echo HTTP/1.1\r\nContent-Length: 1001\r\n" END "not all of it"},
    {"HTTP/1.1 501 ", "FROB /echo HTTP/1.1\r\n" END},
    {"HTTP/1.1 505 ", "GET /echo HTTP/3.0\r\n" END},
};

START_TEST(what_is_wrong_is_refused_with_a_problem)
{
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        CLEANUP(buf_release) struct buf got;
        buf_init(&got, 10000);
        ask(refusals[i].request, &got);
        ck_assert_msg(text_starts(buf_text(&got), refusals[i].status), "%s -> %s",
                      refusals[i].request, buf_text(&got));
        ck_assert_ptr_nonnull(strstr(got.data, "application/problem+json"));
        ck_assert_ptr_nonnull(strstr(got.data, "\r\nX-Request-Id: "));
    }
}
END_TEST

START_TEST(a_chunked_body_is_counted_too)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    /* In one write: the server may hang up as soon as it has seen too much. */
    CLEANUP(buf_release) struct buf request;
    buf_init(&request, 10000);
    buf_adds(&request, "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" END "44c\r\n");
    for (int i = 0; i < 0x44c; i++)
        buf_addc(&request, 'a');
    buf_adds(&request, "\r\n0\r\n\r\n");
    int fd = dial();
    say(fd, buf_text(&request));
    hear(fd, &got, "HTTP/1.1 413 ");
    fd_close(fd);
    buf_clear(&got);
    ask("POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" END "3\r\nabc\r\n0\r\n\r\n", &got);
    ck_assert_ptr_nonnull(strstr(got.data, "POST /echo [] abc"));
}
END_TEST

START_TEST(a_head_without_end_is_refused)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    char filler[3000];
    memset(filler, 'a', sizeof filler - 1);
    filler[sizeof filler - 1] = '\0';
    int fd = dial();
    say(fd, "GET /echo HTTP/1.1\r\nX: ");
    say(fd, filler);
    hear(fd, &got, "HTTP/1.1 431 ");
    fd_close(fd);
}
END_TEST

START_TEST(a_request_that_trickles_in_is_cut)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fd = dial();
    say(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc");
    hear(fd, &got, "HTTP/1.1 408 ");
    fd_close(fd);
}
END_TEST

/* Opens count connections that each ask for target and, unless held, have their answer. */
static void crowd(int *fds, size_t count, const char *target, const char *more)
{
    CLEANUP(buf_release) struct buf got;
    CLEANUP(buf_release) struct buf request;
    buf_init(&got, 10000);
    buf_init(&request, 1000);
    buf_addf(&request, "GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n", target, more);
    for (size_t i = 0; i < count; i++) {
        buf_clear(&got);
        fds[i] = dial();
        say(fds[i], buf_text(&request));
        if (text_same(target, "/hold"))
            await(&box.arrived);
        else
            hear(fds[i], &got, target);
    }
}

static void leave(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fd_close(fds[i]);
}

static struct http_request *all_held[CONNECTIONS_MAX];
static size_t held_count;

static void keep_held(void)
{
    all_held[held_count++] = box.held;
}

static void finish_all(void)
{
    for (size_t i = 0; i < held_count; i++)
        http_finish(all_held[i]);
    held_count = 0;
}

START_TEST(a_newcomer_takes_the_place_of_the_oldest_that_waits)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fds[CONNECTIONS_MAX];
    crowd(fds, COUNT_OF(fds), "/echo", "");
    int extra = dial();
    say(extra, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    hear(extra, &got, "HTTP/1.1 200 ");
    buf_clear(&got);
    hear(fds[0], &got, NULL); /* The oldest is closed, */
    ck_assert_uint_eq(got.len, 0);
    say(fds[1], "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    hear(fds[1], &got, "HTTP/1.1 200 "); /* and only that. */
    struct http_stats stats;
    http_stats(box.http, &stats);
    ck_assert_int_eq(stats.refused_connections, 0);
    ck_assert_int_eq(stats.evicted_connections, 1);
    fd_close(extra);
    leave(fds, COUNT_OF(fds));
}
END_TEST

START_TEST(where_all_are_at_work_only_the_privileged_get_in)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fds[CONNECTIONS_MAX];
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        crowd(&fds[i], 1, "/hold", "");
        on_loop(keep_held);
    }
    ask("GET /health HTTP/1.1\r\nHost: x\r\n\r\n", &got);
    ck_assert_ptr_nonnull(strstr(got.data, "HTTP/1.1 200 "));
    ck_assert_ptr_nonnull(strstr(got.data, "Connection: close"));
    buf_clear(&got);
    ask("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n", &got);
    ck_assert_ptr_nonnull(strstr(got.data, "HTTP/1.1 503 "));
    ck_assert_ptr_nonnull(strstr(got.data, "Retry-After: 1"));
    ck_assert_ptr_nonnull(strstr(got.data, "TOO_MANY_CONNECTIONS"));
    struct http_stats stats;
    http_stats(box.http, &stats);
    ck_assert_int_eq(stats.refused_connections, 1);
    on_loop(finish_all);
    leave(fds, COUNT_OF(fds));
}
END_TEST

START_TEST(a_token_with_too_many_connections_loses_its_own)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int other, fds[RUN_CONNECTIONS + 1];
    crowd(&other, 1, "/echo", "Authorization: run-b\r\n");
    crowd(fds, COUNT_OF(fds), "/echo", "Authorization: run-a\r\n");
    hear(fds[0], &got, NULL);
    ck_assert_uint_eq(got.len, 0);
    say(other, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    hear(other, &got, "HTTP/1.1 200 ");
    fd_close(other);
    leave(fds, COUNT_OF(fds));
}
END_TEST

START_TEST(a_token_with_too_many_requests_in_flight_is_told_so)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fds[2];
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        crowd(&fds[i], 1, "/hold", "Authorization: run-a\r\n");
        on_loop(keep_held);
    }
    int extra = dial();
    say(extra, "GET /echo HTTP/1.1\r\nHost: x\r\nAuthorization: run-a\r\n\r\n");
    hear(extra, &got, "TOO_MANY_REQUESTS");
    ck_assert_ptr_nonnull(strstr(got.data, "HTTP/1.1 429 "));
    ck_assert_ptr_nonnull(strstr(got.data, "Retry-After: 1"));
    buf_clear(&got);
    ask("GET /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: run-b\r\n\r\n", &got);
    ck_assert_ptr_nonnull(strstr(got.data, "HTTP/1.1 200 "));
    on_loop(finish_all);
    fd_close(extra);
    leave(fds, COUNT_OF(fds));
}
END_TEST

START_TEST(a_connection_without_a_request_is_closed_in_time)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fd = dial();
    hear(fd, &got, NULL);
    ck_assert_uint_eq(got.len, 0);
    fd_close(fd);
}
END_TEST

static void *answer_elsewhere(void *arg)
{
    (void)arg;
    box.held->answer.content_type = "text/plain";
    buf_adds(&box.held->answer.body, "from another thread");
    http_finish_later(box.held);
    return NULL;
}

START_TEST(a_held_request_is_answered_by_another_thread)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fd = dial();
    say(fd, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    await(&box.arrived);
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, answer_elsewhere, NULL), 0);
    hear(fd, &got, "from another thread");
    pthread_join(thread, NULL);
    fd_close(fd);
}
END_TEST

static void finish_held(void)
{
    http_finish(box.held);
}

/* Both ways to leave: in good order, and by a reset. */
START_TEST(a_client_that_leaves_is_noticed)
{
    for (int reset = 0; reset < 2; reset++) {
        int fd = dial();
        say(fd, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
        await(&box.arrived);
        struct linger linger = {.l_onoff = reset};
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
        fd_close(fd);
        await(&box.gone);
        on_loop(finish_held); /* The answer goes nowhere, and nothing breaks. */
        await(&box.finished);
    }
}
END_TEST

START_TEST(bytes_behind_a_held_request_do_not_disturb_it)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fd = dial();
    say(fd, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    await(&box.arrived);
    say(fd, "GET /echo HTTP/1.1\r\n" END);
    on_loop(finish_held);
    hear(fd, &got, "GET /echo [] ");
    ck_assert(text_starts(got.data, "HTTP/1.1 200 OK\r\n"));
    fd_close(fd);
}
END_TEST

static void write_stream(void)
{
    http_stream_write(box.held, STR("data: one\n\n"));
}

static void end_stream(void)
{
    http_stream_end(box.held);
}

START_TEST(a_stream_is_written_drains_and_ends)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fd = dial();
    say(fd, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    await(&box.arrived);
    on_loop(write_stream);
    hear(fd, &got, "data: one\n\n");
    await(&box.drained);
    on_loop(end_stream);
    hear(fd, &got, NULL);
    ck_assert(text_ends(got.data, "\r\n0\r\n\r\n"));
    fd_close(fd);
}
END_TEST

START_TEST(a_stream_whose_client_leaves_is_told)
{
    int fd = dial();
    say(fd, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    await(&box.arrived);
    fd_close(fd);
    await(&box.gone);
    on_loop(write_stream);
    on_loop(end_stream);
    await(&box.finished);
}
END_TEST

static void drain(void)
{
    http_drain(box.http);
}

START_TEST(draining_closes_idle_connections_and_answers_held_ones)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int idle = dial(), busy = dial();
    say(idle, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    hear(idle, &got, "GET /echo");
    say(busy, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    await(&box.arrived);
    on_loop(drain);
    ck_assert(http_draining(box.http));
    hear(idle, &got, NULL); /* Ends: it was closed. */
    on_loop(finish_held);
    buf_clear(&got);
    hear(busy, &got, "Connection: close");
    hear(busy, &got, NULL);
    fd_close(idle);
    fd_close(busy);
}
END_TEST

static void spooled_bytes(int64_t *ret_bytes)
{
    struct spool_stats stats;
    spool_stats(box.spool, &stats);
    *ret_bytes = stats.reserved;
}

START_TEST(a_large_body_goes_through_a_file)
{
    CLEANUP(buf_release) struct buf got, body;
    buf_init(&got, 2 * SPOOLED_MAX);
    buf_init(&body, 2 * SPOOLED_MAX);
    for (int i = 0; body.len < SPOOLED_MAX - 10; i++)
        buf_addf(&body, "%d ", i);
    int fd = dial();
    char head[200];
    for (int i = 0; i < 3; i++) { /* On one connection, behind each other. */
        buf_clear(&got);
        (void)snprintf(head, sizeof head,
                       "POST /file/a HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", body.len);
        say(fd, head);
        say(fd, buf_text(&body));
        char last[40];
        (void)snprintf(last, sizeof last, "%s", body.data + body.len - 20);
        hear(fd, &got, last);
        char *echoed = strstr(got.data, "POST /file/a [] (file) ");
        ck_assert_ptr_nonnull(echoed);
        ck_assert_str_eq(echoed + strlen("POST /file/a [] (file) "), body.data);
        await(&box.finished);
    }
    int64_t bytes;
    spooled_bytes(&bytes);
    ck_assert_int_eq(bytes, 0);
    fd_close(fd);
}
END_TEST

START_TEST(a_spooled_body_comes_in_any_pieces)
{
    static const char *const requests[] = {
        "POST /file/b HTTP/1.1\r\nContent-Length: 11\r\n" END "hello world",
        "POST /file/b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" END
        "6\r\nhello \r\n5\r\nworld\r\n0\r\n\r\n",
    };
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        for (size_t piece = 1; piece < 200; piece += piece < 4 ? 1 : 13) {
            CLEANUP(buf_release) struct buf got;
            buf_init(&got, 10000);
            int fd = dial();
            size_t len = strlen(requests[i]);
            for (size_t at = 0; at < len; at += piece)
                ck_assert_int_eq(
                    fd_write_all(fd, requests[i] + at, len - at < piece ? len - at : piece, NULL),
                    RC_OK);
            hear(fd, &got, "POST /file/b [] (file) hello world");
            fd_close(fd);
        }
    }
}
END_TEST

START_TEST(a_chunked_body_without_content_is_empty)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    ask("POST /file/c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" END "0\r\n\r\n", &got);
    ck_assert_msg(text_starts(got.data, "HTTP/1.1 200 "), "%s", got.data);
    ck_assert_msg(got.len > 1 && strstr(got.data, "POST /file/c [] ") != NULL, "%s", got.data);
}
END_TEST

START_TEST(what_follows_a_spooled_body_closes_the_connection_behind_the_answer)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fd = dial();
    say(fd,
        "POST /file/d HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET /echo HTTP/1.1\r\n");
    hear(fd, &got, NULL);
    ck_assert_ptr_nonnull(strstr(got.data, "(file) abc"));
    fd_close(fd);
}
END_TEST

static const struct {
    const char *status, *request;
} spool_refusals[] = {
    {"HTTP/1.1 413 ", "POST /file/e HTTP/1.1\r\nContent-Length: 300001\r\n" END "abc"},
    {"HTTP/1.1 413 ", "POST /file/e HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" END "fffff\r\n"},
    {"HTTP/1.1 400 ", "POST /file/e HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" END "zz\r\n"},
};

/* A client that stops half way gives back what was reserved for it, and others are told. */
START_TEST(spooled_bodies_have_a_budget)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fds[3];
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        fds[i] = dial();
        say(fds[i], "POST /file/f HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\nabc");
    }
    int64_t bytes = 0;
    while (bytes < 900000) /* Until the server has seen all of them. */
        spooled_bytes(&bytes);
    ask("POST /file/f HTTP/1.1\r\nContent-Length: 300000\r\n" END "abc", &got);
    ck_assert_msg(text_starts(got.data, "HTTP/1.1 429 "), "%s", got.data);
    ck_assert_ptr_nonnull(strstr(got.data, "UPLOAD_QUOTA"));
    ck_assert_ptr_nonnull(strstr(got.data, "Retry-After: "));
    for (size_t i = 0; i < COUNT_OF(fds); i++)
        fd_close(fds[i]);
    while (bytes > 0)
        spooled_bytes(&bytes);
}
END_TEST

START_TEST(a_wrong_spooled_body_is_refused)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fd = dial();
    say(fd, spool_refusals[_i].request);
    if (_i == 1) { /* More than one chunk may hold. */
        static char bytes[SPOOLED_MAX + 1];
        memset(bytes, 'x', sizeof bytes);
        (void)!send(fd, bytes, sizeof bytes, MSG_NOSIGNAL);
    }
    hear(fd, &got, NULL);
    ck_assert_msg(text_starts(got.data, spool_refusals[_i].status), "%s", got.data);
    fd_close(fd);
}
END_TEST

Suite *http_suite(void)
{
    Suite *suite = suite_create("http");
    TCase *tests = tcase_create("http");
    tcase_add_checked_fixture(tests, start, stop);
    tcase_set_timeout(tests, 2 * WAIT_SECONDS);
    tcase_add_test(tests, a_request_is_answered);
    tcase_add_test(tests, a_connection_takes_one_request_after_the_other);
    tcase_add_test(tests, a_head_in_pieces_is_put_together);
    tcase_add_test(tests, what_is_wrong_is_refused_with_a_problem);
    tcase_add_test(tests, a_chunked_body_is_counted_too);
    tcase_add_test(tests, a_head_without_end_is_refused);
    tcase_add_test(tests, a_request_that_trickles_in_is_cut);
    tcase_add_test(tests, a_newcomer_takes_the_place_of_the_oldest_that_waits);
    tcase_add_test(tests, where_all_are_at_work_only_the_privileged_get_in);
    tcase_add_test(tests, a_token_with_too_many_connections_loses_its_own);
    tcase_add_test(tests, a_token_with_too_many_requests_in_flight_is_told_so);
    tcase_add_test(tests, a_connection_without_a_request_is_closed_in_time);
    tcase_add_test(tests, a_held_request_is_answered_by_another_thread);
    tcase_add_test(tests, a_client_that_leaves_is_noticed);
    tcase_add_test(tests, bytes_behind_a_held_request_do_not_disturb_it);
    tcase_add_test(tests, a_stream_is_written_drains_and_ends);
    tcase_add_test(tests, a_stream_whose_client_leaves_is_told);
    tcase_add_test(tests, draining_closes_idle_connections_and_answers_held_ones);
    tcase_add_test(tests, a_large_body_goes_through_a_file);
    tcase_add_test(tests, a_spooled_body_comes_in_any_pieces);
    tcase_add_test(tests, a_chunked_body_without_content_is_empty);
    tcase_add_test(tests, what_follows_a_spooled_body_closes_the_connection_behind_the_answer);
    tcase_add_test(tests, spooled_bodies_have_a_budget);
    tcase_add_loop_test(tests, a_wrong_spooled_body_is_refused, 0, (int)COUNT_OF(spool_refusals));
    suite_add_tcase(suite, tests);
    return suite;
}
