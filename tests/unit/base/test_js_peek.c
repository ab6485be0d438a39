/*
 * test_js_peek.c - one member, whatever stands round it.
 */
#include "base/js_peek.h"
#include "base/mem.h"
#include "tests/unit/suites.h"
#include <string.h>

static const struct {
    const char *object, *want; /* "": nothing. */
} cases[] = {
    {"{\"used\":1}", "1"},
    {" { \"a\" : [1, {\"used\": 2}], \"used\" : {\"x\":[3]} } ", "{\"x\":[3]}"},
    {"{\"a\":{\"used\":1},\"b\":\"used\"}", ""},
    {"{\"text\":\"\\\"used\\\":{}, }\",\"used\":\"a\\\\\"}", "\"a\\\\\""},
    {"{\"unused\":1,\"use\":2,\"used\":null}", "null"},
    {"{\"used\":[]}", "[]"},
    {"{}", ""},
    {"[\"used\",1]", ""},
    {"\"used\"", ""},
    {"", ""},
};

START_TEST(a_member_is_found_at_the_top_only)
{
    struct str found = js_peek(str_of(cases[_i].object), "used");
    while (found.len > 0 && found.at[found.len - 1] == ' ')
        found.len--;
    ck_assert_msg(str_is(found, cases[_i].want), "%s: %.*s", cases[_i].object, (int)found.len,
                  found.at);
}
END_TEST

START_TEST(what_is_cut_off_is_not_read_beyond)
{
    const char *whole = cases[3].object;
    for (size_t len = 0; len <= strlen(whole); len++) {
        CLEANUP(mem_freep) char *cut = mem_alloc(len + 1);
        memcpy(cut, whole, len);
        cut = mem_grow(cut, len + 1 - (len > 0)); /* Sanitizers see one byte too far. */
        struct str found = js_peek((struct str){cut, len}, "used");
        ck_assert(found.len <= len);
    }
}
END_TEST

static const struct {
    const char *json;
    size_t least; /* Values in it: the count may be higher, by one for each empty container. */
} counted[] = {
    {"1", 1},         {"[1,2,3]", 4}, {"{\"a\":{\"b\":[1,2]},\"c\":\",[{\"}", 6},
    {"\"a,b,c\"", 1}, {"[]", 1},      {"", 0},
};

START_TEST(values_are_counted_at_a_glance)
{
    size_t count = js_peek_count(str_of(counted[_i].json));
    ck_assert_uint_ge(count, counted[_i].least);
    ck_assert_uint_le(count, counted[_i].least + 1);
}
END_TEST

Suite *js_peek_suite(void)
{
    Suite *suite = suite_create("js_peek");
    TCase *tc = tcase_create("js_peek");
    tcase_add_loop_test(tc, a_member_is_found_at_the_top_only, 0, COUNT_OF(cases));
    tcase_add_test(tc, what_is_cut_off_is_not_read_beyond);
    tcase_add_loop_test(tc, values_are_counted_at_a_glance, 0, COUNT_OF(counted));
    suite_add_tcase(suite, tc);
    return suite;
}
