/*
 * test_budget.c - what a run may spend on trying again.
 */
#include "core/run/budget.h"
#include "tests/unit/suites.h"
#include <string.h>

START_TEST(defaults_are_the_documented_ones)
{
    struct budget budget = budget_default();
    ck_assert_int_eq(budget.max[BUDGET_AGENT], 3);
    ck_assert_int_eq(budget.max[BUDGET_TOOL], 2);
    ck_assert_int_eq(budget.max[BUDGET_VERIFIER], 1);
    ck_assert_int_eq(budget.max[BUDGET_PR], 5);
    ck_assert_int_eq(budget.wall_us_max, 0);
    ck_assert_int_eq(budget.cost_microusd_max, 0);
}
END_TEST

START_TEST(each_kind_can_be_spent_up_to_its_maximum_and_no_further)
{
    struct budget budget = budget_default();
    for (int kind = 0; kind < BUDGET_KIND_COUNT; kind++) {
        struct spending spending = {.wall_us = 7, .cost_microusd = 8};
        struct err err = {0};
        for (int64_t i = 0; i < budget.max[kind]; i++) {
            ck_assert_int_eq(
                budget_spend(&budget, &spending, (enum budget_kind)kind, &spending, &err), RC_OK);
            ck_assert_int_eq(spending.used[kind], i + 1);
        }
        struct spending before = spending;
        ck_assert_int_eq(budget_spend(&budget, &spending, (enum budget_kind)kind, &spending, &err),
                         RC_LIMIT);
        ck_assert_str_eq(err.code, "retry_budget_exhausted");
        ck_assert_mem_eq(&before, &spending, sizeof before);
        for (int other = 0; other < BUDGET_KIND_COUNT; other++)
            ck_assert_int_eq(spending.used[other], other == kind ? budget.max[kind] : 0);
    }
}
END_TEST

static const struct {
    int64_t wall_us, wall_us_max, cost, cost_max;
    enum rc want;
    const char *word;
} walls[] = {
    {0, 0, 0, 0, RC_OK, ""},
    {INT64_MAX, 0, INT64_MAX, 0, RC_OK, ""},
    {99, 100, 99, 100, RC_OK, ""},
    {100, 100, 0, 100, RC_LIMIT, "time"},
    {101, 100, 0, 0, RC_LIMIT, "time"},
    {0, 0, 100, 100, RC_LIMIT, "money"},
    {0, 100, 101, 100, RC_LIMIT, "money"},
};

START_TEST(time_and_money_end_it_too)
{
    struct budget budget = budget_default();
    budget.wall_us_max = walls[_i].wall_us_max;
    budget.cost_microusd_max = walls[_i].cost_max;
    struct spending before = {.wall_us = walls[_i].wall_us, .cost_microusd = walls[_i].cost};
    struct spending after = {.wall_us = -1};
    struct err err = {0};
    ck_assert_int_eq(budget_spend(&budget, &before, BUDGET_AGENT, &after, &err), walls[_i].want);
    ck_assert_ptr_nonnull(strstr(err.text, walls[_i].word));
    if (walls[_i].want != RC_OK)
        ck_assert_int_eq(after.wall_us, -1);
}
END_TEST

START_TEST(a_maximum_of_zero_allows_nothing)
{
    struct budget budget = budget_default();
    budget.max[BUDGET_VERIFIER] = 0;
    struct spending none = {.wall_us = 0}, after;
    ck_assert_int_eq(budget_spend(&budget, &none, BUDGET_VERIFIER, &after, NULL), RC_LIMIT);
    ck_assert_str_eq(budget_kind_name(BUDGET_VERIFIER), "verifier");
}
END_TEST

Suite *budget_suite(void)
{
    Suite *suite = suite_create("budget");
    TCase *tc = tcase_create("budget");
    tcase_add_test(tc, defaults_are_the_documented_ones);
    tcase_add_test(tc, each_kind_can_be_spent_up_to_its_maximum_and_no_further);
    tcase_add_loop_test(tc, time_and_money_end_it_too, 0, (int)COUNT_OF(walls));
    tcase_add_test(tc, a_maximum_of_zero_allows_nothing);
    suite_add_tcase(suite, tc);
    return suite;
}
