/*
 * test_admission.c - what is rejected at the door, and what has to wait inside.
 */
#include "core/admission.h"
#include "tests/unit/suites.h"
#include <string.h>

static const struct {
    const char *what;
    struct submit_facts facts;
    enum rc want;
    const char *code;
    const char *field;
} submissions[] = {
    {"all is well", {.onboarded = true}, RC_OK, "", ""},
    {"below every limit",
     {.onboarded = true,
      .submitted_last_hour = 9,
      .rate_per_hour_max = 10,
      .spent_microusd = 99,
      .budget_microusd_max = 100},
     RC_OK,
     "",
     ""},
    {"no limits, any numbers",
     {.onboarded = true, .submitted_last_hour = 1000000, .spent_microusd = INT64_MAX},
     RC_OK,
     "",
     ""},
    {"asking is no denial",
     {.onboarded = true, .mode = MODE_AUTONOMOUS_PR, .risk = RISK_MEDIUM},
     RC_OK,
     "",
     ""},
    {"everything is wrong: the repository is named first",
     {.mode = MODE_AUTONOMOUS_PR,
      .risk = RISK_HIGH,
      .submitted_last_hour = 10,
      .rate_per_hour_max = 10,
      .spent_microusd = 100,
      .budget_microusd_max = 100},
     RC_INVALID,
     "REPO_NOT_ONBOARDED",
     "repository"},
    {"then the policy",
     {.onboarded = true,
      .mode = MODE_AUTONOMOUS_PR,
      .risk = RISK_HIGH,
      .approval = APPROVAL_NEVER,
      .submitted_last_hour = 10,
      .rate_per_hour_max = 10,
      .spent_microusd = 100,
      .budget_microusd_max = 100},
     RC_DENIED,
     "policy.execution_mode_not_allowed",
     "executionMode"},
    {"then the rate",
     {.onboarded = true,
      .submitted_last_hour = 10,
      .rate_per_hour_max = 10,
      .spent_microusd = 100,
      .budget_microusd_max = 100},
     RC_LIMIT,
     "rate_limit_exceeded",
     ""},
    {"then the cost",
     {.onboarded = true, .spent_microusd = 100, .budget_microusd_max = 100},
     RC_DENIED,
     "cost_budget_exceeded",
     ""},
};

START_TEST(submission_rejects_in_order)
{
    struct err err = {0};
    ck_assert_msg(admission_submit(&submissions[_i].facts, &err) == submissions[_i].want, "%s",
                  submissions[_i].what);
    ck_assert_str_eq(err.code, submissions[_i].code);
    ck_assert_str_eq(err.field, submissions[_i].field);
    ck_assert_int_eq(err.text[0] == '\0', submissions[_i].want == RC_OK);
}
END_TEST

static const struct {
    struct active_counts counts;
    const char *want;
} starts[] = {
    {{.user = 0}, NULL},
    {{.user = 5, .repository = 5, .task_type = 5, .workspace = 5, .sandbox = 5, .system = 5}, NULL},
    {{.user = 1, .user_max = 2, .system = 99, .system_max = 100}, NULL},
    {{.user = 2, .user_max = 2}, "user_concurrency_limit"},
    {{.repository = 3, .repository_max = 2}, "repository_concurrency_limit"},
    {{.task_type = 1, .task_type_max = 1}, "task_type_concurrency_limit"},
    {{.workspace = 1, .workspace_max = 1}, "workspace_concurrency_limit"},
    {{.sandbox = 1, .sandbox_max = 1}, "sandbox_pool_limit"},
    {{.system = 1, .system_max = 1}, "system_concurrency_limit"},
    {{.quota_parked = true}, "provider_quota_parked"},
    {{.dependency_pending = true}, "dependency_pending"},
    {{.repository = 1, .repository_max = 1, .system = 1, .system_max = 1, .quota_parked = true},
     "repository_concurrency_limit"},
};

START_TEST(a_start_waits_for_the_first_gate_that_is_closed)
{
    const char *got = admission_start(&starts[_i].counts);
    if (starts[_i].want == NULL)
        ck_assert_ptr_null(got);
    else
        ck_assert_str_eq(got, starts[_i].want);
}
END_TEST

Suite *admission_suite(void)
{
    Suite *suite = suite_create("admission");
    TCase *tc = tcase_create("admission");
    tcase_add_loop_test(tc, submission_rejects_in_order, 0, (int)COUNT_OF(submissions));
    tcase_add_loop_test(tc, a_start_waits_for_the_first_gate_that_is_closed, 0,
                        (int)COUNT_OF(starts));
    suite_add_tcase(suite, tc);
    return suite;
}
