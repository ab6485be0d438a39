/*
 * test_admission.c - what is rejected at submission, and what is deferred.
 */
#include "core/run/admission.h"
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
    {"an admin's word is stronger than the table",
     {.onboarded = true, .mode = MODE_AUTONOMOUS_PR, .risk = RISK_HIGH, .overridden = true},
     RC_OK,
     "",
     ""},
    {"everything is wrong: the key is named first",
     {.key_task = "t1",
      .repository = "acme/x",
      .mode = MODE_AUTONOMOUS_PR,
      .risk = RISK_HIGH,
      .submitted_last_hour = 10,
      .rate_per_hour_max = 10,
      .spent_microusd = 100,
      .budget_microusd_max = 100},
     RC_INVALID,
     "IDEMPOTENCY_KEY_REUSED",
     ""},
    {"then the repository",
     {.repository = "acme/x",
      .mode = MODE_AUTONOMOUS_PR,
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

/* The order of docs/PROTOCOL.md. */
static const struct {
    const char *reason;
    enum reach reach;
} order[ADMISSION_CHECK_COUNT] = {
    {"IDEMPOTENCY_KEY_REUSED", 0},
    {"REPO_NOT_ONBOARDED", 0},
    {"policy.execution_mode_not_allowed", 0},
    {"rate_limit_exceeded", 0},
    {"cost_budget_exceeded", 0},
    {"paused", REACH_RUN},
    {"dependency_pending", REACH_RUN},
    {"batch_holds", REACH_RUN},
    {"candidates_running", REACH_RUN},
    {"user_concurrency_limit", REACH_RUN},
    {"repository_concurrency_limit", REACH_REPOSITORY},
    {"task_type_concurrency_limit", REACH_RUN},
    {"workspace_concurrency_limit", REACH_EVERYONE},
    {"sandbox_pool_limit", REACH_EVERYONE},
    {"system_concurrency_limit", REACH_EVERYONE},
    {"no_account_free", REACH_RUN},
    {"provider_quota_parked", REACH_RUN},
    {"agent_quota_reported", REACH_RUN},
    {"provider_overloaded", REACH_RUN},
    {"cost_budget_exceeded", REACH_EVERYONE},
    {"open_approvals_limit", REACH_REPOSITORY},
    {"open_approvals_limit", REACH_RUN},
    {"open_pull_requests_limit", REACH_REPOSITORY},
    {"open_pull_requests_limit", REACH_RUN},
    {"overlaps_active_run", REACH_RUN},
};

START_TEST(the_checks_stand_in_the_documented_order)
{
    for (int i = 0; i < ADMISSION_CHECK_COUNT; i++) {
        enum admission_check check = (enum admission_check)i;
        ck_assert_str_eq(admission_reason(check), order[i].reason);
        if (i >= CHECK_FIRST_AT_START)
            ck_assert_int_eq(admission_reach(check), order[i].reach);
    }
}
END_TEST

/* Closes every gate from this one on: the first of them is the reason. */
START_TEST(a_start_waits_for_the_first_gate_that_is_closed)
{
    struct arena arena = {0};
    struct start_facts facts = {0};
    for (int i = _i; i < ADMISSION_CHECK_COUNT; i++)
        facts.of[i] = (struct start_fact){2, 2, "it"};
    enum admission_check check = admission_start(&facts);
    ck_assert_int_eq(check, _i);
    if (check != ADMISSION_PASSED)
        ck_assert(!text_empty(admission_detail(check, &facts, &arena)));
    arena_release(&arena);
}
END_TEST

static const struct {
    struct start_fact fact;
    bool waits;
} limits[] = {
    {{0, 0, NULL}, false}, {{1000, 0, NULL}, false}, /* No limit. */
    {{0, 1, NULL}, false}, {{1, 2, NULL}, false},    {{2, 2, NULL}, true}, {{3, 2, NULL}, true},
};

START_TEST(a_gate_is_closed_when_its_limit_is_reached)
{
    struct start_facts facts = {.of = {[CHECK_REPOSITORY] = limits[_i].fact}};
    ck_assert_int_eq(admission_start(&facts),
                     limits[_i].waits ? CHECK_REPOSITORY : ADMISSION_PASSED);
}
END_TEST

static const struct {
    enum admission_check check;
    struct start_fact fact;
    const char *want;
} details[] = {
    {CHECK_USER, {3, 3, "user anna"}, "3 of 3 runs of user anna are active"},
    {CHECK_REPOSITORY, {2, 2, "acme/billing"}, "2 of 2 runs of acme/billing are active"},
    {CHECK_TASK_TYPE, {1, 1, "upgrade"}, "1 of 1 runs of type upgrade are active"},
    {CHECK_SANDBOX, {4, 4, "this server"}, "4 of 4 sandboxes of this server are in use"},
    {CHECK_OPEN_PULL_REQUESTS, {5, 5, "acme/x"}, "5 of 5 pull requests of acme/x are open"},
    {CHECK_OVERLAP, {1, 1, "run 7 changes src/a.c"}, "run 7 changes src/a.c"},
};

START_TEST(a_person_can_read_why_it_waits)
{
    struct arena arena = {0};
    struct start_facts facts = {0};
    facts.of[details[_i].check] = details[_i].fact;
    ck_assert_str_eq(admission_detail(details[_i].check, &facts, &arena), details[_i].want);
    arena_release(&arena);
}
END_TEST

Suite *admission_suite(void)
{
    Suite *suite = suite_create("admission");
    TCase *tc = tcase_create("admission");
    tcase_add_loop_test(tc, submission_rejects_in_order, 0, (int)COUNT_OF(submissions));
    tcase_add_test(tc, the_checks_stand_in_the_documented_order);
    tcase_add_loop_test(tc, a_start_waits_for_the_first_gate_that_is_closed, CHECK_FIRST_AT_START,
                        ADMISSION_CHECK_COUNT + 1);
    tcase_add_loop_test(tc, a_gate_is_closed_when_its_limit_is_reached, 0, (int)COUNT_OF(limits));
    tcase_add_loop_test(tc, a_person_can_read_why_it_waits, 0, (int)COUNT_OF(details));
    suite_add_tcase(suite, tc);
    return suite;
}
