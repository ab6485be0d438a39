/*
 * test_judge.c - scope, size and forbidden paths.
 */
#include "base/str.h"
#include "core/run/judge.h"
#include "tests/unit/suites.h"
#include <string.h>

enum { PATHS_MAX = 6 };

static const struct {
    const char *what;
    struct judge_rules rules;
    const char *scope[PATHS_MAX];
    const char *paths[PATHS_MAX];
    const char *renamed_from[PATHS_MAX];
    int64_t added, deleted;
    const char *rules_broken; /* "rule:path " for each finding. */
} cases[] = {
    {"no rules", {0}, {NULL}, {"a", "b"}, {NULL}, 5, 5, ""},
    {"an empty patch", {1, 1, {"**"}}, {"src/**"}, {NULL}, {NULL}, 0, 0, ""},
    {"just small enough", {2, 10, {NULL}}, {NULL}, {"a", "b"}, {NULL}, 5, 5, ""},
    {"too many files", {1, 0, {NULL}}, {NULL}, {"a", "b"}, {NULL}, 0, 0, "max_files: "},
    {"too many lines", {0, 9, {NULL}}, {NULL}, {"a"}, {NULL}, 5, 5, "max_lines: "},
    {"forbidden",
     {0, 0, {".github/workflows/**", "*.pem"}},
     {NULL},
     {"src/a.c", ".github/workflows/ci.yml", "key.pem"},
     {NULL},
     1,
     0,
     "forbidden_path:.github/workflows/ci.yml forbidden_path:key.pem "},
    {"a forbidden directory covers what is in it",
     {0, 0, {"secrets", "vendor/"}},
     {NULL},
     {"secrets/a", "secretsauce", "vendor/x/y", "vendored"},
     {NULL},
     0,
     0,
     "forbidden_path:secrets/a forbidden_path:vendor/x/y "},
    {"one finding a path, whatever forbids it",
     {0, 0, {"a", "*", "**"}},
     {NULL},
     {"a"},
     {NULL},
     0,
     0,
     "forbidden_path:a "},
    {"out of scope",
     {0},
     {"src/**", "README.md"},
     {"src/a/b.c", "README.md", "docs/x.md"},
     {NULL},
     0,
     0,
     "out_of_scope:docs/x.md "},
    {"a scope that names a directory",
     {0},
     {"src"},
     {"src/a.c", "srcs/b.c"},
     {NULL},
     0,
     0,
     "out_of_scope:srcs/b.c "},
    {"a star stops at a slash",
     {0},
     {"src/*"},
     {"src/a.c", "src/x/b.c"},
     {NULL},
     0,
     0,
     "out_of_scope:src/x/b.c "},
    {"moving a file away changes it",
     {0, 0, {"ci/**"}},
     {NULL},
     {"harmless"},
     {"ci/build.yml"},
     0,
     0,
     "forbidden_path:ci/build.yml "},
    {"all at once, in one order",
     {1, 1, {"b"}},
     {"a"},
     {"a", "b"},
     {"c"},
     1,
     1,
     "max_files: max_lines: forbidden_path:b out_of_scope:b out_of_scope:c "},
};

static size_t count_of(const char *const *paths)
{
    size_t count = 0;
    while (count < PATHS_MAX && paths[count] != NULL)
        count++;
    return count;
}

static void describe(const struct judgement *judgement, char *to, size_t to_bytes)
{
    to[0] = '\0';
    for (size_t i = 0; i < judgement->finding_count; i++) {
        const struct judge_finding *finding = &judgement->findings[i];
        const char *const words[] = {finding->rule, ":", finding->path, " "};
        for (size_t j = 0; j < COUNT_OF(words); j++) {
            size_t len = strlen(to);
            text_copy(to + len, to_bytes - len, words[j]);
        }
    }
}

