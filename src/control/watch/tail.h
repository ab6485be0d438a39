/*
 * tail.h - follows the log in order and publishes events that have settled (store/settled.h) to the
 * bus.  A wake-up is only a hint: the tail reads the store, and from time to time without one.
 */
#ifndef CONTROL_WATCH_TAIL_H
#define CONTROL_WATCH_TAIL_H
#include "control/watch/bus.h"
#include "store/store.h"

struct tail; /* Owned by control. */

/* Starts at the end of the log as it is now. */
MUST_USE enum rc tail_start(struct store *store, struct bus *bus, struct tail **ret_tail,
                            struct err *err);
void tail_wake(struct tail *tail); /* Does not block. */
/* Events up to here were published, or are about to be: a subscriber that calls this after it
   subscribed finds those in the log, and gets all later ones from the bus. */
int64_t tail_seq(struct tail *tail);
/* For shutdown: asks the tail to publish what is committed by now; has it done so? */
int64_t tail_ask(struct tail *tail);
bool tail_served(struct tail *tail, int64_t asked);
void tail_stop(struct tail *tail); /* Publishes what is there, joins, frees; NULL is fine. */
#endif
