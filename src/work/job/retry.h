/*
 * retry.h - retries of calls to a server that cannot answer now.
 *
 * A server that is unreachable or busy usually recovers, and the work that is done is worth waiting
 * for: such calls are retried for RETRY_AWAY_MS.  Other errors (RC_IO) are retried for
 * RETRY_BROKEN_MS.  This is the only place that says how long.
 *
 *     struct retry retry = retry_begin(step->stop);
 *     do
 *         rc = port->ops->...;
 *     while (retry_again(&retry, rc));
 */
#ifndef WORK_JOB_RETRY_H
#define WORK_JOB_RETRY_H
#include "base/random.h"
#include "base/rc.h"
#include "work/job/stop.h"
#include <stdbool.h>
#include <stdint.h>

enum {
    RETRY_AWAY_MS = 24 * 3600 * 1000, /* A day. */
    RETRY_BROKEN_MS = 60 * 1000,      /* A minute. */
    RETRY_PAUSE_MIN_MS = 50,
    RETRY_PAUSE_MAX_MS = 5000,
    RETRY_JITTER_MS = 200, /* So that not all workers of a server that was away call at once. */
};

struct retry {
    const struct stop *stop; /* Once requested, no more than last_tries are made, quickly. */
    int last_tries;
    int64_t tries;
    int64_t begin_us; /* By clock_mono_us. */
    struct random random;
};

struct retry retry_begin(const struct stop *stop);
/* Busy, unreachable, or broken for the moment: another try may help. */
bool retry_may_help(enum rc rc);
/* Waits and returns true when one more try is due. */
bool retry_again(struct retry *retry, enum rc rc);
/* How long to wait after so many failures in a row, from 1. */
int64_t retry_pause_ms(int64_t failures, struct random *random);
#endif
