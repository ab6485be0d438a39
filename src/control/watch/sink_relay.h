/*
 * sink_relay.h - copies the settled log to the sinks: one relay and one thread for each of them.
 *
 *   cursor of the sink (store) ──► settled_read ──► deliver ──► the outcome moves the cursor
 *
 *             SINK_DELIVERED   behind the batch
 *             SINK_RETRY       behind what was delivered; again after a pause that grows
 *             SINK_REFUSED     behind the refused event, which becomes a dead letter of the sink
 *
 * Invariants
 * 1. The cursor moves after the records before it are durable at the sink, never before: after a
 *    crash at most one batch is delivered again.
 * 2. A sink that fails delays only itself.
 * 3. On a shared store a sink is driven by the node that holds its lease (sink/NAME): the relay
 *    looks before each batch, and the command that moves the cursor enters the lease.  A node that
 *    lost it closes the sink; what it delivered without moving the cursor is delivered again.
 */
#ifndef CONTROL_WATCH_SINK_RELAY_H
#define CONTROL_WATCH_SINK_RELAY_H
#include "base/clock.h"
#include "base/random.h"
#include "control/commit/committer.h"
#include "control/watch/membership.h"
#include "sink/sink.h"
#include "store/store.h"

struct sink_relay_options {
    const struct sink_config *config;
    struct store *store;
    struct membership *membership; /* NULL: the store is not shared. */
    const char *lease;             /* With a membership: one of its leases. */
    struct clock clock;            /* For pauses alone: its zero may be anywhere. */
    struct random random;
    /* Applies a command and waits: committer_call. */
    enum rc (*call)(void *ctx, struct command *command);
    void *ctx;
};

/* ---- one sink, without a thread: for the thread below and tests ---- */

struct sink_relay; /* Owned by its maker. */
struct sink_relay *sink_relay_new(const struct sink_relay_options *options);
void sink_relay_free(struct sink_relay *relay);
/* Delivers one batch at most.  How long until the next round: 0 when there is more to deliver. */
int64_t sink_relay_round(struct sink_relay *relay);

/* ---- all sinks of a node ---- */

struct sink_relays; /* Owned by control. */
struct sink_relays_options {
    const struct sink_configs *configs; /* Outlive the relays. */
    struct store *store;
    struct committer *committer;
    struct membership *membership; /* NULL: the store is not shared. */
    const char *const *leases;     /* With a membership: one for each sink. */
    struct random *random;
};
struct sink_relays *sink_relays_new(const struct sink_relays_options *options);
MUST_USE enum rc sink_relays_start(struct sink_relays *relays, struct err *err);
void sink_relays_wake(struct sink_relays *relays); /* There are new events. */
/* Ends the threads after the batch that each of them is at.  Before the committer is stopped. */
void sink_relays_stop(struct sink_relays *relays);
void sink_relays_free(struct sink_relays *relays); /* NULL is fine, as for stop. */
#endif
