/*
 * backoff.h - how long to wait before the next try: min(max, base * 2^n + jitter).
 */
#ifndef CORE_QUEUE_BACKOFF_H
#define CORE_QUEUE_BACKOFF_H
#include <stdint.h>

struct backoff {
    int64_t base_us;
    int64_t max_us;
    int64_t jitter_us; /* A random part of this is added. */
};

/* tries: how many have failed before this wait, from 1. */
int64_t backoff_delay_us(const struct backoff *backoff, int64_t tries, uint64_t random);
#endif
