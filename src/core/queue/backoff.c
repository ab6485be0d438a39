/*
 * backoff.c - min(max, base * 2^(tries - 1) + jitter), without overflow anywhere.
 */
#include "core/queue/backoff.h"
#include <assert.h>

int64_t backoff_delay_us(const struct backoff *backoff, int64_t tries, uint64_t random)
{
    assert(tries >= 1);
    assert(backoff->base_us >= 0 && backoff->max_us >= 0 && backoff->jitter_us >= 0);
    int64_t delay_us = backoff->base_us < backoff->max_us ? backoff->base_us : backoff->max_us;
    for (int64_t i = 1; i < tries && delay_us > 0 && delay_us < backoff->max_us; i++)
        delay_us = delay_us <= backoff->max_us / 2 ? delay_us * 2 : backoff->max_us;
    int64_t jitter_us = (int64_t)(random % ((uint64_t)backoff->jitter_us + 1));
    return jitter_us < backoff->max_us - delay_us ? delay_us + jitter_us : backoff->max_us;
}
