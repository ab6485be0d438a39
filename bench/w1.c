/*
 * w1.c - 10,000 jobs of 400 bytes through the job protocol, over HTTP and in process.
 *
 *   enqueue    every lane sends its next call as soon as the last one is answered
 *   drain      every lane leases up to so many, completes them in one call, leases again
 *   combined   producers and consumers at once, at most 16 jobs in flight: the next ones are
 *              enqueued when as many are completed; consumers wait for work in their lease calls
 */
#include "bench/w1.h"
#include "bench/raw.h"
#include "bench/report.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LANES = 16, IN_FLIGHT = 16, CONSUMER_WAIT_MS = 200 };

struct load {
    struct port *port;
    struct lane lanes[2 * LANES]; /* Producers, then consumers. */
    int lane_count;
    int per_call;
    int64_t total, sent, finished;
    double end; /* When the last job was finished. */
};

static void finish(struct load *load, int64_t jobs)
{
    load->finished += jobs;
    if (load->finished == load->total)
        load->end = bench_seconds();
}

static bool any_busy(const struct load *load)
{
    for (int i = 0; i < load->lane_count; i++)
        if (load->lanes[i].busy)
            return true;
    return false;
}

/* ---- enqueue ---- */

static void enqueue_next(struct lane *lane)
{
    struct load *load = lane->owner;
    if (load->sent < load->total) {
        load->sent += load->per_call;
        lane_enqueue(lane, load->per_call);
    }
}

static void on_enqueued(struct lane *lane)
{
    struct load *load = lane->owner;
    finish(load, load->per_call);
    enqueue_next(lane);
}

static void start_enqueue(struct load *load)
{
    for (int i = 0; i < load->lane_count; i++) {
        load->lanes[i].answered = on_enqueued;
        enqueue_next(&load->lanes[i]);
    }
}

/* ---- drain ---- */

static void on_drained(struct lane *lane);

static void on_leased(struct lane *lane)
{
    if (lane->job_count == 0)
        return; /* Nothing is left. */
    lane->answered = on_drained;
    lane_complete(lane);
}

static void on_drained(struct lane *lane)
{
    struct load *load = lane->owner;
    finish(load, lane->job_count);
    lane->answered = on_leased;
    lane_lease(lane, load->per_call, 0);
}

static void start_drain(struct load *load)
{
    for (int i = 0; i < load->lane_count; i++) {
        load->lanes[i].answered = on_leased;
        lane_lease(&load->lanes[i], load->per_call, 0);
    }
}

/* ---- combined ---- */

/* A job can be completed before its producer has heard that it was enqueued. */
static struct lane *idle_producer(struct load *load)
{
    for (int i = 0; i < load->lane_count / 2; i++)
        if (!load->lanes[i].busy)
            return &load->lanes[i];
    return NULL;
}

static void produce(struct load *load)
{
    struct lane *lane;
    while (load->sent < load->total && load->sent - load->finished + load->per_call <= IN_FLIGHT &&
           (lane = idle_producer(load)) != NULL) {
        load->sent += load->per_call;
        lane_enqueue(lane, load->per_call);
    }
}

static void on_produced(struct lane *lane)
{
    produce(lane->owner);
}

static void on_consumed(struct lane *lane);

static void on_taken(struct lane *lane)
{
    struct load *load = lane->owner;
    if (lane->job_count > 0) {
        lane->answered = on_consumed;
        lane_complete(lane);
    } else if (load->finished < load->total) {
        lane_lease(lane, load->per_call, CONSUMER_WAIT_MS);
    }
}

static void on_consumed(struct lane *lane)
{
    struct load *load = lane->owner;
    finish(load, lane->job_count);
    produce(load);
    lane->answered = on_taken;
    if (load->finished < load->total)
        lane_lease(lane, load->per_call, CONSUMER_WAIT_MS);
}

static void start_combined(struct load *load)
{
    int producers = load->lane_count / 2;
    for (int i = 0; i < load->lane_count; i++)
        load->lanes[i].answered = i < producers ? on_produced : on_taken;
    for (int i = producers; i < load->lane_count; i++)
        lane_lease(&load->lanes[i], load->per_call, CONSUMER_WAIT_MS);
    produce(load);
}

/* ---- measuring ---- */

static const struct mode {
    const char *what;
    enum jobs_kind kind;
    int lanes, per_call;
    double aim; /* Over HTTP. */
} modes[] = {
    {"enqueue, 1 a call, alone", ENQUEUE, 1, 1, 0},
    {"drain, 100 a call, alone", DRAIN, 1, 100, 0},
    {"enqueue, 1 a call", ENQUEUE, LANES, 1, 5500},
    {"drain, 1 a call", DRAIN, LANES, 1, 0},
    {"enqueue, 100 a call", ENQUEUE, 4, 100, 60000},
    {"drain, 10 a call", DRAIN, LANES, 10, 45000},
    {"combined, 1 a call", COMBINED, 2 * LANES, 1, 17000},
    {"combined, 8 a call", COMBINED, 4, 8, 0},
};
enum { FIRST_LOAD = 2 }; /* Of the modes: before it one lane works alone. */
static void (*const starts[])(struct load *load) = {
    [ENQUEUE] = start_enqueue, [DRAIN] = start_drain, [COMBINED] = start_combined};

