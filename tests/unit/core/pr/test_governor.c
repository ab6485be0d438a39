/*
 * test_governor.c - calls of a forge's API: what is granted, what is kept, and for how long.
 */
#include "base/clock.h"
#include "base/str.h"
#include "core/pr/governor.h"
#include <check.h>

#define NOW   (INT64_C(1000) * US_PER_SECOND)
#define RESET (NOW + 600 * US_PER_SECOND)

static struct quota known(int64_t limit, int64_t remaining)
{
    return (struct quota){.limit = limit, .remaining = remaining, .reset_us = RESET};
}

/* quota, wish -> calls, why, seconds */
static const struct {
    struct quota quota;
    struct quota_wish wish;
    int64_t calls;
    enum quota_why why;
    int64_t wait_seconds;
} asks[] = {
    /* Nothing is known: the first answer tells. */
    {{.limit = -1, .remaining = -1}, {.want = 20, .repositories = 1}, 2, QUOTA_GRANTED, 0},
    {{.limit = -1, .remaining = -1}, {.want = 1, .repositories = 1}, 1, QUOTA_GRANTED, 0},
    {{5000, 4000, RESET, 0, 0, 0}, {.want = 20, .repositories = 1}, 20, QUOTA_GRANTED, 0},
    /* The reserve: a tenth of 5000. */
    {{5000, 510, RESET, 0, 0, 0}, {.want = 20, .repositories = 1}, 10, QUOTA_GRANTED, 0},
    {{5000, 500, RESET, 0, 0, 0}, {.want = 20, .repositories = 1}, 0, QUOTA_RESERVED, 600},
    {{5000, 50, RESET, 0, 0, 0}, {.want = 20, .repositories = 1}, 0, QUOTA_RESERVED, 600},
    {{5000, 50, RESET, 0, 0, 0}, {.want = 5, .person = true, .repositories = 1}, 5, 0, 0},
    {{60, 40, RESET, 0, 0, 0}, {.want = 50, .repositories = 1}, 30, QUOTA_GRANTED, 0},
    {{10, 10, RESET, 0, 0, 0}, {.want = 20, .repositories = 1}, 5, QUOTA_GRANTED, 0},
    /* Blocks that are out count as used. */
    {{5000, 600, RESET, 95, 0, 0}, {.want = 20, .repositories = 1}, 5, QUOTA_GRANTED, 0},
    {{5000, 600, RESET, 600, 0, 0}, {.want = 20, .repositories = 1}, 0, QUOTA_SPENT, 600},
    {{5000, 0, RESET, 0, 0, 0}, {.want = 1, .person = true, .repositories = 1}, 0, 1, 600},
    /* Shares: 4500 for two are 2250 each. */
    {{5000, 2000, RESET, 0, 0, 0},
     {.want = 20, .used = 3000, .owed = 2250, .repositories = 2},
     0,
     QUOTA_SHARED,
     600},
    {{5000, 2000, RESET, 0, 0, 0},
     {.want = 20, .used = 2245, .owed = 2250, .repositories = 2},
     5,
     QUOTA_GRANTED,
     0},
    {{5000, 3000, RESET, 0, 0, 0},
     {.want = 20, .used = 3000, .owed = 100, .repositories = 2},
     20,
     QUOTA_GRANTED,
     0},
    /* A pause that the forge asks for holds for everyone. */
    {{5000, 4000, RESET, 0, NOW + 7 * US_PER_SECOND, 1},
     {.want = 20, .repositories = 1},
     0,
     QUOTA_BLOCKED,
     7},
    {{5000, 4000, RESET, 0, NOW + 7 * US_PER_SECOND, 1},
     {.want = 1, .person = true, .repositories = 1},
     0,
     QUOTA_BLOCKED,
     7},
    /* The window has ended. */
    {{5000, 0, NOW - 1, 300, 0, 0}, {.want = 20, .repositories = 1}, 20, QUOTA_GRANTED, 0},
    /* Its end is not known. */
    {{5000, 0, 0, 0, 0, 0}, {.want = 20, .repositories = 1}, 0, QUOTA_SPENT, 60},
};

START_TEST(an_ask_is_answered)
{
    struct quota quota = asks[_i].quota;
    int64_t before = quota.granted;
    if (quota.reset_us > 0 && quota.reset_us <= NOW)
        before = 0;
    struct quota_verdict verdict = quota_ask(&quota, &asks[_i].wish, NOW);
    ck_assert_int_eq(verdict.calls, asks[_i].calls);
    ck_assert_int_eq(verdict.why, asks[_i].why);
    ck_assert_int_eq(verdict.wait_us, asks[_i].wait_seconds * US_PER_SECOND);
    ck_assert_int_eq(quota.granted, before + verdict.calls);
}
END_TEST

