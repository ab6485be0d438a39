#include "control/watch/bus_meters.h"
#include "base/mem.h"
#include "base/str.h"
#include <assert.h>
#include <stdatomic.h>

const int64_t bus_latency_bounds_us[BUS_LATENCY_COUNT - 1] = {1000,  2500,   5000,   10000,  20000,
                                                              50000, 100000, 250000, 1000000};

struct point_counters {
    atomic_int_fast64_t counts[BUS_METER_COUNT];
    atomic_int_fast64_t buckets[BUS_LATENCY_COUNT];
    atomic_int_fast64_t sum_us;
};

struct bus_meters {
    atomic_int_fast64_t published[BUS_TYPE_COUNT][BUS_ACTOR_COUNT];
    struct point_counters points[BUS_SUBSCRIBER_COUNT][BUS_TYPE_COUNT];
};

struct bus_meters *bus_meters_new(void)
{
    return mem_alloc(sizeof(struct bus_meters));
}

void bus_meters_free(struct bus_meters *meters)
{
    mem_free(meters);
}

static void add(atomic_int_fast64_t *counter, int64_t value)
{
    atomic_fetch_add_explicit(counter, value, memory_order_relaxed);
}

const char *bus_type_name(size_t type)
{
    const struct event_type *entry = type < EVENT_TYPE_COUNT ? event_type_at(type) : NULL;
    return entry != NULL ? entry->type : "other";
}

static const char *const actor_names[BUS_ACTOR_COUNT] = {
    [BUS_ACTOR_USER] = "user",     [BUS_ACTOR_WORKER] = "worker", [BUS_ACTOR_AGENT] = "agent",
    [BUS_ACTOR_SYSTEM] = "system", [BUS_ACTOR_OTHER] = "other",
};

const char *bus_actor_name(enum bus_actor actor)
{
    assert((size_t)actor < BUS_ACTOR_COUNT);
    return actor_names[actor];
}

static enum bus_actor actor_of(const char *type)
{
    for (int i = 0; i < BUS_ACTOR_OTHER; i++)
        if (text_same(actor_names[i], type))
            return (enum bus_actor)i;
    return BUS_ACTOR_OTHER;
}

void bus_meters_publish(struct bus_meters *meters, size_t type, const char *actor_type)
{
    assert(type < BUS_TYPE_COUNT);
    add(&meters->published[type][actor_of(actor_type)], 1);
}

static struct point_counters *at(struct bus_meters *meters, struct bus_point point)
{
    assert(point.type < BUS_TYPE_COUNT && (size_t)point.who < BUS_SUBSCRIBER_COUNT);
    return &meters->points[point.who][point.type];
}

void bus_meters_count(struct bus_meters *meters, struct bus_point point, enum bus_meter_kind kind)
{
    add(&at(meters, point)->counts[kind], 1);
}

void bus_meters_latency(struct bus_meters *meters, struct bus_point point, int64_t took_us)
{
    struct point_counters *counters = at(meters, point);
    size_t bucket = 0;
    while (bucket < BUS_LATENCY_COUNT - 1 && took_us > bus_latency_bounds_us[bucket])
        bucket++;
    add(&counters->counts[BUS_DELIVERED], 1);
    add(&counters->buckets[bucket], 1);
    add(&counters->sum_us, took_us > 0 ? took_us : 0);
}

int64_t bus_meters_published(const struct bus_meters *meters, size_t type, enum bus_actor actor)
{
    return atomic_load_explicit(&meters->published[type][actor], memory_order_relaxed);
}

void bus_meters_read(const struct bus_meters *meters, struct bus_point point,
                     struct bus_meter *ret_meter)
{
    const struct point_counters *counters = &meters->points[point.who][point.type];
    for (size_t i = 0; i < BUS_METER_COUNT; i++)
        ret_meter->counts[i] = atomic_load_explicit(&counters->counts[i], memory_order_relaxed);
    for (size_t i = 0; i < BUS_LATENCY_COUNT; i++)
        ret_meter->buckets[i] = atomic_load_explicit(&counters->buckets[i], memory_order_relaxed);
    ret_meter->sum_us = atomic_load_explicit(&counters->sum_us, memory_order_relaxed);
}
