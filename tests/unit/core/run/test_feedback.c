/*
 * test_feedback.c - what is made of a failed check's output.
 */
#include "base/buf.h"
#include "base/random.h"
#include "core/run/feedback.h"
#include "tests/unit/suites.h"
#include <string.h>

static const struct {
    int exit_code, signal;
    const char *log;
    enum failure_category want;
} categories[] = {
    {0, 0, "error: nothing", FAILURE_NONE},
    {1, 0, "", FAILURE_TEST_FAILURE},
    {1, 0, "1 of 3 tests failed", FAILURE_TEST_FAILURE},
    {-1, 11, "", FAILURE_TEST_FAILURE},
    {-1, 6, "sum.c:3:5: error: expected ';'", FAILURE_COMPILE_ERROR},
    {126, 0, "permission denied", FAILURE_INFRASTRUCTURE},
    {127, 0, "sh: 1: pytest: not found", FAILURE_INFRASTRUCTURE},
    {2, 0, "sum.c:3:5: error: expected ';' before 'return'", FAILURE_COMPILE_ERROR},
    {2, 0, "sum.c:3: fatal error: x.h: No such file", FAILURE_COMPILE_ERROR},
    {2, 0, "\033[01m\033[Ksum.c:3:5:\033[m\033[K \033[01;31m\033[Kerror: \033[m\033[Kexpected",
     FAILURE_COMPILE_ERROR},
    {2, 0, "sum.c:(.text+0x5): undefined reference to `f'", FAILURE_COMPILE_ERROR},
    {1, 0, "Foo.java:3: error: cannot find symbol", FAILURE_COMPILE_ERROR},
    {1, 0, "[ERROR] /src/Foo.java:[3,5] cannot find symbol", FAILURE_COMPILE_ERROR},
    {1, 0, "src/a.ts(3,5): error TS2304: Cannot find name 'x'.", FAILURE_COMPILE_ERROR},
    {1, 0, "error[E0308]: mismatched types\n --> src/main.rs:3:5", FAILURE_COMPILE_ERROR},
    {1, 0, "  File \"a.py\", line 1\n    def\nSyntaxError: invalid syntax", FAILURE_COMPILE_ERROR},
    {2, 0, "./main.go:5:2: undefined: x\nFAIL\tx [build failed]", FAILURE_COMPILE_ERROR},
    {2, 0, "make: *** [Makefile:4: test] Error 1", FAILURE_TEST_FAILURE},
    {1, 0, "AssertionError: expected 4 to equal 5", FAILURE_TEST_FAILURE},
    {1, 0, "test.c:12:F:core:adds:0: 3 == 4", FAILURE_TEST_FAILURE},
    {1, 0, "ok 1 - reports SyntaxError: as it should\nnot ok 2 - adds", FAILURE_TEST_FAILURE},
    {1, 0, "the server logged an error: timeout", FAILURE_TEST_FAILURE},
    {1, 0, "[ERROR] COMPILATION ERROR :\n[ERROR] InvoiceMapperTest.java:[9,2] incompatible types",
     FAILURE_COMPILE_ERROR},
    {1, 0, "[ERROR] Tests run: 12, Failures: 1, Errors: 0\n[INFO] BUILD FAILURE",
     FAILURE_TEST_FAILURE},
    {1, 0, "> Task :compileJava FAILED\n1 error", FAILURE_COMPILE_ERROR},
    {1, 0, "Could not resolve dependencies for project x:y\n[ERROR] COMPILATION ERROR",
     FAILURE_DEPENDENCY},
    {1, 0, "npm ERR! code E404\nnpm ERR! 404 Not Found", FAILURE_DEPENDENCY},
    {1, 0, "ERROR: No matching distribution found for leftpad==9", FAILURE_DEPENDENCY},
    {1, 0, "main.go:4:2: no required module provides package x.org/y", FAILURE_DEPENDENCY},
    {101, 0, "error: no matching package named `leftpad` found", FAILURE_DEPENDENCY},
    {1, 0, "fatal: unable to access: Could not resolve host: github.com", FAILURE_DEPENDENCY},
    {101, 0, "error: could not compile `x` (lib) due to 1 previous error", FAILURE_COMPILE_ERROR},
    {101, 0, "test adds ... FAILED\ntest result: FAILED. 0 passed; 1 failed", FAILURE_TEST_FAILURE},
    {1, 0, "/src/a.js\n  3:5  error  'x' is not defined  no-undef\n\n\u2716 1 problem (1 error)",
     FAILURE_LINT_FAILURE},
    {1, 0, "would reformat src/a.py\nOh no!", FAILURE_LINT_FAILURE},
    {1, 0, "FAILED tests/test_a.py::test_adds - assert 3 == 4", FAILURE_TEST_FAILURE},
    {1, 0, "E   ModuleNotFoundError: No module named 'x'", FAILURE_COMPILE_ERROR},
    {1, 0, "java.lang.OutOfMemoryError: Java heap space\nTests run: 3, Failures: 1",
     FAILURE_OUT_OF_MEMORY},
    {134, 0, "FATAL ERROR: Reached heap limit - JavaScript heap out of memory",
     FAILURE_OUT_OF_MEMORY},
    {137, 0, "Killed", FAILURE_OUT_OF_MEMORY},
    {-1, 9, "", FAILURE_OUT_OF_MEMORY},
};

