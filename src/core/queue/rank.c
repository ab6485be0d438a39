/*
 * rank.c - the rank of a job or run is a time: its first due time, moved by its priority.
 */
#include "core/queue/rank.h"
#include "base/clock.h"
#include <assert.h>

int64_t rank_of(int64_t first_due_us, int64_t priority)
{
    assert(priority >= 0 && priority <= PRIORITY_MAX);
    return first_due_us + priority * 30 * US_PER_MINUTE;
}
