/*
 * test_backoff.c - waits grow, are capped, and never overflow.
 */
#include "base/random.h"
#include "base/rc.h"
#include "core/queue/backoff.h"
#include "tests/unit/suites.h"

static const struct {
    struct backoff backoff;
    int64_t tries;
    uint64_t random;
    int64_t want_us;
} rows[] = {
    {{1000, 100000, 0}, 1, 99, 1000},
    {{1000, 100000, 0}, 2, 99, 2000},
    {{1000, 100000, 0}, 3, 99, 4000},
    {{1000, 100000, 0}, 7, 99, 64000},
    {{1000, 100000, 0}, 8, 99, 100000},
    {{1000, 100000, 0}, INT64_MAX, 99, 100000},
    {{1000, 100000, 500}, 1, 0, 1000},
    {{1000, 100000, 500}, 1, 500, 1500},
    {{1000, 100000, 500}, 1, 501, 1000},
    {{1000, 1200, 500}, 1, 500, 1200},
    {{5000, 1000, 0}, 1, 0, 1000},
    {{0, 1000, 0}, INT64_MAX, 0, 0},
    {{0, 1000, 10}, INT64_MAX, 10, 10},
    {{0, 0, 0}, 5, 5, 0},
    {{1000, 0, 1000}, 5, 5, 0},
    {{INT64_MAX, INT64_MAX, INT64_MAX}, 64, UINT64_MAX, INT64_MAX},
    {{INT64_MAX / 2 + 1, INT64_MAX, INT64_MAX}, 2, INT64_MAX, INT64_MAX},
    {{1, INT64_MAX, 0}, 63, 0, INT64_C(1) << 62},
    {{1, INT64_MAX, 0}, 64, 0, INT64_MAX},
};

START_TEST(waits_are_as_the_formula_says)
{
    int64_t got = backoff_delay_us(&rows[_i].backoff, rows[_i].tries, rows[_i].random);
    ck_assert_int_eq(got, rows[_i].want_us);
}
END_TEST

START_TEST(waits_stay_within_their_bounds)
{
    struct random random = random_seeded(11);
    for (int i = 0; i < 20000; i++) {
        struct backoff backoff = {
            .base_us = (int64_t)(random_next(&random) >> (1 + random_below(&random, 62))),
            .max_us = (int64_t)(random_next(&random) >> (1 + random_below(&random, 62))),
            .jitter_us = (int64_t)(random_next(&random) >> (1 + random_below(&random, 62))),
        };
        int64_t tries = 1 + (int64_t)random_below(&random, 100);
        int64_t got = backoff_delay_us(&backoff, tries, random_next(&random));
        int64_t base_us = backoff.base_us < backoff.max_us ? backoff.base_us : backoff.max_us;
        ck_assert_int_ge(got, base_us);
        ck_assert_int_le(got, backoff.max_us);
        ck_assert_int_ge(backoff_delay_us(&backoff, tries + 1, 0),
                         backoff_delay_us(&backoff, tries, 0));
    }
}
END_TEST

Suite *backoff_suite(void)
{
    Suite *suite = suite_create("backoff");
    TCase *tc = tcase_create("backoff");
    tcase_add_loop_test(tc, waits_are_as_the_formula_says, 0, (int)COUNT_OF(rows));
    tcase_add_test(tc, waits_stay_within_their_bounds);
    suite_add_tcase(suite, tc);
    return suite;
}