static struct quota_seen seen_of(int64_t remaining, int64_t reset_us)
{
    return (struct quota_seen){.limit = 5000, .remaining = remaining, .reset_us = reset_us};
}

START_TEST(what_is_told_counts_once)
{
    struct quota quota = quota_new();
    struct quota_wish wish = {.want = 20, .repositories = 1};
    struct quota_told told = {.used = 12, .back = 8};
    struct quota_seen seen = seen_of(4950, RESET);
    ck_assert_int_eq(quota_ask(&quota, &wish, NOW).calls, QUOTA_BLIND);
    quota_tell(&quota, &seen, &(struct quota_told){.used = QUOTA_BLIND}, NOW);
    seen = seen_of(4900, RESET);
    ck_assert_int_eq(quota_ask(&quota, &wish, NOW).calls, 20);
    ck_assert_int_eq(quota_ask(&quota, &wish, NOW).calls, 20);
    quota_tell(&quota, &seen, &told, NOW);
    ck_assert_int_eq(quota.granted, 20);
    ck_assert_int_eq(quota.remaining, 4900);
    /* An older answer of another worker, and one without a word about it. */
    seen = seen_of(4950, RESET + 1000);
    quota_tell(&quota, &seen, &(struct quota_told){.used = 5}, NOW);
    ck_assert_int_eq(quota.remaining, 4900);
    ck_assert_int_eq(quota.granted, 15);
    quota_tell(&quota, NULL, &(struct quota_told){.used = 10, .back = 99}, NOW);
    ck_assert_int_eq(quota.remaining, 4890);
    ck_assert_int_eq(quota.granted, 0);
    /* The next window; then a late answer of this one. */
    seen = seen_of(4999, RESET + 3600 * US_PER_SECOND);
    quota_tell(&quota, &seen, &(struct quota_told){0}, RESET + 1);
    ck_assert_int_eq(quota.remaining, 4999);
    seen = seen_of(3, RESET);
    quota_tell(&quota, &seen, &(struct quota_told){0}, RESET + 2);
    ck_assert_int_eq(quota.remaining, 4999);
}
END_TEST

/* told, one after the other, at a time: remaining, granted and end of the window afterwards */
static const struct {
    int64_t at_s, remaining, reset_s; /* Seconds after NOW. */
    int64_t want_remaining, want_granted, want_reset_s;
} windows[] = {
    {0, 100, 600, 100, 20, 600},
    {10, 4990, 3700, 4990, 0, 3700},   /* It ended earlier than told: the next has begun. */
    {11, 90, 600, 90, 0, 600},         /* An answer of the window before, which came late: */
    {12, 4980, 3700, 4980, 0, 3700},   /* the next one settles it. */
    {13, 4985, 3701, 4980, 0, 3701},   /* The same window, by a clock that is a little off. */
    {20, 4970, 1800, 4970, 0, 1800},   /* The forge has changed its mind: */
    {30, 4960, 1800, 4960, 0, 1800},   /* the earlier end holds, */
    {1801, 4999, 5400, 4999, 0, 5400}, /* and what comes after it is new. */
    {1802, 4990, -1, 4990, 0, 5400},   /* A number alone. */
};

START_TEST(a_window_may_end_at_another_time_than_was_told)
{
    struct quota quota = known(5000, 200);
    quota.granted = 20;
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        int64_t reset_us = windows[i].reset_s < 0 ? 0 : NOW + windows[i].reset_s * US_PER_SECOND;
        struct quota_seen seen = seen_of(windows[i].remaining, reset_us);
        quota_tell(&quota, &seen, &(struct quota_told){0}, NOW + windows[i].at_s * US_PER_SECOND);
        ck_assert_msg(quota.remaining == windows[i].want_remaining, "%zu: %lld", i,
                      (long long)quota.remaining);
        ck_assert_int_eq(quota.granted, windows[i].want_granted);
        ck_assert_int_eq(quota.reset_us, NOW + windows[i].want_reset_s * US_PER_SECOND);
    }
}
END_TEST

