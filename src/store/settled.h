/*
 * settled.h - the log as a cursor may follow it: in order, and without skipping an event that
 * is not committed yet.
 *
 * With several writers an event gets its seq before its transaction commits, so a higher seq can be
 * seen before a lower one:
 *
 *     seq      41   42   43   44
 *     seen     yes  -    yes  yes      42: not committed yet, or rolled back
 *
 * A gap holds the cursor up until it is filled or proven dead.  It is dead when all transactions
 * have ended that had begun when it was first seen: one that took a seq in it was among them, since
 * a writer's transaction gets its id before its first event gets its seq (engine_postgres_conn.c).
 * The proof waits for every transaction that writes, in any database of the server.  So events are
 * appended in transactions, and by drover alone.
 *
 * Events that were deleted leave gaps too, and many.  Retention proves a place below which all is
 * settled (settled_last), and stores it before it deletes there (MARK_FLOOR_SEQ): a gap below it
 * needs no other proof.
 *
 * With one writer there is no gap, and this is a plain listing.
 */
#ifndef STORE_SETTLED_H
#define STORE_SETTLED_H
#include "store/events.h"

struct settled {
    int64_t after_seq; /* Up to here everything was handed out; what was not will never come. */
    int64_t seen_seq;  /* Before a gap: the highest seq that was seen beyond it ... */
    int64_t seen_xid;  /* ... and a transaction that began after all that can fill it; 0: no gap. */
    int64_t floor_seq; /* Gaps up to here are events that were deleted. */
};

/* Begins with {.after_seq = a place in the log}.  Reads on a connection for reading, in order; the
   cursor moves behind the last event that is handed out.  Before a gap it hands out nothing: call
   it again soon. */
MUST_USE enum rc settled_read(struct db *db, struct settled *cursor, int64_t limit,
                              struct arena *arena, struct event **ret_events, size_t *ret_count,
                              struct err *err);
bool settled_waits(const struct settled *cursor); /* Does it stand before a gap? */

/* To begin at the end of the log: a place before which every event is committed.  RC_BUSY: there
   is not yet one, call it again with the same cursor (zeroed at first). */
MUST_USE enum rc settled_last(struct db *db, struct settled *cursor, struct err *err);
#endif
