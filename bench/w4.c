/*
 * w4.c - what a server costs that has nothing to do: memory, processor, the time until it is
 * ready; and memory with many clients that wait for work.
 */
#include "bench/client.h"
#include "bench/report.h"
#include "bench/server.h"
#include <stdio.h>

enum { SETTLE_MS = 500, CONNECTIONS_SPARE = 100, PARK_SECONDS_MAX = 25 };
#define LEASE_BODY \
    "{\"queues\":[\"idle\"],\"worker\":\"bench\",\"max\":1,\"waitMs\":30000,\"leaseMs\":15000}"

static struct figure figure_of(const char *what, const char *how, const char *unit, double aim)
{
    struct figure figure = {.group = "W4", .better = LESS_IS_BETTER, .aim = aim};
    (void)snprintf(figure.what, sizeof figure.what, "%s", what);
    (void)snprintf(figure.how, sizeof figure.how, "%s", how);
    (void)snprintf(figure.unit, sizeof figure.unit, "%s", unit);
    return figure;
}

static void add(const struct bench *bench, struct figure figure, double value)
{
    figure.values[figure.count++] = value;
    report_add(bench->report, &figure);
}

static void measure_start(const struct bench *bench)
{
    struct figure first = figure_of("ready, first start", "new data directory", "ms", 20);
    struct figure again = figure_of("ready, later starts", "database there", "ms", 20);
    for (int i = 0; i < bench->repeat; i++) {
        char dir[BENCH_PATH_BYTES];
        bench_dir(bench, "w4-start", dir);
        for (int start = 0; start < 2; start++) {
            struct server server;
            server_start(bench, &(struct server_setup){.dir = dir}, &server);
            struct figure *figure = start == 0 ? &first : &again;
            figure->values[figure->count++] = server.ready_ms;
            server_stop(&server);
        }
    }
    report_add(bench->report, &first);
    report_add(bench->report, &again);
}

static void measure_idle(const struct bench *bench, const struct server *server)
{
    bench_pause_ms(SETTLE_MS);
    add(bench, figure_of("memory, idle", "resident", "MB", 10), server_memory_mb(server, "VmRSS"));
    add(bench, figure_of("memory, idle, of its own", "resident, not shared", "MB", 0),
        server_memory_mb(server, "RssAnon"));
    int seconds = bench->quick ? 1 : 5;
    double before = server_cpu_us(server);
    bench_pause_ms(seconds * 1000);
    double percent = (server_cpu_us(server) - before) / (seconds * 1e6) * 100;
    add(bench, figure_of("processor, idle", "of one core", "%", 0.05), percent);
}

static void on_answer(struct client_conn *conn, const struct client_answer *answer)
{
    (void)conn;
    bench_die("a lease that waits is answered %d: %.*s", answer->status, (int)answer->body.len,
              answer->body.at);
}

static void wait_until_parked(const struct server *server, int64_t count)
{
    double begin = bench_seconds();
    while (server_metric(server, "drover_committer_parked") != count) {
        if (bench_seconds() - begin > PARK_SECONDS_MAX)
            bench_die("%lld leases do not wait after %d s", (long long)count, PARK_SECONDS_MAX);
        bench_pause_ms(20);
    }
}

static void measure_waiting(const struct bench *bench, const struct server *server, size_t count)
{
    struct client_options options = {
        .port = server->port, .connections = count, .answered = on_answer};
    struct client *client = client_new(&options);
    CLEANUP(buf_release) struct buf request;
    buf_init(&request, 4096);
    struct request_head head = {"POST", "/v1/jobs/lease", server->token};
    request_write(&request, &head, STR(LEASE_BODY));
    for (size_t i = 0; i < count; i++)
        client_send(client_conn(client, i), buf_str(&request));
    wait_until_parked(server, (int64_t)count);
    char what[64];
    (void)snprintf(what, sizeof what, "memory, %zu waiting leases", count);
    add(bench, figure_of(what, "resident", "MB", count == 1000 ? 30 : 0),
        server_memory_mb(server, "VmRSS"));
    client_free(client);
    wait_until_parked(server, 0);
}

void w4_run(const struct bench *bench)
{
    report_group(bench->report, "W4  a server without work");
    measure_start(bench);
    char dir[BENCH_PATH_BYTES];
    bench_dir(bench, "w4", dir);
    size_t many = bench->quick ? 2000 : 10000;
    struct server_setup setup = {.dir = dir, .connections = (int64_t)many + CONNECTIONS_SPARE};
    struct server server;
    server_start(bench, &setup, &server);
    measure_idle(bench, &server);
    measure_waiting(bench, &server, 1000);
    measure_waiting(bench, &server, many);
    server_stop(&server);
}
