/*
 * processed_events.h - which events a handler has dealt with.
 *
 * The log is delivered at least once.  A handler that enters an event in the transaction of its
 * effect has the effect exactly once: both are committed, or neither is.
 */
#ifndef STORE_PROCESSED_EVENTS_H
#define STORE_PROCESSED_EVENTS_H
#include "store/db.h"

struct processed_event {
    const char *consumer; /* The handler. */
    const char *event_id;
    int64_t processed_us;
};

/* *ret_first false: it was entered before; the effect must not happen again.  Of two transactions
   that enter it at the same time the second waits for the first. */
MUST_USE enum rc processed_events_enter(struct db *db, const struct processed_event *event,
                                        bool *ret_first, struct err *err);

struct processed_prune {
    int64_t before_us;
    int64_t limit; /* Rows at a time. */
};
MUST_USE enum rc processed_events_prune(struct db *db, const struct processed_prune *prune,
                                        int64_t *ret_count, struct err *err);
#endif
