/*
 * test_swarm.c - arrivals are counted over a sliding window, and the book of windows is bounded.
 */
#include "base/rc.h"
#include "core/queue/swarm.h"
#include "tests/unit/suites.h"
#include <stdio.h>

#define T0 INT64_C(8000000000)

/* A window of 8 ms, one from the first row to the last. */
static const struct {
    const char *why;
    int64_t at_us, n, sum;
} rows[] = {
    {"the first", 0, 1, 1},
    {"more of them in the same slice", 999, 2, 3},
    {"in the next", 1000, 4, 7},
    {"the first slice is still there", 7999, 0, 7},
    {"and slides out", 8000, 0, 4},
    {"then the second", 9000, 1, 1},
    {"after a long rest nothing is left", 100000, 5, 5},
    {"a clock a little behind counts as now", 99000, 1, 6},
    {"one that is far behind begins anew", 0, 2, 2},
};

START_TEST(arrivals_slide_out_of_the_window)
{
    struct swarm swarm = {0};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        ck_assert_msg(swarm_add(&swarm, 8000, T0 + rows[i].at_us, rows[i].n) == rows[i].sum, "%s",
                      rows[i].why);
}
END_TEST

START_TEST(a_window_of_another_length_begins_empty)
{
    struct swarm swarm = {0};
    ck_assert_int_eq(swarm_add(&swarm, 8000, T0, 10), 10);
    ck_assert_int_eq(swarm_add(&swarm, 16000, T0, 1), 1);
    ck_assert_int_eq(swarm_add(&swarm, 1, T0, 1), 1);
    ck_assert_int_eq(swarm_add(&swarm, INT64_MAX, T0, 1), 1);
}
END_TEST

START_TEST(a_count_does_not_overflow)
{
    struct swarm swarm = {0};
    for (int64_t i = 0; i < 20; i++)
        ck_assert_int_gt(swarm_add(&swarm, 8000, T0 + i * 1000, INT64_MAX / SWARM_SLICES), 0);
}
END_TEST

START_TEST(kinds_are_counted_apart)
{
    static struct swarm_book book;
    ck_assert_int_eq(swarm_add(swarm_of(&book, "q", "a", T0), 8000, T0, 1), 1);
    ck_assert_int_eq(swarm_add(swarm_of(&book, "q", "b", T0), 8000, T0, 2), 2);
    ck_assert_int_eq(swarm_add(swarm_of(&book, "r", "a", T0), 8000, T0, 4), 4);
    ck_assert_int_eq(swarm_add(swarm_of(&book, "q", "a", T0), 8000, T0, 8), 9);
    ck_assert_uint_eq(book.count, 3);
}
END_TEST

START_TEST(a_full_book_forgets_the_kind_that_was_quiet_for_longest)
{
    static struct swarm_book book;
    for (int64_t i = 0; i < SWARM_BOOK_MAX; i++) {
        char type[16];
        snprintf(type, sizeof type, "t%d", (int)i);
        swarm_add(swarm_of(&book, "q", type, T0 + i), 8000, T0 + i, 1);
    }
    int64_t now_us = T0 + SWARM_BOOK_MAX;
    ck_assert_int_eq(swarm_add(swarm_of(&book, "q", "t0", now_us), 8000, now_us, 1), 2);
    ck_assert_int_eq(swarm_add(swarm_of(&book, "q", "new", now_us), 8000, now_us, 1), 1);
    ck_assert_uint_eq(book.count, SWARM_BOOK_MAX);
    ck_assert_int_eq(swarm_add(swarm_of(&book, "q", "t0", now_us), 8000, now_us, 0), 2);
    ck_assert_int_eq(swarm_add(swarm_of(&book, "q", "t2", now_us), 8000, now_us, 0), 1);
    ck_assert_int_eq(swarm_add(swarm_of(&book, "q", "t1", now_us), 8000, now_us, 0), 0);
}
END_TEST

Suite *swarm_suite(void)
{
    Suite *suite = suite_create("swarm");
    TCase *tc = tcase_create("swarm");
    tcase_add_test(tc, arrivals_slide_out_of_the_window);
    tcase_add_test(tc, a_window_of_another_length_begins_empty);
    tcase_add_test(tc, a_count_does_not_overflow);
    tcase_add_test(tc, kinds_are_counted_apart);
    tcase_add_test(tc, a_full_book_forgets_the_kind_that_was_quiet_for_longest);
    suite_add_tcase(suite, tc);
    return suite;
}
