/*
 * timer_lag.h - how late the oldest due time is that was not handled.
 *
 * Zero as long as the timers keep up.  It grows while no node runs them, while the node that does
 * cannot commit, and while one row fails again and again.
 */
#ifndef CONTROL_WATCH_TIMER_LAG_H
#define CONTROL_WATCH_TIMER_LAG_H
#include "base/clock.h"
#include <stdatomic.h>

/* Later than this is logged: three times what it takes to take over from a frozen node. */
#define TIMER_LAG_WARN_US (18 * US_PER_SECOND)

struct timer_lag {                 /* Zeroed: nothing is due. */
    atomic_int_fast64_t oldest_us; /* The earliest due time that is known; 0: none. */
    atomic_bool late;              /* It was logged. */
};

/* One measurement: the earliest due time (0: none) at now_us.  holder: the node that runs the
   timers; "": not known. */
void timer_lag_note(struct timer_lag *lag, int64_t oldest_us, int64_t now_us, const char *holder);
int64_t timer_lag_us(struct timer_lag *lag, int64_t now_us);
#endif
