/*
 * w4.c - what a server costs that has nothing to do: memory, processor, the time until it is
 * ready; with many clients that wait for work in one queue, memory and how soon one of them is
 * woken.
 */
#include "bench/client.h"
#include "bench/report.h"
#include "bench/server.h"
#include <stdio.h>
#include <string.h>

enum {
    SETTLE_MS = 500,
    CONNECTIONS_SPARE = 100,
    PARK_SECONDS_MAX = 60,
    LOOK_MS = 20,
    REQUEST_BYTES_MAX = 4096,
    WAKES = 20,
};
#define LEASE_BODY                                                                        \
    "{\"queues\":[\"idle\"],\"worker\":\"bench\",\"max\":1,\"waitMs\":30000,\"leaseMs\":" \
    "600000}"
#define ENQUEUE_BODY "{\"jobs\":[{\"queue\":\"idle\",\"type\":\"note\"}]}"

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

/* ---- many clients that wait for work ---- */

struct repo_load {
    const struct server *server;
    struct client *client;     /* The last connection is the producer's. */
    struct buf lease, enqueue; /* Requests. */
    bool enqueued;
    double served_at; /* When one of the crowd got the job; 0: not yet. */
};

/* Whoever got a job, or waited in vain for long, waits again. */
static void on_answer(struct client_conn *conn, const struct client_answer *answer)
{
    struct repo_load *load = client_owner(conn);
    if (answer->status == 201) {
        load->enqueued = true;
        return;
    }
    if (answer->status != 200)
        bench_die("a lease is answered %d: %.*s", answer->status, (int)answer->body.len,
                  answer->body.at);
    if (memmem(answer->body.at, answer->body.len, "\"id\"", 4) != NULL)
        load->served_at = bench_seconds();
    client_send(conn, buf_str(&load->lease));
}

static void wait_until_parked(struct repo_load *load, int64_t count)
{
    double begin = bench_seconds();
    while (server_metric(load->server, "drover_committer_parked") != count) {
        if (bench_seconds() - begin > PARK_SECONDS_MAX)
            bench_die("%lld leases do not wait after %d s", (long long)count, PARK_SECONDS_MAX);
        client_poll(load->client, LOOK_MS);
    }
}

static void write_requests(struct repo_load *load)
{
    const char *token = load->server->token;
    buf_init(&load->lease, REQUEST_BYTES_MAX);
    buf_init(&load->enqueue, REQUEST_BYTES_MAX);
    request_write(&load->lease, &(struct request_head){"POST", "/v1/jobs/lease", token},
                  STR(LEASE_BODY));
    request_write(&load->enqueue, &(struct request_head){"POST", "/v1/jobs", token},
                  STR(ENQUEUE_BODY));
}

/* Milliseconds from an enqueue to the first lease that has its job. */
static double wake_one(struct repo_load *load, size_t count)
{
    load->enqueued = false;
    load->served_at = 0;
    double begin = bench_seconds();
    client_send(client_conn(load->client, count), buf_str(&load->enqueue));
    while (load->served_at == 0 || !load->enqueued)
        client_poll(load->client, LOOK_MS);
    return (load->served_at - begin) * 1000;
}

static void measure_wakes(const struct bench *bench, struct repo_load *load, size_t count)
{
    double took[WAKES];
    for (size_t i = 0; i < WAKES; i++)
        took[i] = wake_one(load, count);
    char what[64];
    (void)snprintf(what, sizeof what, "wake-up, %zu waiting leases", count);
    add(bench, figure_of(what, "HTTP, p50 of 20 samples", "ms", 0),
        bench_percentile(took, WAKES, 0.5));
}

static void measure_load(const struct bench *bench, const struct server *server, size_t count)
{
    struct repo_load load = {.server = server};
    struct client_options options = {
        .port = server->port, .connections = count + 1, .answered = on_answer};
    load.client = client_new(&options);
    write_requests(&load);
    for (size_t i = 0; i <= count; i++)
        client_set_owner(client_conn(load.client, i), &load);
    for (size_t i = 0; i < count; i++)
        client_send(client_conn(load.client, i), buf_str(&load.lease));
    wait_until_parked(&load, (int64_t)count);
    char what[64];
    (void)snprintf(what, sizeof what, "memory, %zu waiting leases", count);
    add(bench, figure_of(what, "resident", "MB", count == 1000 ? 30 : 0),
        server_memory_mb(server, "VmRSS"));
    measure_wakes(bench, &load, count);
    client_free(load.client);
    buf_release(&load.lease);
    buf_release(&load.enqueue);
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
    measure_load(bench, &server, 1000);
    measure_load(bench, &server, many);
    server_stop(&server);
}
