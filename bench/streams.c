/*
 * streams.c - fan-out: how soon an event that a client has posted is with all streams of a server.
 *
 * One thread posts events at a steady rate and reads all streams.  Each event carries its number
 * and the time when it was sent; every stream must have every one, once and in order.
 */
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "bench/client.h"
#include "bench/report.h"
#include "bench/server.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define GROUP "streams"
enum {
    STREAMS = 1000,
    STREAMS_QUICK = 100,
    RATE = 1000, /* Events a second. */
    RATE_QUICK = 200,
    SECONDS = 5,
    POST_US = 5000, /* From one request to the next; its events share it. */
    POSTERS = 16,
    READ_BYTES = 256 * 1024,
    POLL_MAX = 256,
    SETTLE_SECONDS_MAX = 30,
    BUCKET_US = 100,
    BUCKETS = 100 * 1000, /* Up to ten seconds. */
    BODY_BYTES_MAX = 64 * 1024,
    P99_AIM_MS = 20,
};
/* In the data of an event: @number:time@, of fixed length, and no other @ is in it. */
#define MARK_FORMAT "@%010lld:%016lld@"
enum { MARK_BYTES = 1 + 10 + 1 + 16 + 1 };

struct tap { /* One stream. */
    int fd;
    int64_t last; /* The number of the last event. */
    char part[MARK_BYTES];
    size_t part_len; /* Of a mark that was cut by the end of a read. */
};

struct fan {
    struct server server;
    int epoll_fd;
    struct tap *taps;
    size_t count;
    struct client *posters;
    size_t next_poster;
    int64_t sent, rate;
    int64_t answered;
    int64_t arrived; /* Events on all streams together. */
    int64_t *buckets;
    char *bytes;
};

/* ---- streams ---- */

/* Its head is read, so that it is subscribed. */
static void open_tap(const struct fan *fan, struct tap *tap)
{
    struct err err = {0};
    char text[1024];
    size_t len = 0;
    int size = snprintf(text, sizeof text,
                        "GET /v1/events/stream?type=com.bench.> HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                        "Authorization: Bearer %s\r\n\r\n",
                        fan->server.token);
    tap->fd = client_dial(fan->server.port);
    bench_must(fd_write_all(tap->fd, text, (size_t)size, &err), &err, "stream");
    while (len < sizeof text - 1) {
        ssize_t got = read(tap->fd, text + len, sizeof text - 1 - len);
        if (got <= 0)
            bench_die("a stream ends at once");
        len += (size_t)got;
        text[len] = '\0';
        if (strstr(text, ": drover\n\n") != NULL)
            break;
    }
    if (strncmp(text, "HTTP/1.1 200", strlen("HTTP/1.1 200")) != 0)
        bench_die("a stream is answered %.100s", text);
    bench_must(fd_set_nonblocking(tap->fd, &err), &err, "stream");
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = tap};
    if (epoll_ctl(fan->epoll_fd, EPOLL_CTL_ADD, tap->fd, &event) != 0)
        bench_die("epoll: %s", strerror(errno));
}

static void take_mark(struct fan *fan, struct tap *tap, const char *mark, int64_t now_us)
{
    int64_t number = strtoll(mark + 1, NULL, 10), sent_us = strtoll(mark + 12, NULL, 10);
    if (number != tap->last + 1)
        bench_die("a stream has event %lld after %lld", (long long)number, (long long)tap->last);
    tap->last = number;
    int64_t bucket = (now_us - sent_us) / BUCKET_US;
    fan->buckets[bucket < 0 ? 0 : bucket < BUCKETS ? bucket : BUCKETS - 1]++;
    fan->arrived++;
}

