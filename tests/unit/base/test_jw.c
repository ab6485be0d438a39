/* test_jw.c - writing JSON. */
#include "base/clock.h"
#include "base/js.h"
#include "base/jw.h"
#include "base/random.h"
#include "tests/unit/suites.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct buf buf;

static void set_up(void)
{
    buf_init(&buf, 1 << 20);
}

static void tear_down(void)
{
    buf_release(&buf);
}

/* What was written since the last call. */
static const char *written(void)
{
    static char copy[4096];
    text_copy(copy, sizeof copy, buf_text(&buf));
    buf_clear(&buf);
    return copy;
}

START_TEST(commas_are_the_writers_business)
{
    struct jw jw = jw_to(&buf);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "id", "x");
    jw_key(&jw, "items");
    jw_begin(&jw, '[');
    jw_int(&jw, 1);
    jw_begin(&jw, '{');
    jw_end(&jw, '}');
    jw_begin(&jw, '[');
    jw_end(&jw, ']');
    jw_null(&jw);
    jw_end(&jw, ']');
    jw_kint(&jw, "n", -3);
    jw_kbool(&jw, "yes", true);
    jw_kreal(&jw, "r", 0.5);
    jw_kstr(&jw, "none", NULL);
    jw_kraw(&jw, "raw", STR("[1,2]"));
    jw_kraw(&jw, "empty", STR(""));
    jw_end(&jw, '}');
    ck_assert_str_eq(written(),
                     "{\"id\":\"x\",\"items\":[1,{},[],null],\"n\":-3,\"yes\":true,\"r\":0.5,"
                     "\"none\":null,\"raw\":[1,2],\"empty\":null}");
}
END_TEST

START_TEST(texts_are_escaped)
{
    static const struct {
        const char *text;
        size_t len;
        const char *want;
    } rows[] = {
        {"", 0, "\"\""},
        {"plain text", 10, "\"plain text\""},
        {"\"\\/", 3, "\"\\\"\\\\/\""},
        {"\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\""},
        {"\x01\x1f\x7f", 3, "\"\\u0001\\u001f\x7f\""},
        {"a\0b", 3, "\"a\\u0000b\""},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {"a\xff"
         "b",
         3,
         "\"a\xef\xbf\xbd"
         "b\""},
        {"\xc3", 1, "\"\xef\xbf\xbd\""},
        {"\xe2\x82", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xc3\"", 2, "\"\xef\xbf\xbd\\\"\""},
        {NULL, 0, "\"\""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct jw jw = jw_to(&buf);
        jw_strn(&jw, rows[i].text, rows[i].len);
        ck_assert_str_eq(written(), rows[i].want);
    }
}
END_TEST

START_TEST(keys_are_escaped_too)
{
    struct jw jw = jw_to(&buf);
    jw_begin(&jw, '{');
    jw_kint(&jw, "a\"\n\xff", 1);
    jw_end(&jw, '}');
    ck_assert_str_eq(written(), "{\"a\\\"\\n\xef\xbf\xbd\":1}");
}
END_TEST

START_TEST(numbers_have_their_shortest_text)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {0, "0"},
        {1, "1"},
        {-1.5, "-1.5"},
        {0.1, "0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {100000, "100000"},
        {1e21, "1e+21"},
        {1e-7, "1e-07"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {5e-324, "4.94065645841247e-324"},
        {NAN, "null"},
        {INFINITY, "null"},
        {-INFINITY, "null"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct jw jw = jw_to(&buf);
        jw_real(&jw, rows[i].value);
        ck_assert_str_eq(written(), rows[i].text);
    }
    struct jw jw = jw_to(&buf);
    jw_int(&jw, INT64_MIN);
    jw_int(&jw, INT64_MAX);
    ck_assert_str_eq(written(), "-9223372036854775808,9223372036854775807");
}
END_TEST

START_TEST(every_real_reads_back_the_same)
{
    struct random random = random_seeded(5);
    for (int i = 0; i < 5000; i++) {
        uint64_t bits = random_next(&random);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        struct jw jw = jw_to(&buf);
        jw_real(&jw, value);
        double back = strtod(written(), NULL);
        ck_assert_int_eq(memcmp(&back, &value, sizeof value), 0);
    }
}
END_TEST

START_TEST(whatever_is_written_can_be_read)
{
    struct random random = random_seeded(6);
    for (int i = 0; i < 2000; i++) {
        char noise[40];
        for (size_t k = 0; k < sizeof noise; k++)
            noise[k] = (char)(1 + random_below(&random, 255)); /* NUL cannot be read back. */
        struct jw jw = jw_to(&buf);
        jw_begin(&jw, '[');
        jw_strn(&jw, noise, sizeof noise);
        jw_end(&jw, ']');
        CLEANUP(js_freep) struct js *tree = NULL;
        ck_assert_int_eq(js_parse(buf.data, buf.len, &tree, NULL), RC_OK);
        buf_clear(&buf);
    }
}
END_TEST

START_TEST(times_are_text_and_zero_is_null)
{
    struct jw jw = jw_to(&buf);
    jw_begin(&jw, '{');
    jw_ktime(&jw, "at", INT64_C(1783080000000000));
    jw_ktime(&jw, "never", 0);
    jw_end(&jw, '}');
    ck_assert_str_eq(written(), "{\"at\":\"2026-07-03T12:00:00Z\",\"never\":null}");
}
END_TEST

START_TEST(optional_texts_are_left_out)
{
    struct jw jw = jw_to(&buf);
    jw_begin(&jw, '{');
    jw_optstr(&jw, "a", NULL);
    jw_optstr(&jw, "b", "");
    jw_optstr(&jw, "c", "x");
    jw_optstr(&jw, "d", NULL);
    jw_optstr(&jw, "e", "y");
    jw_end(&jw, '}');
    ck_assert_str_eq(written(), "{\"c\":\"x\",\"e\":\"y\"}");
}
END_TEST

START_TEST(a_full_buffer_says_so)
{
    CLEANUP(buf_release) struct buf small;
    buf_init(&small, 10);
    struct jw jw = jw_to(&small);
    jw_begin(&jw, '[');
    for (int i = 0; i < 100; i++)
        jw_str(&jw, "text");
    jw_end(&jw, ']');
    ck_assert(small.overflow);
    ck_assert_uint_eq(small.len, 10);
}
END_TEST

Suite *jw_suite(void)
{
    Suite *suite = suite_create("jw");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_test(all, commas_are_the_writers_business);
    tcase_add_test(all, texts_are_escaped);
    tcase_add_test(all, keys_are_escaped_too);
    tcase_add_test(all, numbers_have_their_shortest_text);
    tcase_add_test(all, every_real_reads_back_the_same);
    tcase_add_test(all, whatever_is_written_can_be_read);
    tcase_add_test(all, times_are_text_and_zero_is_null);
    tcase_add_test(all, optional_texts_are_left_out);
    tcase_add_test(all, a_full_buffer_says_so);
    suite_add_tcase(suite, all);
    return suite;
}
