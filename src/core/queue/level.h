/*
 * level.h - the load level of a queue, from its depth and the age of its oldest job.
 *
 *   normal --[threshold reached]--> warning --[threshold reached]--> critical
 *          <--[below 80 % of it]---         <--[below 80 % of it]---
 *
 * A level is entered at its threshold and left only well below it: a queue that hovers about a
 * threshold does not flap.  Pure.
 */
#ifndef CORE_QUEUE_LEVEL_H
#define CORE_QUEUE_LEVEL_H
#include "core/queue/queue_config.h"

enum level { LEVEL_NORMAL, LEVEL_WARNING, LEVEL_CRITICAL, LEVEL_COUNT };

struct level_load {
    int64_t depth;  /* Jobs that wait; counted no further than level_depth_max. */
    int64_t age_us; /* Of the one that waits for longest. */
};

enum level level_next(const struct queue_config *config, enum level now,
                      const struct level_load *load);
/* Counting further makes no difference. */
int64_t level_depth_max(const struct queue_config *config);

const char *level_name(enum level level); /* "normal" */
bool level_parse(const char *name, enum level *ret_level);
#endif
