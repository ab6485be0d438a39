/* test_rc.c - outcomes and the text of failures. */
#include "base/rc.h"
#include "tests/unit/suites.h"
#include <string.h>

START_TEST(every_outcome_has_a_name_of_its_own)
{
    for (int a = 0; a < RC_COUNT; a++) {
        ck_assert_ptr_nonnull(rc_name((enum rc)a));
        for (int b = 0; b < a; b++)
            ck_assert_str_ne(rc_name((enum rc)a), rc_name((enum rc)b));
    }
    ck_assert_str_eq(rc_name(RC_OK), "ok");
    ck_assert_str_eq(rc_name(RC_TOO_LARGE), "too_large");
}
END_TEST

START_TEST(an_error_carries_code_field_and_text)
{
    struct err err;
    ck_assert_int_eq(
        err_field(&err, RC_INVALID, "INVALID_FIELD", "agent.name", "must be %d long", 3),
        RC_INVALID);
    ck_assert_str_eq(err.code, "INVALID_FIELD");
    ck_assert_str_eq(err.field, "agent.name");
    ck_assert_str_eq(err.text, "must be 3 long");
}
END_TEST

START_TEST(setting_an_error_forgets_the_field_of_the_last_one)
{
    struct err err;
    (void)err_field(&err, RC_INVALID, "A", "name", "x");
    ck_assert_int_eq(err_set(&err, RC_IO, "B", "y"), RC_IO);
    ck_assert_str_eq(err.field, "");
    ck_assert_str_eq(err.code, "B");
}
END_TEST

START_TEST(no_error_struct_is_fine)
{
    ck_assert_int_eq(err_set(NULL, RC_BUSY, "C", "x"), RC_BUSY);
    ck_assert_int_eq(err_field(NULL, RC_BUSY, "C", "f", "x"), RC_BUSY);
    ck_assert_int_eq(err_wrap(NULL, RC_BUSY, "x"), RC_BUSY);
    err_clear(NULL);
}
END_TEST

START_TEST(long_texts_are_cut_and_stay_terminated)
{
    char longest[2000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    struct err err;
    (void)err_field(&err, RC_IO, longest, longest, "%s", longest);
    ck_assert_uint_eq(strlen(err.code), ERR_CODE_MAX - 1);
    ck_assert_uint_eq(strlen(err.field), ERR_FIELD_MAX - 1);
    ck_assert_uint_eq(strlen(err.text), ERR_TEXT_MAX - 1);
    ck_assert_int_eq(err_wrap(&err, RC_IO, longest), RC_IO);
    ck_assert_uint_eq(strlen(err.text), ERR_TEXT_MAX - 1);
}
END_TEST

START_TEST(a_message_may_quote_the_error_it_replaces)
{
    struct err err;
    (void)err_set(&err, RC_IO, "CODE", "inner");
    (void)err_set(&err, RC_IO, err.code, "outer (%s)", err.text);
    ck_assert_str_eq(err.code, "CODE");
    ck_assert_str_eq(err.text, "outer (inner)");
}
END_TEST

START_TEST(wrapping_puts_the_context_in_front_and_keeps_the_code)
{
    struct err err;
    (void)err_field(&err, RC_IO, "IO_ERROR", "path", "disk full");
    ck_assert_int_eq(err_wrap(&err, RC_IO, "cannot save"), RC_IO);
    ck_assert_str_eq(err.text, "cannot save: disk full");
    ck_assert_str_eq(err.code, "IO_ERROR");
    ck_assert_str_eq(err.field, "path");
    err_clear(&err);
    ck_assert_str_eq(err.text, "");
    ck_assert_str_eq(err.code, "");
}
END_TEST

Suite *rc_suite(void)
{
    Suite *suite = suite_create("rc");
    TCase *all = tcase_create("all");
    tcase_add_test(all, every_outcome_has_a_name_of_its_own);
    tcase_add_test(all, an_error_carries_code_field_and_text);
    tcase_add_test(all, setting_an_error_forgets_the_field_of_the_last_one);
    tcase_add_test(all, no_error_struct_is_fine);
    tcase_add_test(all, long_texts_are_cut_and_stay_terminated);
    tcase_add_test(all, a_message_may_quote_the_error_it_replaces);
    tcase_add_test(all, wrapping_puts_the_context_in_front_and_keeps_the_code);
    suite_add_tcase(suite, all);
    return suite;
}
