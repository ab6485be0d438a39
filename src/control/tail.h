/*
 * tail.h - reads on in the log, in order, and publishes what has settled (store/settled.h) to the
 * bus.  Whoever wakes it only hints: the tail looks in the store, and from time to time anyway.
 */
#ifndef CONTROL_TAIL_H
#define CONTROL_TAIL_H
#include "control/bus.h"
#include "store/store.h"

struct tail; /* Owned by control. */

/* Starts at the end of the log as it is now. */
MUST_USE enum rc tail_start(struct store *store, struct bus *bus, struct tail **ret_tail,
                            struct err *err);
void tail_wake(struct tail *tail); /* Does not block. */
/* Up to here everything was published, or is about to be: whoever subscribes and then asks finds
   the rest in the log. */
int64_t tail_seq(struct tail *tail);
void tail_stop(struct tail *tail); /* Publishes what is there, joins, frees; NULL is fine. */
#endif
