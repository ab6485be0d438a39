/*
 * retry.c - growing pauses, ended early by a stop request.
 */
#include "work/job/retry.h"
#include "base/clock.h"
#include "core/queue/backoff.h"
#include <poll.h>

struct retry retry_begin(const struct stop *stop)
{
    return (struct retry){.stop = stop, .begin_us = clock_mono_us(), .random = random_from_os()};
}

bool retry_may_help(enum rc rc)
{
    return rc == RC_BUSY || rc == RC_UNREACHABLE || rc == RC_IO;
}

int64_t retry_pause_ms(int64_t failures, struct random *random)
{
    static const struct backoff backoff = {
        .base_us = RETRY_PAUSE_MIN_MS * US_PER_MS,
        .max_us = RETRY_PAUSE_MAX_MS * US_PER_MS,
        .jitter_us = RETRY_JITTER_MS * US_PER_MS,
    };
    return backoff_delay_us(&backoff, failures, random_next(random)) / US_PER_MS;
}

bool retry_again(struct retry *retry, enum rc rc)
{
    int64_t patience_ms = rc == RC_IO ? RETRY_BROKEN_MS : RETRY_AWAY_MS;
    if (!retry_may_help(rc) || clock_mono_us() >= retry->begin_us + patience_ms * US_PER_MS)
        return false;
    if (stop_asked(retry->stop) != STOP_NONE) {
        if (retry->last_tries-- <= 0)
            return false;
        (void)poll(NULL, 0, RETRY_PAUSE_MIN_MS);
        return true;
    }
    (void)stop_wait(retry->stop, retry_pause_ms(++retry->tries, &retry->random));
    return true;
}
