/*
 * crew.h - the agents that issues can be assigned to: those of the server's configuration, which
 * drover runs as tasks, and those of the registry, which ask for their assignments.
 */
#ifndef CONTROL_CONDUCTOR_CREW_H
#define CONTROL_CONDUCTOR_CREW_H
#include "control/commit/context.h"
#include "core/conductor/conductor_config.h"

struct crew {
    struct conductor_agent *agents; /* In the arena. */
    size_t count;
    int64_t at_work; /* Issues that are assigned, over all of them. */
};
/* With how busy they are and what they came to. */
MUST_USE enum rc crew_load(struct context *ctx, const struct conductor_config *config,
                           struct crew *ret_crew);
/* The one of this name among those that drover runs; NULL: it is none of them. */
const struct conductor_agent *crew_find(const struct conductor_config *config, const char *name);
#endif
