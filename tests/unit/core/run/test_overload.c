/*
 * test_overload.c - when an agent whose provider is overloaded is tried again.
 */
#include "base/clock.h"
#include "base/str.h"
#include "core/run/overload.h"
#include "tests/unit/suites.h"

static const struct {
    struct overload before;
    struct overload_limits limits;
    bool worked;
    struct overload after;
    bool again;
} rows[] = {
    /* It is 100. */
    {{0, 0}, {8, 50}, false, {1, 100}, true},
    {{7, 90}, {8, 50}, false, {8, 90}, true},
    {{8, 90}, {8, 50}, false, {9, 90}, false},
    {{0, 0}, {0, 50}, false, {1, 100}, false},
    /* An attempt that got on begins a new row, but not a new span. */
    {{8, 90}, {8, 50}, true, {1, 90}, true},
    {{1, 51}, {8, 50}, false, {2, 51}, true},
    {{1, 50}, {8, 50}, false, {2, 50}, false},
    {{1, 50}, {8, 50}, true, {1, 50}, false},
};

START_TEST(it_is_tried_again_so_often_and_for_so_long)
{
    struct overload overload = rows[_i].before;
    ck_assert_int_eq(overload_again(&overload, &rows[_i].limits, rows[_i].worked, 100),
                     rows[_i].again);
    ck_assert_int_eq(overload.count, rows[_i].after.count);
    ck_assert_int_eq(overload.first_us, rows[_i].after.first_us);
}
END_TEST

START_TEST(waits_grow_from_a_quarter_of_a_minute_to_ten)
{
    static const int64_t seconds[] = {15, 30, 60, 120, 240, 480, 600, 600};
    for (size_t i = 0; i < COUNT_OF(seconds); i++) {
        struct overload overload = {(int64_t)i + 1, 1};
        ck_assert_int_eq(overload_wait_us(&overload, 0), seconds[i] * US_PER_SECOND);
        int64_t jittered = overload_wait_us(&overload, UINT64_MAX);
        ck_assert_int_ge(jittered, seconds[i] * US_PER_SECOND);
        ck_assert_int_le(jittered, (seconds[i] + 5) * US_PER_SECOND);
        ck_assert_int_le(jittered, 600 * US_PER_SECOND);
    }
}
END_TEST

Suite *overload_suite(void)
{
    Suite *suite = suite_create("overload");
    TCase *tc = tcase_create("overload");
    tcase_add_loop_test(tc, it_is_tried_again_so_often_and_for_so_long, 0, (int)COUNT_OF(rows));
    tcase_add_test(tc, waits_grow_from_a_quarter_of_a_minute_to_ten);
    suite_add_tcase(suite, tc);
    return suite;
}