static void take_bytes(struct fan *fan, struct tap *tap, size_t len, int64_t now_us)
{
    const char *at = fan->bytes, *end = at + len;
    if (tap->part_len > 0) {
        size_t rest = MARK_BYTES - tap->part_len;
        rest = rest < len ? rest : len;
        memcpy(tap->part + tap->part_len, at, rest);
        tap->part_len += rest;
        at += rest;
        if (tap->part_len < MARK_BYTES)
            return;
        take_mark(fan, tap, tap->part, now_us);
        tap->part_len = 0;
    }
    while ((at = memchr(at, '@', (size_t)(end - at))) != NULL) {
        size_t left = (size_t)(end - at);
        if (left < MARK_BYTES) {
            memcpy(tap->part, at, left);
            tap->part_len = left;
            return;
        }
        take_mark(fan, tap, at, now_us);
        at += MARK_BYTES;
    }
}

static void read_taps(struct fan *fan, int wait_ms)
{
    struct epoll_event ready[POLL_MAX];
    int count = epoll_wait(fan->epoll_fd, ready, POLL_MAX, wait_ms);
    for (int i = 0; i < count; i++) {
        struct tap *tap = ready[i].data.ptr;
        ssize_t len = read(tap->fd, fan->bytes, READ_BYTES);
        if (len == 0 || (len < 0 && errno != EAGAIN))
            bench_die("a stream was closed after event %lld", (long long)tap->last);
        if (len > 0)
            take_bytes(fan, tap, (size_t)len, clock_mono_us());
    }
}

/* ---- posting ---- */

static void on_answer(struct client_conn *conn, const struct client_answer *answer)
{
    struct fan *fan = client_owner(conn);
    if (answer->status != 202)
        bench_die("an event is answered %d: %.*s", answer->status, (int)answer->body.len,
                  answer->body.at);
    fan->answered++;
}

static void post_events(struct fan *fan, int64_t count, const char *type)
{
    CLEANUP(buf_release) struct buf body;
    CLEANUP(buf_release) struct buf request;
    buf_init(&body, BODY_BYTES_MAX);
    buf_init(&request, BODY_BYTES_MAX + 4096);
    int64_t now_us = clock_mono_us();
    for (int64_t i = 0; i < count; i++) {
        fan->sent++;
        buf_addf(&body,
                 "%s{\"specversion\":\"1.0\",\"id\":\"%lld\",\"source\":\"bench\",\"type\":\"%s\","
                 "\"data\":{\"mark\":\"" MARK_FORMAT "\"}}",
                 i == 0 ? "[" : ",", (long long)fan->sent, type, (long long)fan->sent,
                 (long long)now_us);
    }
    buf_adds(&body, "]");
    buf_addf(&request,
             "POST /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n"
             "Content-Type: application/cloudevents-batch+json\r\nContent-Length: %zu\r\n\r\n%s",
             fan->server.token, body.len, buf_text(&body));
    client_send(client_conn(fan->posters, fan->next_poster), buf_str(&request));
    fan->next_poster = (fan->next_poster + 1) % POSTERS;
}

/* ---- measuring ---- */

static double percentile_ms(const struct fan *fan, double share)
{
    int64_t wanted = (int64_t)(share * (double)fan->arrived), sum = 0;
    size_t bucket = 0;
    while (bucket < BUCKETS - 1 && (sum += fan->buckets[bucket]) <= wanted)
        bucket++;
    return (double)(bucket + 1) * BUCKET_US / 1000;
}

static bool all_arrived(const struct fan *fan)
{
    return fan->arrived == fan->sent * (int64_t)fan->count;
}

/* A request has to be answered before its connection is used again. */
static void run_load(struct fan *fan, int seconds)
{
    int64_t each = fan->rate * POST_US / US_PER_SECOND, requests = 0;
    int64_t begin_us = clock_mono_us(), next_us = begin_us;
    int64_t end_us = begin_us + seconds * US_PER_SECOND;
    while (next_us < end_us) {
        if (clock_mono_us() >= next_us && requests - fan->answered < POSTERS) {
            post_events(fan, each, "com.bench.tick");
            requests++;
            next_us += POST_US;
        }
        client_poll(fan->posters, 0);
        read_taps(fan, clock_mono_us() < next_us ? 1 : 0);
    }
    while (!all_arrived(fan)) {
        if (clock_mono_us() > end_us + SETTLE_SECONDS_MAX * US_PER_SECOND)
            bench_die("%lld of %lld events have arrived", (long long)fan->arrived,
                      (long long)(fan->sent * (int64_t)fan->count));
        client_poll(fan->posters, 0);
        read_taps(fan, 1);
    }
}

