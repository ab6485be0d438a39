/*
 * budget.c - counts what a run spends on trying again.
 */
#include "core/run/budget.h"
#include <assert.h>
#include <stddef.h>

static const struct {
    const char *name;
    const char *what; /* For the sentence that names what ran out. */
    int64_t max_default;
} kinds[BUDGET_KIND_COUNT] = {
    [BUDGET_AGENT] = {"agent", "agent attempts", 3},
    [BUDGET_TOOL] = {"tool", "tool retries", 2},
    [BUDGET_VERIFIER] = {"verifier", "verifier retries", 1},
    [BUDGET_PR] = {"pr", "pull request retries", 5},
};

struct budget budget_default(void)
{
    struct budget budget = {.wall_us_max = 0, .cost_microusd_max = 0};
    for (size_t i = 0; i < BUDGET_KIND_COUNT; i++)
        budget.max[i] = kinds[i].max_default;
    return budget;
}

enum rc budget_spend(const struct budget *budget, const struct spending *before,
                     enum budget_kind kind, struct spending *ret_after, struct err *err)
{
    assert((unsigned)kind < BUDGET_KIND_COUNT);
    assert(before->used[kind] >= 0);
    if (before->used[kind] >= budget->max[kind])
        return err_set(err, RC_LIMIT, "retry_budget_exhausted",
                       "The retry budget is used up: %lld of %lld %s.",
                       (long long)before->used[kind], (long long)budget->max[kind],
                       kinds[kind].what);
    if (budget->wall_us_max > 0 && before->wall_us >= budget->wall_us_max)
        return err_set(err, RC_LIMIT, "retry_budget_exhausted",
                       "The retry budget is used up: the run has taken all its time.");
    if (budget->cost_microusd_max > 0 && before->cost_microusd >= budget->cost_microusd_max)
        return err_set(err, RC_LIMIT, "retry_budget_exhausted",
                       "The retry budget is used up: the run has spent all its money.");
    struct spending after = *before;
    after.used[kind]++;
    *ret_after = after;
    return RC_OK;
}

const char *budget_kind_name(enum budget_kind kind)
{
    assert((unsigned)kind < BUDGET_KIND_COUNT);
    return kinds[kind].name;
}