START_TEST(rules_find_what_breaks_them)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *paths[PATHS_MAX], *renamed[PATHS_MAX];
    memcpy(paths, cases[_i].paths, sizeof paths);
    memcpy(renamed, cases[_i].renamed_from, sizeof renamed);
    struct patch_stats patch = {
        .paths = paths,
        .files = count_of(cases[_i].paths),
        .renamed_from = renamed,
        .renamed_from_count = count_of(cases[_i].renamed_from),
        .lines_added = cases[_i].added,
        .lines_deleted = cases[_i].deleted,
    };
    struct judgement got;
    judge_patch(&cases[_i].rules, cases[_i].scope, &patch, &arena, &got);
    char described[500];
    describe(&got, described, sizeof described);
    ck_assert_msg(strcmp(described, cases[_i].rules_broken) == 0, "%s: got %s", cases[_i].what,
                  described);
    bool pass = got.verdict == VERDICT_PASS;
    ck_assert_int_eq(pass, cases[_i].rules_broken[0] == '\0');
    ck_assert(got.scored && got.score > 0 && got.score <= 1);
    ck_assert_int_eq(pass, got.score >= 1);
    ck_assert_int_eq(pass, judgement_category(&got) == NULL);
}
END_TEST

static char *feedback_of(const struct judgement *judgement, struct arena *arena)
{
    return judge_feedback(&judgement, 1, arena);
}

START_TEST(feedback_says_what_to_do)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *paths[] = {"docs/x.md", "ci.yml"};
    struct patch_stats patch = {.paths = paths, .files = 2};
    struct judge_rules rules = {.max_files = 1, .forbidden = {"*.yml"}};
    const char *const scope[] = {"*.yml", NULL};
    struct judgement got;
    judge_patch(&rules, scope, &patch, &arena, &got);
    ck_assert_str_eq(feedback_of(&got, &arena),
                     "The patch breaks 3 rules of this repository:\n"
                     "- Change fewer files: the patch changes 2, at most 1 are allowed.\n"
                     "- Revert the change to docs/x.md: it is outside the task's scope.\n"
                     "- Revert the change to ci.yml: the repository's rules forbid changes to "
                     "*.yml.\n");
    judge_patch(&(struct judge_rules){0}, NULL, &patch, &arena, &got);
    ck_assert_str_eq(feedback_of(&got, &arena), "");
}
END_TEST

START_TEST(findings_are_limited_and_the_score_falls)
{
    CLEANUP(arena_release) struct arena arena = {0};
    enum { FILES = 2 * JUDGE_FINDINGS_MAX };
    const char *paths[FILES];
    for (size_t i = 0; i < FILES; i++)
        paths[i] = arena_printf(&arena, "%0200zu", i);
    struct judge_rules rules = {.forbidden = {"*"}};
    double last = 2;
    for (size_t files = 0; files <= 3; files++) {
        struct patch_stats patch = {.paths = paths, .files = files};
        struct judgement got;
        judge_patch(&rules, NULL, &patch, &arena, &got);
        ck_assert(got.score < last);
        last = got.score;
    }
    struct patch_stats patch = {.paths = paths, .files = FILES};
    struct judgement got;
    judge_patch(&rules, NULL, &patch, &arena, &got);
    ck_assert_uint_eq(got.finding_count, JUDGE_FINDINGS_MAX);
    char *text = feedback_of(&got, &arena);
    ck_assert_ptr_nonnull(strstr(text, "There may be more"));
    ck_assert(text_utf8_valid(text, strlen(text)));
}
END_TEST

START_TEST(feedback_is_limited_and_ends_between_findings)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *paths[JUDGE_FINDINGS_MAX];
    for (size_t i = 0; i < COUNT_OF(paths); i++)
        paths[i] = arena_printf(&arena, "%01000zu", i);
    struct judge_rules rules = {.forbidden = {"*"}};
    struct patch_stats patch = {.paths = paths, .files = COUNT_OF(paths) - 1};
    struct judgement got;
    judge_patch(&rules, NULL, &patch, &arena, &got);
    char *text = feedback_of(&got, &arena);
    ck_assert_uint_lt(strlen(text), 17 * 1024);
    ck_assert(text_ends(text, "forbid changes to *.\nThere may be more of the same kind.\n"));
}
END_TEST

