/* test_clock.c - clocks and times as text. */
#include "base/clock.h"
#include "tests/unit/suites.h"
#include <string.h>
#include <time.h>

static int64_t fixed_now(void *ctx)
{
    return *(const int64_t *)ctx;
}

START_TEST(a_clock_can_be_replaced)
{
    int64_t now_us = 42;
    struct clock clock = {.now_us = fixed_now, .ctx = &now_us};
    ck_assert_int_eq(clock_now_us(&clock), 42);
    now_us = 43;
    ck_assert_int_eq(clock_now_us(&clock), 43);
}
END_TEST

START_TEST(the_real_clock_tells_the_time)
{
    struct clock clock = clock_real();
    int64_t before_us = (int64_t)time(NULL) * US_PER_SECOND - US_PER_SECOND;
    int64_t now_us = clock_now_us(&clock);
    ck_assert_int_ge(now_us, before_us);
    ck_assert_int_lt(now_us, before_us + US_PER_MINUTE);
    int64_t mono_us = clock_mono_us();
    ck_assert_int_ge(clock_mono_us(), mono_us);
}
END_TEST

START_TEST(times_are_written_as_rfc_3339)
{
    static const struct {
        int64_t us;
        const char *text;
    } rows[] = {
        {0, "1970-01-01T00:00:00Z"},
        {1, "1970-01-01T00:00:00.000001Z"},
        {-1, "1969-12-31T23:59:59.999999Z"},
        {INT64_C(1783080000123456), "2026-07-03T12:00:00.123456Z"},
        {INT64_C(1783080000000000), "2026-07-03T12:00:00Z"},
        {INT64_C(951782400000000), "2000-02-29T00:00:00Z"},
        {INT64_C(4107542400000000), "2100-03-01T00:00:00Z"},
        {INT64_C(253402300799999999), "9999-12-31T23:59:59.999999Z"},
        {INT64_MAX, "9999-12-31T23:59:59.999999Z"},
        {INT64_C(-62167219200000000), "0000-01-01T00:00:00Z"},
        {INT64_MIN, "0000-01-01T00:00:00Z"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[TIME_TEXT_BYTES];
        ck_assert_ptr_eq(time_format(text, rows[i].us), text);
        ck_assert_str_eq(text, rows[i].text);
    }
}
END_TEST

START_TEST(every_day_agrees_with_the_c_library_and_reads_back)
{
    for (int64_t day = -200000; day < 200000; day += 7) {
        int64_t us = day * US_PER_DAY + 12345 * US_PER_SECOND;
        time_t seconds = (time_t)(us / US_PER_SECOND);
        struct tm broken;
        char want[TIME_TEXT_BYTES], text[TIME_TEXT_BYTES];
        ck_assert_ptr_nonnull(gmtime_r(&seconds, &broken));
        ck_assert_uint_gt(strftime(want, sizeof want, "%Y-%m-%dT%H:%M:%SZ", &broken), 0);
        ck_assert_str_eq(time_format(text, us), want);
        int64_t back_us = 0;
        ck_assert(time_parse(text, &back_us));
        ck_assert_int_eq(back_us, us);
    }
}
END_TEST

START_TEST(times_are_read_as_rfc_3339)
{
    static const struct {
        const char *text;
        int64_t us;
    } rows[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"1970-01-01t00:00:00z", 0},
        {"1970-01-01T00:00:00.5Z", 500000},
        {"1970-01-01T00:00:00.123456789Z", 123456},
        {"1970-01-01T00:00:00.00000000000000000000000000000000000001Z", 0},
        {"1970-01-01T01:00:00+01:00", 0},
        {"1969-12-31T18:30:00-05:30", 0},
        {"1970-01-01T00:00:00-00:00", 0},
        {"2026-07-03T12:00:00.123456Z", INT64_C(1783080000123456)},
        {"2024-02-29T00:00:00Z", INT64_C(1709164800000000)},
        {"1990-12-31T23:59:60Z", INT64_C(662688000000000)},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t us = -7;
        ck_assert_msg(time_parse(rows[i].text, &us), "%s", rows[i].text);
        ck_assert_int_eq(us, rows[i].us);
    }
}
END_TEST

START_TEST(what_is_no_time_is_refused)
{
    static const char *const rows[] = {
        NULL,
        "",
        "now",
        "1970",
        "1970-01-01",
        "1970-01-01T00:00:00",
        "1970-01-01 00:00:00Z",
        "1970-01-01T00:00Z",
        "1970-1-1T00:00:00Z",
        "1970-00-01T00:00:00Z",
        "1970-13-01T00:00:00Z",
        "1970-01-00T00:00:00Z",
        "1970-01-32T00:00:00Z",
        "1970-04-31T00:00:00Z",
        "1970-02-29T00:00:00Z",
        "2100-02-29T00:00:00Z",
        "1970-01-01T24:00:00Z",
        "1970-01-01T00:60:00Z",
        "1970-01-01T00:00:61Z",
        "1970-01-01T00:00:00.Z",
        "1970-01-01T00:00:00.Z5",
        "1970-01-01T00:00:00ZZ",
        "1970-01-01T00:00:00+1:00",
        "1970-01-01T00:00:00+24:00",
        "1970-01-01T00:00:00+0100",
        "1970-01-01T00:00:00+01:00 ",
        "-970-01-01T00:00:00Z",
        " 1970-01-01T00:00:00Z",
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t us = -7;
        ck_assert_msg(!time_parse(rows[i], &us), "%s", rows[i]);
        ck_assert_int_eq(us, -7);
    }
}
END_TEST

START_TEST(durations_are_written_for_people)
{
    static const struct {
        int64_t us;
        const char *text;
    } rows[] = {
        {0, "0 us"},
        {-5, "0 us"},
        {999, "999 us"},
        {1000, "1 ms"},
        {340 * US_PER_MS + 999, "340 ms"},
        {999999, "999 ms"},
        {1200 * US_PER_MS, "1.2 s"},
        {US_PER_MINUTE - 1, "59.9 s"},
        {US_PER_MINUTE, "1 min"},
        {200 * US_PER_SECOND, "3 min 20 s"},
        {US_PER_HOUR - 1, "59 min 59 s"},
        {2 * US_PER_HOUR + 5 * US_PER_MINUTE, "2 h 5 min"},
        {US_PER_HOUR, "1 h"},
        {50 * US_PER_HOUR, "2 d 2 h"},
        {INT64_MAX, "106751991 d 4 h"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[TIME_TEXT_BYTES];
        ck_assert_str_eq(duration_format(text, rows[i].us), rows[i].text);
    }
}
END_TEST

Suite *clock_suite(void)
{
    Suite *suite = suite_create("clock");
    TCase *all = tcase_create("all");
    tcase_add_test(all, a_clock_can_be_replaced);
    tcase_add_test(all, the_real_clock_tells_the_time);
    tcase_add_test(all, times_are_written_as_rfc_3339);
    tcase_add_test(all, every_day_agrees_with_the_c_library_and_reads_back);
    tcase_add_test(all, times_are_read_as_rfc_3339);
    tcase_add_test(all, what_is_no_time_is_refused);
    tcase_add_test(all, durations_are_written_for_people);
    suite_add_tcase(suite, all);
    return suite;
}
