#include "control/run/day_budget.h"
#include "core/run/task_limits.h"
#include "store/capacity.h"

int64_t day_start_us(int64_t time_us)
{
    return time_us - time_us % US_PER_DAY;
}

enum rc day_budget_spent(struct context *ctx, int64_t *ret_microusd)
{
    const struct cost_limits server = {ctx->limits->cost_per_run_microusd,
                                       ctx->limits->cost_per_day_microusd};
    struct spent_query query = {
        .workspace_id = ctx->workspace_id,
        .since_us = day_start_us(ctx->now_us),
        .run_max_microusd = cost_limit_per_run(&server),
    };
    return capacity_spent(ctx->db, &query, ret_microusd, ctx->err);
}

enum rc day_budget_passed(struct context *ctx, const char **ret_why)
{
    int64_t spent, budget = ctx->limits->cost_per_day_microusd;
    *ret_why = NULL;
    if (!ctx->limits->cost_per_day_stops || budget == 0)
        return RC_OK;
    enum rc rc = day_budget_spent(ctx, &spent);
    if (rc == RC_OK && spent > budget)
        *ret_why = arena_printf(
            ctx->arena,
            "The workspace has spent %.2f USD today (UTC), its budget is %.2f USD "
            "(" DAY_BUDGET_LIMIT "), and what runs is stopped (limits.costPerDayAction)",
            (double)spent / 1e6, (double)budget / 1e6);
    return rc;
}

enum rc day_budget_note(struct context *ctx)
{
    const char *why;
    if (!ctx->limits->cost_per_day_stops || ctx->round->day_budget_read)
        return RC_OK;
    ctx->round->day_budget_read = true;
    enum rc rc = day_budget_passed(ctx, &why);
    if (rc != RC_OK || why == NULL)
        return rc;
    return timer_start(ctx, TIMER_DAY_BUDGET, &ctx->workspace_id, ctx->now_us);
}

enum rc day_budget_begin(struct context *ctx, const struct ending **ret_ending)
{
    const char *why;
    *ret_ending = NULL;
    enum rc rc = day_budget_passed(ctx, &why);
    if (rc != RC_OK || why == NULL)
        return rc;
    struct ending *ending = arena_alloc(ctx->arena, sizeof *ending);
    *ending = (struct ending){.event = RUN_EV_FAIL, .code = "cost_budget_exceeded", .message = why};
    *ret_ending = ending;
    return RC_OK;
}
