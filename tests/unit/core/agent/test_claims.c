/* test_claims.c - how far the word of an agent reaches. */
#include "base/clock.h"
#include "base/str.h"
#include "core/agent/claims.h"
#include "tests/unit/suites.h"

START_TEST(only_a_record_of_a_program_that_failed_reaches_the_account)
{
    for (int bits = 0; bits < 8; bits++) {
        for (int compute = COMPUTE_PROCESS; compute <= COMPUTE_PULL; compute++) {
            for (int adapter = ADAPTER_NONE; adapter < ADAPTER_COUNT; adapter++) {
                struct limit_claim claim = {
                    .compute = (enum compute)compute,
                    .adapter = (enum adapter)adapter,
                    .is_record = bits & 1,
                    .ended = bits & 2,
                    .failed = bits & 4,
                };
                bool evidence = bits == 7 && compute == COMPUTE_PROCESS &&
                                adapter >= ADAPTER_CLAUDE && adapter <= ADAPTER_AMP;
                ck_assert_int_eq(claim_reach(&claim), evidence ? CLAIM_ACCOUNT : CLAIM_OWN_RUN);
            }
        }
    }
}
END_TEST

START_TEST(a_wait_ends_within_the_window)
{
    static const int64_t now = 1000 * US_PER_DAY;
    static const struct {
        bool told;
        int64_t in_us, hits;
        enum adapter adapter;
        int64_t wait_us;
    } rows[] = {
        {true, US_PER_MINUTE, 1, ADAPTER_CLAUDE, US_PER_MINUTE},
        {true, US_PER_MINUTE, 9, ADAPTER_NDJSON, US_PER_MINUTE},
        {true, 8 * US_PER_DAY, 1, ADAPTER_CLAUDE, 7 * US_PER_DAY},
        {true, 8 * US_PER_DAY, 1, ADAPTER_CODEX, 7 * US_PER_DAY},
        {true, US_PER_DAY, 1, ADAPTER_NDJSON, 6 * US_PER_HOUR},
        {true, INT64_C(1) << 60, 1, ADAPTER_NONE, 6 * US_PER_HOUR},
        {true, 0, 1, ADAPTER_CLAUDE, US_PER_SECOND},
        {true, -US_PER_DAY, 3, ADAPTER_CLAUDE, 4 * US_PER_SECOND},
        {true, -US_PER_DAY, 1000000, ADAPTER_CLAUDE, 240 * US_PER_MINUTE},
        {false, 0, 1, ADAPTER_CLAUDE, 15 * US_PER_MINUTE},
        {false, 0, 2, ADAPTER_NDJSON, 30 * US_PER_MINUTE},
        {false, 0, INT64_MAX, ADAPTER_NDJSON, 240 * US_PER_MINUTE},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct limit_wait wait = {.told = rows[i].told,
                                  .reported_us = now + rows[i].in_us,
                                  .hits = rows[i].hits,
                                  .adapter = rows[i].adapter};
        ck_assert_msg(claim_wait_until(&wait, now) - now == rows[i].wait_us, "row %zu", i);
    }
}
END_TEST

START_TEST(probes_come_less_often_every_time)
{
    static const int minutes[] = {15, 30, 60, 120, 120};
    for (size_t i = 0; i < COUNT_OF(minutes); i++)
        ck_assert_int_eq(claim_probe_us((int64_t)i), minutes[i] * US_PER_MINUTE);
    ck_assert_int_eq(claim_probe_us(INT64_MAX), 120 * US_PER_MINUTE);
}
END_TEST

Suite *claims_suite(void)
{
    Suite *suite = suite_create("claims");
    TCase *tests = tcase_create("claims");
    tcase_add_test(tests, only_a_record_of_a_program_that_failed_reaches_the_account);
    tcase_add_test(tests, a_wait_ends_within_the_window);
    tcase_add_test(tests, probes_come_less_often_every_time);
    suite_add_tcase(suite, tests);
    return suite;
}
