/*
 * test_policy.c - mode x risk x rule, all of it.
 */
#include "base/rc.h"
#include "core/run/policy.h"
#include "tests/unit/suites.h"
#include <string.h>

/* a allow, ? ask, x deny; one letter a risk: low, medium, high. */
static const char *const want[APPROVAL_RULE_COUNT][MODE_COUNT] = {
    [APPROVAL_AUTO] = {"aaa", "aa?", "a?x"},
    [APPROVAL_ALWAYS] = {"???", "???", "??x"},
    [APPROVAL_NEVER] = {"aaa", "aaa", "aax"},
};

START_TEST(every_cell_of_the_table)
{
    static const char letters[] = "a?x";
    for (int rule = 0; rule < APPROVAL_RULE_COUNT; rule++) {
        for (int mode = 0; mode < MODE_COUNT; mode++) {
            for (int risk = 0; risk < RISK_COUNT; risk++) {
                enum policy_verdict got = policy_decide((enum mode)mode, (enum risk)risk,
                                                        (enum approval_rule)rule);
                ck_assert_msg(letters[got] == want[rule][mode][risk], "%s %s %s gives %c",
                              approval_rule_names[rule], mode_name((enum mode)mode),
                              risk_name((enum risk)risk), letters[got]);
            }
        }
    }
}
END_TEST

START_TEST(names_are_the_documented_ones)
{
    ck_assert_str_eq(policy_deny_code(), "policy.execution_mode_not_allowed");
    ck_assert_ptr_null(approval_rule_names[APPROVAL_RULE_COUNT]);
}
END_TEST

START_TEST(a_denied_mode_says_what_is_allowed_and_who_may_override)
{
    struct arena arena = {0};
    struct mode_question question = {"task",    "t1",           MODE_AUTONOMOUS_PR,
                                     RISK_HIGH, APPROVAL_NEVER, false};
    struct policy_decision decision = policy_on_mode(&question, &arena);
    ck_assert_int_eq(decision.verdict, POLICY_DENY);
    ck_assert_str_eq(decision.policy_id, "execution_mode");
    ck_assert_str_eq(decision.reason_code, "execution_mode_not_allowed");
    ck_assert_str_eq(decision.reason, "autonomous_pr is not allowed for tasks of high risk");
    ck_assert_str_eq(decision.allowed, "patch_only, supervised_pr (a person is asked)");
    ck_assert_ptr_nonnull(strstr(decision.override_by, "admin"));
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, 4096);
    struct jw jw = jw_to(&buf);
    jw_begin(&jw, '{');
    policy_write(&jw, &decision);
    jw_end(&jw, '}');
    ck_assert_ptr_nonnull(strstr(buf_text(&buf), "\"decision\":\"denied\""));
    ck_assert_ptr_nonnull(strstr(buf_text(&buf), "\"riskLevel\":\"high\""));
    arena_release(&arena);
}
END_TEST

START_TEST(an_overridden_mode_is_ruled_as_one_that_is_allowed)
{
    static const enum policy_verdict verdicts[APPROVAL_RULE_COUNT] = {
        [APPROVAL_AUTO] = POLICY_ALLOW,
        [APPROVAL_ALWAYS] = POLICY_ASK,
        [APPROVAL_NEVER] = POLICY_ALLOW,
    };
    struct arena arena = {0};
    for (int rule = 0; rule < APPROVAL_RULE_COUNT; rule++) {
        struct mode_question question = {
            "task", "t1", MODE_AUTONOMOUS_PR, RISK_HIGH, (enum approval_rule)rule, true};
        ck_assert_int_eq(policy_on_mode(&question, &arena).verdict, verdicts[rule]);
    }
    /* Where the table asks there is nothing to override. */
    struct mode_question asked = {"task",      "t1",          MODE_AUTONOMOUS_PR,
                                  RISK_MEDIUM, APPROVAL_AUTO, true};
    ck_assert_int_eq(policy_on_mode(&asked, &arena).verdict, POLICY_ASK);
    arena_release(&arena);
}
END_TEST

START_TEST(a_patch_is_denied_by_the_first_path_that_a_glob_covers)
{
    static const char *const forbidden[] = {".github/workflows/**", "deploy", "*.pem", NULL};
    static const char *const paths[] = {"src/a.c", "deploy/prod.yml", "key.pem", "sub/key.pem"};
    const char *found[POLICY_PATHS_MAX];
    size_t count = 0;
    struct arena arena = {0};
    struct patch_question question = {
        .patch_id = "p1", .forbidden = forbidden, .paths = paths, .path_count = COUNT_OF(paths)};
    struct policy_decision decision = policy_on_patch(&question, &arena, found, &count);
    ck_assert_int_eq(decision.verdict, POLICY_DENY);
    ck_assert_str_eq(decision.reason_code, "forbidden_path");
    ck_assert_str_eq(decision.resource_id, "p1");
    ck_assert_ptr_null(decision.override_by);
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(found[0], "deploy/prod.yml");
    ck_assert_str_eq(found[1], "key.pem");
    ck_assert_ptr_nonnull(strstr(decision.details.at, "\"rule\":\"deploy\""));
    question.overridable = true;
    ck_assert_ptr_nonnull(policy_on_patch(&question, &arena, NULL, NULL).override_by);
    question.path_count = 1;
    ck_assert_int_eq(policy_on_patch(&question, &arena, found, &count).verdict, POLICY_ALLOW);
    ck_assert_uint_eq(count, 0);
    question.forbidden_count = 1; /* Of those that did not fit. */
    ck_assert_int_eq(policy_on_patch(&question, &arena, NULL, NULL).verdict, POLICY_DENY);
    arena_release(&arena);
}
END_TEST

START_TEST(policies_are_kept_as_a_list_of_names)
{
    struct arena arena = {0};
    const char *list = policy_list_add(NULL, "execution_mode", &arena);
    list = policy_list_add(list, "forbidden_paths", &arena);
    ck_assert_str_eq(list, "execution_mode,forbidden_paths");
    ck_assert_str_eq(policy_list_add(list, "execution_mode", &arena), list);
    ck_assert(policy_list_has(list, "forbidden_paths"));
    ck_assert(!policy_list_has(list, "forbidden"));
    ck_assert(!policy_list_has(NULL, "forbidden"));
    arena_release(&arena);
}
END_TEST

Suite *policy_suite(void)
{
    Suite *suite = suite_create("policy");
    TCase *tc = tcase_create("policy");
    tcase_add_test(tc, every_cell_of_the_table);
    tcase_add_test(tc, names_are_the_documented_ones);
    tcase_add_test(tc, a_denied_mode_says_what_is_allowed_and_who_may_override);
    tcase_add_test(tc, an_overridden_mode_is_ruled_as_one_that_is_allowed);
    tcase_add_test(tc, a_patch_is_denied_by_the_first_path_that_a_glob_covers);
    tcase_add_test(tc, policies_are_kept_as_a_list_of_names);
    suite_add_tcase(suite, tc);
    return suite;
}
