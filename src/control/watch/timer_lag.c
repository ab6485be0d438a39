/*
 * timer_lag.c - see timer_lag.h.
 */
#include "control/watch/timer_lag.h"
#include "base/log.h"

static int64_t lateness(int64_t oldest_us, int64_t now_us)
{
    return oldest_us > 0 && oldest_us < now_us ? now_us - oldest_us : 0;
}

void timer_lag_note(struct timer_lag *lag, int64_t oldest_us, int64_t now_us, const char *holder)
{
    atomic_store(&lag->oldest_us, oldest_us);
    int64_t late_us = lateness(oldest_us, now_us);
    bool late = late_us > TIMER_LAG_WARN_US;
    if (late && !atomic_exchange(&lag->late, true))
        LOG(LOG_WARN, "timers are late: leases, delayed jobs, deadlines or schedules wait",
            LOG_INT("lagMs", late_us / US_PER_MS), LOG_STR("holder", holder));
    if (!late && atomic_exchange(&lag->late, false))
        LOG(LOG_INFO, "timers are in time again", LOG_INT("lagMs", late_us / US_PER_MS));
}

int64_t timer_lag_us(struct timer_lag *lag, int64_t now_us)
{
    return lateness(atomic_load(&lag->oldest_us), now_us);
}
