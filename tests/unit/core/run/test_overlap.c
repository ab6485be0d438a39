/*
 * test_overlap.c - whether two pieces of work may touch the same file.
 */
#include "base/random.h"
#include "base/rc.h"
#include "base/str.h"
#include "core/run/overlap.h"
#include "tests/unit/suites.h"
#include <string.h>

static const struct {
    const char *one, *other;
    bool want;
} pairs[] = {
    {"a.c", "a.c", true},
    {"a.c", "b.c", false},
    {"src", "src/a.c", true}, /* A directory and what is in it. */
    {"src/", "src/a.c", true},
    {"src", "src2/a.c", false},
    {"src", "src", true},
    {"src/*.c", "src/a.c", true},
    {"src/*.c", "src/a.h", false},
    {"src/*.c", "src/sub/a.c", false},
    {"src/**", "src/sub/*.c", true},
    {"src/**/*.c", "src/a.c", true}, /* Components that are not there. */
    {"src/**/*.c", "src/x/y/a.c", true},
    {"src/**/*.c", "src/**/*.h", false},
    {"**/*.md", "docs/**", true},
    {"**/test", "src/nottes[t]", false},
    {"**", "anything/at/all", true},
    {"*", "a/b", false},
    {"*/b", "a/*", true},
    {"docs/**", "src/**", false},
    {"src/[a-m]*.c", "src/[n-z]*.c", false},
    {"src/[a-m]*.c", "src/[!n-z]?.c", true},
    {"src/[^/]x", "src/?x", true},
    {"a?c", "abc", true},
    {"a?c", "a/c", false},
    {"a\\*c", "abc", false}, /* An escaped star is a star. */
    {"a\\*c", "a*c", true},
    {"a[bc", "a[bc", true}, /* A class without an end is plain. */
    {"caf\u00e9/*", "caf\u00e9/menu.txt", true},
    {"[!a]", "\u00e9", true},
    {"*a*b*c", "*x*b*c", true},
    {"*.c", "*.h", false},
};

static bool globs_overlap(const char *one, const char *other)
{
    const struct file_set wanted = {.globs = &one, .glob_count = 1};
    const struct file_set held = {.globs = &other, .glob_count = 1};
    struct overlap overlap;
    return file_sets_overlap(&wanted, &held, &overlap);
}

START_TEST(globs_that_may_share_a_path_overlap)
{
    ck_assert_msg(globs_overlap(pairs[_i].one, pairs[_i].other) == pairs[_i].want, "%s and %s",
                  pairs[_i].one, pairs[_i].other);
    ck_assert_msg(globs_overlap(pairs[_i].other, pairs[_i].one) == pairs[_i].want, "%s and %s",
                  pairs[_i].other, pairs[_i].one);
}
END_TEST

/* Letters of the alphabet, most significant first; false when all of this length were made. */
static bool next_path(char *path, size_t len)
{
    static const char alphabet[] = "ab/";
    for (size_t i = len; i-- > 0;) {
        const char *at = strchr(alphabet, path[i]);
        if (at[1] != '\0') {
            path[i] = at[1];
            return true;
        }
        path[i] = alphabet[0];
    }
    return false;
}

static bool has_witness(const char *one, const char *other)
{
    enum { PATH_MAX_LEN = 8 };
    for (size_t len = 0; len <= PATH_MAX_LEN; len++) {
        char path[PATH_MAX_LEN + 1] = {0};
        memset(path, 'a', len);
        do {
            if (glob_covers(one, path) && glob_covers(other, path))
                return true;
        } while (next_path(path, len));
    }
    return false;
}

