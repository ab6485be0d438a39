/*
 * bus_meters.h - what went over the bus, counted by type and by actor or subscriber.
 *
 * Labels are bounded: types of the table of events, one more for all others, kinds of actors and of
 * subscribers.  Counters only grow; they are written without a lock.
 */
#ifndef CONTROL_WATCH_BUS_METERS_H
#define CONTROL_WATCH_BUS_METERS_H
#include "control/watch/bus_subscriber.h"
#include "core/event_types.h"
#include <stdint.h>

enum bus_actor {
    BUS_ACTOR_USER,
    BUS_ACTOR_WORKER,
    BUS_ACTOR_AGENT,
    BUS_ACTOR_SYSTEM,
    BUS_ACTOR_OTHER,
    BUS_ACTOR_COUNT
};

enum { BUS_TYPE_COUNT = EVENT_TYPE_COUNT + 1 }; /* The last one: any other. */
enum { BUS_LATENCY_COUNT = 10 };                /* Of buckets; the last one has no bound. */
extern const int64_t bus_latency_bounds_us[BUS_LATENCY_COUNT - 1];

enum bus_meter_kind {
    BUS_DELIVERED, /* Taken by the subscriber. */
    BUS_DROPPED,   /* Did not fit into its channel. */
    BUS_COALESCED, /* A newer one took its place. */
    BUS_METER_COUNT
};

struct bus_meters; /* Owned by the bus. */
struct bus_meters *bus_meters_new(void);
void bus_meters_free(struct bus_meters *meters);

/* What is counted: types by their index in the table, or EVENT_TYPE_COUNT. */
struct bus_point {
    enum bus_subscriber who;
    size_t type;
};
void bus_meters_publish(struct bus_meters *meters, size_t type, const char *actor_type);
void bus_meters_count(struct bus_meters *meters, struct bus_point point, enum bus_meter_kind kind);
/* Counts it as delivered, too. */
void bus_meters_latency(struct bus_meters *meters, struct bus_point point, int64_t took_us);

const char *bus_type_name(size_t type); /* "other" for the last. */
const char *bus_actor_name(enum bus_actor actor);
int64_t bus_meters_published(const struct bus_meters *meters, size_t type, enum bus_actor actor);
struct bus_meter {
    int64_t counts[BUS_METER_COUNT];
    int64_t buckets[BUS_LATENCY_COUNT]; /* Not cumulative. */
    int64_t sum_us;
};
void bus_meters_read(const struct bus_meters *meters, struct bus_point point,
                     struct bus_meter *ret_meter);
#endif
