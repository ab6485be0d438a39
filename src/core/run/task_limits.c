#include "core/run/task_limits.h"

enum { RUNS_PER_DAY_MIN = 4 }; /* So many runs at least have room in the budget of a day. */

int64_t cost_limit_per_run(const struct cost_limits *server)
{
    return server->per_run_microusd > 0 ? server->per_run_microusd
                                        : server->per_day_microusd / RUNS_PER_DAY_MIN;
}

struct task_limits task_limits_resolve(const struct limit_sources *sources)
{
    struct task_limits limits = sources->task;
    if (limits.turns == 0)
        limits.turns = sources->configured.turns;
    if (limits.cost_microusd == 0)
        limits.cost_microusd = sources->configured.cost_microusd;
    if (limits.cost_microusd == 0)
        limits.cost_microusd = cost_limit_per_run(&sources->server);
    return limits;
}
