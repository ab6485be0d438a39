/*
 * w6.c - agents that come for work: how soon one that waits has what became ready, beside one that
 * polls every 500 ms, and what 10,000 of them cost that wait for nothing.
 *
 * Two agents hand one piece of work to each other: one gives its claim back, which makes the work
 * ready, and the other has it.  The time is from the request that gives it back to the answer that
 * has it, with the commit and its flush in between.
 */
#include "base/id.h"
#include "base/js.h"
#include "base/jw.h"
#include "bench/client.h"
#include "bench/origin.h"
#include "bench/report.h"
#include "control/agents/claim.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SAMPLES = 400,
    SAMPLES_QUICK = 40,
    POLL_MS = 500,
    POLLS = 16,
    POLLS_QUICK = 3,
    SETTLE_MS = 3, /* For a claim to be parked. */
    WAIT_MS = 60000,
    REQUEST_BYTES_MAX = 4096,
    CONNECTIONS_SPARE = 100,
    PARK_SECONDS_MAX = 60,
    LOOK_MS = 20,
};

/* ---- agents ---- */

struct pair;
struct agent {
    struct pair *pair;
    struct client_conn *conn;
    char id[ID_TEXT_BYTES]; /* Of its claim; "": none. */
    int64_t epoch;
    bool waits;    /* For an answer. */
    double got_at; /* The last claim. */
    int64_t asked; /* Calls for work. */
};
struct pair {
    const struct server *server;
    struct client *client;
    struct agent agents[2];
};

static void on_answer(struct client_conn *conn, const struct client_answer *answer)
{
    struct agent *agent = client_owner(conn);
    CLEANUP(js_freep) struct js *tree = NULL;
    struct err err = {0};
    agent->waits = false;
    if (answer->status != 200)
        bench_die("an agent is answered %d: %.*s", answer->status, (int)answer->body.len,
                  answer->body.at);
    bench_must(js_parse(answer->body.at, answer->body.len, &tree, &err), &err, "an answer");
    const struct js *claim = js_get(tree, "claim");
    if (js_type(claim) != JS_OBJECT)
        return;
    agent->got_at = bench_seconds();
    text_copy(agent->id, sizeof agent->id, js_get_str(claim, "id", ""));
    agent->epoch = js_get_int(claim, "epoch", 0);
}

static void send(struct agent *agent, const char *path, const char *body)
{
    CLEANUP(buf_release) struct buf request;
    buf_init(&request, REQUEST_BYTES_MAX);
    const struct request_head head = {"POST", path, agent->pair->server->token};
    request_write(&request, &head, str_of(body));
    agent->waits = true;
    client_send(agent->conn, buf_str(&request));
}

static void ask(struct agent *agent, int wait_ms)
{
    char body[128];
    (void)snprintf(body, sizeof body, "{\"waitMs\":%d,\"leaseMs\":600000}", wait_ms);
    agent->asked++;
    send(agent, "/v1/claims", body);
}

static void give_back(struct agent *agent)
{
    char body[256];
    (void)snprintf(body, sizeof body, "{\"jobs\":[{\"id\":\"%s\",\"epoch\":%lld}]}", agent->id,
                   (long long)agent->epoch);
    agent->id[0] = '\0';
    send(agent, "/v1/jobs/release", body);
}

static void until_answered(struct pair *pair, const struct agent *agent)
{
    while (agent->waits)
        client_poll(pair->client, WAIT_MS);
}

/* ---- one piece of work, from hand to hand ---- */

/* Milliseconds from the return of the work to the claim of an agent that waits for it. */
static double woken(struct pair *pair, size_t holder)
{
    struct agent *from = &pair->agents[holder], *to = &pair->agents[!holder];
    ask(to, 30000);
    bench_pause_ms(SETTLE_MS);
    double begin = bench_seconds();
    give_back(from);
    until_answered(pair, to);
    until_answered(pair, from);
    if (to->id[0] == '\0')
        bench_die("an agent waited in vain");
    return (to->got_at - begin) * 1000;
}

