/*
 * overload.h - a provider that is overloaded: when the agent is tried again.  Pure.
 *
 * The program itself has tried for a while and given up, so the waits are long: 15 s, doubled up to
 * 10 min, with up to 5 s of jitter.  A run gives up after so many overloads in a row, and when the
 * first one is longer ago than a run may take.
 */
#ifndef CORE_RUN_OVERLOAD_H
#define CORE_RUN_OVERLOAD_H
#include <stdbool.h>
#include <stdint.h>

enum { OVERLOADS_DEFAULT = 8, OVERLOADS_MAX = 100 };

struct overload {     /* Of a run. */
    int64_t count;    /* In a row: without a completed turn of the model between them. */
    int64_t first_us; /* The first of the run; 0: none. */
};
struct overload_limits {
    int64_t count;   /* retries.overloads */
    int64_t span_us; /* timeouts.runMs */
};

/* One more.  worked: the attempt completed turns before it.  False: the run gives up. */
bool overload_again(struct overload *overload, const struct overload_limits *limits, bool worked,
                    int64_t now_us);
/* How long to wait after it. */
int64_t overload_wait_us(const struct overload *overload, uint64_t random);
#endif
