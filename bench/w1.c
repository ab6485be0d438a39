/*
 * w1.c - 10,000 jobs of 400 bytes through the job protocol, over HTTP and in process.
 *
 *   enqueue    every lane sends the next call as soon as the last one is answered
 *   drain      16 lanes: lease up to so many, complete them in one call, lease again
 *   combined   16 producers, 16 consumers, at most 16 jobs in flight: a new one is enqueued when
 *              one is completed; each is enqueued, leased and completed alone
 */
#include "bench/port.h"
#include "bench/raw.h"
#include "bench/report.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>

enum { LANES = 16, BATCH = 100, BATCH_LANES = 4, CONSUMER_WAIT_MS = 200 };

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

static void on_produced(struct lane *lane)
{
    (void)lane; /* Idle until a job is completed. */
}

static void on_consumed(struct lane *lane);

static void on_taken(struct lane *lane)
{
    struct load *load = lane->owner;
    if (lane->job_count > 0) {
        lane->answered = on_consumed;
        lane_complete(lane);
    } else if (load->finished < load->total) {
        lane_lease(lane, 1, CONSUMER_WAIT_MS);
    }
}

/* A job can be completed before its producer has heard that it was enqueued. */
static struct lane *idle_producer(struct load *load)
{
    for (int i = 0; i < LANES; i++)
        if (!load->lanes[i].busy)
            return &load->lanes[i];
    return NULL;
}

static void produce(struct load *load)
{
    struct lane *lane;
    while (load->sent < load->total && load->sent - load->finished < LANES &&
           (lane = idle_producer(load)) != NULL) {
        load->sent++;
        lane_enqueue(lane, 1);
    }
}

static void on_produced_late(struct lane *lane)
{
    on_produced(lane);
    produce(lane->owner);
}

static void on_consumed(struct lane *lane)
{
    struct load *load = lane->owner;
    finish(load, 1);
    produce(load);
    lane->answered = on_taken;
    if (load->finished < load->total)
        lane_lease(lane, 1, CONSUMER_WAIT_MS);
}

static void start_combined(struct load *load)
{
    for (int i = LANES; i < 2 * LANES; i++) {
        load->lanes[i].answered = on_taken;
        lane_lease(&load->lanes[i], 1, CONSUMER_WAIT_MS);
    }
    for (int i = 0; i < LANES; i++)
        load->lanes[i].answered = on_produced_late;
    produce(load);
}

/* ---- measuring ---- */

struct mode {
    const char *what, *how; /* how: behind the port's name */
    void (*start)(struct load *load);
    int lanes, per_call;
    double aim[2]; /* HTTP, in process */
};

static const struct mode modes[] = {
    {"enqueue, one at a time", "16 lanes", start_enqueue, LANES, 1, {5500, 0}},
    {"drain, one at a time", "16 lanes", start_drain, LANES, 1, {0, 45000}},
    {"enqueue, batches of 100", "4 lanes", start_enqueue, BATCH_LANES, BATCH, {60000, 0}},
    {"drain, 10 a call", "16 lanes", start_drain, LANES, 10, {45000, 0}},
    {"combined, 16 in flight", "16+16 lanes", start_combined, 2 * LANES, 1, {0, 17000}},
};

static double measure(const struct mode *mode, struct port *port, int64_t total,
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
    mode->start(&load);
    while (any_busy(&load))
        port->ops->poll(port);
    port->ops->effort(port, &after);
    if (load.finished != total)
        bench_die("%s: %lld of %lld jobs came through", mode->what, (long long)load.finished,
                  (long long)total);
    struct effort spent = effort_since(&before, &after);
    double rate = (double)total / (load.end - begin);
    if (figure->count == 0 || rate > figure_best(figure)) {
        figure->batch = (double)(port->commands - commands) / (double)spent.commits;
        figure->flushes = spent.flushes < 0 ? 0 : 1000.0 * (double)spent.flushes / (double)total;
        figure->cpu_us = spent.cpu_us / (double)total;
    }
    figure->values[figure->count++] = rate;
    return rate;
}
