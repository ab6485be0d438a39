/*
 * whatif_course.h - how one run goes once it has started, under the limits of a world: how long it
 * works, what it costs, and what stops it.  Pure; a part of whatif.h.
 */
#ifndef CORE_RUN_WHATIF_COURSE_H
#define CORE_RUN_WHATIF_COURSE_H
#include "core/run/whatif.h"

struct whatif_course {
    int64_t work_us, asking_us, cost_microusd;
    int64_t charged_microusd; /* What the budget of a day counts of it. */
    enum whatif_stop stop;
    bool asks, goes_on;
};
struct whatif_course whatif_course(const struct whatif_history *history,
                                   const struct whatif_run *run, const struct whatif_world *base,
                                   const struct whatif_world *world);
#endif