static const struct {
    const char *command, *log;
    enum failure_category want;
} by_command[] = {
    {"npx eslint .", "src/a.js:3:5: error Parsing error", FAILURE_LINT_FAILURE},
    {"cargo clippy -- -D warnings", "error: could not compile `x`", FAILURE_LINT_FAILURE},
    {"ruff check .", "Found 3 errors.", FAILURE_LINT_FAILURE},
    {"npx eslint .", "npm ERR! code ENOTFOUND", FAILURE_DEPENDENCY},
    {"make test", "Found 3 errors.", FAILURE_TEST_FAILURE},
};

START_TEST(a_linter_is_known_by_its_name)
{
    struct check_output check = {
        .command = by_command[_i].command, .exit_code = 1, .log = str_of(by_command[_i].log)};
    ck_assert_int_eq(feedback_category(&check), by_command[_i].want);
}
END_TEST

static struct check_output check_of(const char *log)
{
    return (struct check_output){.command = "make test", .exit_code = 2, .log = str_of(log)};
}

START_TEST(the_category_follows_exit_and_output)
{
    struct check_output check = check_of(categories[_i].log);
    check.exit_code = categories[_i].exit_code;
    check.signal = categories[_i].signal;
    enum failure_category got = feedback_category(&check);
    ck_assert_msg(got == categories[_i].want, "%s: %s", categories[_i].log,
                  failure_category_name(got));
}
END_TEST

static const struct {
    const char *log;
    const char *want;
} best[] = {
    {"", "exit code 2 without output"},
    {"\n\n\033[0m\n", "exit code 2 without output"},
    {"only words\n", "only words"},
    {"first\nlast\n\n", "last"},
    {"cc -Wall -Werror -c a.c\na.c:1:2: error: bad\nmake: *** Error 1\n", "a.c:1:2: error: bad"},
    {"1 failed, 2 passed\nsum.c:3: error: late\n", "sum.c:3: error: late"},
    {"test error_case ... ok\ntest adds ... FAILED\n", "test adds ... FAILED"},
    {"0 failed\n0 errors\n10 failed\n", "10 failed"},
    {"no errors here\nerrors: 0, failures: 3\n", "errors: 0, failures: 3"},
    {"Errors: 0\nfailures=0\ndone\n", "done"},
    {"80%: Checks: 5, Failures: 1, Errors: 0\n", "80%: Checks: 5, Failures: 1, Errors: 0"},
    {"100%: Checks: 5, Failures: 0, Errors: 0\nbye\n", "bye"},
    {"  10% done\r  50% done\rError: full\r\n", "Error: full"},
    {"kept\r\r\n", "kept"},
    {"\033]0;title\007\033[31mred\033[0m\033(B line\n", "redB line"},
    {"bad \xff\xfe bytes\n", "bad ?? bytes"},
    {"nul \001\002 and tab\there\n", "nul and tab here"},
    {"caf\u00e9 fails\n", "caf\u00e9 fails"},
};

START_TEST(one_line_tells_most)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct check_output check = check_of(best[_i].log);
    ck_assert_str_eq(feedback_line(&check, &arena), best[_i].want);
}
END_TEST

START_TEST(a_signal_is_named_when_nothing_else_is_there)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct check_output check = {.command = "x", .exit_code = -1, .signal = 9};
    ck_assert_str_eq(feedback_line(&check, &arena), "ended by signal 9 without output");
    ck_assert_str_eq(feedback_summary(&check, &arena),
                     "`x` was ended by signal 9.\n\nIt printed nothing.\n");
}
END_TEST

START_TEST(a_summary_has_errors_with_what_stands_round_them_and_the_end)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf log;
    buf_init(&log, 100000);
    buf_adds(&log, "line 1\nline 2\nsum.c:3:5: error: expected ';'\n   return a\n         ^\n");
    for (int i = 6; i < 12; i++)
        buf_addf(&log, "line %d\n", i);
    buf_adds(&log, "AssertionError: 3 is not 4\n");
    for (int i = 13; i < 20; i++)
        buf_addf(&log, "line %d\n", i);
    struct check_output check = check_of(buf_text(&log));
    ck_assert_str_eq(feedback_summary(&check, &arena),
                     "`make test` failed with exit code 2.\n\nErrors:\nline 2\n"
                     "sum.c:3:5: error: expected ';'\n   return a\n         ^\nline 6\n...\n"
                     "line 11\nAssertionError: 3 is not 4\nline 13\nline 14\nline 15\n\n"
                     "End of the output:\nline 16\nline 17\nline 18\nline 19\n");
}
END_TEST

START_TEST(a_summary_without_errors_is_the_end)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct check_output check = check_of("one\ntwo\n");
    ck_assert_str_eq(feedback_summary(&check, &arena),
                     "`make test` failed with exit code 2.\n\nEnd of the output:\none\ntwo\n");
}
END_TEST

