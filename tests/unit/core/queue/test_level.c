/*
 * test_level.c - levels rise at their thresholds and fall well below them.
 */
#include "base/rc.h"
#include "core/queue/level.h"
#include "tests/unit/suites.h"

static const struct queue_config config = {
    .levels = {.warning_depth = 100,
               .critical_depth = 500,
               .warning_age_us = 1000,
               .critical_age_us = 10000},
};

static const struct {
    enum level now;
    struct level_load load;
    enum level want;
} rows[] = {
    {LEVEL_NORMAL, {0, 0}, LEVEL_NORMAL},
    {LEVEL_NORMAL, {99, 999}, LEVEL_NORMAL},
    {LEVEL_NORMAL, {100, 0}, LEVEL_WARNING},
    {LEVEL_NORMAL, {0, 1000}, LEVEL_WARNING},
    {LEVEL_NORMAL, {499, 9999}, LEVEL_WARNING},
    {LEVEL_NORMAL, {500, 0}, LEVEL_CRITICAL},
    {LEVEL_NORMAL, {0, 10000}, LEVEL_CRITICAL},
    /* Going down: 80 % of the threshold is still inside. */
    {LEVEL_CRITICAL, {400, 0}, LEVEL_CRITICAL},
    {LEVEL_CRITICAL, {399, 0}, LEVEL_WARNING},
    {LEVEL_CRITICAL, {0, 8000}, LEVEL_CRITICAL},
    {LEVEL_CRITICAL, {0, 7999}, LEVEL_WARNING},
    {LEVEL_CRITICAL, {80, 0}, LEVEL_WARNING},
    {LEVEL_CRITICAL, {79, 0}, LEVEL_NORMAL},
    {LEVEL_WARNING, {499, 0}, LEVEL_WARNING},
    {LEVEL_WARNING, {80, 0}, LEVEL_WARNING},
    {LEVEL_WARNING, {79, 799}, LEVEL_NORMAL},
    {LEVEL_WARNING, {0, 800}, LEVEL_WARNING},
    {LEVEL_WARNING, {INT64_MAX, INT64_MAX}, LEVEL_CRITICAL},
};

START_TEST(a_level_is_entered_at_its_threshold_and_left_well_below_it)
{
    ck_assert_int_eq(level_next(&config, rows[_i].now, &rows[_i].load), rows[_i].want);
}
END_TEST

START_TEST(a_threshold_of_none_is_never_reached)
{
    struct queue_config none = {0};
    struct level_load load = {INT64_MAX, INT64_MAX};
    for (int now = 0; now < LEVEL_COUNT; now++)
        ck_assert_int_eq(level_next(&none, (enum level)now, &load), LEVEL_NORMAL);
    ck_assert_int_eq(level_depth_max(&none), 0);
    ck_assert_int_eq(level_depth_max(&config), 500);
}
END_TEST

START_TEST(levels_have_names)
{
    enum level level;
    for (int i = 0; i < LEVEL_COUNT; i++) {
        ck_assert(level_parse(level_name((enum level)i), &level));
        ck_assert_int_eq((int)level, i);
    }
    ck_assert(!level_parse("Normal", &level));
}
END_TEST

Suite *level_suite(void)
{
    Suite *suite = suite_create("level");
    TCase *tc = tcase_create("level");
    tcase_add_loop_test(tc, a_level_is_entered_at_its_threshold_and_left_well_below_it, 0,
                        (int)COUNT_OF(rows));
    tcase_add_test(tc, a_threshold_of_none_is_never_reached);
    tcase_add_test(tc, levels_have_names);
    suite_add_tcase(suite, tc);
    return suite;
}
