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
                                adapter >= ADAPTER_CLAUDE && adapter <= ADAPTER_GOOSE;
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

START_TEST(a_window_is_a_hint_that_expires_with_it)
{
    static const int64_t now = 1000 * US_PER_DAY;
    static const struct {
        const char *what, *window;
        double utilization;
        enum compute compute;
        enum adapter adapter;
        int64_t reset_us; /* From now; 0: not told. */
        const char *status;
        int64_t expires_us; /* From now; 0: it does not count. */
        double used;
        bool warned;
    } rows[] = {
        {"a record of claude", "five_hour", 0.4, COMPUTE_PROCESS, ADAPTER_CLAUDE, US_PER_HOUR,
         "allowed", US_PER_HOUR, 0.4, false},
        {"a warning", "seven_day", 0.9, COMPUTE_PROCESS, ADAPTER_CLAUDE, US_PER_DAY,
         "allowed_warning", US_PER_DAY, 0.9, true},
        {"no reset", "five_hour", 0.4, COMPUTE_PROCESS, ADAPTER_CODEX, 0, NULL, 5 * US_PER_HOUR,
         0.4, false},
        {"a reset beyond the window", "five_hour", 1, COMPUTE_PROCESS, ADAPTER_CLAUDE,
         365 * US_PER_DAY, "rejected", 5 * US_PER_HOUR, 1, true},
        {"a window by its start", "seven_day_opus", 1, COMPUTE_PROCESS, ADAPTER_CLAUDE,
         365 * US_PER_DAY, "rejected", 7 * US_PER_DAY, 1, true},
        {"a window with a name of its own", "overage", 1, COMPUTE_PROCESS, ADAPTER_CODEX,
         365 * US_PER_DAY, NULL, 7 * US_PER_DAY, 1, false},
        {"a window longer than any of the provider", "seven_day", 1, COMPUTE_PROCESS,
         ADAPTER_GEMINI, 0, NULL, US_PER_DAY, 1, false},
        {"more than all", "five_hour", 7, COMPUTE_PROCESS, ADAPTER_CLAUDE, 0, "allowed",
         5 * US_PER_HOUR, 1, false},
        {"less than nothing", "five_hour", -7, COMPUTE_PROCESS, ADAPTER_CLAUDE, 0, "allowed",
         5 * US_PER_HOUR, 0, false},
        {"a reset that has passed", "five_hour", 1, COMPUTE_PROCESS, ADAPTER_CLAUDE, -1, NULL, 0, 0,
         false},
        {"a format that anybody can write", "five_hour", 1, COMPUTE_PROCESS, ADAPTER_NDJSON, 0,
         NULL, 0, 0, false},
        {"an agent elsewhere", "five_hour", 1, COMPUTE_REMOTE, ADAPTER_CLAUDE, 0, NULL, 0, 0,
         false},
        {"no name", NULL, 1, COMPUTE_PROCESS, ADAPTER_CLAUDE, 0, NULL, 0, 0, false},
        {"a name that is a text", "five hours", 1, COMPUTE_PROCESS, ADAPTER_CLAUDE, 0, NULL, 0, 0,
         false},
        {"a status that is a text", "five_hour", 0.5, COMPUTE_PROCESS, ADAPTER_CLAUDE, 0,
         "All good!", 5 * US_PER_HOUR, 0.5, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct window_claim claim = {
            .compute = rows[i].compute,
            .adapter = rows[i].adapter,
            .window = rows[i].window,
            .utilization = rows[i].utilization,
            .told = rows[i].reset_us != 0,
            .resets_us = now + rows[i].reset_us,
            .status = rows[i].status,
        };
        struct account_window window = {0};
        bool counts = claim_window(&claim, now, &window);
        ck_assert_msg(counts == (rows[i].expires_us > 0), "%s", rows[i].what);
        if (!counts)
            continue;
        ck_assert_msg(window.expires_us - now == rows[i].expires_us, "%s", rows[i].what);
        ck_assert_msg(window.warned == rows[i].warned, "%s", rows[i].what);
        ck_assert_double_eq(window.utilization, rows[i].used);
        ck_assert_int_eq(window.seen_us, now);
    }
}
END_TEST

Suite *claims_suite(void)
{
    Suite *suite = suite_create("claims");
    TCase *tests = tcase_create("claims");
    tcase_add_test(tests, only_a_record_of_a_program_that_failed_reaches_the_account);
    tcase_add_test(tests, a_wait_ends_within_the_window);
    tcase_add_test(tests, probes_come_less_often_every_time);
    tcase_add_test(tests, a_window_is_a_hint_that_expires_with_it);
    suite_add_tcase(suite, tests);
    return suite;
}
