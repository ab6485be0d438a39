#include "control/admit/acceptance.h"
#include "core/run/task_limits.h"
#include "store/capacity.h"
#include "store/tasks.h"

int64_t day_start_us(int64_t time_us)
{
    return time_us - time_us % US_PER_DAY;
}

enum rc acceptance_spent(struct context *ctx, int64_t *ret_microusd)
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

/* Counts only what has a limit. */
static enum rc count_use(struct context *ctx, const char *requested_by, struct submit_facts *facts)
{
    enum rc rc = RC_OK;
    if (facts->rate_per_hour_max > 0)
        rc = tasks_count_since(ctx->db, requested_by, ctx->now_us - US_PER_HOUR,
                               &facts->submitted_last_hour, ctx->err);
    if (rc == RC_OK && facts->budget_microusd_max > 0)
        rc = acceptance_spent(ctx, &facts->spent_microusd);
    return rc;
}

enum rc acceptance_check(struct context *ctx, const struct acceptance *request)
{
    struct submit_facts facts = {
        .key_task = request->key_task,
        .repository = request->repository,
        .onboarded = request->onboarded,
        .mode = request->mode,
        .risk = request->risk,
        .approval = request->approval,
        .overridden = request->overridden,
        .rate_per_hour_max = ctx->limits->tasks_per_hour_user,
        .budget_microusd_max = ctx->limits->cost_per_day_microusd,
    };
    enum rc rc = facts.onboarded ? count_use(ctx, request->requested_by, &facts) : RC_OK;
    if (rc != RC_OK)
        return rc;
    rc = admission_submit(&facts, ctx->err);
    if (rc == RC_DENIED && text_same(ctx->err->code, admission_reason(CHECK_COST)))
        ctx->err->retry_ms = (day_start_us(ctx->now_us) + US_PER_DAY - ctx->now_us) / US_PER_MS + 1;
    return rc;
}
