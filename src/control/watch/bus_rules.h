/*
 * bus_rules.h - `bus` of the server's configuration: what channels hold, and what becomes of what
 * does not fit, by subscriber and by type of event.
 *
 *     bus:
 *       latencyBudgetMs: 50          # a post that takes longer is logged and counted
 *       drainMs: 2000                # at shutdown, for what is still in channels
 *       subscribers:                 # the first whose name fits
 *         - {name: sse.*, capacity: 1024, overflow: block, latencyBudgetMs: 20,
 *            types: [{type: agent.model.>, overflow: coalesce}]}
 *       types:                       # of all subscribers
 *         - {type: agent.tool.call.*, capacity: 64, overflow: drop-oldest}
 *
 * For one event in one channel the first of these counts that says something: `types` of the
 * subscriber, `types` of all, the subscriber, the default of its kind (bus_subscriber.h).
 */
#ifndef CONTROL_WATCH_BUS_RULES_H
#define CONTROL_WATCH_BUS_RULES_H
#include "base/arena.h"
#include "base/js.h"
#include "control/watch/bus_subscriber.h"
#include <stdint.h>

enum {
    BUS_RULES_MAX = 32,
    BUS_CAPACITY_MAX = 65536,
    BUS_LATENCY_MS_DEFAULT = 50,
    BUS_LATENCY_MS_MAX = 1000,
    BUS_DRAIN_MS_DEFAULT = 2000,
    BUS_DRAIN_MS_MAX = 4000,
};

struct bus_type_rule {
    const char *pattern; /* Of types. */
    int64_t capacity;    /* Of this pattern in a channel; 0: as many as it holds. */
    int overflow;        /* enum bus_overflow; -1: as otherwise */
};
struct bus_type_rules {
    const struct bus_type_rule *items;
    size_t count;
};

struct bus_subscriber_rule {
    const char *pattern; /* Of names, as those of types: sse.* */
    int64_t capacity;    /* 0: as its kind */
    int overflow;        /* -1: as its kind */
    int64_t latency_us;  /* How long BUS_BLOCK waits; 0: the budget of all. */
    struct bus_type_rules types;
};

struct bus_rules { /* {0}: all as usual. */
    int64_t latency_us;
    int64_t drain_us;
    const struct bus_subscriber_rule *subscribers;
    size_t subscriber_count;
    struct bus_type_rules types;
};

/* Texts live in the arena.  RC_INVALID names the field. */
MUST_USE enum rc bus_rules_decode(const struct js *object, const char *path, struct arena *arena,
                                  struct bus_rules *ret_rules, struct err *err);
int64_t bus_rules_latency_us(const struct bus_rules *rules);
int64_t bus_rules_drain_us(const struct bus_rules *rules);

/* What holds for the channels of one subscriber. */
struct bus_policy {
    size_t capacity;
    enum bus_overflow overflow;
    int64_t latency_us;
    const struct bus_type_rules *own, *all; /* NULL: none */
};
struct bus_policy bus_rules_policy(const struct bus_rules *rules, enum bus_subscriber who);

/* And for one event in them. */
struct bus_type_policy {
    enum bus_overflow overflow;
    const char *pattern; /* With a capacity: of these types; else NULL. */
    size_t capacity;
};
struct bus_type_policy bus_policy_of_type(const struct bus_policy *policy, const char *type);
#endif