START_TEST(long_logs_fit_and_keep_first_errors_and_last_lines)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf log;
    buf_init(&log, 10000000);
    buf_adds(&log, "a.c:1:1: error: the very first\n");
    for (int i = 0; i < 2000; i++)
        buf_addf(&log, "b.c:%d:1: error: \u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\n", i);
    buf_adds(&log, "the very last\n");
    struct check_output check = check_of(buf_text(&log));
    char *text = feedback_summary(&check, &arena);
    ck_assert_uint_le(strlen(text), FEEDBACK_SUMMARY_MAX);
    ck_assert_uint_gt(strlen(text), FEEDBACK_SUMMARY_MAX / 2);
    ck_assert(text_utf8_valid(text, strlen(text)));
    ck_assert_ptr_nonnull(strstr(text, "the very first\n"));
    ck_assert_ptr_nonnull(strstr(text, "the very last\n"));
    ck_assert_uint_le(strlen(feedback_line(&check, &arena)), FEEDBACK_LINE_MAX);
}
END_TEST

START_TEST(one_endless_line_is_cut_between_characters)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf log;
    buf_init(&log, 10000000);
    buf_adds(&log, "x");
    for (int i = 0; i < 300000; i++)
        buf_adds(&log, "\u20ac");
    struct check_output check = check_of(buf_text(&log));
    char *text = feedback_summary(&check, &arena);
    ck_assert_uint_le(strlen(text), FEEDBACK_SUMMARY_MAX);
    ck_assert(text_utf8_valid(text, strlen(text)));
    char *line = feedback_line(&check, &arena);
    ck_assert_uint_le(strlen(line), FEEDBACK_LINE_MAX);
    ck_assert(text_utf8_valid(line, strlen(line)));
    ck_assert_int_eq(feedback_category(&check), FAILURE_TEST_FAILURE);
}
END_TEST

START_TEST(any_bytes_give_valid_text_within_the_limits)
{
    static const char *const pieces[] = {
        "\033[",    "\033]",  "\033", "\r",   "\n", "error", "0 ", "\xe2",
        "\xe2\x82", "\u20ac", "fail", "\007", ": ", "\xff",  "1",  "x.c:3: error:"};
    struct random random = random_seeded(5);
    for (int round = 0; round < 2000; round++) {
        CLEANUP(arena_release) struct arena arena = {0};
        CLEANUP(buf_release) struct buf log;
        buf_init(&log, 100000);
        for (uint64_t i = random_below(&random, 400); i > 0; i--) {
            buf_adds(&log, pieces[random_below(&random, COUNT_OF(pieces))]);
            buf_addc(&log, (char)random_below(&random, 256));
        }
        struct check_output check = {.command = "c", .exit_code = 1, .log = buf_str(&log)};
        char *text = feedback_summary(&check, &arena);
        ck_assert(text_utf8_valid(text, strlen(text)) && strlen(text) <= FEEDBACK_SUMMARY_MAX);
        ck_assert_ptr_null(strchr(text, '\033'));
        text = feedback_line(&check, &arena);
        ck_assert(text_utf8_valid(text, strlen(text)) && strlen(text) <= FEEDBACK_LINE_MAX);
        ck_assert_ptr_null(strchr(text, '\n'));
        ck_assert_int_ne(feedback_category(&check), FAILURE_NONE);
    }
}
END_TEST

START_TEST(names_read_back)
{
    for (int i = 0; i < VERIFY_STATUS_COUNT; i++) {
        enum verify_status status = VERIFY_STATUS_COUNT;
        ck_assert(verify_status_parse(verify_status_name((enum verify_status)i), &status));
        ck_assert_int_eq((int)status, i);
    }
    enum verify_status untouched = VERIFY_SKIPPED;
    ck_assert(!verify_status_parse("ok", &untouched));
    ck_assert_int_eq(untouched, VERIFY_SKIPPED);
    ck_assert_str_eq(failure_category_name(FAILURE_NONE), "");
    ck_assert_str_eq(failure_category_name(FAILURE_PATCH_DOES_NOT_APPLY), "patch_does_not_apply");
}
END_TEST

Suite *feedback_suite(void)
{
    Suite *suite = suite_create("feedback");
    TCase *tc = tcase_create("feedback");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, the_category_follows_exit_and_output, 0, (int)COUNT_OF(categories));
    tcase_add_loop_test(tc, a_linter_is_known_by_its_name, 0, (int)COUNT_OF(by_command));
    tcase_add_loop_test(tc, one_line_tells_most, 0, (int)COUNT_OF(best));
    tcase_add_test(tc, a_signal_is_named_when_nothing_else_is_there);
    tcase_add_test(tc, a_summary_has_errors_with_what_stands_round_them_and_the_end);
    tcase_add_test(tc, a_summary_without_errors_is_the_end);
    tcase_add_test(tc, long_logs_fit_and_keep_first_errors_and_last_lines);
    tcase_add_test(tc, one_endless_line_is_cut_between_characters);
    tcase_add_test(tc, any_bytes_give_valid_text_within_the_limits);
    tcase_add_test(tc, names_read_back);
    suite_add_tcase(suite, tc);
    return suite;
}