/* By our clock the window is over, by the forge's it is not. */
START_TEST(a_refusal_after_the_end_of_a_window_is_not_repeated_at_once)
{
    static const int64_t seconds[] = {1, 2, 4, 8, 16};
    struct quota quota = known(5000, 0);
    struct quota_wish wish = {.want = 20, .repositories = 1};
    struct quota_seen refused = seen_of(0, RESET);
    refused.retry_us = US_PER_SECOND;
    int64_t now_us = RESET + 1;
    for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
        ck_assert_int_gt(quota_ask(&quota, &wish, now_us).calls, 0);
        quota_tell(&quota, &refused, &(struct quota_told){.used = 1, .back = 19}, now_us);
        ck_assert_int_eq(quota.blocked_us, now_us + seconds[i] * US_PER_SECOND);
        ck_assert_int_eq(quota_ask(&quota, &wish, now_us).why, QUOTA_BLOCKED);
        now_us = quota.blocked_us;
    }
    struct quota_seen good = seen_of(4999, RESET + 3600 * US_PER_SECOND);
    ck_assert_int_gt(quota_ask(&quota, &wish, now_us).calls, 0);
    quota_tell(&quota, &good, &(struct quota_told){.used = 1}, now_us);
    ck_assert_int_eq(quota.strikes, 0);
    ck_assert_int_eq(quota.remaining, 4999);
}
END_TEST

/* A repository that was set up without its token has seen the limit of strangers. */
START_TEST(another_limit_is_another_count)
{
    struct quota quota = known(60, 3);
    struct quota_seen seen = seen_of(4990, RESET);
    quota_tell(&quota, &seen, &(struct quota_told){0}, NOW);
    ck_assert_int_eq(quota.limit, 5000);
    ck_assert_int_eq(quota.remaining, 4990);
    ck_assert_int_eq(quota.reset_us, RESET);
}
END_TEST

START_TEST(secondary_limits_wait_longer_each_time)
{
    static const int64_t minutes[] = {1, 2, 4, 8, 16, 30, 30, 30};
    struct quota quota = known(5000, 4000);
    struct quota_seen seen = {.limit = -1, .remaining = -1, .secondary = true};
    int64_t now_us = NOW;
    for (size_t i = 0; i < sizeof minutes / sizeof minutes[0]; i++) {
        quota_tell(&quota, &seen, &(struct quota_told){.used = 1}, now_us);
        ck_assert_int_eq(quota.blocked_us, now_us + minutes[i] * US_PER_MINUTE);
        now_us = quota.blocked_us;
    }
    seen = seen_of(3000, 0);
    quota_tell(&quota, &seen, &(struct quota_told){.used = 1}, now_us);
    ck_assert_int_eq(quota.strikes, 0);
    seen = (struct quota_seen){
        .limit = -1, .remaining = -1, .secondary = true, .retry_us = 5 * US_PER_MINUTE};
    quota_tell(&quota, &seen, &(struct quota_told){.used = 1}, now_us);
    ck_assert_int_eq(quota.blocked_us, now_us + 5 * US_PER_MINUTE);
}
END_TEST

START_TEST(a_time_that_the_forge_names_is_the_time_that_is_waited)
{
    static const int64_t seconds[] = {1, 2, 4};
    struct quota quota = known(5000, 4000);
    struct quota_seen seen = {
        .limit = -1, .remaining = -1, .secondary = true, .retry_us = US_PER_SECOND};
    int64_t now_us = NOW;
    for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
        quota_tell(&quota, &seen, &(struct quota_told){.used = 1}, now_us);
        ck_assert_int_eq(quota.blocked_us, now_us + seconds[i] * US_PER_SECOND);
        now_us = quota.blocked_us;
    }
}
END_TEST

/* 20 pull requests, 50 calls left: all of them wait, and a person does not. */
START_TEST(the_reserve_stays_however_many_ask)
{
    struct quota quota = known(5000, 540);
    struct quota_wish wish = {.want = 20, .repositories = 1};
    int64_t granted = 0;
    for (int i = 0; i < 20; i++)
        granted += quota_ask(&quota, &wish, NOW).calls;
    ck_assert_int_eq(granted, 40);
    wish.person = true;
    ck_assert_int_eq(quota_ask(&quota, &wish, NOW).calls, 20);
}
END_TEST

Suite *governor_suite(void)
{
    Suite *suite = suite_create("governor");
    TCase *tests = tcase_create("governor");
    tcase_add_loop_test(tests, an_ask_is_answered, 0, (int)(sizeof asks / sizeof asks[0]));
    tcase_add_test(tests, what_is_told_counts_once);
    tcase_add_test(tests, a_window_may_end_at_another_time_than_was_told);
    tcase_add_test(tests, a_refusal_after_the_end_of_a_window_is_not_repeated_at_once);
    tcase_add_test(tests, another_limit_is_another_count);
    tcase_add_test(tests, secondary_limits_wait_longer_each_time);
    tcase_add_test(tests, a_time_that_the_forge_names_is_the_time_that_is_waited);
    tcase_add_test(tests, the_reserve_stays_however_many_ask);
    suite_add_tcase(suite, tests);
    return suite;
}
