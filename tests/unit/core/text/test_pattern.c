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
    /* alternatives and groups */
    {"^(a|bc)$", "bc", true},
    {"^(a|bc)$", "b", false},
    {"^a|b$", "axx", true},
    {"^a|b$", "xxb", true},
    {"^a|b$", "xax", false},
    {"^(?:ab)+$", "ababab", true},
    {"^(?:ab)+$", "aba", false},
    {"^(?<year>[0-9]{4})-(0[1-9]|1[0-2])$", "2026-11", true},
    {"^(?<year>[0-9]{4})-(0[1-9]|1[0-2])$", "2026-13", false},
    {"^(a|b|c|d)*$", "abcdabcd", true},
    {"^((a|b)c?){2,3}$", "acb", true},
    {"^((a|b)c?){2,3}$", "acbab", false},
    {"^(a*)*b$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
    {"^(a|a)*(a|a)*b$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
    {"^(|a)$", "", true},
    {"a^b", "ab", false},
    {"(^a|^b)c", "bc", true},
    {"^a*?b$", "aab", true},
    /* classes */
    {"^\\d+$", "0123", true},
    {"^\\d+$", "\xd9\xa3", false}, /* A digit of another script. */
    {"^\\D\\W\\S$", "a-b", true},
    {"^[\\w.]+$", "a_1.B", true},
    {"^[^\\s]+$", "a b", false},
    {"^\\s$", "\xc2\xa0", true},
    {"^[\\D]$", "1", false},
    {"^\\t\\x41\\u0042\\u{43}$", "\tABC", true},
    {"^\\ud83d\\udc11$", "\xf0\x9f\x90\x91", true},
    {"^\\p{L}+$", "\xc3\xa4\xd0\xb6z", true},
    {"^\\p{Letter}+$", "a1", false},
    {"^\\p{N}$", "\xd9\xa3", true},
    {"^\\P{L}$", "1", true},
    {"^[\\p{L}_]+$", "\xc3\xa4_", true},
    {"^[a-\xc3\xbc]$", "\xc3\xa4", true},
    {"^\xc3\xa4{2}$", "\xc3\xa4\xc3\xa4", true},
    {"\\bcat\\b", "a cat!", true},
    {"\\bcat\\b", "concat", false},
    {"\\Bcat", "concat", true},
};

START_TEST(texts_match_or_not)
{
    struct pattern pattern;
    struct err err = {0};
    ck_assert_msg(pattern_read(examples[_i].pattern, &pattern, &err) == RC_OK, "%s: %s",
                  examples[_i].pattern, err.text);
    int64_t moves = INT64_C(1000000);
    ck_assert_msg(pattern_matches(&pattern, str_of(examples[_i].text), &moves) ==
                      examples[_i].matches,
                  "%s %s", examples[_i].pattern, examples[_i].text);
    ck_assert_int_ge(moves, 0);
}
END_TEST

static const char *const refused[] = {
    "*a",  "a**",     "a{",   "a{3,2}",      "a{1000}",    "[a",          "[b-a]",   "\\",
    "(a",  "a)",      "a}",   "(?=a)",       "(?!a)",      "(?<=a)b",     "(?<!a)b", "(a)\\1",
    "\\q", "\\p{Lu}", "\\x4", "\\u{110000}", "a{999}b{9}", "(a{99}){99}",
};

/* A number of moves that grows with the length of the text, and not faster. */
START_TEST(matching_is_linear_in_the_text)
{
    static const char *const patterns[] = {"^(a+)+$", "^(a|aa)+$", "(a*)*b", "(.*a){20}c",
                                           "^([a-z]+)*[0-9]$"};
    char text[4097];
    memset(text, 'a', sizeof text);
    for (size_t i = 0; i < COUNT_OF(patterns); i++) {
        struct pattern pattern;
        ck_assert_int_eq(pattern_read(patterns[i], &pattern, NULL), RC_OK);
        int64_t half = INT64_MAX / 2, whole = INT64_MAX / 2;
        text[4096] = '!';
        (void)pattern_matches(&pattern, (struct str){text + 2048, 2049}, &half);
        (void)pattern_matches(&pattern, (struct str){text, 4097}, &whole);
        half = INT64_MAX / 2 - half;
        whole = INT64_MAX / 2 - whole;
        ck_assert_msg(whole <= 2 * half + half / 10, "%s: %lld, %lld", patterns[i], (long long)half,
                      (long long)whole);
        int64_t few = 100;
        ck_assert(!pattern_matches(&pattern, (struct str){text, 4096}, &few));
        ck_assert_int_lt(few, 0);
    }
}
END_TEST

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
    tcase_add_test(tcase, matching_is_linear_in_the_text);
    suite_add_tcase(suite, tcase);
    return suite;
}
