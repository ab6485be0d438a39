/*
 * rank.h - the order of work in a queue, from priority and waiting time.
 */
#ifndef CORE_QUEUE_RANK_H
#define CORE_QUEUE_RANK_H
#include <stdint.h>

/* Priorities people use by name: 0 emergency ... 500 maintenance; any 0..1000 is fine. */
enum { PRIORITY_NORMAL = 100, PRIORITY_MAX = 1000 };

/*
 * Smaller goes first.  Ageing of one step of priority per 30 minutes of waiting falls out of it:
 * comparing ranks equals comparing effective priorities at any moment.
 */
int64_t rank_of(int64_t first_due_us, int64_t priority);
#endif
