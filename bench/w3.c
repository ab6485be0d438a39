/*
 * w3.c - how long a waiting worker sleeps on: from the call that enqueues a job to the answer of
 * the lease call that waits for it.  The job is on disk by then: one flush is part of it.
 */
#include "bench/w3.h"
#include "bench/report.h"
#include <stdio.h>
#include <string.h>

enum { SAMPLES = 200, WAIT_MS = 10000, SETTLE_MS = 3 };

static void on_any(struct lane *lane)
{
    double *at = lane->owner;
    *at = bench_seconds();
}

static void wait_for(const struct lane *lane)
{
    while (lane->busy)
        lane->port->ops->poll(lane->port);
}

/* Milliseconds. */
static double wake_up(struct lane *waiter, struct lane *producer)
{
    lane_lease(waiter, 1, WAIT_MS);
    bench_pause_ms(SETTLE_MS); /* The lease has arrived and waits. */
    double begin = bench_seconds();
    lane_enqueue(producer, 1);
    wait_for(waiter);
    double took = (*(double *)waiter->owner - begin) * 1000;
    if (waiter->job_count != 1)
        bench_die("a job was enqueued, and the lease that waits for it does not get it");
    wait_for(producer);
    lane_complete(waiter);
    wait_for(waiter);
    return took;
}

static struct figure figure_of(const struct wake_trial *trial, const char *what, size_t samples)
{
    struct figure figure = {.unit = "ms", .better = LESS_IS_BETTER};
    (void)snprintf(figure.group, sizeof figure.group, "%s", trial->group);
    (void)snprintf(figure.what, sizeof figure.what, "%s%s", trial->what, what);
    (void)snprintf(figure.how, sizeof figure.how, "%s, %zu samples", trial->how, samples);
    return figure;
}

void w3_measure(const struct bench *bench, const struct wake_trial *trial)
{
    size_t samples = bench->quick ? 20 : SAMPLES;
    struct figure p50 = figure_of(trial, "p50", samples);
    struct figure p99 = figure_of(trial, "p99", samples);
    if (strcmp(trial->waiter->ops->name, "HTTP") == 0) {
        p50.aim = 0.5;
        p99.aim = 1.0;
    }
    double at[2], took[SAMPLES];
    struct lane waiter, producer;
    port_lane(trial->waiter, &waiter, 0);
    port_lane(trial->producer, &producer, 1);
    waiter.answered = producer.answered = on_any;
    waiter.owner = &at[0];
    producer.owner = &at[1];
    for (int r = 0; r < bench->repeat; r++) {
        for (size_t i = 0; i < samples; i++)
            took[i] = wake_up(&waiter, &producer);
        p50.values[p50.count++] = bench_percentile(took, samples, 0.5);
        p99.values[p99.count++] = bench_percentile(took, samples, 0.99);
    }
    report_add(bench->report, &p50);
    report_add(bench->report, &p99);
}

static void measure(const struct bench *bench, struct port *port)
{
    w3_measure(
        bench,
        &(struct wake_trial){
            .group = "W3", .what = "", .how = port->ops->name, .waiter = port, .producer = port});
}

void w3_run(const struct bench *bench)
{
    report_group(bench->report, "W3  enqueue call to the waiting lease's answer");
    struct port *http = port_http_open(bench, "w3-http");
    measure(bench, http);
    port_close(http);
    struct port *direct = port_direct_open_dir(bench, "w3-direct");
    measure(bench, direct);
    port_close(direct);
}
