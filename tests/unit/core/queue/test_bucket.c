/*
 * test_bucket.c - a bucket gives what its rule says, whatever the clock does.
 */
#include "base/random.h"
#include "base/rc.h"
#include "core/queue/bucket.h"
#include "tests/unit/suites.h"

#define T0     INT64_C(1000000000)
#define SECOND INT64_C(1000000)

/* Ten a second, five at once; one bucket from the first row to the last. */
static const struct {
    const char *why;
    int64_t at_us, want, got, ready_us;
} rows[] = {
    {"a fresh one is full", 0, 3, 3, 0},
    {"and gives no more than it has", 0, 5, 2, 100000},
    {"nothing is there", 50000, 1, 0, 100000},
    {"half a token was kept", 100000, 1, 1, 200000},
    {"asking for none takes none", 200000, 0, 0, 200000},
    {"asking for less than none too", 200000, -5, 0, 200000},
    {"it does not overflow its rim", 3600 * SECOND, 100, 5, 3600 * SECOND + 100000},
    {"a clock that steps back gives nothing", 1800 * SECOND, 1, 0, 1800 * SECOND + 100000},
    {"and filling goes on from there", 1800 * SECOND + 100000, 1, 1, 1800 * SECOND + 200000},
};

START_TEST(a_bucket_gives_what_its_rule_says)
{
    static const struct bucket_rule rule = {.per_second = 10, .burst = 5};
    struct bucket bucket = {0};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t now_us = T0 + rows[i].at_us;
        ck_assert_msg(bucket_take(&rule, &bucket, now_us, rows[i].want) == rows[i].got, "%s",
                      rows[i].why);
        ck_assert_msg(bucket_ready_us(&rule, &bucket, now_us) == T0 + rows[i].ready_us, "%s",
                      rows[i].why);
    }
}
END_TEST

START_TEST(asking_often_loses_nothing)
{
    static const struct bucket_rule rule = {.per_second = 7, .burst = 1};
    struct bucket bucket = {0};
    int64_t got = 0;
    for (int64_t now_us = T0; now_us <= T0 + 10 * SECOND; now_us += 999)
        got += bucket_take(&rule, &bucket, now_us, 1);
    ck_assert_int_eq(got, 70); /* The one it began with, and 69.9 */
}
END_TEST

START_TEST(what_is_ready_can_be_taken_and_nothing_overflows)
{
    struct random random = random_seeded(5);
    for (int i = 0; i < 20000; i++) {
        struct bucket_rule rule = {
            .per_second = 1 + (int64_t)(random_next(&random) >> (2 + random_below(&random, 60))),
            .burst = 1 + (int64_t)(random_next(&random) >> (2 + random_below(&random, 60))),
        };
        int64_t now_us = (int64_t)(random_next(&random) >> (2 + random_below(&random, 40)));
        struct bucket bucket = {0};
        int64_t got = bucket_take(&rule, &bucket, now_us, INT64_MAX);
        ck_assert_int_eq(got, rule.burst < BUCKET_MAX ? rule.burst : BUCKET_MAX);
        int64_t ready_us = bucket_ready_us(&rule, &bucket, now_us);
        ck_assert_int_gt(ready_us, now_us);
        ck_assert_int_ge(bucket_take(&rule, &bucket, ready_us, 1), 1);
        ck_assert_int_ge(bucket_take(&rule, &bucket, INT64_MAX, 1), 1);
        (void)bucket_take(&rule, &bucket, INT64_MIN, 1);
        (void)bucket_take(&rule, &bucket, INT64_MAX, 1);
    }
}
END_TEST

START_TEST(many_tokens_are_taken_together_or_not_at_all)
{
    static const struct bucket_rule rule = {.per_second = 10, .burst = 100};
    struct bucket bucket = {0};
    ck_assert_int_eq(bucket_take_all(&rule, &bucket, T0, 60), 0);
    ck_assert_int_eq(bucket_take_all(&rule, &bucket, T0, 60), 2 * SECOND);
    ck_assert_int_eq(bucket_take_all(&rule, &bucket, T0, 40), 0);
    ck_assert_int_eq(bucket_take_all(&rule, &bucket, T0 + SECOND, 11), SECOND / 10);
    ck_assert_int_eq(bucket_take_all(&rule, &bucket, T0 + SECOND, 10), 0);
    /* More than fits into the bucket is taken when it is full. */
    ck_assert_int_eq(bucket_take_all(&rule, &bucket, T0 + SECOND, 5000), 10 * SECOND);
    ck_assert_int_eq(bucket_take_all(&rule, &bucket, T0 + 11 * SECOND, 5000), 0);
    ck_assert_int_eq(bucket_take_all(&rule, &bucket, T0 + 11 * SECOND, 1), SECOND / 10);
}
END_TEST

Suite *bucket_suite(void)
{
    Suite *suite = suite_create("bucket");
    TCase *tc = tcase_create("bucket");
    tcase_add_test(tc, a_bucket_gives_what_its_rule_says);
    tcase_add_test(tc, asking_often_loses_nothing);
    tcase_add_test(tc, what_is_ready_can_be_taken_and_nothing_overflows);
    tcase_add_test(tc, many_tokens_are_taken_together_or_not_at_all);
    suite_add_tcase(suite, tc);
    return suite;
}
