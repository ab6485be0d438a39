/*
 * test_js_mend.c - JSON of other programs: one bad value hides no other.
 */
#include "base/js.h"
#include "base/js_mend.h"
#include "base/mem.h"
#include "base/random.h"
#include "tests/unit/suites.h"
#include <stdio.h>
#include <string.h>

static const struct {
    const char *text, *want;
} cases[] = {
    {"", ""},
    {"{\"a\":[1,-2.5e3,true,null,\"x\\u00e9\\n\\\"\"]}",
     "{\"a\":[1,-2.5e3,true,null,\"x\\u00e9\\n\\\"\"]}"},
    {"\"\\ud83d\\ude00\"", "\"\\ud83d\\ude00\""},
    {"\"\\ud83d\"", "\"\\ufffd\""},
    {"\"\\ud83dx\"", "\"\\ufffdx\""},
    {"\"\\ud83d\\ud83d\\ude00\"", "\"\\ufffd\\ud83d\\ude00\""},
    {"\"\\ude00\"", "\"\\ufffd\""},
    {"\"a\\u0000b\"", "\"a\\ufffdb\""},
    {"\"\\u00\"", "\"\\u00\""},
    {"\"\\\\u0000\"", "\"\\\\u0000\""},
    {"\"a\xff\xc3z\"", "\"a\xef\xbf\xbd\xef\xbf\xbdz\""},
    {"\"\xc3\xa4\"", "\"\xc3\xa4\""},
    {"\"a\tb\x01\"", "\"a b \""},
    {"123456789012345678", "123456789012345678"},
    {"[-1234567890123456789012]", "[-999999999999999999]"},
    {"1e400", "1e40"},
    {"-1.5E-4000,", "-1.5E-40,"},
    {"\"cut", "\"cut"},
    {"\"cut\\", "\"cut\\"},
};

START_TEST(what_cannot_be_read_is_replaced)
{
    CLEANUP(buf_release) struct buf into;
    buf_init(&into, 1000);
    js_mend(str_of(cases[_i].text), &into);
    ck_assert_str_eq(buf_text(&into), cases[_i].want);
}
END_TEST

START_TEST(what_is_nested_too_deeply_is_left_out)
{
    CLEANUP(buf_release) struct buf text;
    CLEANUP(js_freep) struct js *tree = NULL;
    buf_init(&text, 1 << 20);
    buf_adds(&text, "{\"deep\":");
    for (int i = 0; i < 50000; i++)
        buf_adds(&text, i % 2 ? "[" : "{\"]\":");
    buf_adds(&text, "0");
    for (int i = 50000; i > 0; i--)
        buf_adds(&text, (i - 1) % 2 ? "]" : "}");
    buf_adds(&text, ",\"name\":\"Write\"}");
    ck_assert_int_eq(js_parse(text.data, text.len, &tree, NULL), RC_MALFORMED);
    ck_assert_int_eq(js_parse_lenient(text.data, text.len, &tree, NULL), RC_OK);
    ck_assert_str_eq(js_get_str(tree, "name", ""), "Write");
}
END_TEST

static const char *const hiding[] = {
    "\"\\ud800\"", "\"\\u0000\"", "\"\xff\"", "\"\x01\"", "1e400", "123456789012345678901234567890",
};

START_TEST(a_bad_value_hides_no_other)
{
    char text[200];
    CLEANUP(js_freep) struct js *tree = NULL;
    int len = snprintf(text, sizeof text, "{\"x\":%s,\"name\":\"Write\"}", hiding[_i]);
    ck_assert_int_eq(js_parse(text, (size_t)len, &tree, NULL), RC_MALFORMED);
    ck_assert_int_eq(js_parse_lenient(text, (size_t)len, &tree, NULL), RC_OK);
    ck_assert_str_eq(js_get_str(tree, "name", ""), "Write");
}
END_TEST

START_TEST(what_is_cut_off_stays_unreadable)
{
    struct js *tree = NULL;
    ck_assert_int_eq(js_parse_lenient("{\"a\":\"\\ud800", 12, &tree, NULL), RC_MALFORMED);
    ck_assert_int_eq(js_parse_lenient("{\"a\":", 5, &tree, NULL), RC_MALFORMED);
    ck_assert_ptr_null(tree);
}
END_TEST

/* Whatever the bytes are, it reads no other and writes no more than it may. */
START_TEST(any_bytes_are_taken)
{
    static const char spice[] = "{}[]\",:\\ud80cDEeE+-.0129 \xff\xc3\n\x01t";
    struct random random = random_seeded(15);
    for (int i = 0; i < 20000; i++) {
        char *text = mem_alloc(64);
        size_t len = random_below(&random, 64);
        for (size_t k = 0; k < len; k++)
            text[k] = spice[random_below(&random, sizeof spice)];
        char *exact = mem_alloc(len + 1);
        memcpy(exact, text, len);
        CLEANUP(buf_release) struct buf into;
        buf_init(&into, 6 * len + 16);
        js_mend((struct str){exact, len}, &into);
        ck_assert(!into.overflow);
        mem_free(exact);
        mem_free(text);
    }
}
END_TEST

Suite *js_mend_suite(void)
{
    Suite *suite = suite_create("js_mend");
    TCase *tests = tcase_create("js_mend");
    tcase_add_loop_test(tests, what_cannot_be_read_is_replaced, 0, (int)COUNT_OF(cases));
    tcase_add_test(tests, what_is_nested_too_deeply_is_left_out);
    tcase_add_loop_test(tests, a_bad_value_hides_no_other, 0, (int)COUNT_OF(hiding));
    tcase_add_test(tests, what_is_cut_off_stays_unreadable);
    tcase_add_test(tests, any_bytes_are_taken);
    suite_add_tcase(suite, tests);
    return suite;
}
