/*
 * task_limits.h - the limits of a run on turns, cost and tokens.  Pure.
 *
 *   turns    the task's own, else the configuration's, which is TURNS_DEFAULT unless it names one
 *            (`limits.maxTurns: 0` in a configuration is no limit)
 *   cost     the same, else the server's for a run, else a quarter of a day's, else none
 *   tokens   input and output together: the task's own, else the configuration's, else none
 *
 * Cost and tokens of a sub-task are at most what is left of every ancestor (budget_tree.h).
 *
 * They are resolved once for each run, when it is made (flow_new_run, for submit and retry), and
 * stored with it.  Checks, payloads and answers use the stored values; a worker, those of its
 * payload.
 */
#ifndef CORE_RUN_TASK_LIMITS_H
#define CORE_RUN_TASK_LIMITS_H
#include <stdint.h>

enum { TURNS_DEFAULT = 100, TURNS_MAX = 500, TOKENS_MAX = 1000000000 };

struct task_limits { /* 0: none */
    int64_t turns;
    int64_t cost_microusd;
    int64_t tokens;
};

struct cost_limits {          /* Of the server; 0: none */
    int64_t per_run_microusd; /* limits.costPerRunUsd */
    int64_t per_day_microusd; /* limits.costPerDayUsd */
};

struct limit_sources {
    struct task_limits task;       /* maxTurns, maxBudgetUsd, maxTokens of the task itself. */
    struct task_limits configured; /* The same of `limits` of its configuration. */
    struct cost_limits server;
    struct task_limits left; /* Of its ancestors, without turns. */
};

struct task_limits task_limits_resolve(const struct limit_sources *sources);
/* What a run may cost when neither its task nor its configuration has a limit. */
int64_t cost_limit_per_run(const struct cost_limits *server);
#endif
