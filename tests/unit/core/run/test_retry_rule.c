/*
 * test_retry_rule.c - what is done about an error: the table as a whole, and decisions by it.
 */
#include "base/rc.h"
#include "core/run/judge.h"
#include "core/run/retry_rule.h"
#include "core/step_kind.h"
#include "tests/unit/suites.h"
#include <string.h>

START_TEST(nothing_of_policy_or_security_is_retried)
{
    size_t count;
    const struct retry_rule *rules = retry_rules(&count);
    ck_assert_uint_gt(count, 0);
    for (size_t i = 0; i < count; i++) {
        bool guarded = rules[i].class == CLASS_POLICY || rules[i].class == CLASS_SECURITY;
        if (guarded)
            ck_assert_msg(rules[i].action == RETRY_STOP || rules[i].action == RETRY_QUARANTINE,
                          "%s: %d", rules[i].code, (int)rules[i].action);
        if (rules[i].action == RETRY_AGAIN)
            ck_assert_int_eq(rules[i].class, CLASS_TRANSIENT);
        ck_assert_msg(!rules[i].outside || rules[i].action == RETRY_AGAIN, "%s", rules[i].code);
        ck_assert_msg(strlen(rules[i].why) > 5, "%s", rules[i].code);
        ck_assert_ptr_eq(retry_rule_find(rules[i].place, rules[i].code), &rules[i]);
    }
}
END_TEST

START_TEST(every_built_in_step_has_a_rule_for_its_failure)
{
    const struct step_queues queues = step_queues();
    for (const char *const *queue = queues.names; *queue != NULL; queue++) {
        const struct step_row *row = step_find(*queue + strlen("drover."));
        ck_assert_ptr_nonnull(row);
        ck_assert_msg(retry_rule_find(RETRY_OF_STEP, row->failure) != NULL, "%s", row->failure);
    }
}
END_TEST

static const struct {
    const char *what;
    struct reported_error error;
    struct retry_decision want;
} of_steps[] = {
    {"transient whatever the worker says",
     {.code = "repository_unreachable"},
     {.retryable = true, .outside = true}},
    {"as reported: yes",
     {.code = "publish_failed", .retryable = true},
     {.retryable = true, .outside = true}},
    {"as reported: no", {.code = "publish_failed"}, {0}},
    {"the worker's own trouble is not the forge's",
     {.code = "prepare_failed", .retryable = true},
     {.retryable = true}},
    {"permanent whatever the worker says", {.code = "branch_not_found", .retryable = true}, {0}},
    {"policy whatever the worker says",
     {.code = "policy_denied", .retryable = true},
     {.policy = true}},
    {"a secret", {.code = "secret_detected", .retryable = true}, {.policy = true}},
    {"a trap",
     {.code = "malicious_repository", .retryable = true},
     {.policy = true, .quarantine = true}},
    {"a class of policy over a rule of retry",
     {.code = "repository_unreachable",
      .retryable = true,
      .classed = true,
      .class = CLASS_SECURITY},
     {.policy = true}},
    {"unknown code of a step", {.code = "odd", .retryable = true}, {.retryable = true}},
};

START_TEST(a_failure_is_decided_by_the_table_then_by_the_word_of_the_worker)
{
    struct retry_decision got = retry_of_step(&of_steps[_i].error), want = of_steps[_i].want;
    const char *what = of_steps[_i].what;
    ck_assert_msg(got.retryable == want.retryable, "%s: retryable", what);
    ck_assert_msg(got.policy == want.policy, "%s: policy", what);
    ck_assert_msg(got.outside == want.outside, "%s: outside", what);
    ck_assert_msg(got.quarantine == want.quarantine, "%s: quarantine", what);
}
END_TEST

START_TEST(what_the_judge_finds_goes_back_to_the_agent)
{
    static const char *const found[] = {"max_files",    "max_lines",           "forbidden_path",
                                        "out_of_scope", "verification_failed", "judge_failed"};
    for (size_t i = 0; i < COUNT_OF(found); i++)
        ck_assert_int_eq(retry_rule_find(RETRY_OF_RESULT, found[i])->action, RETRY_REPAIR);
    ck_assert_int_eq(retry_rule_find(RETRY_OF_RESULT, "secret_detected")->action, RETRY_STOP);
    ck_assert_ptr_null(retry_rule_find(RETRY_OF_RESULT, "no such thing"));
}
END_TEST

Suite *retry_rule_suite(void)
{
    Suite *suite = suite_create("retry_rule");
    TCase *tc = tcase_create("retry_rule");
    tcase_add_test(tc, nothing_of_policy_or_security_is_retried);
    tcase_add_test(tc, every_built_in_step_has_a_rule_for_its_failure);
    tcase_add_loop_test(tc, a_failure_is_decided_by_the_table_then_by_the_word_of_the_worker, 0,
                        (int)COUNT_OF(of_steps));
    tcase_add_test(tc, what_the_judge_finds_goes_back_to_the_agent);
    suite_add_tcase(suite, tc);
    return suite;
}
