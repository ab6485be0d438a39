/*
 * test_cron.c - cron expressions: what they say, what is refused, and the next time.
 */
#include "base/clock.h"
#include "core/queue/cron.h"
#include "tests/unit/suites.h"
#include <string.h>

static const struct {
    const char *cron, *after, *want; /* want NULL: never */
} times[] = {
    {"* * * * *", "2026-03-01T10:20:30Z", "2026-03-01T10:21:00Z"},
    {"* * * * *", "2026-03-01T10:20:00Z", "2026-03-01T10:21:00Z"},
    {"* * * * *", "2026-03-01T10:19:59.999999Z", "2026-03-01T10:20:00Z"},
    {"* * * * *", "2026-12-31T23:59:00Z", "2027-01-01T00:00:00Z"},
    {"* * * * * *", "2026-03-01T10:20:30.5Z", "2026-03-01T10:20:31Z"},
    {"*/20 * * * * *", "2026-03-01T10:20:40Z", "2026-03-01T10:21:00Z"},
    {"30 5 * * * *", "2026-03-01T10:05:30Z", "2026-03-01T11:05:30Z"},
    {"*/15 * * * *", "2026-03-01T10:46:00Z", "2026-03-01T11:00:00Z"},
    {"5/20 * * * *", "2026-03-01T10:26:00Z", "2026-03-01T10:45:00Z"},
    {"10-20/5 * * * *", "2026-03-01T10:15:00Z", "2026-03-01T10:20:00Z"},
    {"10-20/5 * * * *", "2026-03-01T10:20:00Z", "2026-03-01T11:10:00Z"},
    {"0,30 8-9 * * *", "2026-03-01T09:30:00Z", "2026-03-02T08:00:00Z"},
    {"0 3 * * *", "2026-03-28T23:00:00Z", "2026-03-29T03:00:00Z"},
    {"30 2 * * *", "2026-03-29T00:00:00Z", "2026-03-29T02:30:00Z"},
    {"0 0 31 * *", "2026-03-31T00:00:00Z", "2026-05-31T00:00:00Z"},
    {"0 0 30 2 *", "2026-01-01T00:00:00Z", NULL},
    {"0 0 31 4,6,9,11 *", "2026-01-01T00:00:00Z", NULL},
    {"0 0 29 2 *", "2025-03-01T00:00:00Z", "2028-02-29T00:00:00Z"},
    {"0 0 29 2 *", "2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z"},
    {"0 0 29 FEB *", "2027-12-31T00:00:00Z", "2028-02-29T00:00:00Z"},
    {"0 0 1 jan *", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"},
    {"0 12 * * MON-FRI", "2026-07-03T12:00:00Z", "2026-07-06T12:00:00Z"},
    {"0 12 * * 0", "2026-07-03T12:00:00Z", "2026-07-05T12:00:00Z"},
    {"0 12 * * 7", "2026-07-03T12:00:00Z", "2026-07-05T12:00:00Z"},
    {"0 12 * * 5-7", "2026-07-05T12:00:00Z", "2026-07-10T12:00:00Z"},
    {"0 0 13 * FRI", "2026-07-03T00:00:00Z", "2026-07-10T00:00:00Z"},
    {"0 0 13 * FRI", "2026-07-10T00:00:00Z", "2026-07-13T00:00:00Z"},
    {"0 0 */2 * MON", "2026-07-03T00:00:00Z", "2026-07-13T00:00:00Z"},
    {"0 0 13 * *", "2026-07-03T00:00:00Z", "2026-07-13T00:00:00Z"},
    {"  0\t0  13 * *  ", "2026-07-03T00:00:00Z", "2026-07-13T00:00:00Z"},
    {"@hourly", "2026-07-03T12:00:00Z", "2026-07-03T13:00:00Z"},
    {"@daily", "2026-02-28T12:00:00Z", "2026-03-01T00:00:00Z"},
    {"@daily", "2028-02-28T12:00:00Z", "2028-02-29T00:00:00Z"},
    {"@weekly", "2026-07-03T12:00:00Z", "2026-07-05T00:00:00Z"},
    {"@monthly", "2026-07-03T12:00:00Z", "2026-08-01T00:00:00Z"},
    {"@Yearly", "2026-07-03T12:00:00Z", "2027-01-01T00:00:00Z"},
    {"59 59 23 31 12 *", "1999-12-31T23:59:59Z", "2000-12-31T23:59:59Z"},
};

START_TEST(the_next_time_is_the_first_one_after)
{
    struct cron cron;
    struct err err = {0};
    int64_t after_us = 0, want_us = 0;
    ck_assert_msg(cron_parse(times[_i].cron, &cron, &err) == RC_OK, "%s: %s", times[_i].cron,
                  err.text);
    ck_assert(time_parse(times[_i].after, &after_us));
    ck_assert(times[_i].want == NULL || time_parse(times[_i].want, &want_us));
    char got[TIME_TEXT_BYTES];
    int64_t next_us = cron_next(&cron, after_us);
    ck_assert_msg(next_us == want_us, "%s after %s: %s", times[_i].cron, times[_i].after,
                  time_format(got, next_us));
}
END_TEST

static const struct {
    const char *cron, *says;
} refused[] = {
    {"", "this has 0"},
    {"* * * *", "this has 4"},
    {"* * * * * * *", "this has 7"},
    {"@never", "this has 1"},
    {"60 * * * *", "minute"},
    {"60 * * * * *", "second"},
    {"* 24 * * *", "hour"},
    {"* * 0 * *", "day-of-month"},
    {"* * 32 * *", "day-of-month"},
    {"* * * 13 *", "month takes"},
    {"* * * XYZ *", "month takes"},
    {"* * * * 8", "day-of-week"},
    {"* * * * MONDAY", "day-of-week"},
    {"JAN * * * *", "minute"},
    {"*/0 * * * *", "minute"},
    {"*/ * * * *", "minute"},
    {"5- * * * *", "minute"},
    {"20-10 * * * *", "minute"},
    {"1,,2 * * * *", "minute"},
    {"1, * * * *", "minute"},
    {"-1 * * * *", "minute"},
    {"1.5 * * * *", "minute"},
    {"99999999999999999999 * * * *", "minute"},
    {"** * * * *", "minute"},
    {"? * * * *", "minute"},
};

START_TEST(what_is_refused_names_its_field)
{
    struct cron cron = {.seconds = 77};
    struct err err = {0};
    ck_assert_msg(cron_parse(refused[_i].cron, &cron, &err) == RC_INVALID, "%s", refused[_i].cron);
    ck_assert_msg(strstr(err.text, refused[_i].says) != NULL, "%s: %s", refused[_i].cron, err.text);
    ck_assert_str_eq(err.field, "cron");
    ck_assert_uint_eq(cron.seconds, 77);
}
END_TEST

Suite *cron_suite(void)
{
    Suite *suite = suite_create("cron");
    TCase *tc = tcase_create("cron");
    tcase_add_loop_test(tc, the_next_time_is_the_first_one_after, 0, COUNT_OF(times));
    tcase_add_loop_test(tc, what_is_refused_names_its_field, 0, COUNT_OF(refused));
    suite_add_tcase(suite, tc);
    return suite;
}
