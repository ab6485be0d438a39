/*
 * test_cli_args.c - command lines that are read, and those that are refused by name.
 */
#include "base/str.h"
#include "cli/args.h"
#include "tests/unit/suites.h"
#include <string.h>

static const char *const risks[] = {"low", "high", NULL};
static const struct arg_option first_table[] = {
    {"repo", "NAME", "", ARG_TEXT, 0, 0, NULL},
    {"watch", NULL, "", ARG_FLAG, 0, 0, NULL},
    {"scope", "GLOB", "", ARG_LIST, 0, 0, NULL},
    {0},
};
static const struct arg_option second_table[] = {
    {"limit", "N", "", ARG_INT, 1, 100, NULL},
    {"budget", "USD", "", ARG_REAL, 0, 0, NULL},
    {"risk", "RISK", "", ARG_CHOICE, 0, 0, risks},
    {0},
};

enum { WORDS_MAX = 32 };

/* Reads a line whose words stand between blanks; "''" is the empty word. */
static enum rc parse(struct args *args, const char *line, struct arena *arena, struct err *err)
{
    char *argv[WORDS_MAX];
    size_t argc = 0;
    for (const char *at = line; *at != '\0';) {
        size_t len = strcspn(at, " ");
        ck_assert_uint_lt(argc, WORDS_MAX);
        argv[argc] = arena_strndup(arena, at, len);
        if (text_same(argv[argc], "''"))
            argv[argc][0] = '\0';
        argc++;
        at += len + (at[len] == ' ');
    }
    *args = (struct args){.tables = {first_table, second_table}, .table_count = 2};
    return args_parse(args, argc, argv, arena, err);
}

START_TEST(options_and_words_are_told_apart)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct args args;
    const char *line = "fix --repo a/b the --watch --limit=7 bug --budget 1.5 --risk high "
                       "--scope src/* --scope=docs/* - -- --repo -x";
    ck_assert_int_eq(parse(&args, line, &arena, NULL), RC_OK);
    ck_assert_str_eq(args_text(&args, "repo", ""), "a/b");
    ck_assert(args_has(&args, "watch"));
    ck_assert_int_eq(args_int(&args, "limit", 50), 7);
    ck_assert_double_eq(args_real(&args, "budget", 0), 1.5);
    ck_assert_str_eq(args_text(&args, "risk", "low"), "high");
    ck_assert_str_eq(args_joined(&args, &arena), "fix the bug - --repo -x");
    ck_assert_str_eq(args_word(&args, 1), "the");
    ck_assert_ptr_null(args_word(&args, 6));
    size_t at = 0;
    ck_assert_str_eq(args_next(&args, "scope", &at), "src/*");
    ck_assert_str_eq(args_next(&args, "scope", &at), "docs/*");
    ck_assert_ptr_null(args_next(&args, "scope", &at));
}
END_TEST

START_TEST(what_is_not_given_falls_back)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct args args;
    ck_assert_int_eq(parse(&args, "", &arena, NULL), RC_OK);
    ck_assert(!args_has(&args, "watch"));
    ck_assert_str_eq(args_text(&args, "repo", "none"), "none");
    ck_assert_int_eq(args_int(&args, "limit", 50), 50);
    ck_assert_double_eq(args_real(&args, "budget", 0.25), 0.25);
    ck_assert_str_eq(args_joined(&args, &arena), "");
}
END_TEST

START_TEST(a_value_may_look_like_an_option_or_hold_an_equals_sign)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct args args;
    ck_assert_int_eq(parse(&args, "--repo --watch --scope=a=b", &arena, NULL), RC_OK);
    ck_assert_str_eq(args_text(&args, "repo", ""), "--watch");
    ck_assert(!args_has(&args, "watch"));
    ck_assert_str_eq(args_text(&args, "scope", ""), "a=b");
}
END_TEST

START_TEST(wrong_lines_are_refused_by_name)
{
    static const struct {
        const char *line, *named;
    } table[] = {
        {"--nope", "--nope"},
        {"--rep x", "--rep"},
        {"--repository=x", "--repository"},
        {"-r x", "-r"},
        {"--repo", "--repo NAME"},
        {"--repo=", "--repo"},
        {"--repo ''", "--repo"},
        {"--repo a --repo b", "given twice"},
        {"--watch --watch", "given twice"},
        {"--watch=yes", "takes no value"},
        {"--limit x", "from 1 to 100"},
        {"--limit 0", "from 1 to 100"},
        {"--limit 101", "from 1 to 100"},
        {"--limit 1.5", "--limit"},
        {"--limit 99999999999999999999", "--limit"},
        {"--budget -1", "--budget"},
        {"--budget nan", "--budget"},
        {"--budget x", "--budget"},
        {"--risk medium", "low, high"},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        CLEANUP(arena_release) struct arena arena = {0};
        struct args args;
        struct err err = {0};
        ck_assert_msg(parse(&args, table[i].line, &arena, &err) == RC_INVALID, "taken: %s",
                      table[i].line);
        ck_assert_msg(strstr(err.text, table[i].named) != NULL, "%s: %s", table[i].line, err.text);
    }
}
END_TEST

START_TEST(the_number_of_options_is_bounded)
{
    CLEANUP(arena_release) struct arena arena = {0};
    char *argv[ARGS_GIVEN_MAX + 1];
    struct err err = {0};
    struct args args = {.tables = {first_table}, .table_count = 1};
    for (size_t i = 0; i < COUNT_OF(argv); i++)
        argv[i] = arena_strdup(&arena, "--scope=x");
    ck_assert_int_eq(args_parse(&args, ARGS_GIVEN_MAX, argv, &arena, &err), RC_OK);
    args = (struct args){.tables = {first_table}, .table_count = 1};
    ck_assert_int_eq(args_parse(&args, ARGS_GIVEN_MAX + 1, argv, &arena, &err), RC_INVALID);
}
END_TEST

Suite *cli_args_suite(void)
{
    Suite *suite = suite_create("cli_args");
    TCase *tc = tcase_create("cli_args");
    tcase_add_test(tc, options_and_words_are_told_apart);
    tcase_add_test(tc, what_is_not_given_falls_back);
    tcase_add_test(tc, a_value_may_look_like_an_option_or_hold_an_equals_sign);
    tcase_add_test(tc, wrong_lines_are_refused_by_name);
    tcase_add_test(tc, the_number_of_options_is_bounded);
    suite_add_tcase(suite, tc);
    return suite;
}
