/*
 * test_policy.c - mode x risk x rule, all of it.
 */
#include "core/policy.h"
#include "tests/unit/suites.h"

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
                ck_assert_msg(letters[got] == want[rule][mode][risk], "%s %s %s gives %s",
                              approval_rule_names[rule], mode_name((enum mode)mode),
                              risk_name((enum risk)risk), policy_verdict_name(got));
            }
        }
    }
}
END_TEST

START_TEST(names_are_the_documented_ones)
{
    ck_assert_str_eq(policy_verdict_name(POLICY_ALLOW), "allow");
    ck_assert_str_eq(policy_verdict_name(POLICY_ASK), "ask");
    ck_assert_str_eq(policy_verdict_name(POLICY_DENY), "deny");
    ck_assert_str_eq(policy_deny_code(), "policy.execution_mode_not_allowed");
    ck_assert_ptr_null(approval_rule_names[APPROVAL_RULE_COUNT]);
}
END_TEST

Suite *policy_suite(void)
{
    Suite *suite = suite_create("policy");
    TCase *tc = tcase_create("policy");
    tcase_add_test(tc, every_cell_of_the_table);
    tcase_add_test(tc, names_are_the_documented_ones);
    suite_add_tcase(suite, tc);
    return suite;
}
