/*
 * test_scale.c - how many workers there should be, and how often that may change.
 */
#include "base/rc.h"
#include "core/queue/scale.h"
#include "tests/unit/suites.h"

#define T0 INT64_C(1000000)

/* One history from the first row to the last of each. */
struct look {
    const char *why;
    int64_t at, waiting, busy, desired;
};

static void replay(const struct scale_rule *rule, const struct look *looks, size_t count)
{
    struct scale scale = {0};
    for (size_t i = 0; i < count; i++) {
        int64_t before = scale.desired;
        struct scale_load load = {looks[i].waiting, looks[i].busy};
        bool changed = scale_step(rule, &load, T0 + looks[i].at, &scale);
        ck_assert_msg(scale.desired == looks[i].desired, "%s: %d", looks[i].why,
                      (int)scale.desired);
        ck_assert_msg(changed == (before != scale.desired), "%s", looks[i].why);
    }
}

START_TEST(a_queue_deserves_workers_for_what_it_has)
{
    static const struct scale_rule rule = {
        .min = 0, .max = 10, .jobs_per_worker = 20, .up_us = 100, .down_us = 1000};
    static const struct look looks[] = {
        {"nothing to do", 0, 0, 0, 0},
        {"from none at once", 1, 1, 0, 1},
        {"a second change has to wait", 2, 100, 0, 1},
        {"and then takes all it needs", 101, 100, 1, 6},
        {"no more than the most", 201, 100000, 0, 10},
        {"drained, but only just", 1000, 0, 0, 10},
        {"busy again: the idle time begins anew", 1100, 300, 0, 10},
        {"idle", 1200, 0, 0, 10},
        {"idle, not long enough", 2199, 0, 0, 10},
        {"idle for long enough", 2200, 0, 0, 0},
        {"from none at once, always", 2201, 5, 0, 1},
        {"a clock that steps back does not lock it", -5000, 500, 0, 10},
    };
    replay(&rule, looks, COUNT_OF(looks));
}
END_TEST

START_TEST(slots_come_by_twos_and_go_one_by_one)
{
    static const struct scale_rule rule = {.min = 2,
                                           .max = 6,
                                           .jobs_per_worker = 1,
                                           .up_us = 10,
                                           .down_us = 50,
                                           .up_step = 2,
                                           .down_step = 1};
    static const struct look looks[] = {
        {"at least the least, at once", 0, 0, 0, 2},
        {"it has just changed", 5, 9, 2, 2},
        {"two more", 10, 9, 2, 4},
        {"two more", 20, 9, 4, 6},
        {"no more than the most", 30, 9, 6, 6},
        {"one is idle", 40, 0, 5, 6},
        {"one goes after a while", 90, 0, 5, 5},
        {"all that are left are busy", 140, 0, 5, 5},
        {"none is", 141, 0, 0, 5},
        {"one goes", 191, 0, 0, 4},
        {"the next has to wait", 200, 0, 0, 4},
        {"one goes", 241, 0, 0, 3},
        {"one goes", 291, 0, 0, 2},
        {"no fewer than the least", 1000, 0, 0, 2},
    };
    replay(&rule, looks, COUNT_OF(looks));
}
END_TEST

START_TEST(new_bounds_hold_at_once_and_nothing_overflows)
{
    struct scale_rule rule = {
        .min = 0, .max = 10, .jobs_per_worker = 1, .up_us = 1000, .down_us = 1000};
    struct scale scale = {.desired = 8, .changed_us = T0};
    struct scale_load load = {8, 0}, endless = {INT64_MAX, INT64_MAX};
    rule.max = 5;
    ck_assert(scale_step(&rule, &load, T0 + 1, &scale));
    ck_assert_int_eq(scale.desired, 5);
    rule.min = rule.max = 7;
    ck_assert(scale_step(&rule, &load, T0 + 2, &scale));
    ck_assert_int_eq(scale.desired, 7);
    rule.max = INT64_MAX;
    ck_assert(scale_step(&rule, &endless, T0 + 5000, &scale));
    ck_assert_int_eq(scale.desired, INT64_MAX);
}
END_TEST

Suite *scale_suite(void)
{
    Suite *suite = suite_create("scale");
    TCase *tc = tcase_create("scale");
    tcase_add_test(tc, a_queue_deserves_workers_for_what_it_has);
    tcase_add_test(tc, slots_come_by_twos_and_go_one_by_one);
    tcase_add_test(tc, new_bounds_hold_at_once_and_nothing_overflows);
    suite_add_tcase(suite, tc);
    return suite;
}
