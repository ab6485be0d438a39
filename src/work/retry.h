/*
 * retry.h - patience with a server that cannot answer just now.
 *
 *     struct retry retry = retry_begin(step->stop);
 *     do
 *         rc = port->ops->...;
 *     while (retry_again(&retry, rc));
 */
#ifndef WORK_RETRY_H
#define WORK_RETRY_H
#include "base/rc.h"
#include "work/stop.h"
#include <stdbool.h>
#include <stdint.h>

enum { RETRY_TOTAL_MS = 60 * 1000, RETRY_PAUSE_MIN_MS = 50, RETRY_PAUSE_MAX_MS = 5000 };

struct retry {
    const struct stop *stop; /* Once asked, no more than last_tries are made, quickly. */
    int last_tries;
    int64_t pause_ms;
    int64_t until_us; /* By clock_mono_us. */
};

struct retry retry_begin(const struct stop *stop);
/* Busy, unreachable, or broken for the moment: another try may help. */
bool retry_may_help(enum rc rc);
/* Waits and says true when one more try is due. */
bool retry_again(struct retry *retry, enum rc rc);
#endif
