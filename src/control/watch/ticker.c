#include "control/watch/ticker.h"
#include "base/log.h"
#include "base/mem.h"
#include "control/queue/levels.h"
#include "control/watch/due.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

/* The longest sleep.  Where other nodes set timers, hints may be late or lost. */
#define NET_US        (5 * US_PER_SECOND)
#define NET_SHARED_US US_PER_SECOND
#define PRUNE_US      US_PER_HOUR
/* Woken so much later than requested: the process was stopped, or the machine suspended. */
#define OVERSLEPT_US (3 * US_PER_SECOND)
/* Later than this is logged: three times what it takes to take over from a frozen node. */
#define LAG_WARN_US (18 * US_PER_SECOND)

struct ticker {
    struct committer *committer;
    struct store *store;
    struct levels *levels;
    struct membership *membership;
    struct timer_lag *lag;
    struct lease_fence turn; /* As it was before the last look. */
    struct clock clock;
    int64_t net_us;
    int64_t lease_us;
    bool away; /* No worker could renew a lease of late: all get lease_us from now on. */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int64_t next_us; /* The earliest known due time; 0: none. */
    bool stopping;
};

static int64_t lateness(int64_t oldest_us, int64_t now_us)
{
    return oldest_us > 0 && oldest_us < now_us ? now_us - oldest_us : 0;
}

void timer_lag_note(struct timer_lag *lag, int64_t oldest_us, int64_t now_us, const char *holder)
{
    atomic_store(&lag->oldest_us, oldest_us);
    int64_t late_us = lateness(oldest_us, now_us);
    bool late = late_us > LAG_WARN_US;
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

/* The due time that is left after a look.  On a shared store the membership reads it itself. */
static void note_due(struct ticker *ticker, int64_t next_us)
{
    if (next_us > 0)
        ticker_hint(ticker, next_us);
    if (ticker->membership == NULL)
        timer_lag_note(ticker->lag, next_us, clock_now_us(&ticker->clock), "");
}

/* One look at what is due; true when there is more at once. */
static bool look(struct ticker *ticker, bool prune)
{
    struct cmd_due *due = cmd_due_new();
    due->turn = ticker->turn;
    due->prune = prune;
    due->grace_us = ticker->away ? ticker->lease_us : 0;
    enum rc rc = committer_call(ticker->committer, &due->base);
    bool more = rc == RC_OK && due->more;
    if (rc == RC_OK)
        note_due(ticker, due->next_due_us);
    else if (rc == RC_STALE)
        membership_fenced(ticker->membership, &ticker->turn);
    else if (rc != RC_BUSY)
        LOG(LOG_ERROR, "timers cannot look at what is due", LOG_STR("code", due->base.err.code),
            LOG_STR("error", due->base.err.text));
    if (rc != RC_BUSY && rc != RC_STALE) /* Those two extend no lease and are no outage. */
        ticker->away = rc != RC_OK;
    command_free(&due->base);
    return more;
}

/* Is it this node's turn? */
static bool holds_turn(struct ticker *ticker)
{
    bool gap = false;
    if (ticker->membership == NULL)
        return true;
    bool held = membership_turn(ticker->membership, &ticker->turn, &gap);
    ticker->away |= gap;
    return held;
}

/* Sleeps until the earliest due time, for net_us at most; false at the end. */
static bool wait_for_due(struct ticker *ticker)
{
    int64_t begun_us = clock_mono_us(), wake_us = clock_boot_us();
    pthread_mutex_lock(&ticker->lock);
    while (!ticker->stopping) {
        int64_t left_us = ticker->net_us - (clock_mono_us() - begun_us);
        if (ticker->next_us > 0) {
            int64_t to_due_us = ticker->next_us - clock_now_us(&ticker->clock);
            left_us = to_due_us < left_us ? to_due_us : left_us;
        }
        if (left_us <= 0)
            break;
        struct timespec until = clock_mono_after(left_us);
        wake_us = clock_boot_us() + left_us;
        pthread_cond_timedwait(&ticker->wake, &ticker->lock, &until);
    }
    ticker->next_us = 0;
    bool go_on = !ticker->stopping;
    pthread_mutex_unlock(&ticker->lock);
    /* On a store that is not shared no worker could renew a lease while this process was stopped.
       Where it is shared the membership detects the gap. */
    if (ticker->membership == NULL && clock_boot_us() - wake_us > OVERSLEPT_US)
        ticker->away = true;
    return go_on;
}

static void *ticker_main(void *arg)
{
    struct ticker *ticker = arg;
    int64_t pruned_us = 0;
    while (wait_for_due(ticker)) {
        if (!holds_turn(ticker))
            continue;
        int64_t now_us = clock_mono_us();
        bool prune = pruned_us == 0 || now_us - pruned_us > PRUNE_US;
        if (prune)
            pruned_us = now_us;
        while (look(ticker, prune) && holds_turn(ticker)) {
        }
        committer_want_admission(ticker->committer);
        int64_t again_us = levels_watch(ticker->levels, &ticker->turn);
        if (again_us > 0)
            ticker_hint(ticker, again_us);
    }
    return NULL;
}

enum rc ticker_start(const struct ticker_options *options, struct ticker **ret_ticker,
                     struct err *err)
{
    struct ticker *ticker = mem_alloc(sizeof *ticker);
    ticker->committer = options->committer;
    ticker->store = options->store;
    ticker->levels = levels_new(options->committer, options->store, options->clock);
    ticker->membership = options->membership;
    ticker->lag = options->lag;
    ticker->clock = options->clock;
    ticker->net_us = store_is_shared(options->store) ? NET_SHARED_US : NET_US;
    ticker->lease_us = options->lease_us;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&ticker->lock, NULL);
    pthread_cond_init(&ticker->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    int failed = pthread_create(&ticker->thread, NULL, ticker_main, ticker);
    if (failed != 0) {
        levels_free(ticker->levels);
        mem_free(ticker);
        return err_set(err, RC_IO, "THREAD_FAILED", "cannot start the timer loop: %s",
                       strerror(failed));
    }
    *ret_ticker = ticker;
    return RC_OK;
}

void ticker_hint(struct ticker *ticker, int64_t due_us)
{
    pthread_mutex_lock(&ticker->lock);
    if (ticker->next_us == 0 || due_us < ticker->next_us) {
        ticker->next_us = due_us;
        pthread_cond_signal(&ticker->wake);
    }
    pthread_mutex_unlock(&ticker->lock);
}

void ticker_stop(struct ticker *ticker)
{
    if (ticker == NULL)
        return;
    pthread_mutex_lock(&ticker->lock);
    ticker->stopping = true;
    pthread_cond_signal(&ticker->wake);
    pthread_mutex_unlock(&ticker->lock);
    pthread_join(ticker->thread, NULL);
    levels_free(ticker->levels);
    pthread_cond_destroy(&ticker->wake);
    pthread_mutex_destroy(&ticker->lock);
    mem_free(ticker);
}
