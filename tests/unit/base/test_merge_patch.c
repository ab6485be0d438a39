/*
 * test_merge_patch.c - the examples of RFC 7396, and what they leave open.
 */
#include "base/merge_patch.h"
#include "tests/unit/suites.h"
#include <string.h>

static const struct {
    const char *document, *patch, *want;
} examples[] = {
    /* Appendix A. */
    {"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
    {"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
    {"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
    {"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
    {"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
    {"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
    {"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
    {"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
    {"[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]"},
    {"{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]"},
    {"{\"a\":\"foo\"}", "null", "null"},
    {"{\"a\":\"foo\"}", "\"bar\"", "\"bar\""},
    {"{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
    {"[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}"},
    {"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
    /* Section 3. */
    {"{\"title\":\"Goodbye!\",\"author\":{\"givenName\":\"John\",\"familyName\":\"Doe\"},"
     "\"tags\":[\"example\",\"sample\"],\"content\":\"This will be unchanged\"}",
     "{\"title\":\"Hello!\",\"phoneNumber\":\"+01-123-456-7890\","
     "\"author\":{\"familyName\":null},\"tags\":[\"example\"]}",
     "{\"title\":\"Hello!\",\"author\":{\"givenName\":\"John\"},\"tags\":[\"example\"],"
     "\"content\":\"This will be unchanged\",\"phoneNumber\":\"+01-123-456-7890\"}"},
    /* Beyond it. */
    {"", "{\"a\":1}", "{\"a\":1}"},
    {"null", "{}", "{}"},
    {"{\"a\":null}", "{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1}}"},
    {"{\"a\":1.5,\"b\":[null,{}]}", "{}", "{\"a\":1.5,\"b\":[null,{}]}"},
};

START_TEST(a_patch_changes_what_it_names)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(js_freep) struct js *patch = NULL;
    struct err err = {0};
    struct str text = {0};
    const char *source = examples[_i].patch;
    ck_assert_int_eq(js_parse(source, strlen(source), &patch, &err), RC_OK);
    ck_assert_int_eq(merge_patch(str_of(examples[_i].document), patch, &arena, &text, &err), RC_OK);
    ck_assert_str_eq(text.at, examples[_i].want);
    ck_assert_uint_eq(text.len, strlen(examples[_i].want));
}
END_TEST

START_TEST(what_is_not_json_is_not_patched)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(js_freep) struct js *patch = NULL;
    struct err err = {0};
    struct str text = STR("untouched");
    ck_assert_int_eq(js_parse("{}", 2, &patch, &err), RC_OK);
    ck_assert_int_eq(merge_patch(STR("{\"a\":"), patch, &arena, &text, &err), RC_MALFORMED);
    ck_assert(str_is(text, "untouched"));
}
END_TEST

Suite *merge_patch_suite(void)
{
    Suite *suite = suite_create("merge_patch");
    TCase *tc = tcase_create("merge_patch");
    tcase_add_loop_test(tc, a_patch_changes_what_it_names, 0, COUNT_OF(examples));
    tcase_add_test(tc, what_is_not_json_is_not_patched);
    suite_add_tcase(suite, tc);
    return suite;
}
