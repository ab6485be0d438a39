#include "api/metrics_bus.h"
#include "api/metrics_text.h"
#include "base/clock.h"
#include <inttypes.h>
#include <stdio.h>

enum { BOUND_BYTES = 32 };

static void write_published(const struct bus_meters *meters, struct buf *to)
{
    static const char name[] = "events_published_total";
    metrics_family(to, name, "counter", "Events read from the log, by type and kind of actor.");
    for (size_t type = 0; type < BUS_TYPE_COUNT; type++) {
        for (int actor = 0; actor < BUS_ACTOR_COUNT; actor++) {
            int64_t count = bus_meters_published(meters, type, (enum bus_actor)actor);
            const struct metrics_label labels[] = {
                {"type", bus_type_name(type)}, {"actor", bus_actor_name((enum bus_actor)actor)}};
            if (count > 0)
                metrics_sample(to, name, labels, COUNT_OF(labels), count);
        }
    }
}

static const struct counter {
    enum bus_meter_kind kind;
    const char *name, *help;
} counters[] = {
    {BUS_DELIVERED, "events_delivered_total", "Events that a subscriber has taken."},
    {BUS_DROPPED, "events_dropped_total",
     "Events that did not fit into a channel (streams read them in the log)."},
    {BUS_COALESCED, "events_coalesced_total", "Events that a newer one has replaced in a channel."},
};

static void write_counter(const struct bus_meters *meters, const struct counter *counter,
                          struct buf *to)
{
    metrics_family(to, counter->name, "counter", counter->help);
    for (int who = 0; who < BUS_SUBSCRIBER_COUNT; who++) {
        for (size_t type = 0; type < BUS_TYPE_COUNT; type++) {
            const struct bus_point point = {(enum bus_subscriber)who, type};
            const struct metrics_label labels[] = {{"type", bus_type_name(type)},
                                                   {"subscriber", bus_default(point.who)->name}};
            struct bus_meter meter;
            bus_meters_read(meters, point, &meter);
            if (meter.counts[counter->kind] > 0)
                metrics_sample(to, counter->name, labels, COUNT_OF(labels),
                               meter.counts[counter->kind]);
        }
    }
}

/* Buckets of Prometheus hold all that took so long or less. */
static void write_histogram(const struct bus_point *point, const struct bus_meter *meter,
                            struct buf *to)
{
    char bound[BOUND_BYTES];
    struct metrics_label labels[] = {{"type", bus_type_name(point->type)},
                                     {"subscriber", bus_default(point->who)->name},
                                     {"le", bound}};
    int64_t sum = 0;
    for (size_t i = 0; i < BUS_LATENCY_COUNT; i++) {
        sum += meter->buckets[i];
        if (i + 1 < BUS_LATENCY_COUNT)
            (void)snprintf(bound, sizeof bound, "%g", (double)bus_latency_bounds_us[i] / 1e6);
        else
            (void)snprintf(bound, sizeof bound, "+Inf");
        metrics_sample(to, "event_delivery_latency_seconds_bucket", labels, 3, sum);
    }
    metrics_seconds(to, "event_delivery_latency_seconds_sum", labels, 2, meter->sum_us);
    metrics_sample(to, "event_delivery_latency_seconds_count", labels, 2, sum);
}

static void write_latency(const struct bus_meters *meters, struct buf *to)
{
    metrics_family(to, "event_delivery_latency_seconds", "histogram",
                   "From the post of an event to its subscriber taking it.");
    for (int who = 0; who < BUS_SUBSCRIBER_COUNT; who++) {
        for (size_t type = 0; type < BUS_TYPE_COUNT; type++) {
            const struct bus_point point = {(enum bus_subscriber)who, type};
            struct bus_meter meter;
            bus_meters_read(meters, point, &meter);
            if (meter.counts[BUS_DELIVERED] > 0)
                write_histogram(&point, &meter, to);
        }
    }
}

static void write_channels(const struct bus_stats *stats, struct buf *to)
{
    static const char name[] = "subscriber_channel_capacity_percent";
    metrics_family(to, name, "gauge", "How full the fullest channel of a subscriber is.");
    for (int who = 0; who < BUS_SUBSCRIBER_COUNT; who++) {
        const struct metrics_label label = {"subscriber",
                                            bus_default((enum bus_subscriber)who)->name};
        metrics_sample(to, name, &label, 1, stats->percent[who]);
    }
}

void metrics_bus_write(struct bus *bus, struct buf *to)
{
    struct bus_stats stats;
    bus_stats(bus, &stats);
    metrics_single(to, "drover_bus_published_total", "counter", "Events posted to subscribers.",
                   stats.posted);
    metrics_single(to, "drover_bus_delivered_total", "counter", "Events put into channels.",
                   stats.delivered);
    metrics_single(to, "drover_bus_dropped_total", "counter",
                   "Events that did not fit into a channel (streams read them in the log).",
                   stats.dropped);
    metrics_single(to, "drover_bus_subscribers", "gauge", "Subscriptions.", stats.subscribers);
    metrics_single(to, "drover_bus_slow_posts_total", "counter",
                   "Posts that took longer than the latency budget.", stats.slow);
    metrics_single(to, "drover_bus_blocked_posts_total", "counter",
                   "Posts that waited for room in a channel.", stats.waited);
    metrics_single(to, "drover_bus_block_timeouts_total", "counter",
                   "Waits for room that ended without it: the oldest event was dropped.",
                   stats.gave_up);
    metrics_single(to, "drover_bus_passed_over_total", "counter",
                   "Events that cannot be sent and were passed over.", stats.passed_over);
    write_channels(&stats, to);
    write_published(bus_meters(bus), to);
    for (size_t i = 0; i < COUNT_OF(counters); i++)
        write_counter(bus_meters(bus), &counters[i], to);
    write_latency(bus_meters(bus), to);
}
