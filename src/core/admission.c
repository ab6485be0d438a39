/*
 * admission.c - the two gates: submission rejects, start defers.
 */
#include "core/admission.h"
#include <stddef.h>

static bool used_up(int64_t count, int64_t max)
{
    return max > 0 && count >= max;
}

enum rc admission_submit(const struct submit_facts *facts, struct err *err)
{
    if (!facts->onboarded)
        return err_field(err, RC_INVALID, "REPO_NOT_ONBOARDED", "repository",
                         "The repository is not known here. Add it first: drover repo add.");
    if (policy_decide(facts->mode, facts->risk, facts->approval) == POLICY_DENY)
        return err_field(err, RC_DENIED, policy_deny_code(), "executionMode",
                         "%s is not allowed for tasks of %s risk. Use a supervised mode.",
                         mode_name(facts->mode), risk_name(facts->risk));
    if (used_up(facts->submitted_last_hour, facts->rate_per_hour_max))
        return err_set(err, RC_LIMIT, "rate_limit_exceeded",
                       "%lld tasks were submitted in the last hour, %lld are allowed. Try later.",
                       (long long)facts->submitted_last_hour, (long long)facts->rate_per_hour_max);
    if (used_up(facts->spent_microusd, facts->budget_microusd_max))
        return err_set(err, RC_DENIED, "cost_budget_exceeded",
                       "The workspace has spent %.2f USD today, its budget is %.2f USD.",
                       (double)facts->spent_microusd / 1e6,
                       (double)facts->budget_microusd_max / 1e6);
    return RC_OK;
}

const char *admission_start(const struct active_counts *counts)
{
    const struct {
        bool wait;
        const char *reason;
    } gates[] = {
        {counts->dependency_pending, "dependency_pending"},
        {used_up(counts->user, counts->user_max), "user_concurrency_limit"},
        {used_up(counts->repository, counts->repository_max), "repository_concurrency_limit"},
        {used_up(counts->task_type, counts->task_type_max), "task_type_concurrency_limit"},
        {used_up(counts->workspace, counts->workspace_max), "workspace_concurrency_limit"},
        {used_up(counts->sandbox, counts->sandbox_max), "sandbox_pool_limit"},
        {used_up(counts->system, counts->system_max), "system_concurrency_limit"},
        {counts->quota_parked, "provider_quota_parked"},
    };
    for (size_t i = 0; i < COUNT_OF(gates); i++) {
        if (gates[i].wait)
            return gates[i].reason;
    }
    return NULL;
}
