/*
 * test_outcome.c - exit status, output and errors of a command, as the server is told of them.
 */
#include "base/js.h"
#include "base/str.h"
#include "tests/unit/suites.h"
#include "work/job/step.h"
#include "work/steps/outcome.h"
#include <signal.h>
#include <string.h>

static const struct {
    struct proc_result how;
    enum step_end kind;
    const char *code; /* Of a failure. */
    bool retryable, policy;
} ends[] = {
    {{.exit = {.code = 0}}, STEP_COMPLETED, NULL, false, false},
    {{.exit = {.code = 1}}, STEP_FAILED, "exit_1", true, false},
    {{.exit = {.code = 64}}, STEP_FAILED, "exit_64", false, false},
    {{.exit = {.code = 65}}, STEP_FAILED, "exit_65", false, false},
    {{.exit = {.code = 66}}, STEP_FAILED, "exit_66", true, false},
    {{.exit = {.code = 75}}, STEP_FAILED, "exit_75", true, false},
    {{.exit = {.code = 77}}, STEP_FAILED, "exit_77", false, true},
    {{.exit = {.code = 127}}, STEP_FAILED, "exit_127", true, false},
    {{.exit = {.code = -1, .signal = SIGKILL}}, STEP_FAILED, "signal_9", true, false},
    {{.exit = {.code = -1, .signal = SIGTERM}, .timed_out = true},
     STEP_FAILED,
     "timed_out",
     true,
     false},
    {{.exit = {.code = 0}, .timed_out = true}, STEP_FAILED, "timed_out", true, false},
};

START_TEST(the_exit_status_decides)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct command_end end = {.how = ends[_i].how};
    struct step_report report = outcome_of(&end, &arena);
    ck_assert_int_eq(report.kind, ends[_i].kind);
    if (report.kind == STEP_COMPLETED)
        return;
    ck_assert_str_eq(report.failure.code, ends[_i].code);
    ck_assert_int_eq(report.failure.retryable, ends[_i].retryable);
    ck_assert_int_eq(report.failure.policy, ends[_i].policy);
    ck_assert_str_ne(report.failure.message, "");
}
END_TEST

static const struct {
    const char *printed, *result, *output;
} prints[] = {
    {"", "{}", "null"},
    {" \n", "{}", "null"},
    {"{\"a\": 1}\n", "{\"a\":1}", "{\"a\":1}"},
    {"[1, 2]", "{\"output\":[1,2]}", "[1,2]"},
    {"42\n", "{\"output\":42}", "42"},
    {"hello\nworld\n", "{\"output\":\"hello\\nworld\"}", "{\"output\":\"hello\\nworld\"}"},
    {"{broken", "{\"output\":\"{broken\"}", "{\"output\":\"{broken\"}"},
};

START_TEST(what_it_printed_is_the_result)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct command_end end = {.out = str_of(prints[_i].printed)};
    struct step_report report = outcome_of(&end, &arena);
    ck_assert(str_is(report.result, prints[_i].result));
    struct str output = outcome_output(end.out, 1000, &arena);
    ck_assert(str_is(output, prints[_i].output));
}
END_TEST

/* Filled with the byte or the text, far more than a result may hold. */
static void check_cut(const char *piece, size_t piece_len)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf out;
    CLEANUP(js_freep) struct js *tree = NULL;
    buf_init(&out, STEP_RESULT_MAX * 4);
    while (out.len + piece_len <= out.max_bytes)
        buf_add(&out, piece, piece_len);
    const struct command_end end = {.out = buf_str(&out)};
    struct step_report report = outcome_of(&end, &arena);
    ck_assert_uint_le(report.result.len, STEP_RESULT_MAX);
    ck_assert_uint_gt(report.result.len, STEP_RESULT_MAX - 200);
    ck_assert_int_eq(js_parse(report.result.at, report.result.len, &tree, NULL), RC_OK);
    ck_assert(js_get_bool(tree, "truncated", false));
}

START_TEST(too_much_output_is_cut_and_says_so)
{
    check_cut("a", 1);
    check_cut("\"", 1);
    check_cut("\001", 1);
    check_cut("\0", 1);
    check_cut("\xFF", 1);
    check_cut("\xE2\x82\xAC", 3);
    check_cut("\xF0\x9F\x90\x91", 4);
}
END_TEST

START_TEST(a_large_object_is_cut_as_text)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf out;
    CLEANUP(js_freep) struct js *tree = NULL;
    buf_init(&out, STEP_RESULT_MAX * 2);
    buf_adds(&out, "{\"a\":\"");
    while (out.len < STEP_RESULT_MAX)
        buf_addc(&out, 'x');
    buf_adds(&out, "\"}");
    const struct command_end end = {.out = buf_str(&out)};
    struct step_report report = outcome_of(&end, &arena);
    ck_assert_uint_le(report.result.len, STEP_RESULT_MAX);
    ck_assert_int_eq(js_parse(report.result.at, report.result.len, &tree, NULL), RC_OK);
    ck_assert(js_get_bool(tree, "truncated", false));
    ck_assert(text_starts(js_get_str(tree, "output", ""), "{\"a\":\"xx"));
}
END_TEST

START_TEST(the_last_lines_of_stderr_are_the_message)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf err;
    buf_init(&err, 64 * 1024);
    for (int i = 1; i <= 20; i++)
        buf_addf(&err, "line %d\n", i);
    struct command_end end = {.how = {.exit = {.code = 1}}, .err = buf_str(&err)};
    struct step_report report = outcome_of(&end, &arena);
    ck_assert(text_starts(report.failure.message, "line 13\n"));
    ck_assert(text_ends(report.failure.message, "line 20"));
    buf_clear(&err);
    for (int i = 0; i < 2000; i++)
        buf_adds(&err, "\xE2\x82\xAC");
    end.err = buf_str(&err);
    report = outcome_of(&end, &arena);
    ck_assert_uint_le(strlen(report.failure.message), OUTCOME_MESSAGE_MAX);
    ck_assert(text_utf8_valid(report.failure.message, strlen(report.failure.message)));
    end.err = STR("");
    report = outcome_of(&end, &arena);
    ck_assert_str_eq(report.failure.message, "The command ended with 1.");
}
END_TEST

Suite *outcome_suite(void)
{
    Suite *suite = suite_create("outcome");
    TCase *tests = tcase_create("outcome");
    tcase_add_loop_test(tests, the_exit_status_decides, 0, (int)COUNT_OF(ends));
    tcase_add_loop_test(tests, what_it_printed_is_the_result, 0, (int)COUNT_OF(prints));
    tcase_add_test(tests, too_much_output_is_cut_and_says_so);
    tcase_add_test(tests, a_large_object_is_cut_as_text);
    tcase_add_test(tests, the_last_lines_of_stderr_are_the_message);
    suite_add_tcase(suite, tests);
    return suite;
}
