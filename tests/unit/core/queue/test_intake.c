/*
 * What a queue under load does with a job: every urgency at every threshold.
 */
#include "core/queue/intake.h"
#include <check.h>

START_TEST(urgency_and_load_decide)
{
    static const struct {
        int64_t drop, defer, max, priority, waiting;
        enum intake expected;
    } cases[] = {
        {0, 0, 0, 1000, 1000000, INTAKE_TAKE}, {10, 20, 30, 200, 9, INTAKE_TAKE},
        {10, 20, 30, 200, 10, INTAKE_DROP},    {10, 20, 30, 200, 29, INTAKE_DROP},
        {10, 20, 30, 199, 10, INTAKE_TAKE},    {10, 20, 30, 199, 20, INTAKE_DEFER},
        {10, 20, 30, 51, 29, INTAKE_DEFER},    {10, 20, 30, 50, 29, INTAKE_TAKE},
        {10, 20, 30, 0, 30, INTAKE_FULL},      {10, 20, 30, 500, 30, INTAKE_FULL},
        {0, 20, 0, 500, 20, INTAKE_DEFER},     {0, 20, 0, 0, 1000000000, INTAKE_TAKE},
        {20, 10, 0, 500, 15, INTAKE_DEFER},    {20, 10, 0, 500, 20, INTAKE_DROP},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct queue_config config = queue_config_default("q");
        config.shed.drop_at = cases[i].drop;
        config.shed.defer_at = cases[i].defer;
        config.max_length = cases[i].max;
        ck_assert_msg(intake_of(&config, cases[i].priority, cases[i].waiting) == cases[i].expected,
                      "case %zu", i);
    }
}
END_TEST

START_TEST(no_more_is_counted_than_matters)
{
    struct queue_config config = queue_config_default("q");
    ck_assert_int_eq(intake_count_up_to(&config), 0);
    config.shed.drop_at = 10;
    ck_assert_int_eq(intake_count_up_to(&config), 10);
    config.shed.defer_at = 20;
    ck_assert_int_eq(intake_count_up_to(&config), 20);
    config.max_length = 15;
    ck_assert_int_eq(intake_count_up_to(&config), 20);
}
END_TEST

Suite *intake_suite(void)
{
    Suite *suite = suite_create("intake");
    TCase *tc = tcase_create("intake");
    tcase_add_test(tc, urgency_and_load_decide);
    tcase_add_test(tc, no_more_is_counted_than_matters);
    suite_add_tcase(suite, tc);
    return suite;
}
