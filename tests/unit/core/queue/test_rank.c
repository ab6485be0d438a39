/*
 * test_rank.c - the order of work.
 */
#include "base/clock.h"
#include "base/random.h"
#include "core/queue/rank.h"
#include "tests/unit/suites.h"

/* One step of priority per 30 minutes of waiting, in units that keep fractions. */
static int64_t effective_priority(int64_t due_us, int64_t priority, int64_t now_us)
{
    return priority * 30 * US_PER_MINUTE - (now_us - due_us);
}

START_TEST(rank_orders_like_effective_priority_at_any_moment)
{
    struct random random = random_seeded(7);
    const int64_t start_us = INT64_C(1750000000) * US_PER_SECOND;
    for (int i = 0; i < 20000; i++) {
        int64_t due[2], priority[2];
        for (int j = 0; j < 2; j++) {
            due[j] = start_us + (int64_t)random_below(&random, (uint64_t)(30 * US_PER_DAY));
            priority[j] = (int64_t)random_below(&random, PRIORITY_MAX + 1);
        }
        int64_t now_us = start_us + (int64_t)random_below(&random, (uint64_t)(90 * US_PER_DAY));
        bool rank_first = rank_of(due[0], priority[0]) < rank_of(due[1], priority[1]);
        bool effective_first = effective_priority(due[0], priority[0], now_us) <
                               effective_priority(due[1], priority[1], now_us);
        ck_assert_int_eq(rank_first, effective_first);
    }
}
END_TEST

START_TEST(waiting_half_an_hour_is_worth_one_step)
{
    ck_assert_int_eq(rank_of(0, 101), rank_of(30 * US_PER_MINUTE, 100));
    ck_assert_int_lt(rank_of(0, 0), rank_of(0, 1));
    ck_assert_int_eq(rank_of(5, PRIORITY_NORMAL), 5 + 50 * US_PER_HOUR);
}
END_TEST

Suite *rank_suite(void)
{
    Suite *suite = suite_create("rank");
    TCase *tc = tcase_create("rank");
    tcase_add_test(tc, rank_orders_like_effective_priority_at_any_moment);
    tcase_add_test(tc, waiting_half_an_hour_is_worth_one_step);
    suite_add_tcase(suite, tc);
    return suite;
}
