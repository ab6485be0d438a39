/*
 * test_js_sound.c - one JSON value, and nothing but it.
 */
#include "base/js.h"
#include "base/js_sound.h"
#include "tests/unit/suites.h"
#include <string.h>

static const struct {
    const char *text;
    bool sound;
} texts[] = {
    {"{}", true},
    {"[]", true},
    {" {\"a\" : [1, -2.5e+3, 0, \"x\\n\\u00e4\\\"\", true, false, null, {}], \"b\":{\"c\":[]}} ",
     true},
    {"1", true},
    {"-0.5", true},
    {"1E-7", true},
    {"\"\"", true},
    {"null", true},
    {"", false},
    {" ", false},
    {"{", false},
    {"}", false},
    {"[1,]", false},
    {"[1 2]", false},
    {"[,1]", false},
    {"{\"a\":}", false},
    {"{\"a\"}", false},
    {"{\"a\":1,}", false},
    {"{a:1}", false},
    {"{1:1}", false},
    {"{\"a\":1]", false},
    {"[1}", false},
    {"{}{}", false},
    {"{} x", false},
    {"nul", false},
    {"nullx", false},
    {"01", false},
    {"1.", false},
    {".5", false},
    {"+1", false},
    {"1e", false},
    {"-", false},
    {"\"abc", false},
    {"\"a\\x\"", false},
    {"\"a\\u12g4\"", false},
    {"\"a\\", false},
    {"\"a\nb\"", false},
};

START_TEST(only_one_whole_value_is_sound)
{
    ck_assert_msg(js_sound(str_of(texts[_i].text)) == texts[_i].sound, "%s", texts[_i].text);
}
END_TEST

/* Every text that the strict parser takes is sound, cut off anywhere it is not. */
START_TEST(a_text_that_was_cut_is_not_sound)
{
    const char *text = "{\"a\":[1,{\"b\":\"c\\\"\\u0041\"},true],\"d\":-1.5e2}";
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++)
        ck_assert_msg(!js_sound((struct str){text, i}), "%.*s", (int)i, text);
    ck_assert(js_sound((struct str){text, len}));
}
END_TEST

START_TEST(depth_has_a_limit)
{
    char text[2 * JS_DEPTH_MAX + 4];
    for (size_t depth = JS_DEPTH_MAX - 1; depth <= JS_DEPTH_MAX + 1; depth++) {
        memset(text, '[', depth);
        text[depth] = '1';
        memset(text + depth + 1, ']', depth);
        ck_assert_int_eq(js_sound((struct str){text, 2 * depth + 1}), depth <= JS_DEPTH_MAX);
    }
}
END_TEST

Suite *js_sound_suite(void)
{
    Suite *suite = suite_create("js_sound");
    TCase *tc = tcase_create("js_sound");
    tcase_add_loop_test(tc, only_one_whole_value_is_sound, 0, (int)COUNT_OF(texts));
    tcase_add_test(tc, a_text_that_was_cut_is_not_sound);
    tcase_add_test(tc, depth_has_a_limit);
    suite_add_tcase(suite, tc);
    return suite;
}
