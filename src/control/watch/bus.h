/*
 * bus.h - delivers events in memory, from the log's tail to subscribers.
 *
 * Posting never blocks the sender on a slow subscriber: every subscription has a bounded
 * channel, and what does not fit is dropped by its rule and counted.  The log stays the truth:
 * a subscriber that lost something reads it there.
 * An envelope is immutable and shared by all its subscribers; hence the reference count.
 */
#ifndef CONTROL_WATCH_BUS_H
#define CONTROL_WATCH_BUS_H
#include "core/event.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bus;
struct subscription;

struct envelope {
    int64_t seq;
    const char *type;
    struct id task_id, run_id;
    enum severity severity;
    struct str json; /* The CloudEvent. */
    int64_t refs;    /* Private to bus.c. */
};
/* One reference, the caller's.  NULL: it would pass ENVELOPE_BYTES_MAX. */
enum { ENVELOPE_BYTES_MAX = 1024 * 1024 };
struct envelope *envelope_new(const struct event *event);
void envelope_unref(struct envelope *envelope); /* NULL is fine. */

enum { BUS_PATTERNS_MAX = 12 };
struct bus_filter {
    const char *types[BUS_PATTERNS_MAX + 1]; /* Patterns, NULL-terminated; none: all. Copied. */
    struct id task_id, run_id;               /* none: any */
    bool with_task; /* With both ids: events of the task without a run too. */
    enum severity min_severity;
    int64_t after_seq; /* Only later ones. */
};

enum bus_overflow {
    BUS_DROP_OLDEST,
    BUS_COALESCE, /* One of a type per run is enough: a newer one replaces it. */
    BUS_DROP_NEW
};

struct subscription_options {
    const char *name; /* For metrics. */
    struct bus_filter filter;
    size_t capacity;
    size_t bytes_max; /* Of the JSON in the channel, beside the newest; 0: no limit. */
    enum bus_overflow overflow;
    /* Called when something arrives in an empty channel, on the sender's thread: must be quick
       and must not call the bus.  Or NULL. */
    void (*wake)(void *ctx);
    void *ctx;
};

struct bus *bus_new(void);
void bus_free(struct bus *bus);    /* No subscriber may be left. */
bool bus_is_idle(struct bus *bus); /* There is no subscriber. */
/* Does the filter of a subscription match?  Else the envelope need not be made. */
bool bus_wants(struct bus *bus, const struct event *event);
void bus_post(struct bus *bus, struct envelope *envelope);
struct subscription *bus_subscribe(struct bus *bus, const struct subscription_options *options);
void bus_unsubscribe(struct bus *bus, struct subscription *subscription);
/* The oldest, or NULL; the caller unrefs it. */
struct envelope *subscription_take(struct subscription *subscription);
/* How many were dropped since the last call. */
int64_t subscription_dropped(struct subscription *subscription);
/* Wakes every subscriber: for shutdown. */
void bus_close(struct bus *bus);

struct bus_stats {
    int64_t posted, delivered, dropped, subscribers;
};
void bus_stats(struct bus *bus, struct bus_stats *ret_stats);
#endif
