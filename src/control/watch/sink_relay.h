/*
 * sink_relay.h - copies the settled log to one sink.
 *
 *   cursor of the sink (store) ──► settled_read ──► deliver ──► the outcome moves the cursor
 *
 *             SINK_DELIVERED   behind what was delivered
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
 * 4. No batch begins after the API has changed the sink, paused or removed it: the relay compares
 *    the revision in the store before each one.
 *
 * After several failures the breaker opens, and single events are tried until one is accepted.
 * Dead letters that are to be replayed are delivered before the log is read further.  When there
 * are SINK_LETTERS_MAX of them, a further refusal is a failure: the sink waits for people.
 */
#ifndef CONTROL_WATCH_SINK_RELAY_H
#define CONTROL_WATCH_SINK_RELAY_H
#include "base/clock.h"
#include "base/random.h"
#include "control/commit/command.h"
#include "control/watch/membership.h"
#include "sink/sink.h"
#include "store/store.h"

struct sink_relay_options {
    const struct sink_config *config; /* Outlives the relay. */
    int64_t revision;                 /* Of the row that the configuration goes with; 0: of none. */
    bool made;                        /* By the API: without a row it is gone. */
    struct store *store;
    struct membership *membership; /* NULL: the store is not shared. */
    const char *lease;             /* With a membership: one that it wants. */
    struct clock clock;            /* For pauses alone: its zero may be anywhere. */
    struct random random;
    /* Applies a command and waits: committer_call. */
    enum rc (*call)(void *ctx, struct command *command);
    void *ctx;
    /* NULL, or: the row has another revision, or is gone; the relay does nothing more. */
    void (*changed)(void *changed_ctx);
    void *changed_ctx;
};

struct sink_relay; /* Owned by its maker. */
struct sink_relay *sink_relay_new(const struct sink_relay_options *options);
void sink_relay_free(struct sink_relay *relay); /* NULL is fine. */
/* Delivers one batch at most.  How long until the next round: 0 when there is more to deliver. */
int64_t sink_relay_round(struct sink_relay *relay);
#endif