/* The same for one that polls; the work comes back at some time between two polls. */
static double polled(struct pair *pair, size_t holder, int after_ms)
{
    struct agent *from = &pair->agents[holder], *to = &pair->agents[!holder];
    ask(to, 0);
    until_answered(pair, to);
    bench_pause_ms(after_ms);
    double begin = bench_seconds();
    give_back(from);
    until_answered(pair, from);
    for (int pause = POLL_MS - after_ms; to->id[0] == '\0'; pause = POLL_MS) {
        bench_pause_ms(pause);
        ask(to, 0);
        until_answered(pair, to);
    }
    return (to->got_at - begin) * 1000;
}

static struct figure figure_of(const char *what, const char *how, const char *unit, double aim)
{
    struct figure figure = {.group = "W6", .better = LESS_IS_BETTER, .aim = aim};
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

static double median_of_polls(const struct bench *bench, struct pair *pair, size_t *holder)
{
    size_t count = bench->quick ? POLLS_QUICK : POLLS;
    double took[POLLS];
    for (size_t i = 0; i < count; i++, *holder = !*holder)
        took[i] = polled(pair, *holder, (int)(POLL_MS * (2 * i + 1) / (2 * count)));
    return bench_percentile(took, count, 0.5);
}

static void measure_pair(const struct bench *bench, struct pair *pair)
{
    size_t count = bench->quick ? SAMPLES_QUICK : SAMPLES, holder = 0;
    double took[SAMPLES];
    struct figure p50 = figure_of("notify to claim", "HTTP, waiting, p50", "ms", 1);
    struct figure p99 = figure_of("notify to claim", "HTTP, waiting, p99", "ms", 0);
    for (int r = 0; r < bench->repeat; r++) {
        for (size_t i = 0; i < count; i++, holder = !holder)
            took[i] = woken(pair, holder);
        p50.values[p50.count++] = bench_percentile(took, count, 0.5);
        p99.values[p99.count++] = bench_percentile(took, count, 0.99);
    }
    report_add(bench->report, &p50);
    report_add(bench->report, &p99);
    double poll_ms = median_of_polls(bench, pair, &holder);
    add(bench, figure_of("notify to claim", "HTTP, polling every 500 ms, p50", "ms", 0), poll_ms);
    struct figure better = figure_of("polling, in times of waiting", "p50", "x", 100);
    better.better = MORE_IS_BETTER;
    add(bench, better, poll_ms / figure_best(&p50));
}

/* Calls for work of one agent in this time, without any. */
static void measure_calls(const struct bench *bench, struct pair *pair)
{
    int window_ms = bench->quick ? 1000 : CLAIM_WAIT_MS_MAX;
    struct agent *agent = &pair->agents[0];
    if (agent->id[0] == '\0')
        agent = &pair->agents[1]; /* The other one holds the only work. */
    agent = agent == &pair->agents[0] ? &pair->agents[1] : &pair->agents[0];
    agent->asked = 0;
    double end = bench_seconds() + window_ms / 1000.0;
    while (bench_seconds() < end) {
        ask(agent, window_ms);
        until_answered(pair, agent);
    }
    double waiting = (double)agent->asked;
    agent->asked = 0;
    end = bench_seconds() + window_ms / 1000.0;
    while (bench_seconds() < end) {
        ask(agent, 0);
        until_answered(pair, agent);
        bench_pause_ms(POLL_MS);
    }
    add(bench, figure_of("calls of one that waits", "of those of one that polls", "%", 2),
        waiting / (double)agent->asked * 100);
}

/* ---- many that wait ---- */

struct crowd_agent {
    struct buf *request;
};

static void on_crowd(struct client_conn *conn, const struct client_answer *answer)
{
    struct crowd_agent *agent = client_owner(conn);
    if (answer->status != 200)
        bench_die("a claim is answered %d: %.*s", answer->status, (int)answer->body.len,
                  answer->body.at);
    client_send(conn, buf_str(agent->request));
}

static void measure_crowd(const struct bench *bench, const struct server *server, size_t count)
{
    CLEANUP(buf_release) struct buf request;
    struct crowd_agent agent = {&request};
    struct client *client = client_new(
        &(struct client_options){.port = server->port, .connections = count, .answered = on_crowd});
    buf_init(&request, REQUEST_BYTES_MAX);
    request_write(&request, &(struct request_head){"POST", "/v1/claims", server->token},
                  STR("{\"persona\":\"tester\",\"labels\":[\"none\"],\"waitMs\":30000}"));
    for (size_t i = 0; i < count; i++) {
        client_set_owner(client_conn(client, i), &agent);
        client_send(client_conn(client, i), buf_str(&request));
    }
    double begin = bench_seconds();
    while (server_metric(server, "drover_committer_parked") < (int64_t)count) {
        if (bench_seconds() - begin > PARK_SECONDS_MAX)
            bench_die("%zu claims do not wait after %d s", count, PARK_SECONDS_MAX);
        client_poll(client, LOOK_MS);
    }
    char what[64];
    (void)snprintf(what, sizeof what, "memory, %zu agents that wait", count);
    add(bench, figure_of(what, "resident", "MB", 120), server_memory_mb(server, "VmRSS"));
    int seconds = bench->quick ? 1 : 5;
    double before = server_cpu_us(server);
    bench_pause_ms(seconds * 1000);
    double percent = (server_cpu_us(server) - before) / (seconds * 1e6) * 100;
    (void)snprintf(what, sizeof what, "processor, %zu agents that wait", count);
    add(bench, figure_of(what, "of one core", "%", 0.5), percent);
    client_free(client);
}

/* ---- all of it ---- */

static void work_add(const struct server *server, const char *origin)
{
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, REQUEST_BYTES_MAX);
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "url", origin);
    jw_kraw(&jw, "agent", STR("{\"compute\":\"pull\"}"));
    jw_kraw(&jw, "timeouts", STR("{\"idleMs\":86400000}"));
    jw_end(&jw, '}');
    server_call(server, "PUT", "/v1/repositories/bench", buf_str(&body));
    server_call(server, "POST", "/v1/tasks",
                STR("{\"repository\":\"bench\",\"description\":\"Pass it on.\"}"));
}

