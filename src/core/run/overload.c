#include "core/run/overload.h"
#include "base/clock.h"
#include "core/queue/backoff.h"

bool overload_again(struct overload *overload, const struct overload_limits *limits, bool worked,
                    int64_t now_us)
{
    overload->count = worked ? 1 : overload->count + 1;
    if (overload->first_us == 0)
        overload->first_us = now_us;
    return overload->count <= limits->count && now_us - overload->first_us < limits->span_us;
}

int64_t overload_wait_us(const struct overload *overload, uint64_t random)
{
    static const struct backoff backoff = {.base_us = 15 * US_PER_SECOND,
                                           .max_us = 10 * US_PER_MINUTE,
                                           .jitter_us = 5 * US_PER_SECOND};
    return backoff_delay_us(&backoff, overload->count, random);
}
