/*
 * test_quota.c - usage limits in the words of providers: which texts are one, and until when.
 */
#include "base/clock.h"
#include "base/str.h"
#include "work/agent/quota.h"
#include <check.h>
#include <stdlib.h>

static int64_t now_us; /* 2026-07-03 12:00 UTC, a Friday. */

static void setup(void)
{
    ck_assert_int_eq(setenv("TZ", "UTC0", 1), 0);
    tzset();
    ck_assert(time_parse("2026-07-03T12:00:00Z", &now_us));
}

static void teardown(void)
{
    ck_assert_int_eq(unsetenv("TZ"), 0);
    tzset();
}

static const struct {
    const char *text;
    const char *until; /* NULL: it does not say. */
} limits[] = {
    {"Claude AI usage limit reached|1783090800", "2026-07-03T15:00:00Z"},
    {"Claude AI usage limit reached|1783090800000", "2026-07-03T15:00:00Z"},
    {"Claude AI usage limit reached|17", NULL},
    {"Claude AI usage limit reached|1783000000", NULL}, /* Over already. */
    {"Claude AI usage limit reached|9999999999", NULL}, /* In 2286. */
    {"Claude AI usage limit reached|99999999999999999999", NULL},
    {"Claude usage limit reached. Your limit will reset at 5pm (Europe/Warsaw).",
     "2026-07-03T17:01:00Z"},
    {"You've hit your limit \xc2\xb7 resets 8:20pm (Asia/Singapore)", "2026-07-03T20:21:00Z"},
    {"You've hit your session limit \xc2\xb7 resets 11am", "2026-07-04T11:01:00Z"},
    {"You've hit your limit - resets Feb 7, 11am (Asia/Seoul)", NULL}, /* Months away. */
    {"You've hit your weekly limit - resets Jul 7, 11am (UTC)", "2026-07-07T11:01:00Z"},
    {"5-hour limit reached - resets 12am", "2026-07-04T00:01:00Z"},
    {"You've hit your usage limit. Visit https://chatgpt.com/codex/settings/usage to purchase "
     "more credits or try again at 3:28 PM.",
     "2026-07-03T15:29:00Z"},
    {"You've hit your usage limit. Try again at Jul 8th, 2026 12:30 PM.", "2026-07-08T12:31:00Z"},
    {"You've hit your usage limit. Try again Jul 8.", NULL},
    {"You've hit your usage limit. Upgrade to Pro or try again in 5 days 22 hours 11 minutes.",
     "2026-07-09T10:11:00Z"},
    {"You've hit your usage limit. Try again in 1 hour and 2 seconds.", "2026-07-03T13:00:02Z"},
    {"You've hit your usage limit. Try again later.", NULL},
    {"Rate limit reached for gpt-5 on tokens per min. Please try again in 1.5s.",
     "2026-07-03T12:00:01.5Z"},
    {"Rate limit reached for gpt-5. Please try again in 20ms.", "2026-07-03T12:00:00.02Z"},
    {"Rate limit reached. Please try again in 6m0s.", "2026-07-03T12:06:00Z"},
    {"unexpected status 429: {\"error\":{\"type\":\"usage_limit_reached\",\"message\":\"The usage "
     "limit has been reached\",\"resets_in_seconds\":13872}}",
     "2026-07-03T15:51:12Z"},
    {"{\"error\":{\"type\":\"usage_limit_reached\",\"resets_at\":1783090800}}",
     "2026-07-03T15:00:00Z"},
    {"{\\\"type\\\":\\\"usage_limit_reached\\\",\\\"resets_in_seconds\\\":60}",
     "2026-07-03T12:01:00Z"},
    {"API Error: 429 {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":"
     "\"This request would exceed your account's rate limit. Please try again later.\"}}",
     NULL},
    {"exceeded retry limit, last status: 429 Too Many Requests", NULL},
    {"HTTP 429, Retry-After: 30", "2026-07-03T12:00:30Z"},
    {"Quota exceeded. Check your plan and billing details.", NULL},
};

START_TEST(a_limit_is_recognised_with_its_reset)
{
    char text[TIME_TEXT_BYTES] = "";
    ck_assert_msg(quota_mentioned(limits[_i].text), "%s", limits[_i].text);
    int64_t at_us = quota_reset(limits[_i].text, now_us), want_us = 0;
    if (limits[_i].until != NULL)
        ck_assert(time_parse(limits[_i].until, &want_us));
    ck_assert_msg(at_us == want_us, "%s: %s", limits[_i].text, time_format(text, at_us));
}
END_TEST

