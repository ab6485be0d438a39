/*
 * scale.h - how many workers there should be: enough for what waits and what is under way, within
 * bounds, and not another number every second.
 *
 *   wanted = (waiting + busy) / jobs_per_worker, rounded up, within min..max
 *   more:  at once from none; else up_us after the last change, by at most up_step
 *   fewer: when fewer would have done for down_us, and no change for as long; by at most down_step
 *
 * Bounds that have changed hold at once.  Pure.
 */
#ifndef CORE_QUEUE_SCALE_H
#define CORE_QUEUE_SCALE_H
#include <stdbool.h>
#include <stdint.h>

struct scale_rule {
    int64_t min, max;
    int64_t jobs_per_worker;
    int64_t up_us, down_us;
    int64_t up_step, down_step; /* 0: any */
};

struct scale_load {
    int64_t waiting, busy;
};

struct scale { /* All zero: no workers yet. */
    int64_t desired;
    int64_t changed_us; /* 0: never */
    int64_t spare_us;   /* Since when fewer would do; 0: all are wanted. */
};

/* True when desired has changed. */
bool scale_step(const struct scale_rule *rule, const struct scale_load *load, int64_t now_us,
                struct scale *scale);
#endif
