/* test_account_windows.c - the windows of an account: stored, replaced, bounded. */
#include "base/clock.h"
#include "core/agent/account_windows.h"
#include "tests/unit/suites.h"

static struct arena arena;

static void empty(void)
{
    arena_release(&arena);
}

static struct account_window window(const char *name, double used, int64_t expires_us)
{
    return (struct account_window){.name = name,
                                   .utilization = used,
                                   .status = "allowed",
                                   .resets_us = expires_us,
                                   .expires_us = expires_us,
                                   .seen_us = 1};
}

START_TEST(windows_are_read_back_as_they_were_written)
{
    struct account_windows windows = {0}, got;
    struct err err = {0};
    struct account_window first = window("five_hour", 0.25, 50), second = window("seven_day", 1, 9);
    second.status = "rejected";
    ck_assert(account_windows_take(&windows, &first));
    ck_assert(account_windows_take(&windows, &second));
    struct str text = account_windows_text(&windows, &arena);
    ck_assert_int_eq(account_windows_parse(text, &arena, &got, &err), RC_OK);
    ck_assert_uint_eq(got.count, 2);
    ck_assert_str_eq(got.items[0].name, "five_hour");
    ck_assert_double_eq(got.items[0].utilization, 0.25);
    ck_assert_int_eq(got.items[0].expires_us, 50);
    ck_assert_int_eq(got.items[0].resets_us, 50);
    ck_assert_int_eq(got.items[0].seen_us, 1);
    ck_assert(!got.items[0].warned);
    ck_assert(got.items[1].warned);
    ck_assert_int_eq(account_windows_parse((struct str){0}, &arena, &got, &err), RC_OK);
    ck_assert_uint_eq(got.count, 0);
    ck_assert_int_eq(account_windows_parse(STR("{"), &arena, &got, &err), RC_CORRUPT);
}
END_TEST

START_TEST(a_report_counts_when_it_says_something_new)
{
    struct account_windows windows = {0};
    struct account_window now = window("five_hour", 0.5, 50);
    ck_assert(account_windows_take(&windows, &now));
    ck_assert(!account_windows_take(&windows, &now));
    now.utilization = 0.501;
    ck_assert(!account_windows_take(&windows, &now));
    now.utilization = 0.51;
    ck_assert(account_windows_take(&windows, &now));
    now.status = "allowed_warning";
    ck_assert(account_windows_take(&windows, &now));
    now.resets_us++;
    ck_assert(account_windows_take(&windows, &now));
    now.seen_us += US_PER_MINUTE;
    ck_assert(account_windows_take(&windows, &now));
    ck_assert_uint_eq(windows.count, 1);
}
END_TEST

START_TEST(there_are_never_more_than_fit)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    struct account_windows windows = {0};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct account_window next = window(names[i], 0.5, i == 3 ? 1 : 100);
        ck_assert(account_windows_take(&windows, &next));
    }
    ck_assert_uint_eq(windows.count, ACCOUNT_WINDOWS_MAX);
    ck_assert_str_eq(windows.items[3].name, "i"); /* In the place of the one that is over first. */
}
END_TEST

START_TEST(the_fullest_is_found_among_those_that_count)
{
    struct account_windows windows = {0};
    ck_assert_ptr_null(account_windows_fullest(&windows, 0));
    struct account_window all[] = {window("a", 0.5, 50), window("b", 0.9, 10),
                                   window("c", 0.7, 50)};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        ck_assert(account_windows_take(&windows, &all[i]));
    ck_assert_str_eq(account_windows_fullest(&windows, 5)->name, "b");
    ck_assert_str_eq(account_windows_fullest(&windows, 10)->name, "c");
    ck_assert_ptr_null(account_windows_fullest(&windows, 50));
}
END_TEST

Suite *account_windows_suite(void)
{
    Suite *suite = suite_create("account_windows");
    TCase *tests = tcase_create("account_windows");
    tcase_add_checked_fixture(tests, NULL, empty);
    tcase_add_test(tests, windows_are_read_back_as_they_were_written);
    tcase_add_test(tests, a_report_counts_when_it_says_something_new);
    tcase_add_test(tests, there_are_never_more_than_fit);
    tcase_add_test(tests, the_fullest_is_found_among_those_that_count);
    suite_add_tcase(suite, tests);
    return suite;
}
