#include "core/run/task_limits.h"

enum { RUNS_PER_DAY_MIN = 4 }; /* So many runs at least have room in the budget of a day. */

int64_t cost_limit_per_run(const struct cost_limits *server)
{
    return server->per_run_microusd > 0 ? server->per_run_microusd
                                        : server->per_day_microusd / RUNS_PER_DAY_MIN;
}

/* Of two limits of which 0 is none. */
static int64_t least(int64_t a, int64_t b)
{
    return b > 0 && (a == 0 || b < a) ? b : a;
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
    if (limits.tokens == 0)
        limits.tokens = sources->configured.tokens;
    limits.cost_microusd = least(limits.cost_microusd, sources->left.cost_microusd);
    limits.tokens = least(limits.tokens, sources->left.tokens);
    return limits;
}
