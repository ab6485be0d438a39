/*
 * conductor.h - the Conductor of a node: follows the log and posts turns
 * (control/conductor/conduct.h).
 *
 *   the settled log ──► events that may concern an issue ──► a turn ──► events, tasks, its place
 *
 * It holds nothing that is not in the store: the place in memory is a copy, and is read again when
 * a turn finds another one.  While the store is away it waits.
 *
 * Invariants
 * 1. Of the nodes that share a store the one with the lease acts; another one takes over when the
 *    lease ends, at the place that is stored.
 * 2. A place without events of issues is stored at most every CONDUCTOR_SAVE_MS.
 */
#ifndef CONTROL_WATCH_CONDUCTOR_H
#define CONTROL_WATCH_CONDUCTOR_H
#include "control/commit/committer.h"
#include "control/watch/membership.h"
#include "core/conductor/conductor_config.h"
#include "store/store.h"

enum { CONDUCTOR_SAVE_MS = 10 * 1000, CONDUCTOR_SWEEP_MS = 5 * 1000 };

struct conductor; /* Owned by control. */
struct conductor_options {
    const struct conductor_config *config; /* Outlives it. */
    struct store *store;
    struct membership *membership;                       /* NULL: the store is not shared. */
    struct clock clock;                                  /* Monotonic. */
    enum rc (*call)(void *ctx, struct command *command); /* Posts and waits. */
    void *ctx;
};
struct conductor *conductor_new(const struct conductor_options *options);
/* One round, for the thread, tests and the simulator; how long until the next one. */
int64_t conductor_round(struct conductor *conductor);

MUST_USE enum rc conductor_start(struct conductor *conductor, struct err *err);
void conductor_wake(struct conductor *conductor); /* There are new events. */
void conductor_stop(struct conductor *conductor); /* Joins; NULL is fine, as below. */
void conductor_free(struct conductor *conductor);

struct conductor_view {
    bool acts;                        /* This node has the turn. */
    int64_t cursor_seq;               /* How far it has read. */
    int64_t turns, written, assigned; /* Since the start of this process. */
};
void conductor_look(struct conductor *conductor, struct conductor_view *ret_view);
#endif
