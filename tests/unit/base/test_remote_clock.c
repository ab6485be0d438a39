/* test_remote_clock.c - another machine's clock, from answers that took their time. */
#include "base/random.h"
#include "base/remote_clock.h"
#include "tests/unit/suites.h"

#define AHEAD_US (1000 * US_PER_SECOND) /* The remote clock, of the local one. */

static int64_t learn(struct remote_clock *remote, int64_t asked_us, int64_t out_us, int64_t back_us,
                     int64_t ahead_us)
{
    struct remote_answer answer = {.asked_us = asked_us,
                                   .came_us = asked_us + out_us + back_us,
                                   .time_us = asked_us + out_us + ahead_us};
    return remote_clock_learn(remote, &answer);
}

START_TEST(the_estimate_is_never_off_by_more_than_its_bound)
{
    struct random random = random_seeded((uint64_t)_i);
    struct remote_clock remote;
    remote_clock_init(&remote);
    int64_t now_us = US_PER_HOUR, width_us = 0;
    for (int i = 0; i < 500; i++) {
        now_us += (int64_t)random_below(&random, 2 * US_PER_SECOND);
        int64_t out_us = (int64_t)random_below(&random, i % 7 == 0 ? 400000 : 3000);
        int64_t back_us = (int64_t)random_below(&random, i % 5 == 0 ? 400000 : 3000);
        ck_assert_int_eq(learn(&remote, now_us, out_us, back_us, AHEAD_US), 0);
        now_us += out_us + back_us;
        width_us = remote.high_us - remote.low_us;
        int64_t off_us = remote_clock_at_us(&remote, now_us) - (now_us + AHEAD_US);
        ck_assert_int_le(off_us < 0 ? -off_us : off_us, width_us / 2 + 1);
    }
    ck_assert_int_lt(width_us, 20000); /* Slow answers do not spoil what quick ones said. */
    remote_clock_release(&remote);
}
END_TEST

START_TEST(time_does_not_run_backwards)
{
    struct remote_clock remote;
    remote_clock_init(&remote);
    int64_t now_us = US_PER_HOUR;
    learn(&remote, now_us, 1000, 1000, AHEAD_US);
    int64_t last_us = remote_clock_at_us(&remote, now_us + 10 * US_PER_MS);
    /* Set back by less than a step: it stands still until it has caught up. */
    int64_t moved_us = learn(&remote, now_us + 20 * US_PER_MS, 1000, 1000,
                             AHEAD_US - 500 * US_PER_MS);
    ck_assert_int_lt(moved_us, -400 * US_PER_MS);
    int64_t stands_us = remote_clock_at_us(&remote, now_us + 30 * US_PER_MS);
    ck_assert_int_eq(stands_us, last_us);
    ck_assert_int_gt(remote_clock_at_us(&remote, now_us + US_PER_SECOND), stands_us);
    remote_clock_release(&remote);
}
END_TEST

START_TEST(a_clock_that_was_set_is_followed)
{
    static const int64_t steps_s[] = {30, -30, 3600, -3600};
    struct remote_clock remote;
    remote_clock_init(&remote);
    int64_t now_us = US_PER_HOUR, ahead_us = AHEAD_US;
    learn(&remote, now_us, 1000, 1000, ahead_us);
    for (size_t i = 0; i < COUNT_OF(steps_s); i++) {
        (void)remote_clock_at_us(&remote, now_us + US_PER_SECOND);
        now_us += US_PER_SECOND;
        ahead_us += steps_s[i] * US_PER_SECOND;
        int64_t moved_us = learn(&remote, now_us, 1000, 1000, ahead_us);
        ck_assert_int_eq(moved_us / US_PER_SECOND, steps_s[i]);
        now_us += 2000;
        int64_t off_us = remote_clock_at_us(&remote, now_us) - (now_us + ahead_us);
        ck_assert_int_le(off_us < 0 ? -off_us : off_us, 2000);
    }
    remote_clock_release(&remote);
}
END_TEST

/* A process that was stopped between question and answer learns nothing by it. */
START_TEST(an_answer_that_took_long_moves_nothing)
{
    struct remote_clock remote;
    remote_clock_init(&remote);
    int64_t now_us = US_PER_HOUR;
    learn(&remote, now_us, 500, 500, AHEAD_US);
    now_us += US_PER_SECOND;
    ck_assert_int_eq(learn(&remote, now_us, 500, 30 * US_PER_SECOND, AHEAD_US), 0);
    now_us += 30 * US_PER_SECOND;
    int64_t off_us = remote_clock_at_us(&remote, now_us) - (now_us + AHEAD_US);
    ck_assert_int_le(off_us < 0 ? -off_us : off_us, 40 * US_PER_MS);
    remote_clock_release(&remote);
}
END_TEST

START_TEST(it_is_a_clock)
{
    struct remote_clock remote;
    remote_clock_init(&remote);
    struct remote_answer answer = {.asked_us = clock_boot_us(), .time_us = 42 * US_PER_HOUR};
    answer.came_us = clock_boot_us();
    ck_assert_int_eq(remote_clock_learn(&remote, &answer), 0);
    struct clock clock = remote_clock(&remote);
    int64_t now_us = clock_now_us(&clock);
    ck_assert_int_ge(now_us, 42 * US_PER_HOUR - US_PER_SECOND);
    ck_assert_int_lt(now_us, 43 * US_PER_HOUR);
    ck_assert_int_ge(clock_now_us(&clock), now_us);
    remote_clock_release(&remote);
}
END_TEST

Suite *remote_clock_suite(void)
{
    Suite *suite = suite_create("remote_clock");
    TCase *tc = tcase_create("all");
    tcase_add_loop_test(tc, the_estimate_is_never_off_by_more_than_its_bound, 0, 20);
    tcase_add_test(tc, time_does_not_run_backwards);
    tcase_add_test(tc, a_clock_that_was_set_is_followed);
    tcase_add_test(tc, an_answer_that_took_long_moves_nothing);
    tcase_add_test(tc, it_is_a_clock);
    suite_add_tcase(suite, tc);
    return suite;
}
