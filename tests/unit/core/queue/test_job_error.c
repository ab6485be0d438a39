/*
 * test_job_error.c - whether a job is retried, by what its worker reports.
 */
#include "base/rc.h"
#include "core/queue/job_error.h"
#include "tests/unit/suites.h"

static const struct {
    const char *what;
    struct reported_error error;
    struct retry_decision want;
} reports[] = {
    {"a retryable failure",
     {.code = "vendor_down", .retryable = true},
     {.retryable = true, .outside = true}},
    {"a permanent failure", {.code = "vendor_down"}, {0}},
    {"a code that steps have too",
     {.code = "malicious_repository", .retryable = true},
     {.retryable = true, .outside = true}},
    {"transient by class",
     {.code = "x", .classed = true, .class = CLASS_TRANSIENT},
     {.retryable = true, .outside = true}},
    {"permanent by class",
     {.code = "x", .retryable = true, .classed = true, .class = CLASS_PERMANENT},
     {0}},
    {"policy by class",
     {.code = "x", .retryable = true, .classed = true, .class = CLASS_POLICY},
     {.policy = true}},
    {"security by class",
     {.code = "x", .retryable = true, .classed = true, .class = CLASS_SECURITY},
     {.policy = true}},
};

START_TEST(a_class_decides_before_the_word_of_the_worker)
{
    struct retry_decision got = retry_as_reported(&reports[_i].error), want = reports[_i].want;
    const char *what = reports[_i].what;
    ck_assert_msg(got.retryable == want.retryable, "%s: retryable", what);
    ck_assert_msg(got.policy == want.policy, "%s: policy", what);
    ck_assert_msg(got.outside == want.outside, "%s: outside", what);
    ck_assert_msg(!got.quarantine, "%s: quarantine", what);
}
END_TEST

Suite *job_error_suite(void)
{
    Suite *suite = suite_create("job_error");
    TCase *tc = tcase_create("job_error");
    tcase_add_loop_test(tc, a_class_decides_before_the_word_of_the_worker, 0,
                        (int)COUNT_OF(reports));
    suite_add_tcase(suite, tc);
    return suite;
}
