/*
 * tail.h - reads on in the log, in order, and publishes what has settled to the bus.
 *
 * With one writer every committed event is settled at once.  Whoever wakes it only hints: the tail
 * looks in the store, and looks anyway once a second.
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
int64_t tail_seq(struct tail *tail);
void tail_stop(struct tail *tail); /* Publishes what is there, joins, frees; NULL is fine. */
#endif