START_TEST(the_answer_is_what_trying_every_path_gives)
{
    static const char *const parts[] = {"a", "b", "/", "*", "**", "?", "[ab]", "[!a]"};
    struct random random = random_seeded(20240611);
    for (int i = 0; i < 400; i++) {
        char globs[2][32] = {"", ""};
        for (size_t g = 0; g < 2; g++) {
            size_t len = 1 + (size_t)random_below(&random, 4), used = 0;
            for (size_t k = 0; k < len; k++) {
                const char *part = parts[random_below(&random, COUNT_OF(parts))];
                text_copy(globs[g] + used, sizeof globs[g] - used, part);
                used += strlen(part);
            }
        }
        ck_assert_msg(globs_overlap(globs[0], globs[1]) == has_witness(globs[0], globs[1]),
                      "%s and %s", globs[0], globs[1]);
    }
}
END_TEST

START_TEST(hostile_globs_are_an_overlap_and_cost_little)
{
    static char one[501], other[501], longest[2000];
    for (size_t i = 0; i < 500; i++) {
        one[i] = "a*"[i % 2];
        other[i] = "*b"[i % 2];
    }
    memset(longest, 'x', sizeof longest - 1);
    const char *ones[100], *others[100];
    for (size_t i = 0; i < 100; i++) {
        ones[i] = one;
        others[i] = other;
    }
    struct file_set wanted = {.globs = ones, .glob_count = 100};
    struct file_set held = {.globs = others, .glob_count = 100};
    struct overlap overlap;
    ck_assert(file_sets_overlap(&wanted, &held, &overlap));
    ck_assert(globs_overlap(longest, "y")); /* Too long to be looked at. */
}
END_TEST

#define SET(...) {__VA_ARGS__}, COUNT_OF(((const char *const[]){__VA_ARGS__}))

static const struct {
    const char *what;
    const char *wanted[4];
    size_t wanted_count;
    const char *globs[4];
    size_t glob_count;
    const char *paths[4];
    size_t path_count;
    bool want;
    const char *held; /* What is named. */
} sets[] = {
    {"nobody knows what the other does", SET("src/**"), {0}, 0, {0}, 0, true, NULL},
    {"nobody knows what this one will do", {0}, 0, SET("src/**"), {0}, 0, true, "src/**"},
    {"declared apart", SET("docs/**"), SET("src/**"), {0}, 0, false, NULL},
    {"declared together", SET("docs/**", "src/a.c"), SET("x", "src/*.c"), {0}, 0, true, "src/*.c"},
    {"declared apart, but seen to stray", SET("docs/**"), SET("src/**"), SET("docs/x.md"), true,
     "docs/x.md"},
    {"seen elsewhere, declared nothing", SET("docs/**"), {0}, 0, SET("src/a.c"), false, NULL},
    {"a directory covers a path",
     SET("docs"),
     {0},
     0,
     SET("docs/deep/x.md"),
     true,
     "docs/deep/x.md"},
};

START_TEST(sets_of_files_overlap_by_declaration_and_by_sight)
{
    struct file_set wanted = {.globs = sets[_i].wanted, .glob_count = sets[_i].wanted_count};
    struct file_set held = {.globs = sets[_i].globs,
                            .glob_count = sets[_i].glob_count,
                            .paths = sets[_i].paths,
                            .path_count = sets[_i].path_count};
    struct overlap overlap = {0};
    ck_assert_msg(file_sets_overlap(&wanted, &held, &overlap) == sets[_i].want, "%s",
                  sets[_i].what);
    if (sets[_i].held != NULL)
        ck_assert_str_eq(overlap.held, sets[_i].held);
}
END_TEST

Suite *overlap_suite(void)
{
    Suite *suite = suite_create("overlap");
    TCase *tc = tcase_create("overlap");
    tcase_add_loop_test(tc, globs_that_may_share_a_path_overlap, 0, (int)COUNT_OF(pairs));
    tcase_add_test(tc, the_answer_is_what_trying_every_path_gives);
    tcase_add_test(tc, hostile_globs_are_an_overlap_and_cost_little);
    tcase_add_loop_test(tc, sets_of_files_overlap_by_declaration_and_by_sight, 0,
                        (int)COUNT_OF(sets));
    suite_add_tcase(suite, tc);
    return suite;
}
