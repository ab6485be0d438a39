/*
 * leases.h - what one server at a time may hold, for a limited time: rows with a deadline.
 *
 *   free ── claim (epoch + 1) ──► held ── renew ──► held
 *    ▲                             │
 *    └── release, or the deadline ─┘   passes; the database's clock decides
 *
 * Invariants
 * 1. The epoch grows by one at every claim and never falls: it fences.
 * 2. A transaction that has entered a lease (leases_enter) commits before another server can
 *    claim it: entering locks the row against claims, and not against renewals.
 * 3. A holder that is late finds another epoch when it enters, and has done nothing.
 *
 * A lock of a session is held as long as its connection is open, and the connection of a process
 * that is stopped (SIGSTOP, a frozen machine) stays open: hence deadlines instead of locks.
 *
 * Three kinds: "timers" is held by the node that runs them; "node/NAME" by the one server that goes
 * by this name; "sink/NAME" by the node that publishes to this sink.  Shared stores only, but for
 * leases_enter, which is free elsewhere.
 */
#ifndef STORE_LEASES_H
#define STORE_LEASES_H
#include "store/db.h"

#define LEASE_TIMERS      "timers"
#define LEASE_NODE_PREFIX "node/"
#define LEASE_SINK_PREFIX "sink/"
enum { LEASE_NAME_BYTES = 96, SESSION_BYTES = 33 };

struct lease_fence {
    const char *name;
    int64_t epoch;
};

struct lease_row {
    const char *name;
    const char *holder;  /* A node's name; "" when it was never held. */
    const char *session; /* Of the holder's claim of its name; "" likewise. */
    int64_t epoch;
    int64_t since_us, deadline_us; /* deadline_us 0: released. */
    int64_t now_us;                /* The database's clock at that moment. */
};

struct lease_claim {
    const char *name, *holder, *session;
    /* Names a lock that the holder keeps while it lives; "": none.  A server that claims with the
       same place has that lock, so the holder is dead, and it does not wait for the deadline. */
    const char *place;
    const char *under; /* A lease that the session must hold to have this one; "": none. */
    int64_t ttl_us;
    bool of_the_dead; /* Also take it from a session that has no connection left. */
};
/* RC_CONFLICT: it is held, or its row is locked by a transaction of its holder.  ret_before: as it
   was, its texts in the arena. */
MUST_USE enum rc leases_claim(struct db *db, const struct lease_claim *claim, struct arena *arena,
                              int64_t *ret_epoch, struct lease_row *ret_before, struct err *err);
/* RC_STALE: another server has claimed it.  ret_now_us: the database's clock. */
MUST_USE enum rc leases_renew(struct db *db, const struct lease_fence *fence, int64_t ttl_us,
                              int64_t *ret_now_us, struct err *err);
/* Nothing happens when it is not held any more. */
MUST_USE enum rc leases_release(struct db *db, const struct lease_fence *fence, struct err *err);
MUST_USE enum rc leases_get(struct db *db, const char *name, struct arena *arena,
                            struct lease_row *ret_row, struct err *err);
/* Nodes whose deadline has passed and that have not released. */
MUST_USE enum rc leases_overdue_nodes(struct db *db, struct arena *arena,
                                      struct lease_row **ret_rows, size_t *ret_count,
                                      struct err *err);

/*
 * In a transaction: this server holds the lease until it commits.  Functions that only the holder
 * may call take the proof.  RC_STALE (code TURN_LOST): it does not hold it.
 */
struct lease_proof {
    const struct db *db; /* The connection whose transaction has entered. */
};
/* The argument of functions that find rows that are due. */
struct due_ask {
    const struct lease_proof *proof; /* Of the timers. */
    int64_t now_us, limit;
};
MUST_USE enum rc leases_enter(struct db *db, const struct lease_fence *fence,
                              struct lease_proof *ret_proof, struct err *err);

/* Ends the connections of a session; ret_count: how many there were.  The call that ends none
   proves that there is none. */
MUST_USE enum rc sessions_end(struct db *db, const char *session, int64_t *ret_count,
                              struct err *err);
#endif
