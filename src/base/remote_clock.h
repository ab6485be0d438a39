/*
 * remote_clock.h - the clock of another machine, estimated from answers that carry its time.
 *
 * An answer with the time T that was requested at t0 and arrived at t1, by the local clock that
 * counts from boot, proves that the difference of the clocks lies between T - t1 and T - t0:
 *
 *   local   t0 ────────────────── t1        a quick answer gives narrow bounds;
 *   remote         T                        several together give narrower ones than each
 *
 * The estimate is the middle of what all answers allow; half of the width bounds its error.  With
 * the time since the last answer the bounds grow by what two clocks may drift apart.
 *
 * Invariants
 * 1. The local time of day plays no part: setting it moves nothing.
 * 2. Time does not run backwards.  A remote clock that was set back is followed at once only if it
 *    is off by more than REMOTE_STEP_US; until it has caught up, time stands still otherwise.
 */
#ifndef BASE_REMOTE_CLOCK_H
#define BASE_REMOTE_CLOCK_H
#include "base/clock.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define REMOTE_STEP_US US_PER_SECOND

struct remote_answer {
    int64_t asked_us, came_us; /* clock_boot_us() before and after. */
    int64_t time_us;           /* Of the remote clock. */
};

struct remote_clock { /* One owner; any thread may read it. */
    pthread_mutex_t lock;
    int64_t low_us, high_us; /* Bounds of remote minus local, ... */
    int64_t at_us;           /* ... as of this local time; 0: nothing is known yet. */
    int64_t last_us;         /* The latest that was given out. */
};

void remote_clock_init(struct remote_clock *remote);
void remote_clock_release(struct remote_clock *remote);
/* Applies an answer.  Returns by how much the estimate was moved beyond what drift explains: not
   0 when one of the clocks was set.  0 for the first one. */
int64_t remote_clock_learn(struct remote_clock *remote, const struct remote_answer *answer);
/* Not before the first answer.  The form for a given local time is for tests. */
int64_t remote_clock_now_us(struct remote_clock *remote);
int64_t remote_clock_at_us(struct remote_clock *remote, int64_t boot_us);
struct clock remote_clock(struct remote_clock *remote); /* Lives as long as that. */
#endif
