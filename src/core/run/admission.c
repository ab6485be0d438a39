#include "core/run/admission.h"
#include <assert.h>

static bool used_up(int64_t count, int64_t max)
{
    return max > 0 && count >= max;
}

/* ---- what rejects ---- */

static enum rc check_key(const struct submit_facts *facts, struct err *err)
{
    if (facts->key_task == NULL)
        return RC_OK;
    return err_set(err, RC_INVALID, "IDEMPOTENCY_KEY_REUSED",
                   "this Idempotency-Key was used with another body (task %s); "
                   "use a new key for a new task",
                   facts->key_task);
}

static enum rc check_onboarded(const struct submit_facts *facts, struct err *err)
{
    if (facts->onboarded)
        return RC_OK;
    return err_field(err, RC_INVALID, "REPO_NOT_ONBOARDED", "repository",
                     "repository %s is not onboarded; add it with: "
                     "drover repo add %s --url URL --config FILE",
                     facts->repository, facts->repository);
}

static enum rc check_policy(const struct submit_facts *facts, struct err *err)
{
    if (facts->overridden ||
        policy_decide(facts->mode, facts->risk, facts->approval) != POLICY_DENY)
        return RC_OK;
    return err_field(err, RC_DENIED, policy_deny_code(), "executionMode",
                     "%s is not allowed for tasks of %s risk (policy " POLICY_EXECUTION_MODE
                     "). Use a supervised mode, or let an admin submit it with "
                     "override: {reason}.",
                     mode_name(facts->mode), risk_name(facts->risk));
}

static enum rc check_rate(const struct submit_facts *facts, struct err *err)
{
    if (!used_up(facts->submitted_last_hour, facts->rate_per_hour_max))
        return RC_OK;
    return err_set(err, RC_LIMIT, "rate_limit_exceeded",
                   "%lld tasks were submitted in the last hour, %lld are allowed. Try later.",
                   (long long)facts->submitted_last_hour, (long long)facts->rate_per_hour_max);
}

static enum rc check_cost(const struct submit_facts *facts, struct err *err)
{
    if (!used_up(facts->spent_microusd, facts->budget_microusd_max))
        return RC_OK;
    return err_set(err, RC_DENIED, "cost_budget_exceeded",
                   "The workspace has spent %.2f USD today (UTC), its budget is %.2f USD.",
                   (double)facts->spent_microusd / 1e6, (double)facts->budget_microusd_max / 1e6);
}

/* ---- the table ---- */

static const struct check {
    const char *reason;
    enum rc (*submit)(const struct submit_facts *facts, struct err *err); /* Rejects. */
    enum reach reach;                                                     /* Of a deferral. */
    const char *noun, *state; /* USED of MAX noun WHAT are state; NULL: WHAT is the whole text. */
} checks[ADMISSION_CHECK_COUNT] = {
    [CHECK_IDEMPOTENCY] = {"IDEMPOTENCY_KEY_REUSED", .submit = check_key},
    [CHECK_ONBOARDED] = {"REPO_NOT_ONBOARDED", .submit = check_onboarded},
    [CHECK_POLICY] = {"policy.execution_mode_not_allowed", .submit = check_policy},
    [CHECK_RATE] = {"rate_limit_exceeded", .submit = check_rate},
    [CHECK_COST] = {"cost_budget_exceeded", .submit = check_cost},

    [CHECK_PAUSED] = {"paused", .reach = REACH_RUN},
    [CHECK_DEPENDENCY] = {"dependency_pending", .reach = REACH_RUN},
    [CHECK_BATCH] = {"batch_holds", .reach = REACH_RUN},
    [CHECK_CANDIDATES] = {"candidates_running", .reach = REACH_RUN},
    [CHECK_USER] = {"user_concurrency_limit", NULL, REACH_RUN, "runs of", "active"},
    [CHECK_REPOSITORY] = {"repository_concurrency_limit", NULL, REACH_REPOSITORY, "runs of",
                          "active"},
    [CHECK_TASK_TYPE] = {"task_type_concurrency_limit", NULL, REACH_RUN, "runs of type", "active"},
    [CHECK_WORKSPACE] = {"workspace_concurrency_limit", NULL, REACH_EVERYONE, "runs of", "active"},
    [CHECK_SANDBOX] = {"sandbox_pool_limit", NULL, REACH_EVERYONE, "sandboxes of", "in use"},
    [CHECK_SYSTEM] = {"system_concurrency_limit", NULL, REACH_EVERYONE, "runs of", "active"},
    [CHECK_ACCOUNT] = {"no_account_free", .reach = REACH_RUN},
    [CHECK_QUOTA] = {"provider_quota_parked", .reach = REACH_RUN},
    [CHECK_REPORTED_QUOTA] = {"agent_quota_reported", .reach = REACH_RUN},
    [CHECK_OVERLOADED] = {"provider_overloaded", .reach = REACH_RUN},
    [CHECK_COST_TODAY] = {"cost_budget_exceeded", .reach = REACH_EVERYONE},
    [CHECK_OPEN_APPROVALS] = {"open_approvals_limit", NULL, REACH_REPOSITORY, "questions of",
                              "unanswered"},
    [CHECK_COMING_APPROVALS] = {"open_approvals_limit", NULL, REACH_RUN, "questions of",
                                "unanswered or about to be asked"},
    [CHECK_OPEN_PULL_REQUESTS] = {"open_pull_requests_limit", NULL, REACH_REPOSITORY,
                                  "pull requests of", "open"},
    [CHECK_COMING_PULL_REQUESTS] = {"open_pull_requests_limit", NULL, REACH_RUN, "pull requests of",
                                    "open or being made"},
    [CHECK_OVERLAP] = {"overlaps_active_run", .reach = REACH_RUN},
};

const char *admission_reason(enum admission_check check)
{
    assert((unsigned)check < ADMISSION_CHECK_COUNT);
    return checks[check].reason;
}

enum reach admission_reach(enum admission_check check)
{
    assert(check >= CHECK_FIRST_AT_START && check < ADMISSION_CHECK_COUNT);
    return checks[check].reach;
}

enum rc admission_submit(const struct submit_facts *facts, struct err *err)
{
    for (size_t i = 0; i < CHECK_FIRST_AT_START; i++) {
        enum rc rc = checks[i].submit(facts, err);
        if (rc != RC_OK)
            return rc;
    }
    return RC_OK;
}

enum admission_check admission_start(const struct start_facts *facts)
{
    for (size_t i = CHECK_FIRST_AT_START; i < ADMISSION_CHECK_COUNT; i++)
        if (used_up(facts->of[i].used, facts->of[i].max))
            return (enum admission_check)i;
    return ADMISSION_PASSED;
}

const char *admission_detail(enum admission_check check, const struct start_facts *facts,
                             struct arena *arena)
{
    const struct check *row = &checks[check];
    const struct start_fact *fact = &facts->of[check];
    assert(fact->what != NULL);
    if (row->noun == NULL)
        return fact->what;
    return arena_printf(arena, "%lld of %lld %s %s are %s", (long long)fact->used,
                        (long long)fact->max, row->noun, fact->what, row->state);
}