static const struct {
    const char *verdicts; /* One letter each. */
    enum verdict want;
} panels[] = {
    {"", VERDICT_PASS},
    {"p", VERDICT_PASS},
    {"ppp", VERDICT_PASS},
    {"pi", VERDICT_INCONCLUSIVE},
    {"in", VERDICT_NEEDS_HUMAN_REVIEW},
    {"pnif", VERDICT_FAIL},
    {"fp", VERDICT_FAIL},
};

START_TEST(one_failure_decides_then_one_doubt)
{
    struct judgement each[4] = {0};
    const struct judgement *all[4];
    size_t count = strlen(panels[_i].verdicts);
    for (size_t i = 0; i < count; i++) {
        each[i].verdict = (enum verdict)(strchr("pfni", panels[_i].verdicts[i]) - "pfni");
        all[i] = &each[i];
    }
    ck_assert_int_eq(judge_verdict(all, count), panels[_i].want);
}
END_TEST

START_TEST(a_pass_needs_its_score)
{
    CLEANUP(arena_release) struct arena arena = {0};
    static const struct {
        enum verdict verdict;
        bool scored;
        double score, min;
        enum verdict want;
    } table[] = {
        {VERDICT_PASS, true, 0.8, 0.8, VERDICT_PASS},
        {VERDICT_PASS, true, 0.79, 0.8, VERDICT_FAIL},
        {VERDICT_PASS, false, 0, 0.8, VERDICT_INCONCLUSIVE},
        {VERDICT_PASS, false, 0, 0, VERDICT_PASS},
        {VERDICT_NEEDS_HUMAN_REVIEW, true, 0.1, 0.8, VERDICT_NEEDS_HUMAN_REVIEW},
        {VERDICT_FAIL, true, 0.9, 0.8, VERDICT_FAIL},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct judgement got = {
            .verdict = table[i].verdict, .scored = table[i].scored, .score = table[i].score};
        judgement_weigh(&got, table[i].min, &arena);
        ck_assert_int_eq(got.verdict, table[i].want);
        bool mended = table[i].verdict == VERDICT_PASS && table[i].want == VERDICT_FAIL;
        ck_assert_uint_eq(got.finding_count, mended ? 1 : 0);
    }
}
END_TEST

START_TEST(feedback_holds_what_all_judges_found)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct judgement style = {.name = "style", .verdict = VERDICT_FAIL};
    struct judgement good = {.name = "good", .verdict = VERDICT_PASS};
    struct judgement doubt = {.name = "doubt", .verdict = VERDICT_NEEDS_HUMAN_REVIEW};
    judgement_add(&style, (struct judge_finding){.path = "a.c", .text = "Name it better."});
    judgement_add(&doubt, (struct judge_finding){.path = "b.c", .text = "Is b.c meant?"});
    const struct judgement *const all[] = {&style, &good, &doubt};
    ck_assert_str_eq(judge_feedback(all, 3, &arena),
                     "The judge style does not accept the patch:\n- a.c: Name it better.\n\n"
                     "The judge doubt notes:\n- Is b.c meant?\n");
}
END_TEST

Suite *judge_suite(void)
{
    Suite *suite = suite_create("judge");
    TCase *tc = tcase_create("judge");
    tcase_add_loop_test(tc, rules_find_what_breaks_them, 0, (int)COUNT_OF(cases));
    tcase_add_test(tc, feedback_says_what_to_do);
    tcase_add_test(tc, findings_are_limited_and_the_score_falls);
    tcase_add_test(tc, feedback_is_limited_and_ends_between_findings);
    tcase_add_loop_test(tc, one_failure_decides_then_one_doubt, 0, (int)COUNT_OF(panels));
    tcase_add_test(tc, a_pass_needs_its_score);
    tcase_add_test(tc, feedback_holds_what_all_judges_found);
    suite_add_tcase(suite, tc);
    return suite;
}
