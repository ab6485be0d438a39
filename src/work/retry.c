/*
 * retry.c - growing pauses, ended early by a wish to stop.
 */
#include "work/retry.h"
#include "base/clock.h"
#include <poll.h>

struct retry retry_begin(const struct stop *stop)
{
    return (struct retry){
        .stop = stop,
        .pause_ms = RETRY_PAUSE_MIN_MS,
        .until_us = clock_mono_us() + RETRY_TOTAL_MS * US_PER_MS,
    };
}

bool retry_may_help(enum rc rc)
{
    return rc == RC_BUSY || rc == RC_UNREACHABLE || rc == RC_IO;
}

bool retry_again(struct retry *retry, enum rc rc)
{
    if (!retry_may_help(rc) || clock_mono_us() >= retry->until_us)
        return false;
    if (stop_asked(retry->stop) != STOP_NONE) {
        if (retry->last_tries-- <= 0)
            return false;
        (void)poll(NULL, 0, RETRY_PAUSE_MIN_MS);
        return true;
    }
    struct pollfd wake = {.fd = retry->stop->event_fd, .events = POLLIN};
    (void)poll(&wake, 1, (int)retry->pause_ms);
    retry->pause_ms *= 2;
    if (retry->pause_ms > RETRY_PAUSE_MAX_MS)
        retry->pause_ms = RETRY_PAUSE_MAX_MS;
    return true;
}
