/*
 * test_task_limits.c - which limit on turns, cost and tokens counts.
 */
#include "base/str.h"
#include "core/run/task_limits.h"
#include "tests/unit/suites.h"

static const struct {
    struct limit_sources sources; /* Task, configuration, {per run, per day}, left of ancestors. */
    struct task_limits want;
} rows[] = {
    {{{0, 0, 0}, {0, 0, 0}, {0, 0}, {0, 0, 0}}, {0, 0, 0}},
    {{{7, 5, 8}, {0, 0, 0}, {0, 0}, {0, 0, 0}}, {7, 5, 8}},
    {{{0, 0, 0}, {3, 2, 6}, {0, 0}, {0, 0, 0}}, {3, 2, 6}},
    {{{7, 5, 8}, {3, 2, 6}, {9, 100}, {0, 0, 0}}, {7, 5, 8}}, /* A task may ask for more, */
    {{{2, 1, 4}, {3, 2, 6}, {9, 100}, {0, 0, 0}}, {2, 1, 4}}, /* or for less. */
    {{{7, 0, 0}, {3, 2, 6}, {9, 100}, {0, 0, 0}}, {7, 2, 6}}, /* Each value by itself. */
    {{{0, 5, 0}, {3, 2, 6}, {9, 100}, {0, 0, 0}}, {3, 5, 6}},
    {{{0, 0, 8}, {3, 2, 6}, {9, 100}, {0, 0, 0}}, {3, 2, 8}},
    {{{0, 0, 0}, {3, 0, 0}, {9, 100}, {0, 0, 0}}, {3, 9, 0}},
    {{{0, 0, 0}, {0, 0, 0}, {9, 0}, {0, 0, 0}}, {0, 9, 0}}, /* The server limits only cost. */
    {{{0, 0, 0}, {0, 0, 0}, {0, 100}, {0, 0, 0}}, {0, 25, 0}},
    /* What ancestors have left bounds cost and tokens, and is the limit where there is none. */
    {{{7, 5, 8}, {0, 0, 0}, {0, 0}, {0, 4, 3}}, {7, 4, 3}},
    {{{7, 5, 8}, {0, 0, 0}, {0, 0}, {0, 6, 9}}, {7, 5, 8}},
    {{{0, 0, 0}, {0, 0, 0}, {0, 0}, {0, 4, 3}}, {0, 4, 3}},
    {{{0, 0, 0}, {0, 0, 0}, {9, 0}, {0, 4, 0}}, {0, 4, 0}},
};

START_TEST(the_task_s_then_the_configuration_s_then_the_server_s)
{
    struct task_limits got = task_limits_resolve(&rows[_i].sources);
    ck_assert_int_eq(got.turns, rows[_i].want.turns);
    ck_assert_int_eq(got.cost_microusd, rows[_i].want.cost_microusd);
    ck_assert_int_eq(got.tokens, rows[_i].want.tokens);
}
END_TEST

START_TEST(a_run_without_a_limit_costs_the_server_s_or_a_quarter_of_the_day)
{
    static const struct {
        struct cost_limits server;
        int64_t want;
    } servers[] = {{{0, 0}, 0}, {{7, 0}, 7}, {{7, 100}, 7}, {{0, 100}, 25}};
    for (size_t i = 0; i < COUNT_OF(servers); i++)
        ck_assert_int_eq(cost_limit_per_run(&servers[i].server), servers[i].want);
}
END_TEST

Suite *task_limits_suite(void)
{
    Suite *suite = suite_create("task_limits");
    TCase *tcase = tcase_create("task_limits");
    tcase_add_loop_test(tcase, the_task_s_then_the_configuration_s_then_the_server_s, 0,
                        COUNT_OF(rows));
    tcase_add_test(tcase, a_run_without_a_limit_costs_the_server_s_or_a_quarter_of_the_day);
    suite_add_tcase(suite, tcase);
    return suite;
}
