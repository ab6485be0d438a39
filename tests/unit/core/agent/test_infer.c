/*
 * test_infer.c - the decision matrix, row by row, and who is believed.
 */
#include "base/rc.h"
#include "core/agent/infer.h"
#include "tests/unit/suites.h"

static const struct {
    enum report report;
    bool pr, commits, build_failed;
    bool completed, partial;
    const char *code;
} matrix[] = {
    /* The eight rows of the header. */
    {REPORT_SUCCESS, true, true, false, true, false, ""},
    {REPORT_SUCCESS, true, true, true, true, false, "build_failed_after_agent"},
    {REPORT_SUCCESS, false, true, false, true, true, ""},
    {REPORT_SUCCESS, false, false, false, false, false, "agent_did_nothing"},
    {REPORT_ERROR, true, true, false, true, false, "agent_error_but_pr_exists"},
    {REPORT_ERROR, false, true, false, false, false, "agent_error_partial_work"},
    {REPORT_ERROR, false, false, false, false, false, "agent_error"},
    {REPORT_UNKNOWN, true, true, false, false, false, "session_ended_unexpectedly"},
    /* Corners that the matrix leaves to reason. */
    {REPORT_UNKNOWN, false, false, true, false, false, "session_ended_unexpectedly"},
    {REPORT_SUCCESS, true, false, false, true, false, ""},
    {REPORT_SUCCESS, false, true, true, true, true, "build_failed_after_agent"},
    {REPORT_SUCCESS, false, false, true, false, false, "agent_did_nothing"},
    {REPORT_ERROR, true, false, false, true, false, "agent_error_but_pr_exists"},
    {REPORT_ERROR, true, true, true, true, false, "agent_error_but_pr_exists"},
    {REPORT_ERROR, false, true, true, false, false, "agent_error_partial_work"},
};

START_TEST(the_matrix_decides)
{
    struct session_facts facts = {
        .completion = matrix[_i].report,
        .pr_exists = matrix[_i].pr,
        .has_commits = matrix[_i].commits,
        .build_failed = matrix[_i].build_failed,
    };
    struct inference got = infer_outcome(&facts);
    ck_assert_int_eq(got.completed, matrix[_i].completed);
    ck_assert_int_eq(got.partial, matrix[_i].partial);
    ck_assert_str_eq(got.code, matrix[_i].code);
    ck_assert_ptr_nonnull(got.message);
    ck_assert(got.message[0] != '\0');
}
END_TEST

static const struct {
    enum report completion, adapter;
    bool exited;
    int exit_code;
    enum report want;
} witnesses[] = {
    {REPORT_SUCCESS, REPORT_ERROR, true, 1, REPORT_SUCCESS},
    {REPORT_ERROR, REPORT_SUCCESS, true, 0, REPORT_ERROR},
    {REPORT_UNKNOWN, REPORT_SUCCESS, true, 1, REPORT_SUCCESS},
    {REPORT_UNKNOWN, REPORT_ERROR, true, 0, REPORT_ERROR},
    {REPORT_UNKNOWN, REPORT_UNKNOWN, true, 0, REPORT_SUCCESS},
    {REPORT_UNKNOWN, REPORT_UNKNOWN, true, 3, REPORT_ERROR},
    {REPORT_UNKNOWN, REPORT_UNKNOWN, false, 0, REPORT_UNKNOWN},
    {REPORT_SUCCESS, REPORT_UNKNOWN, false, 0, REPORT_SUCCESS},
};

START_TEST(the_completion_record_is_believed_before_adapter_and_exit_code)
{
    struct session_facts facts = {
        .completion = witnesses[_i].completion,
        .adapter = witnesses[_i].adapter,
        .exited = witnesses[_i].exited,
        .exit_code = witnesses[_i].exit_code,
    };
    ck_assert_int_eq(infer_report(&facts), witnesses[_i].want);
}
END_TEST

Suite *infer_suite(void)
{
    Suite *suite = suite_create("infer");
    TCase *tc = tcase_create("infer");
    tcase_add_loop_test(tc, the_matrix_decides, 0, (int)COUNT_OF(matrix));
    tcase_add_loop_test(tc, the_completion_record_is_believed_before_adapter_and_exit_code, 0,
                        (int)COUNT_OF(witnesses));
    suite_add_tcase(suite, tc);
    return suite;
}
