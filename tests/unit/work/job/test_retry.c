/* test_retry.c - how long a worker waits for its server, and when it gives up. */
#include "base/clock.h"
#include "tests/unit/suites.h"
#include "work/job/retry.h"

START_TEST(pauses_grow_to_their_limit_and_differ)
{
    struct random random = random_seeded(1);
    ck_assert_int_ge(retry_pause_ms(1, &random), RETRY_PAUSE_MIN_MS);
    ck_assert_int_le(retry_pause_ms(1, &random), RETRY_PAUSE_MIN_MS + RETRY_JITTER_MS);
    ck_assert_int_eq(retry_pause_ms(60, &random), RETRY_PAUSE_MAX_MS);
    int64_t first = retry_pause_ms(3, &random);
    bool differs = false;
    for (int i = 0; i < 10; i++)
        differs |= retry_pause_ms(3, &random) != first;
    ck_assert(differs);
}
END_TEST

START_TEST(patience_depends_on_what_went_wrong)
{
    static const struct {
        enum rc rc;
        int64_t since_ms;
        bool again;
    } table[] = {
        {RC_OK, 0, false},
        {RC_STALE, 0, false},
        {RC_INVALID, 0, false},
        {RC_UNREACHABLE, 0, true},
        {RC_BUSY, RETRY_BROKEN_MS + 1000, true},
        {RC_UNREACHABLE, RETRY_BROKEN_MS + 1000, true},
        {RC_IO, RETRY_BROKEN_MS - 1000, true},
        {RC_IO, RETRY_BROKEN_MS + 1000, false},
        {RC_UNREACHABLE, RETRY_AWAY_MS + 1000, false},
    };
    struct stop stop;
    ck_assert_int_eq(stop_init(&stop, NULL), RC_OK);
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct retry retry = retry_begin(&stop);
        retry.begin_us -= table[i].since_ms * US_PER_MS;
        ck_assert_int_eq(retry_again(&retry, table[i].rc), table[i].again);
    }
    stop_release(&stop);
}
END_TEST

START_TEST(who_is_asked_to_stop_tries_a_few_times_more)
{
    struct stop stop;
    ck_assert_int_eq(stop_init(&stop, NULL), RC_OK);
    stop_ask(&stop, STOP_SHUTDOWN);
    struct retry retry = retry_begin(&stop);
    retry.last_tries = 2;
    ck_assert(retry_again(&retry, RC_UNREACHABLE));
    ck_assert(retry_again(&retry, RC_UNREACHABLE));
    ck_assert(!retry_again(&retry, RC_UNREACHABLE));
    stop_release(&stop);
}
END_TEST

START_TEST(a_wait_ends_in_time_or_when_somebody_asks)
{
    struct stop stop;
    ck_assert_int_eq(stop_init(&stop, NULL), RC_OK);
    ck_assert(!stop_wait(&stop, 1));
    ck_assert(!stop_wait(&stop, 0));
    ck_assert(!stop_wait(&stop, -5));
    stop_ask(&stop, STOP_CANCEL);
    ck_assert(stop_wait(&stop, 3600 * 1000));
    ck_assert(stop_wait(&stop, 0));
    stop_release(&stop);
}
END_TEST

Suite *retry_suite(void)
{
    Suite *suite = suite_create("retry");
    TCase *tests = tcase_create("retry");
    tcase_add_test(tests, pauses_grow_to_their_limit_and_differ);
    tcase_add_test(tests, patience_depends_on_what_went_wrong);
    tcase_add_test(tests, who_is_asked_to_stop_tries_a_few_times_more);
    tcase_add_test(tests, a_wait_ends_in_time_or_when_somebody_asks);
    suite_add_tcase(suite, tests);
    return suite;
}
