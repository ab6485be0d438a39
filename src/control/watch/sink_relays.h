/*
 * sink_relays.h - the relays of a node: one thread for each sink that is not paused.
 *
 *   the server's configuration ──┐
 *                                ├──► what should run ──► relays are started and stopped
 *   rows of sinks (store) ───────┘
 *
 * One thread compares what should run with what does: at the start, when a command of this node has
 * changed a sink, and on a shared store every SINK_RELAYS_EVERY_MS, for commands of other nodes.
 *
 * Invariants
 * 1. A sink has one relay at most in this process, and a relay has one configuration: a change
 *    stops the relay after the batch under way and makes another one.
 * 2. There are at most SINKS_MAX + SINKS_MADE_MAX of them, with as many leases.
 */
#ifndef CONTROL_WATCH_SINK_RELAYS_H
#define CONTROL_WATCH_SINK_RELAYS_H
#include "base/random.h"
#include "control/commit/committer.h"
#include "control/watch/membership.h"
#include "sink/sink.h"
#include "store/store.h"

enum { SINK_RELAYS_EVERY_MS = 2000 };

/* Refuses a configuration that this node must not use. */
struct sink_guard {
    enum rc (*check)(void *ctx, const struct sink_config *config, struct err *err); /* or NULL */
    void *ctx;
};

struct sink_relays; /* Owned by control. */
struct sink_relays_options {
    const struct sink_configs *configs; /* Outlive the relays. */
    struct store *store;
    struct committer *committer;
    struct membership *membership; /* NULL: the store is not shared. */
    struct random *random;
    struct sink_guard guard; /* For those that the API has made. */
};
struct sink_relays *sink_relays_new(const struct sink_relays_options *options);
MUST_USE enum rc sink_relays_start(struct sink_relays *relays, struct err *err);
void sink_relays_wake(struct sink_relays *relays);   /* There are new events. */
void sink_relays_reload(struct sink_relays *relays); /* A command has changed a sink. */
/* Ends the threads after the batch that each of them is at.  Before the committer is stopped. */
void sink_relays_stop(struct sink_relays *relays);
void sink_relays_free(struct sink_relays *relays); /* NULL is fine, as for stop. */
#endif
