/*
 * membership.h - this node among the others on a shared store: its name, its turns (at the timers,
 * at each sink), and the database's clock.
 *
 * A thread of its own does this once a second, on a connection of its own:
 *
 *   renew the claim of this node's name       its answer carries the database's time
 *   take the timers, or renew them            a lease of MEMBERSHIP_TIMERS_MS
 *   take each sink, or renew it               the same
 *   end the sessions of nodes that are overdue
 *   measure how late the oldest due time is
 *
 * Invariants
 * 1. One server has a name at a time.  It takes the name over from one that is dead: the deadline
 *    has passed, or both have held the same lock of the same data directory (place).  The
 *    connections of the previous server have ended before this one does anything.
 * 2. A server that has lost its name cannot write (store_enroll), and ends.
 * 3. A node that is frozen loses its turns after MEMBERSHIP_TIMERS_MS, and its connections, with
 *    all row locks that they hold, after MEMBERSHIP_CLAIM_MS.
 *
 * A frozen node that wakes up without having lost its name continues: its connections are opened
 * again, and its timer commands are refused because another node has the turn (leases_enter).
 */
#ifndef CONTROL_WATCH_MEMBERSHIP_H
#define CONTROL_WATCH_MEMBERSHIP_H
#include "base/clock.h"
#include "base/rc.h"
#include "store/leases.h"
#include "store/store.h"
#include <stdbool.h>
#include <stdint.h>

enum {
    MEMBERSHIP_LEASES_MAX = 33, /* Those of sinks, and the Conductor. */
    MEMBERSHIP_EVERY_MS = 1000,
    MEMBERSHIP_TIMERS_MS = 5 * 1000, /* A few rounds may fail or be late. */
    MEMBERSHIP_CLAIM_MS = 15 * 1000,
};

struct membership; /* Owned by control. */

struct membership_options {
    struct store *store; /* Not owned.  Not used by another thread yet. */
    const char *node;
    const char *place;                         /* See struct lease_claim; or NULL. */
    struct clock clock;                        /* The machine's, to compare with the database's. */
    int64_t lease_us;                          /* What leases of jobs usually last. */
    void (*due)(void *ctx, int64_t oldest_us); /* The oldest due time; 0: none. */
    void (*lost)(void *ctx, const struct err *why); /* Once: another server has the name. */
    void *ctx; /* Of both, which are called on the membership's thread. */
};
/* Claims the name and reads the database's time.  RC_CONFLICT (code NODE_IN_USE): another server
   has the name and is alive; it may take MEMBERSHIP_CLAIM_MS to find that it is not. */
MUST_USE enum rc membership_join(const struct membership_options *options,
                                 struct membership **ret_membership, struct err *err);
MUST_USE enum rc membership_start(struct membership *membership, struct err *err);
/* What the thread does once a second, for the simulator and tests: instead of starting it. */
void membership_round(struct membership *membership);
/* Ends the thread and releases the turns, so that another node can take them at once. */
void membership_stop(struct membership *membership);
void membership_free(struct membership *membership); /* Releases the name, too; NULL is fine. */

struct clock membership_clock(struct membership *membership); /* The database's. */

/* Is it this node's turn to run the timers?  *ret_gap: it began after a time in which no worker
   could renew a lease; true once for each gap. */
bool membership_turn(struct membership *membership, struct lease_fence *ret_turn, bool *ret_gap);
/*
 * Beside the timers it tries to get the turns at leases that are wanted, from its next round on;
 * one that is dropped is released then.  False: it wants MEMBERSHIP_LEASES_MAX already.  A lease is
 * not wanted twice at a time.
 */
MUST_USE bool membership_want(struct membership *membership, const char *lease);
void membership_drop(struct membership *membership, const char *lease);
/* Is it this node's turn at a lease that is wanted?  ret_turn names it with `lease`. */
bool membership_holds(struct membership *membership, const char *lease,
                      struct lease_fence *ret_turn);
/* A command found that the turn was lost. */
void membership_fenced(struct membership *membership, const struct lease_fence *fence);

struct membership_view {
    char holder[LEASE_NAME_BYTES]; /* Of the timers; "": not known. */
    int64_t since_us;
    bool here;
};
void membership_look(struct membership *membership, struct membership_view *ret_view);
#endif
