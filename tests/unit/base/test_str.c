/* test_str.c - text helpers. */
#include "base/random.h"
#include "base/rc.h"
#include "base/str.h"
#include "tests/unit/suites.h"
#include <math.h>
#include <string.h>

START_TEST(slices_compare_by_content)
{
    ck_assert(str_same(STR("abc"), str_of("abc")));
    ck_assert(!str_same(STR("abc"), STR("abd")));
    ck_assert(!str_same(STR("abc"), STR("ab")));
    ck_assert(str_same(str_of(NULL), STR("")));
    ck_assert(str_same((struct str){NULL, 0}, STR("")));
    ck_assert(str_is((struct str){"abcdef", 3}, "abc"));
    ck_assert(!str_is(STR("a\0b"), "a"));
    struct arena arena = {0};
    ck_assert_str_eq(str_dup(&arena, (struct str){"abcdef", 3}), "abc");
    ck_assert_str_eq(str_dup(&arena, (struct str){NULL, 0}), "");
    arena_release(&arena);
}
END_TEST

START_TEST(texts_compare_with_null_apart)
{
    ck_assert(text_same(NULL, NULL));
    ck_assert(!text_same(NULL, ""));
    ck_assert(!text_same("", NULL));
    ck_assert(text_same("a", "a"));
    ck_assert(!text_same("a", "A"));
    ck_assert(text_empty(NULL) && text_empty("") && !text_empty(" "));
}
END_TEST

START_TEST(prefixes_and_suffixes)
{
    ck_assert(text_starts("refs/heads/x", "refs/"));
    ck_assert(!text_starts("ref", "refs/"));
    ck_assert(text_starts("x", ""));
    ck_assert(!text_starts(NULL, "x"));
    ck_assert(text_ends("a.yaml", ".yaml"));
    ck_assert(!text_ends("yaml", ".yaml"));
    ck_assert(text_ends("x", ""));
    ck_assert(!text_ends(NULL, "x"));
}
END_TEST

START_TEST(a_word_of_a_shell_is_quoted_where_it_needs_to_be)
{
    static const struct {
        const char *text, *want;
    } words[] = {
        {"refs/heads/a-b_c.d", "refs/heads/a-b_c.d"},
        {"https://h:80/x@y%20,z+1=2", "https://h:80/x@y%20,z+1=2"},
        {"", "''"},
        {NULL, "''"},
        {"two words", "'two words'"},
        {"$(id)`id`;&|<>*?~#!", "'$(id)`id`;&|<>*?~#!'"},
        {"it's", "'it'\\''s'"},
        {"'", "''\\'''"},
        {"a\nb", "'a\nb'"},
    };
    CLEANUP(arena_release) struct arena arena = {0};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        ck_assert_str_eq(shell_quote(words[i].text, &arena), words[i].want);
}
END_TEST

START_TEST(copies_are_cut_and_terminated)
{
    char to[4];
    text_copy(to, sizeof to, "abcdef");
    ck_assert_str_eq(to, "abc");
    text_copy(to, sizeof to, "ab");
    ck_assert_str_eq(to, "ab");
    text_copy(to, sizeof to, NULL);
    ck_assert_str_eq(to, "");
    text_copy(to, 1, "abc");
    ck_assert_str_eq(to, "");
}
END_TEST

START_TEST(integers_are_read_strictly)
{
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
    } rows[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"42", true, 42},
        {"-42", true, -42},
        {"007", true, 7},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"99999999999999999999999999", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {"+1", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"1.0", false, 0},
        {"0x10", false, 0},
        {"--1", false, 0},
        {"1e3", false, 0},
        {NULL, false, 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t value = 77;
        ck_assert_msg(text_to_i64(rows[i].text, &value) == rows[i].ok, "row %zu", i);
        ck_assert_int_eq(value, rows[i].ok ? rows[i].value : 77);
    }
}
END_TEST

