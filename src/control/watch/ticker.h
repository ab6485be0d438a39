/*
 * ticker.h - the one loop that sleeps until the earliest due time and posts what is due.
 * From time to time it polls anyway, and requests an admission round, in case a wake-up was lost.
 * It also watches the levels of queues (levels.h).
 *
 * Of the nodes that share a store one at a time does this, the one whose turn it is
 * (membership.h).
 */
#ifndef CONTROL_WATCH_TICKER_H
#define CONTROL_WATCH_TICKER_H
#include "base/clock.h"
#include "control/commit/committer.h"
#include "control/watch/membership.h"
#include <stdatomic.h>

/* How late the oldest due time is that was not handled.  Zero as long as the timers keep up.  It
   grows while no node runs them, while the node that does cannot commit, and while one row fails
   again and again. */
struct timer_lag {                 /* Zeroed: nothing is due. */
    atomic_int_fast64_t oldest_us; /* The earliest due time that is known; 0: none. */
    atomic_bool late;              /* It was logged. */
};

/* One measurement: the earliest due time (0: none) at now_us.  holder: the node that runs the
   timers; "": not known. */
void timer_lag_note(struct timer_lag *lag, int64_t oldest_us, int64_t now_us, const char *holder);
int64_t timer_lag_us(struct timer_lag *lag, int64_t now_us);

struct ticker; /* Owned by control. */

struct ticker_options {
    struct committer *committer; /* None of these is owned. */
    struct store *store;
    struct membership *membership; /* NULL: the store is not shared. */
    struct timer_lag *lag;
    struct clock clock;
    int64_t lease_us; /* Granted to all leases after a time in which no worker could renew. */
};

MUST_USE enum rc ticker_start(const struct ticker_options *options, struct ticker **ret_ticker,
                              struct err *err);
/* There is a due time due_us: wakes up earlier if necessary.  Does not block. */
void ticker_hint(struct ticker *ticker, int64_t due_us);
void ticker_stop(struct ticker *ticker); /* Joins and frees; NULL is fine. */
#endif
