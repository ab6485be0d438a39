#include "tests/unit/http_box.h"
#include "base/fd.h"
#include "http/http.h"
#include "http/loop.h"
#include "http/spool.h"
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

struct http_box box;

void box_await(sem_t *sem)
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

void box_on_loop(void (*job)(void))
{
    box.job = job;
    box.call.run = run_job;
    loop_post(box.loop, &box.call);
    box_await(&box.done);
}

static enum rc gate(void *ctx, const struct http_head *head, struct http_body_plan *plan,
                    struct err *err)
{
    (void)ctx;
    plan->bytes_max = BODY_MAX;
    plan->spool = head->target.len > 6 && strncmp(head->target.at, "/file/", 6) == 0;
    plan->admin = str_is(head->target, "/file/admin");
    text_copy(plan->holder, sizeof plan->holder, plan->admin ? "admin" : "worker");
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
    box.echoed++;
    if (text_same(request->path, "/poke"))
        box_say(box.poke_fd, "GET /seen HTTP/1.1\r\nHost: x\r\n\r\n");
    if (text_same(request->path, "/seen"))
        box.echoed_at_seen = box.echoed;
    request->answer.content_type = "text/plain";
    buf_addf(&request->answer.body, "%s %s [%.*s] ", http_method_name(request->method),
             request->path, (int)request->query.len,
             request->query.at != NULL ? request->query.at : "");
    buf_adds(&request->answer.body, http_body_fd(request) >= 0 ? "(file) " : "");
    buf_add(&request->answer.body, body.at != NULL ? body.at : "", body.len);
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

void box_start_with(const struct box_times *times)
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
        .request_ms = times->request_ms,
        .stall_ms = times->stall_ms,
        .idle_ms = 60000,
        .unread_ms = 60000,
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

void box_start(void)
{
    box_start_with(&(struct box_times){.request_ms = REQUEST_MS, .stall_ms = REQUEST_MS});
}

static void stop_loop(void)
{
    loop_stop(box.loop);
}

void box_stop(void)
{
    box_on_loop(stop_loop);
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

int box_dial(void)
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

void box_say(int fd, const char *text)
{
    ck_assert_int_eq(fd_write_all(fd, text, strlen(text), NULL), RC_OK);
}

/* Reads until the text is there, or to the end. */
void box_hear(int fd, struct buf *into, const char *until)
{
    char bytes[4096];
    ssize_t got;
    while (!(until != NULL && strstr(buf_text(into), until) != NULL) &&
           (got = read(fd, bytes, sizeof bytes)) > 0)
        buf_add(into, bytes, (size_t)got);
    if (until != NULL)
        ck_assert_msg(strstr(buf_text(into), until) != NULL, "no %s in: %s", until, buf_text(into));
}

void box_ask(const char *request, struct buf *into)
{
    int fd = box_dial();
    box_say(fd, request);
    box_hear(fd, into, NULL);
    fd_close(fd);
}