START_TEST(numbers_are_read_strictly)
{
    static const struct {
        const char *text;
        bool ok;
        double value;
    } rows[] = {
        {"0", true, 0},       {"1.5", true, 1.5},   {"-2.25", true, -2.25}, {"1e3", true, 1000},
        {"1E-2", true, 0.01}, {"2.5e+1", true, 25}, {"1e999", false, 0},    {"-1e999", false, 0},
        {"1e-999", true, 0},  {"nan", false, 0},    {"inf", false, 0},      {"0x1p3", false, 0},
        {".5", false, 0},     {"5.", false, 0},     {"1e", false, 0},       {"1e+", false, 0},
        {"+1", false, 0},     {" 1", false, 0},     {"1 ", false, 0},       {"", false, 0},
        {"-", false, 0},      {"1,5", false, 0},    {NULL, false, 0},       {"1.5.2", false, 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        double value = 77;
        ck_assert_msg(text_to_double(rows[i].text, &value) == rows[i].ok, "row %zu", i);
        ck_assert_double_eq_tol(value, rows[i].ok ? rows[i].value : 77, 1e-12);
    }
}
END_TEST

static const struct {
    const char *pattern, *path;
    bool matches;
} globs[] = {
    {"", "", true},
    {"", "a", false},
    {"a", "", false},
    {"a/b.c", "a/b.c", true},
    {"a/b.c", "a/b_c", false},
    {"*.c", "main.c", true},
    {"*.c", "src/main.c", false},
    {"src/*.c", "src/main.c", true},
    {"src/*.c", "src/sub/main.c", false},
    {"*", "", true},
    {"*", "abc", true},
    {"*", "a/b", false},
    {"*", ".hidden", true},
    {"?", "a", true},
    {"?", "/", false},
    {"?", "", false},
    {"a?c", "abc", true},
    {"?", "\xc3\xa9", true},
    {"??", "\xc3\xa9", false},
    {"caf?.md", "caf\xc3\xa9.md", true},
    {"**", "", true},
    {"**", "a/b/c", true},
    {"a/**", "a/b", true},
    {"a/**", "a/b/c", true},
    {"a/**", "a", false},
    {"a/**", "ab/c", false},
    {"a/**", "b/a/c", false},
    {"**/x", "x", true},
    {"**/x", "a/x", true},
    {"**/x", "a/b/x", true},
    {"**/x", "ax", false},
    {"**/x", "a/bx", false},
    {"**/x", "x/a", false},
    {"a/**/b", "a/b", true},
    {"a/**/b", "a/x/b", true},
    {"a/**/b", "a/x/y/b", true},
    {"a/**/b", "a/xb", false},
    {"a/**/b", "ab", false},
    {"a/**/b", "a/b/c", false},
    {"a/**/b/**/c", "a/b/c", true},
    {"a/**/b/**/c", "a/1/b/2/3/c", true},
    {"a/**/b/**/c", "a/1/b/2/3/d", false},
    {"**/*.js", "a/b/c.js", true},
    {"**/*.js", "c.js", true},
    {"**/*.js", "c.ts", false},
    {"**/test_*.c", "x/test_a.c/test_b.c", true},
    {"a**c", "a/b/c", true},
    {"**.c", "a/b.c", true},
    {"*/**/z", "a/z", true},
    {"*/**/z", "z", false},
    {"**/a*/b", "x/a1/c/a2/b", true},
    {"**/a*b/c", "a1/ab/c", true},
    {".github/workflows/**", ".github/workflows/ci.yml", true},
    {".github/workflows/**", ".github/CODEOWNERS", false},
    {"[a-c]x", "bx", true},
    {"[a-c]x", "dx", false},
    {"[!a-c]x", "dx", true},
    {"[^a-c]x", "ax", false},
    {"[!a]", "/", false},
    {"a[/]b", "a/b", false},
    {"[]a]", "]", true},
    {"[]a]", "a", true},
    {"[a-]", "-", true},
    {"[a", "[a", true},
    {"[a", "a", false},
    {"[", "[", true},
    {"[\xc3\xa0-\xc3\xbf]", "\xc3\xa9", true},
    {"\\*", "*", true},
    {"\\*", "a", false},
    {"\\", "\\", true},
    {"a\\?c", "abc", false},
    {"\xff*", "\xff\xfe", true},
};

START_TEST(a_path_is_inside_a_directory_or_beside_it)
{
    static const struct {
        const char *path, *dir;
        bool inside;
    } table[] = {
        {"/a/b", "/a/b", true}, {"/a/b/c", "/a/b", true},   {"/a/bc", "/a/b", false},
        {"/a", "/a/b", false},  {"/a/b/c", "/a/b//", true}, {"/a/b", "/a/b/", true},
        {"/a", "/", true},      {"/", "/", true},           {"a/b", "/", false},
        {"a/b", "a", true},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++)
        ck_assert_msg(path_is_inside(table[i].path, table[i].dir) == table[i].inside, "%s in %s",
                      table[i].path, table[i].dir);
}
END_TEST

START_TEST(globs_match_as_in_a_shell)
{
    for (size_t i = 0; i < COUNT_OF(globs); i++)
        ck_assert_msg(glob_match(globs[i].pattern, globs[i].path) == globs[i].matches,
                      "\"%s\" and \"%s\"", globs[i].pattern, globs[i].path);
}
END_TEST

/* Says the same in the plainest way, at exponential cost. */
static bool plain_match(const char *pattern, const char *path, bool component)
{
    if (*pattern == '\0')
        return *path == '\0';
    if (pattern[0] == '*' && pattern[1] == '*') {
        const char *rest = pattern + strspn(pattern, "*");
        bool whole = component && *rest == '/';
        if (whole && plain_match(rest + 1, path, true))
            return true;
        for (const char *at = path;; at++) {
            if (!whole && plain_match(rest, at, false))
                return true;
            if (whole && *at == '/' && plain_match(rest + 1, at + 1, true))
                return true;
            if (*at == '\0')
                return false;
        }
    }
    if (*pattern == '*') {
        for (const char *at = path;; at++) {
            if (plain_match(pattern + 1, at, false))
                return true;
            if (*at == '\0' || *at == '/')
                return false;
        }
    }
    if (*path == '\0' || (*pattern == '?' ? *path == '/' : *path != *pattern))
        return false;
    return plain_match(pattern + 1, path + 1, *pattern == '/');
}

START_TEST(globs_agree_with_a_plain_recursive_matcher)
{
    struct random random = random_seeded(11);
    int matches = 0;
    for (int i = 0; i < 200000; i++) {
        static const char signs[] = "ab/*?**";
        char pattern[12] = "", path[10] = "";
        uint64_t pattern_len = random_below(&random, sizeof pattern);
        uint64_t path_len = random_below(&random, sizeof path);
        for (uint64_t k = 0; k < pattern_len; k++)
            pattern[k] = signs[random_below(&random, sizeof signs - 1)];
        for (uint64_t k = 0; k < path_len; k++)
            path[k] = signs[random_below(&random, 3)];
        bool want = plain_match(pattern, path, true);
        matches += want;
        ck_assert_msg(glob_match(pattern, path) == want, "\"%s\" and \"%s\"", pattern, path);
    }
    ck_assert_int_gt(matches, 10000);
}
END_TEST

/* The time limit of the case is what is asserted. */
START_TEST(hostile_globs_cost_little)
{
    char path[4001];
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    static const char *const patterns[] = {
        "a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b",
        "**a**a**a**a**a**a**a**a**a**a**a**b",
        "**a*a*a*a*a*b",
        "**/*a*a*a*a*a*a*a/**/b",
    };
    for (size_t i = 0; i < COUNT_OF(patterns); i++)
        ck_assert(!glob_match(patterns[i], path));
}
END_TEST

START_TEST(slugs_are_fit_for_branch_names)
{
    static const struct {
        const char *from, *slug;
    } rows[] = {
        {"Fix the Bug", "fix-the-bug"},
        {"  --Fix!!  it--  ", "fix-it"},
        {"a/b\\c:d", "a-b-c-d"},
        {"caf\xc3\xa9 au lait", "caf-au-lait"},
        {"", "task"},
        {NULL, "task"},
        {"???", "task"},
        {"\xe6\x97\xa5\xe6\x9c\xac", "task"},
        {"0123456789012345678901234567890", "0123456789012345678"},
        {"012345678901234567 x", "012345678901234567"},
        {"01234567890123456 xyz", "01234567890123456-x"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char slug[20];
        text_slug(slug, sizeof slug, rows[i].from);
        ck_assert_str_eq(slug, rows[i].slug);
    }
    char tiny[1];
    text_slug(tiny, sizeof tiny, "abc");
    ck_assert_str_eq(tiny, "");
}
END_TEST

START_TEST(utf8_is_checked_to_the_letter)
{
    static const struct {
        const char *bytes;
        size_t len;
        bool valid;
    } rows[] = {
        {"", 0, true},
        {"plain", 5, true},
        {"a\0b", 3, false},
        {"\x7f", 1, true},
        {"\x80", 1, false},
        {"\xc2\x80", 2, true},
        {"\xc1\xbf", 2, false}, /* Overlong. */
        {"\xc0\x80", 2, false},
        {"\xdf\xbf", 2, true},
        {"\xc3", 1, false}, /* Cut off. */
        {"\xe0\xa0\x80", 3, true},
        {"\xe0\x9f\xbf", 3, false},
        {"\xed\x9f\xbf", 3, true},
        {"\xed\xa0\x80", 3, false}, /* A surrogate. */
        {"\xee\x80\x80", 3, true},
        {"\xe2\x82", 2, false},
        {"\xe2\x28\xa1", 3, false},
        {"\xe2\x82\x28", 3, false},
        {"\xf0\x90\x80\x80", 4, true},
        {"\xf0\x8f\xbf\xbf", 4, false},
        {"\xf4\x8f\xbf\xbf", 4, true},
        {"\xf4\x90\x80\x80", 4, false}, /* Past U+10FFFF. */
        {"\xf5\x80\x80\x80", 4, false},
        {"\xff", 1, false},
        {"\xf0\x9f\x98\x80!", 5, true},
        {"\xf0\x9f\x98", 3, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        ck_assert_msg(text_utf8_valid(rows[i].bytes, rows[i].len) == rows[i].valid, "row %zu", i);
    ck_assert_uint_eq(utf8_len("\xe2\x82\xac...", 6), 3);
    ck_assert_uint_eq(utf8_len("", 1), 0);
}
END_TEST

START_TEST(bytes_become_hex)
{
    char to[9];
    hex_encode(to, (const unsigned char *)"\x00\xff\x1a\x80", 4);
    ck_assert_str_eq(to, "00ff1a80");
    hex_encode(to, NULL, 0);
    ck_assert_str_eq(to, "");
}
END_TEST

START_TEST(lines_are_taken_one_by_one)
{
    struct str rest = STR("a\r\n\nlast"), line;
    static const char *const want[] = {"a\r", "", "last"};
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        ck_assert(str_take_line(&rest, &line));
        ck_assert(str_is(line, want[i]));
    }
    ck_assert(!str_take_line(&rest, &line));
    rest = STR("b\n"); /* What ends with a line feed has no empty line behind it. */
    ck_assert(str_take_line(&rest, &line) && !str_take_line(&rest, &line));
}
END_TEST

Suite *str_suite(void)
{
    Suite *suite = suite_create("str");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 10);
    tcase_add_test(all, slices_compare_by_content);
    tcase_add_test(all, texts_compare_with_null_apart);
    tcase_add_test(all, prefixes_and_suffixes);
    tcase_add_test(all, copies_are_cut_and_terminated);
    tcase_add_test(all, integers_are_read_strictly);
    tcase_add_test(all, numbers_are_read_strictly);
    tcase_add_test(all, a_path_is_inside_a_directory_or_beside_it);
    tcase_add_test(all, globs_match_as_in_a_shell);
    tcase_add_test(all, globs_agree_with_a_plain_recursive_matcher);
    tcase_add_test(all, hostile_globs_cost_little);
    tcase_add_test(all, slugs_are_fit_for_branch_names);
    tcase_add_test(all, utf8_is_checked_to_the_letter);
    tcase_add_test(all, bytes_become_hex);
    tcase_add_test(all, lines_are_taken_one_by_one);
    tcase_add_test(all, a_word_of_a_shell_is_quoted_where_it_needs_to_be);
    suite_add_tcase(suite, all);
    return suite;
}
