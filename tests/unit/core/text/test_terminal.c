/*
 * test_terminal.c - output of programs, made readable; test_feedback.c has the cleaning of lines.
 */
#include "base/rc.h"
#include "core/text/terminal.h"
#include "tests/unit/suites.h"
#include <string.h>

static const struct {
    const char *text;
    bool cut;
    size_t max;
    const char *want;
} cases[] = {
    {"", false, 10, ""},
    {"\n\n", false, 10, ""},
    {"one\ntwo\n", false, 100, "one\ntwo"},
    {"one\n\n\ntwo", false, 100, "one\ntwo"},
    {"rest of one\ntwo\n", true, 100, "two"},
    {"rest of the only one", true, 100, "rest of the only one"},
    {"rest\n", true, 100, "rest"},
    {"\033[31mError:\033[0m no\a key\r\n", false, 100, "Error: no key"},
    {" 10%\r 50%\r100%\nend", false, 100, "100%\nend"},
    {"bad \xff byte", false, 100, "bad ? byte"},
    {"first line\nsecond\nthird", false, 12, "second\nthird"},
    {"first line\nsecond\nthird", false, 11, "third"},
    {"first line\nsecond\nthird", false, 5, "third"},
    {"first line\nsecond\nthird", false, 3, "ird"},
    {"\u20ac\u20ac", false, 4, "\u20ac"},
    {"at java.lang.Thread.run\n\n", false, 3, "run"},
};

START_TEST(the_last_lines_are_whole_and_clean)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *got = terminal_last_lines(&arena, str_of(cases[_i].text), cases[_i].cut,
                                          cases[_i].max);
    ck_assert_str_eq(got, cases[_i].want);
}
END_TEST

Suite *terminal_suite(void)
{
    Suite *suite = suite_create("terminal");
    TCase *tests = tcase_create("terminal");
    tcase_add_loop_test(tests, the_last_lines_are_whole_and_clean, 0, (int)COUNT_OF(cases));
    suite_add_tcase(suite, tests);
    return suite;
}