static const char *const others[] = {
    "",
    "API Error: 500 Internal server error",
    "Invalid API key",
    "stream error: 429 Too Many Requests; retrying 1/5 in 203ms",
    "Reconnecting... 1/5 (unexpected status 429 Too Many Requests)",
    "the test hit your code 429 times",
    "Reached your file; nothing to do there, and no reason at all to speak of a limit",
};

START_TEST(other_errors_are_none)
{
    ck_assert_msg(!quota_mentioned(others[_i]), "%s", others[_i]);
}
END_TEST

START_TEST(only_a_text_that_begins_so_stands_in_place_of_an_answer)
{
    ck_assert(quota_notice("Claude AI usage limit reached|1783090800"));
    ck_assert(quota_notice("You've hit your session limit - resets 8pm"));
    ck_assert(!quota_notice("The page says: Claude AI usage limit reached|1783090800"));
    ck_assert(!quota_notice("You've hit your stride."));
}
END_TEST

START_TEST(a_time_of_day_is_the_end_of_its_minute_and_soon_when_it_has_just_passed)
{
    static const struct {
        const char *now, *text, *until;
    } rows[] = {
        {"2026-07-03T12:43:59Z", "try again at 12:44 PM", "2026-07-03T12:45:00Z"},
        {"2026-07-03T12:44:00Z", "try again at 12:44 PM", "2026-07-03T12:45:00Z"},
        {"2026-07-03T12:44:59Z", "try again at 12:44 PM", "2026-07-03T12:45:00Z"},
        {"2026-07-03T12:45:00Z", "try again at 12:44 PM", "2026-07-03T12:46:00Z"},
        {"2026-07-03T12:47:30Z", "try again at 12:44 PM", "2026-07-03T12:48:30Z"},
        {"2026-07-03T13:43:00Z", "try again at 12:44 PM", "2026-07-03T13:44:00Z"},
        {"2026-07-03T13:44:00Z", "try again at 12:44 PM", "2026-07-04T12:45:00Z"},
        {"2026-07-03T20:00:00Z", "try again at 12:44 PM", "2026-07-04T12:45:00Z"},
        {"2026-07-04T00:02:00Z", "try again at 11:59 PM", "2026-07-04T00:03:00Z"},
        {"2026-07-04T00:02:00Z", "try again at 12:10 AM", "2026-07-04T00:11:00Z"},
        {"2026-07-03T23:58:00Z", "try again at 12:10 AM", "2026-07-04T00:11:00Z"},
        {"2026-07-03T12:45:00Z", "try again at Jul 4th, 2026 12:44 PM", "2026-07-04T12:45:00Z"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[TIME_TEXT_BYTES] = "";
        int64_t at_us, want_us;
        ck_assert(time_parse(rows[i].now, &at_us) && time_parse(rows[i].until, &want_us));
        int64_t reset_us = quota_reset(rows[i].text, at_us);
        ck_assert_msg(reset_us == want_us, "row %zu: %s", i, time_format(text, reset_us));
    }
}
END_TEST

START_TEST(a_time_of_day_is_that_of_this_machine)
{
    ck_assert_int_eq(setenv("TZ", "UTC-2", 1), 0); /* Two hours east. */
    tzset();
    int64_t want_us;
    ck_assert(time_parse("2026-07-03T15:01:00Z", &want_us));
    ck_assert_int_eq(quota_reset("try again at 5:00 PM", now_us), want_us);
    ck_assert_int_eq(quota_reset("resets 3pm (UTC)", now_us), want_us);
}
END_TEST

Suite *quota_suite(void)
{
    Suite *suite = suite_create("quota");
    TCase *tests = tcase_create("quota");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, a_limit_is_recognised_with_its_reset, 0, (int)COUNT_OF(limits));
    tcase_add_loop_test(tests, other_errors_are_none, 0, (int)COUNT_OF(others));
    tcase_add_test(tests, only_a_text_that_begins_so_stands_in_place_of_an_answer);
    tcase_add_test(tests, a_time_of_day_is_the_end_of_its_minute_and_soon_when_it_has_just_passed);
    tcase_add_test(tests, a_time_of_day_is_that_of_this_machine);
    suite_add_tcase(suite, tests);
    return suite;
}
