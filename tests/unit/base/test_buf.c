/* test_buf.c - buffers that know their maximum. */
#include "base/buf.h"
#include "tests/unit/suites.h"
#include <string.h>

START_TEST(content_grows_and_stays_terminated)
{
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, 100000);
    for (int i = 0; i < 1000; i++) {
        buf_addf(&buf, "%d,", i);
        ck_assert_uint_eq(strlen(buf_text(&buf)), buf.len);
    }
    ck_assert(!buf.overflow);
    ck_assert_uint_eq(buf.len, 10 * 2 + 90 * 3 + 900 * 4);
    ck_assert(text_starts(buf_text(&buf), "0,1,2,"));
    ck_assert(text_ends(buf_text(&buf), ",998,999,"));
}
END_TEST

START_TEST(an_empty_buffer_reads_as_empty_text)
{
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, 10);
    ck_assert_str_eq(buf_text(&buf), "");
    ck_assert_uint_eq(buf_str(&buf).len, 0);
    ck_assert_ptr_nonnull(buf_str(&buf).at);
    buf_clear(&buf);
    buf_cut(&buf, 0);
    buf_drop(&buf, 0);
    buf_add(&buf, NULL, 0);
    buf_adds(&buf, NULL);
    ck_assert_uint_eq(buf.len, 0);
    ck_assert(!buf.overflow);
}
END_TEST

START_TEST(the_maximum_can_be_filled_to_the_last_byte)
{
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, 5);
    buf_adds(&buf, "12345");
    ck_assert(!buf.overflow);
    ck_assert_str_eq(buf_text(&buf), "12345");
    buf_addc(&buf, '6');
    ck_assert(buf.overflow);
    ck_assert_str_eq(buf_text(&buf), "12345");
}
END_TEST

START_TEST(overflow_keeps_what_fitted)
{
    static const struct {
        size_t max;
        const char *want;
    } rows[] = {{0, ""}, {1, "h"}, {7, "hello w"}, {10, "hello worl"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CLEANUP(buf_release) struct buf added;
        CLEANUP(buf_release) struct buf formatted;
        buf_init(&added, rows[i].max);
        buf_init(&formatted, rows[i].max);
        buf_adds(&added, "hello ");
        buf_adds(&added, "world");
        buf_addf(&formatted, "%s", "hello ");
        buf_addf(&formatted, "%s", "world");
        ck_assert(added.overflow && formatted.overflow);
        ck_assert_str_eq(buf_text(&added), rows[i].want);
        ck_assert_str_eq(buf_text(&formatted), rows[i].want);
    }
}
END_TEST

START_TEST(formatting_fits_exactly_at_every_length)
{
    for (size_t len = 0; len < 400; len++) {
        CLEANUP(buf_release) struct buf buf;
        buf_init(&buf, 400);
        buf_addc(&buf, 'x');
        buf_addf(&buf, "%0*d", (int)len, 0);
        ck_assert_uint_eq(buf.len, 1 + (len ? len : 1));
        ck_assert_uint_eq(strlen(buf_text(&buf)), buf.len);
        ck_assert(!buf.overflow);
    }
}
END_TEST

START_TEST(bytes_of_any_value_are_kept)
{
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, 100);
    buf_add(&buf, "a\0b", 3);
    buf_addc(&buf, '\0');
    ck_assert_uint_eq(buf.len, 4);
    ck_assert(str_same(buf_str(&buf), (struct str){"a\0b\0", 4}));
}
END_TEST

START_TEST(cutting_and_dropping_keep_the_rest)
{
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, 100);
    buf_adds(&buf, "0123456789");
    buf_cut(&buf, 8);
    ck_assert_str_eq(buf_text(&buf), "01234567");
    buf_drop(&buf, 3);
    ck_assert_str_eq(buf_text(&buf), "34567");
    buf_drop(&buf, 5);
    ck_assert_str_eq(buf_text(&buf), "");
    ck_assert_uint_eq(buf.len, 0);
}
END_TEST

START_TEST(a_cleared_buffer_starts_afresh)
{
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, 3);
    buf_adds(&buf, "abcdef");
    ck_assert(buf.overflow);
    buf_clear(&buf);
    ck_assert(!buf.overflow);
    buf_adds(&buf, "xyz");
    ck_assert_str_eq(buf_text(&buf), "xyz");
    ck_assert(!buf.overflow);
}
END_TEST

START_TEST(a_released_buffer_can_be_used_again)
{
    struct buf buf;
    buf_init(&buf, 10);
    buf_adds(&buf, "abc");
    buf_release(&buf);
    buf_release(&buf);
    buf_release(NULL);
    ck_assert_str_eq(buf_text(&buf), "");
    buf_adds(&buf, "def");
    ck_assert_str_eq(buf_text(&buf), "def");
    buf_release(&buf);
}
END_TEST

Suite *buf_suite(void)
{
    Suite *suite = suite_create("buf");
    TCase *all = tcase_create("all");
    tcase_add_test(all, content_grows_and_stays_terminated);
    tcase_add_test(all, an_empty_buffer_reads_as_empty_text);
    tcase_add_test(all, the_maximum_can_be_filled_to_the_last_byte);
    tcase_add_test(all, overflow_keeps_what_fitted);
    tcase_add_test(all, formatting_fits_exactly_at_every_length);
    tcase_add_test(all, bytes_of_any_value_are_kept);
    tcase_add_test(all, cutting_and_dropping_keep_the_rest);
    tcase_add_test(all, a_cleared_buffer_starts_afresh);
    tcase_add_test(all, a_released_buffer_can_be_used_again);
    suite_add_tcase(suite, all);
    return suite;
}
