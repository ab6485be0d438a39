#include "control/admit/acceptance.h"
#include "control/run/day_budget.h"
#include "store/tasks.h"

/* Counts only what has a limit. */
static enum rc count_use(struct context *ctx, const char *requested_by, struct submit_facts *facts)
{
    enum rc rc = RC_OK;
    if (facts->rate_per_hour_max > 0)
        rc = tasks_count_since(ctx->db, requested_by, ctx->now_us - US_PER_HOUR,
                               &facts->submitted_last_hour, ctx->err);
    if (rc == RC_OK && facts->budget_microusd_max > 0)
        rc = day_budget_spent(ctx, &facts->spent_microusd);
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

enum rc acceptance_wait(struct context *ctx, const char *requested_by,
                        struct acceptance_wait *ret_wait)
{
    const struct acceptance any = {
        .requested_by = requested_by, .repository = "", .onboarded = true, .overridden = true};
    *ret_wait = (struct acceptance_wait){0};
    enum rc rc = acceptance_check(ctx, &any);
    if (rc != RC_LIMIT && rc != RC_DENIED)
        return rc;
    ret_wait->reason = arena_strdup(ctx->arena, ctx->err->text);
    if (ctx->err->retry_ms > 0)
        ret_wait->retry_us = ctx->now_us + ctx->err->retry_ms * US_PER_MS;
    err_clear(ctx->err);
    return RC_OK;
}
