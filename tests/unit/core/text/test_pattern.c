/*
 * test_pattern.c - patterns by a table.
 */
#include "core/text/pattern.h"
#include "tests/unit/suites.h"
#include <string.h>

static const struct {
    const char *pattern, *text;
    bool matches;
} examples[] = {
    {"", "", true},
    {"", "abc", true},
    {"b", "abc", true},
    {"b", "acd", false},
    {"^b", "ab", false},
    {"^a", "ab", true},
    {"b$", "ab", true},
    {"b$", "ba", false},
    {"^$", "", true},
    {"^$", "a", false},
    {"^[a-z0-9_-]+$", "unit-2_x", true},
    {"^[a-z0-9_-]+$", "Unit", false},
    {"^[a-z0-9_-]+$", "", false},
    {"^[A-Za-z_][A-Za-z0-9_]*$", "_A1", true},
    {"^[A-Za-z_][A-Za-z0-9_]*$", "1A", false},
    {"^a{2}$", "aa", true},
    {"^a{2}$", "aaa", false},
    {"^a{2,3}$", "aaa", true},
    {"^a{2,3}$", "aaaa", false},
    {"^a{2,}$", "aaaaa", true},
    {"^a{0}b$", "b", true},
    {"^ab?c$", "ac", true},
    {"^ab?c$", "abc", true},
    {"^ab?c$", "abbc", false},
    {"a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
    {"^a.c$",
     "a\xc3\xa4"
     "c",
     true},
    {"^a.c$", "a\nc", false},
    {"^[^/]+$", "\xf0\x9f\x90\x91", true},
    {"^[^/]+$", "a/b", false},
    {"^/.+$", "/srv", true},
    {"^1\\.5\\$$", "1.5$", true},
    {"^1\\.5$", "1x5", false},
    {"[]a]", "]", false},
    {"^[a\\]-]$", "]", true},
    {"^[a-]$", "-", true},
};

START_TEST(texts_match_or_not)
{
    struct pattern pattern;
    struct err err = {0};
    ck_assert_msg(pattern_read(examples[_i].pattern, &pattern, &err) == RC_OK, "%s: %s",
                  examples[_i].pattern, err.text);
    ck_assert_msg(pattern_matches(&pattern, examples[_i].text) == examples[_i].matches, "%s %s",
                  examples[_i].pattern, examples[_i].text);
}
END_TEST

static const char *const refused[] = {
    "(a)",   "a|b", "*a", "a**", "a{",  "a{3,2}",   "a{1000}", "[a",
    "[b-a]", "\\d", "\\", "a^b", "a$b", "\xc3\xa4", "a{300}",  "a{200}b{200}",
};

START_TEST(what_is_not_understood_is_refused)
{
    struct pattern pattern;
    struct err err = {0};
    ck_assert_msg(pattern_read(refused[_i], &pattern, &err) == RC_INVALID, "%s", refused[_i]);
    ck_assert_str_eq(err.code, "INVALID_PATTERN");
}
END_TEST

Suite *pattern_suite(void)
{
    Suite *suite = suite_create("pattern");
    TCase *tcase = tcase_create("pattern");
    tcase_add_loop_test(tcase, texts_match_or_not, 0, COUNT_OF(examples));
    tcase_add_loop_test(tcase, what_is_not_understood_is_refused, 0, COUNT_OF(refused));
    suite_add_tcase(suite, tcase);
    return suite;
}
