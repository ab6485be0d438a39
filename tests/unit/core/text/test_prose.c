/*
 * test_prose.c - text cut to size without splitting characters.
 */
#include "base/rc.h"
#include "base/str.h"
#include "core/text/prose.h"
#include "tests/unit/suites.h"
#include <string.h>

static const struct {
    const char *text;
    size_t max, want;
} fits[] = {
    {"", 0, 0},           {"abc", 3, 3},      {"abc", 2, 2},          {"abc", 0, 0},
    {"a\u00e4b", 2, 1},   {"a\u00e4b", 3, 3}, {"\u20ac\u20ac", 5, 3}, {"\U0001f600", 3, 0},
    {"\U0001f600", 4, 4},
};

START_TEST(a_cut_falls_between_characters)
{
    ck_assert_uint_eq(prose_fit(fits[_i].text, strlen(fits[_i].text), fits[_i].max), fits[_i].want);
}
END_TEST

static const struct {
    const char *text;
    size_t max;
    const char *want;
} lines[] = {
    {"", 10, ""},
    {"plain", 10, "plain"},
    {"  a\n\n b\tc \r\n", 10, "a b c"},
    {"\n\n", 10, ""},
    {"exactly ten", 11, "exactly ten"},
    {"one more than ten", 10, "one mor..."},
    {"many   blanks   fit", 14, "many blanks..."},
    {"many   blanks", 11, "many blanks"},
    {"ends with blanks    ", 16, "ends with blanks"},
    {"\u20ac\u20ac\u20ac\u20ac", 10, "\u20ac\u20ac..."},
    {"bell\a and \x7f", 20, "bell and"},
    {"next\xc2\x85 line\xc2\x9f\u00e4", 20, "next line \u00e4"},
};

START_TEST(text_goes_on_one_line)
{
    CLEANUP(arena_release) struct arena arena = {0};
    char *line = prose_line(&arena, lines[_i].text, lines[_i].max);
    ck_assert_str_eq(line, lines[_i].want);
    ck_assert_uint_le(strlen(line), lines[_i].max);
}
END_TEST

Suite *prose_suite(void)
{
    Suite *suite = suite_create("prose");
    TCase *tc = tcase_create("prose");
    tcase_add_loop_test(tc, a_cut_falls_between_characters, 0, (int)COUNT_OF(fits));
    tcase_add_loop_test(tc, text_goes_on_one_line, 0, (int)COUNT_OF(lines));
    suite_add_tcase(suite, tc);
    return suite;
}