static void open_all(struct fan *fan, const struct bench *bench)
{
    char dir[BENCH_PATH_BYTES];
    bench_dir(bench, GROUP, dir);
    const struct server_setup setup = {.dir = dir,
                                       .connections = (int64_t)fan->count + 100,
                                       .streams = (int64_t)fan->count * 17 / 16 + 1};
    server_start(bench, &setup, &fan->server);
    fan->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    fan->taps = mem_array(fan->count, sizeof *fan->taps);
    fan->buckets = mem_array(BUCKETS, sizeof *fan->buckets);
    fan->bytes = mem_alloc(READ_BYTES);
    fan->posters = client_new(&(struct client_options){
        .port = fan->server.port, .connections = POSTERS, .answered = on_answer});
    for (size_t i = 0; i < POSTERS; i++)
        client_set_owner(client_conn(fan->posters, i), fan);
    for (size_t i = 0; i < fan->count; i++)
        open_tap(fan, &fan->taps[i]);
}

static void close_all(struct fan *fan)
{
    for (size_t i = 0; i < fan->count; i++)
        fd_close(fan->taps[i].fd);
    client_free(fan->posters);
    fd_close(fan->epoll_fd);
    mem_free(fan->taps);
    mem_free(fan->buckets);
    mem_free(fan->bytes);
    server_stop(&fan->server);
}

struct outcome {
    double p50_ms, p99_ms, cpu_us;
};

static struct outcome measure(const struct bench *bench, int64_t rate)
{
    struct fan fan = {.count = bench->quick ? STREAMS_QUICK : STREAMS, .rate = rate};
    open_all(&fan, bench);
    double before = server_cpu_us(&fan.server);
    run_load(&fan, bench->quick ? 1 : SECONDS);
    struct outcome outcome = {
        .p50_ms = percentile_ms(&fan, 0.5),
        .p99_ms = percentile_ms(&fan, 0.99),
        .cpu_us = (server_cpu_us(&fan.server) - before) / (double)fan.arrived,
    };
    close_all(&fan);
    return outcome;
}

void streams_run(const struct bench *bench)
{
    int64_t rate = bench->quick ? RATE_QUICK : RATE;
    struct figure p50 = {.group = GROUP, .unit = "ms", .better = LESS_IS_BETTER};
    struct figure p99 = p50;
    report_group(bench->report, "Streams  an event that is posted, on every stream");
    (void)snprintf(p50.what, sizeof p50.what, "delivery to %d streams, p50",
                   bench->quick ? STREAMS_QUICK : STREAMS);
    (void)snprintf(p99.what, sizeof p99.what, "delivery to %d streams, p99",
                   bench->quick ? STREAMS_QUICK : STREAMS);
    (void)snprintf(p50.how, sizeof p50.how, "HTTP, %lld events/s", (long long)rate);
    (void)snprintf(p99.how, sizeof p99.how, "HTTP, %lld events/s", (long long)rate);
    p99.aim = bench->quick ? 0 : P99_AIM_MS;
    for (int i = 0; i < bench->repeat; i++) {
        struct outcome outcome = measure(bench, rate);
        p50.values[p50.count++] = outcome.p50_ms;
        p99.values[p99.count++] = outcome.p99_ms;
        p99.cpu_us = p50.cpu_us = outcome.cpu_us;
    }
    report_add(bench->report, &p50);
    report_add(bench->report, &p99);
}
