/*
 * test_task.c - the projection of a run, and names.
 */
#include "base/arena.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/str.h"
#include "core/run/task.h"
#include "tests/unit/suites.h"
#include <string.h>

static const struct {
    enum run_status run;
    const char *task;
    const char *deferred;
} projections[] = {
    {RUN_QUEUED, "submitted", "deferred"},
    {RUN_PREPARING, "hydrating", "hydrating"},
    {RUN_CONTEXT_LOADING, "hydrating", "hydrating"},
    {RUN_PLANNING, "running", "running"},
    {RUN_RUNNING, "running", "running"},
    {RUN_VERIFYING, "running", "running"},
    {RUN_JUDGING, "running", "running"},
    {RUN_AWAITING_APPROVAL, "finalizing", "finalizing"},
    {RUN_CREATING_PR, "finalizing", "finalizing"},
    {RUN_COMPLETED, "completed", "completed"},
    {RUN_FAILED, "failed", "failed"},
    {RUN_CANCELLED, "cancelled", "cancelled"},
    {RUN_TIMED_OUT, "timed_out", "timed_out"},
};

START_TEST(a_task_shows_its_latest_run)
{
    ck_assert_uint_eq(COUNT_OF(projections), RUN_STATUS_COUNT);
    for (size_t i = 0; i < COUNT_OF(projections); i++) {
        enum task_status plain = task_status_of(projections[i].run, false);
        enum task_status deferred = task_status_of(projections[i].run, true);
        ck_assert_str_eq(task_status_name(plain), projections[i].task);
        ck_assert_str_eq(task_status_name(deferred), projections[i].deferred);
        ck_assert_int_eq(task_is_terminal(plain), run_is_terminal(projections[i].run));
    }
}
END_TEST

START_TEST(names_read_back)
{
    for (int i = 0; i < TASK_STATUS_COUNT; i++) {
        enum task_status status = TASK_STATUS_COUNT;
        ck_assert(task_status_parse(task_status_name((enum task_status)i), &status));
        ck_assert_int_eq((int)status, i);
    }
    for (int i = 0; i < RISK_COUNT; i++) {
        enum risk risk = RISK_COUNT;
        ck_assert(risk_parse(risk_name((enum risk)i), &risk));
        ck_assert_int_eq((int)risk, i);
    }
    for (int i = 0; i < MODE_COUNT; i++) {
        enum mode mode = MODE_COUNT;
        ck_assert(mode_parse(mode_name((enum mode)i), &mode));
        ck_assert_int_eq((int)mode, i);
    }
    ck_assert_ptr_null(risk_names[RISK_COUNT]);
    ck_assert_ptr_null(mode_names[MODE_COUNT]);
}
END_TEST

START_TEST(unknown_names_leave_the_output_alone)
{
    enum task_status status = TASK_FAILED;
    enum risk risk = RISK_HIGH;
    enum mode mode = MODE_AUTONOMOUS_PR;
    ck_assert(!task_status_parse("LOW", &status) && !task_status_parse(NULL, &status));
    ck_assert(!risk_parse("critical", &risk) && !risk_parse("", &risk));
    ck_assert(!mode_parse("autonomous", &mode) && !mode_parse(NULL, &mode));
    ck_assert_int_eq(status, TASK_FAILED);
    ck_assert_int_eq(risk, RISK_HIGH);
    ck_assert_int_eq(mode, MODE_AUTONOMOUS_PR);
}
END_TEST

static const struct {
    const char *description, *title;
} titles[] = {
    {"Fix the rounding of VAT", "Fix the rounding of VAT"},
    {"\n\t First line \r\nsecond line", "First line"},
    {"\x1b[2Jred", "[2Jred"},
    {NULL, "Resolve issue #7"},
    {" \n ", "Resolve issue #7"},
};

START_TEST(a_title_is_the_first_line_or_the_issue)
{
    CLEANUP(arena_release) struct arena arena = {0};
    ck_assert_str_eq(task_title(titles[_i].description, 7, &arena), titles[_i].title);
}
END_TEST

START_TEST(a_title_is_cut_to_size)
{
    CLEANUP(arena_release) struct arena arena = {0};
    char text[301];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    const char *title = task_title(text, 0, &arena);
    ck_assert_uint_eq(strlen(title), TASK_TITLE_MAX);
    ck_assert(text_ends(title, "..."));
    ck_assert_str_eq(task_title(title, 0, &arena), title);
}
END_TEST

Suite *task_suite(void)
{
    Suite *suite = suite_create("task");
    TCase *tc = tcase_create("task");
    tcase_add_test(tc, a_task_shows_its_latest_run);
    tcase_add_test(tc, names_read_back);
    tcase_add_test(tc, unknown_names_leave_the_output_alone);
    tcase_add_loop_test(tc, a_title_is_the_first_line_or_the_issue, 0, (int)COUNT_OF(titles));
    tcase_add_test(tc, a_title_is_cut_to_size);
    suite_add_tcase(suite, tc);
    return suite;
}