static void pair_run(const struct bench *bench, const struct server *server)
{
    struct pair pair = {.server = server};
    pair.client = client_new(
        &(struct client_options){.port = server->port, .connections = 2, .answered = on_answer});
    for (size_t i = 0; i < 2; i++) {
        pair.agents[i] = (struct agent){.pair = &pair, .conn = client_conn(pair.client, i)};
        client_set_owner(pair.agents[i].conn, &pair.agents[i]);
    }
    ask(&pair.agents[0], 30000);
    until_answered(&pair, &pair.agents[0]);
    if (pair.agents[0].id[0] == '\0')
        bench_die("there is no work: see %s/log", server->dir);
    measure_pair(bench, &pair);
    measure_calls(bench, &pair);
    client_free(pair.client);
}

void w6_run(const struct bench *bench)
{
    char dir[BENCH_PATH_BYTES], real[PATH_MAX], origin[PATH_MAX + 16];
    bench_dir(bench, "w6", dir);
    if (realpath(dir, real) == NULL)
        bench_die("%s: %s", dir, strerror(errno));
    (void)snprintf(origin, sizeof origin, "%s/origin.git", real);
    origin_make(origin);
    report_group(bench->report, "W6  agents that come for work, beside a poll every 500 ms");
    size_t many = bench->quick ? 2000 : 10000;
    struct server server;
    const struct server_setup setup = {
        .dir = dir, .connections = (int64_t)many + CONNECTIONS_SPARE, .workers = 2};
    server_start(bench, &setup, &server);
    work_add(&server, origin);
    pair_run(bench, &server);
    measure_crowd(bench, &server, many);
    server_stop(&server);
}
