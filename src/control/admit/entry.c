/*
 * entry.c - see entry.h.
 */
#include "control/admit/entry.h"
#include "core/agent/claims.h"
#include "store/capacity.h"
#include "store/tasks.h"

int64_t day_start_us(int64_t time_us)
{
    return time_us - time_us % US_PER_DAY;
}

enum rc entry_spent(struct cx *cx, int64_t *ret_microusd)
{
    struct run_budget without = {.per_run = cx->limits->cost_per_run_microusd,
                                 .per_day = cx->limits->cost_per_day_microusd};
    struct spent_query query = {
        .workspace_id = cx->workspace_id,
        .since_us = day_start_us(cx->now_us),
        .run_max_microusd = claim_run_budget(&without),
    };
    return capacity_spent(cx->db, &query, ret_microusd, cx->err);
}

/* Counts only what has a limit. */
static enum rc count_use(struct cx *cx, struct submit_facts *facts)
{
    enum rc rc = RC_OK;
    if (facts->rate_per_hour_max > 0)
        rc = tasks_count_since(cx->db, cx->actor.id, cx->now_us - US_PER_HOUR,
                               &facts->submitted_last_hour, cx->err);
    if (rc == RC_OK && facts->budget_microusd_max > 0)
        rc = entry_spent(cx, &facts->spent_microusd);
    return rc;
}

enum rc entry_check(struct cx *cx, const struct entry *entry)
{
    struct submit_facts facts = {
        .key_task = entry->key_task,
        .repository = entry->repository,
        .onboarded = entry->onboarded,
        .mode = entry->mode,
        .risk = entry->risk,
        .approval = entry->approval,
        .overridden = entry->overridden,
        .rate_per_hour_max = cx->limits->tasks_per_hour_user,
        .budget_microusd_max = cx->limits->cost_per_day_microusd,
    };
    enum rc rc = facts.onboarded ? count_use(cx, &facts) : RC_OK;
    if (rc != RC_OK)
        return rc;
    rc = admission_submit(&facts, cx->err);
    if (rc == RC_DENIED && text_same(cx->err->code, admission_reason(CHECK_COST)))
        cx->err->retry_ms = (day_start_us(cx->now_us) + US_PER_DAY - cx->now_us) / US_PER_MS + 1;
    return rc;
}
