/*
 * bus.h - delivers events in memory, from the log's tail to subscribers.
 *
 * Posting never waits for a slow subscriber beyond a budget: every subscription has a bounded
 * channel, and what does not fit is dropped by its rule, counted and logged.  The log stays the
 * truth: a subscriber that lost something reads it there.  Committing never waits for the bus: the
 * tail (tail.h) posts events after they are committed.
 *
 * A post that takes longer than the latency budget is counted and logged.  With BUS_BLOCK the
 * sender waits for room as long as the budget of the subscriber; one that let it pass is not waited
 * for again until it has taken something.
 */
#ifndef CONTROL_WATCH_BUS_H
#define CONTROL_WATCH_BUS_H
#include "control/watch/bus_channel.h"
#include "control/watch/bus_filter.h"
#include "control/watch/bus_meters.h"
#include "control/watch/bus_rules.h"

struct bus;
struct subscription;

struct subscription_options {
    enum bus_subscriber who;
    struct bus_filter filter; /* Copied. */
    struct channel_bytes bytes;
    /* Called when something arrives in an empty channel, or was lost, on the sender's thread: must
       be quick and must not call the bus.  Or NULL. */
    void (*wake)(void *ctx);
    void *ctx;
};

/* rules: not copied; NULL: none. */
struct bus *bus_new(const struct bus_rules *rules);
void bus_free(struct bus *bus);    /* No subscriber may be left. */
bool bus_is_idle(struct bus *bus); /* There is no subscriber. */
/* Does the filter of a subscription match?  Else the envelope need not be made. */
bool bus_wants(struct bus *bus, const struct event *event);
/* Counts an event that was published, wanted or not. */
void bus_published(struct bus *bus, const struct event *event);
void bus_post(struct bus *bus, struct envelope *envelope);
/* An event that cannot be sent: it is logged and passed over.  Subscribers that want it have lost
   something, and read the log again. */
void bus_pass_over(struct bus *bus, const struct event *event, const char *why);

struct subscription *bus_subscribe(struct bus *bus, const struct subscription_options *options);
void bus_unsubscribe(struct bus *bus, struct subscription *subscription);
/* The oldest, or NULL; the caller unrefs it. */
struct envelope *subscription_take(struct subscription *subscription);
/* The oldest ones, up to so many and as long as their JSON has fewer bytes than that; always one.
   *ret_lost: how many were lost since the last call, in front of these or between. */
struct subscription_batch {
    struct envelope **items;
    size_t max, bytes_max;
};
size_t subscription_take_batch(struct subscription *subscription,
                               const struct subscription_batch *batch, int64_t *ret_lost);
/* How many were lost since the last call: dropped, or replaced by a newer one. */
int64_t subscription_lost(struct subscription *subscription);

/* Wakes every subscriber: for shutdown. */
void bus_close(struct bus *bus);

struct bus_stats {
    int64_t posted;
    int64_t delivered; /* Put into channels. */
    int64_t dropped, coalesced;
    int64_t subscribers;
    int64_t slow;                          /* Posts that took longer than the latency budget. */
    int64_t waited;                        /* Posts that waited for room. */
    int64_t gave_up;                       /* Waits that ended without room. */
    int64_t passed_over;                   /* Events that cannot be sent. */
    int64_t percent[BUS_SUBSCRIBER_COUNT]; /* Of the fullest channel of a kind. */
};
void bus_stats(struct bus *bus, struct bus_stats *ret_stats);
const struct bus_meters *bus_meters(const struct bus *bus);
#endif
