/*
 * w3.c - how long a waiting worker sleeps on: from the call that enqueues a job to the answer of
 * the lease call that waits for it.  The job is on disk by then: one flush is part of it.
 */
#include "bench/port.h"
#include "bench/report.h"
#include <stdio.h>
#include <string.h>

enum { SAMPLES = 200, WAIT_MS = 10000, SETTLE_MS = 3 };

static void on_any(struct lane *lane)
{
    double *at = lane->owner;
    *at = bench_seconds();
}

static void wait_for(struct port *port, const struct lane *lane)
{
    while (lane->busy)
        port->ops->poll(port);
}

/* Milliseconds. */
static double wake_up(struct port *port, struct lane *waiter, struct lane *producer)
{
    lane_lease(waiter, 1, WAIT_MS);
    bench_pause_ms(SETTLE_MS); /* The lease has arrived and waits. */
    double begin = bench_seconds();
    lane_enqueue(producer, 1);
    wait_for(port, waiter);
    double took = (*(double *)waiter->owner - begin) * 1000;
    if (waiter->job_count != 1)
        bench_die("a job was enqueued, and the lease that waits for it does not get it");
    wait_for(port, producer);
    lane_complete(waiter);
    wait_for(port, waiter);
    return took;
}

static void measure(const struct bench *bench, struct port *port)
{
    struct figure p50 = {
        .group = "W3", .what = "p50", .unit = "ms", .better = LESS_IS_BETTER, .aim = 0.5};
    struct figure p99 = {
        .group = "W3", .what = "p99", .unit = "ms", .better = LESS_IS_BETTER, .aim = 1.0};
    if (strcmp(port->ops->name, "HTTP") != 0)
        p50.aim = p99.aim = 0;
    size_t samples = bench->quick ? 20 : SAMPLES;
    double at[2], took[SAMPLES];
    struct lane waiter, producer;
    port_lane(port, &waiter, 0);
    port_lane(port, &producer, 1);
    waiter.answered = producer.answered = on_any;
    waiter.owner = &at[0];
    producer.owner = &at[1];
    for (int r = 0; r < bench->repeat; r++) {
        for (size_t i = 0; i < samples; i++)
            took[i] = wake_up(port, &waiter, &producer);
        p50.values[p50.count++] = bench_percentile(took, samples, 0.5);
        p99.values[p99.count++] = bench_percentile(took, samples, 0.99);
    }
    (void)snprintf(p50.how, sizeof p50.how, "%s, %zu samples", port->ops->name, samples);
    (void)snprintf(p99.how, sizeof p99.how, "%s, %zu samples", port->ops->name, samples);
    report_add(bench->report, &p50);
    report_add(bench->report, &p99);
}

void w3_run(const struct bench *bench)
{
    report_group(bench->report, "W3  enqueue call to the waiting lease's answer");
    struct port *http = port_http_open(bench, "w3-http");
    measure(bench, http);
    port_close(http);
    struct port *direct = port_direct_open(bench, "w3-direct");
    measure(bench, direct);
    port_close(direct);
}