/* Jobs for which a whole commit of so many commands has room. */
static int64_t jobs_per_commit(const struct mode *mode, double batch)
{
    static const double commands_per_call[] = {[ENQUEUE] = 1, [DRAIN] = 2, [COMBINED] = 3};
    double jobs = batch * mode->per_call / commands_per_call[mode->kind];
    return jobs < 1 ? 1 : (int64_t)(jobs + 0.5);
}

static double sqlite_rate(void *raw, enum jobs_kind kind, int64_t jobs, int64_t each)
{
    switch (kind) {
    case ENQUEUE:
        return raw_enqueue(raw, jobs, each);
    case DRAIN:
        return raw_drain(raw, jobs, each);
    case COMBINED:
        return raw_combined(raw, jobs, each);
    }
    return 0;
}

struct jobs_limit jobs_limit_sqlite(struct raw *raw)
{
    return (struct jobs_limit){sqlite_rate, raw};
}

/* Jobs per second; batch and the like are kept of the best repetition. */
static void measure(const struct mode *mode, struct port *port, int64_t total,
                    struct figure *figure)
{
    struct load load = {
        .port = port, .total = total, .lane_count = mode->lanes, .per_call = mode->per_call};
    for (int i = 0; i < mode->lanes; i++) {
        port_lane(port, &load.lanes[i], (size_t)i);
        load.lanes[i].owner = &load;
    }
    struct effort before, after;
    port->ops->effort(port, &before);
    int64_t commands = port->commands;
    double begin = bench_seconds();
    starts[mode->kind](&load);
    while (any_busy(&load))
        port->ops->poll(port);
    port->ops->effort(port, &after);
    if (load.finished != total)
        bench_die("%s: %lld of %lld jobs came through", mode->what, (long long)load.finished,
                  (long long)total);
    struct effort spent = effort_since(&before, &after);
    double rate = (double)total / (load.end - begin);
    if (figure->count == 0 || rate > figure_best(figure)) {
        figure->batch = effort_batch(&spent, port->commands - commands);
        figure->flushes = spent.flushes < 0 ? 0 : 1000.0 * (double)spent.flushes / (double)total;
        figure->cpu_us = spent.cpu_us / (double)total;
    }
    figure->values[figure->count++] = rate;
}

double w1_rate(struct port *port, enum jobs_kind kind, int64_t total)
{
    static const size_t modes_of[] = {[ENQUEUE] = 2, [DRAIN] = 5, [COMBINED] = 6};
    struct figure figure = {0};
    measure(&modes[modes_of[kind]], port, total, &figure);
    return figure.values[0];
}

static void measure_raw(const struct mode *mode, const struct jobs_trial *trial,
                        struct figure *figure)
{
    int64_t each = jobs_per_commit(mode, figure->batch);
    double rate = trial->limit.rate(trial->limit.ctx, mode->kind, trial->total, each);
    if (rate > figure->raw) {
        figure->raw = rate;
        figure->raw_batch = (double)each;
    }
}

static void name_figure(const struct mode *mode, const struct jobs_trial *trial,
                        struct figure *figure)
{
    (void)snprintf(figure->group, sizeof figure->group, "%s", trial->group);
    (void)snprintf(figure->what, sizeof figure->what, "%s", mode->what);
    (void)snprintf(figure->how, sizeof figure->how, "%s, %d client%s", trial->how, mode->lanes,
                   mode->lanes > 1 ? "s" : "");
    (void)snprintf(figure->unit, sizeof figure->unit, "jobs/s");
    figure->aim = strcmp(trial->port->ops->name, "HTTP") == 0 ? mode->aim
                                                              : trial->share_aim * figure->raw;
}

/* The raw limit is taken right behind each measurement: disks have moods. */
void w1_measure(const struct bench *bench, const struct jobs_trial *trial)
{
    size_t first = trial->loads ? FIRST_LOAD : 0;
    struct figure figures[COUNT_OF(modes)] = {0};
    for (int r = 0; r < bench->repeat; r++) {
        for (size_t i = first; i < COUNT_OF(modes); i++) {
            measure(&modes[i], trial->port, trial->total, &figures[i]);
            measure_raw(&modes[i], trial, &figures[i]);
        }
    }
    for (size_t i = first; i < COUNT_OF(modes); i++) {
        name_figure(&modes[i], trial, &figures[i]);
        report_add(bench->report, &figures[i]);
    }
}

static void run_port(const struct bench *bench, struct port *port, struct raw *raw)
{
    w1_measure(bench, &(struct jobs_trial){.group = "W1",
                                           .how = port->ops->name,
                                           .port = port,
                                           .limit = jobs_limit_sqlite(raw),
                                           .total = bench->quick ? 800 : 10000});
}

void w1_run(const struct bench *bench)
{
    report_group(bench->report, "W1  10,000 jobs of 400 bytes");
    report_note(bench->report, "A client has one call under way.  drain: lease up to so "
                               "many, complete them in one call.");
    report_note(bench->report, "combined: producers and waiting consumers at once, at most 16 jobs "
                               "in flight.  batch: commands per commit.");
    report_note(bench->report,
                "raw limit: the same rows straight to SQLite, as many jobs a commit; "
                "no reads, no protocol.  cpu: server only.");
    struct raw *raw = raw_open(bench, "w1-raw");
    struct port *http = port_http_open(bench, "w1-http");
    run_port(bench, http, raw);
    port_close(http);
    struct port *direct = port_direct_open_dir(bench, "w1-direct");
    run_port(bench, direct, raw);
    port_close(direct);
    raw_close(raw);
}
