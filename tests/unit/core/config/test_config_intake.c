/*
 * test_config_intake.c - which issues a repository takes in, and who may ask.
 */
#include "base/yaml.h"
#include "core/config/repo_config.h"
#include "tests/unit/suites.h"
#include <string.h>

#define START "{agent: {command: [a]}, url: /x"

static enum rc decode(const char *document, struct js **tree, struct arena *arena,
                      struct repo_config *config, struct err *err)
{
    ck_assert_int_eq(yaml_parse(document, strlen(document), tree, err), RC_OK);
    return repo_config_decode(*tree, NULL, arena, config, err);
}

START_TEST(nothing_is_taken_in_without_the_section)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    CLEANUP(arena_release) struct arena arena = {0};
    struct repo_config config;
    struct err err = {0};
    ck_assert_int_eq(decode(START "}", &tree, &arena, &config, &err), RC_OK);
    ck_assert(!config.intake.enabled);
    ck_assert_str_eq(config.intake.associations[1], "MEMBER");
}
END_TEST

START_TEST(an_empty_section_obeys_commands_of_members)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    CLEANUP(arena_release) struct arena arena = {0};
    struct repo_config config;
    struct err err = {0};
    ck_assert_int_eq(decode(START ", intake: {}}", &tree, &arena, &config, &err), RC_OK);
    ck_assert(config.intake.enabled && config.intake.commands);
    ck_assert(config.intake.comment && config.intake.close);
    ck_assert_ptr_null(config.intake.labels[0]);
    ck_assert_str_eq(config.intake.associations[2], "COLLABORATOR");
    ck_assert_ptr_null(config.intake.associations[3]);
}
END_TEST

START_TEST(rules_say_what_a_task_gets)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    CLEANUP(arena_release) struct arena arena = {0};
    struct repo_config config;
    struct err err = {0};
    enum rc rc = decode(START ", intake: {labels: [drover, go], assignees: [bot], commands: false, "
                              "allow: {associations: [], people: [ann], teams: [team/core]}, "
                              "rules: [{label: bug, taskType: fix, riskLevel: high, priority: 7}, "
                              "{command: docs, executionMode: patch_only, maxBudgetUsd: 1.5, "
                              "targetBranch: next}], comment: false, close: false}}",
                        &tree, &arena, &config, &err);
    ck_assert_msg(rc == RC_OK, "%s: %s", err.field, err.text);
    const struct intake_rules *rules = &config.intake;
    ck_assert_str_eq(rules->labels[1], "go");
    ck_assert_str_eq(rules->assignees[0], "bot");
    ck_assert(!rules->commands && !rules->comment && !rules->close);
    ck_assert_ptr_null(rules->associations[0]);
    ck_assert_str_eq(rules->people[0], "ann");
    ck_assert_str_eq(rules->teams[0], "team/core");
    ck_assert_uint_eq(rules->rule_count, 2);
    ck_assert_str_eq(rules->rules[0].label, "bug");
    ck_assert_int_eq(rules->rules[0].task.risk, RISK_HIGH);
    ck_assert_int_eq(rules->rules[0].task.mode, -1);
    ck_assert_int_eq(rules->rules[0].task.priority, 7);
    ck_assert_str_eq(rules->rules[1].command, "docs");
    ck_assert_int_eq(rules->rules[1].task.mode, MODE_PATCH_ONLY);
    ck_assert_int_eq(rules->rules[1].task.max_budget_microusd, 1500000);
    ck_assert_str_eq(rules->rules[1].task.target_branch, "next");
}
END_TEST

static const struct {
    const char *document, *field;
} refusals[] = {
    {START ", intake: {label: x}}", "intake.label"},
    {START ", intake: {labels: ['']}}", "intake.labels"},
    {START ", intake: {allow: {associations: [FRIEND]}}}", "intake.allow.associations"},
    {START ", intake: {allow: {teams: [core]}}}", "intake.allow.teams"},
    {START ", intake: {allow: {teams: [team/]}}}", "intake.allow.teams"},
    {START ", intake: {rules: [{taskType: fix}]}}", "intake.rules[0].label"},
    {START ", intake: {rules: [{label: a, command: b}]}}", "intake.rules[0].label"},
    {START ", intake: {rules: [{label: a, riskLevel: none}]}}", "intake.rules[0].riskLevel"},
    {START ", intake: {rules: [{label: a, targetBranch: 'a b'}]}}", "intake.rules[0].targetBranch"},
};

START_TEST(what_is_wrong_is_named)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    CLEANUP(arena_release) struct arena arena = {0};
    struct repo_config config;
    struct err err = {0};
    ck_assert_int_eq(decode(refusals[_i].document, &tree, &arena, &config, &err), RC_INVALID);
    ck_assert_msg(text_starts(err.field, refusals[_i].field), "%s: %s", err.field, err.text);
}
END_TEST

Suite *config_intake_suite(void)
{
    Suite *suite = suite_create("config_intake");
    TCase *tc = tcase_create("config_intake");
    tcase_add_test(tc, nothing_is_taken_in_without_the_section);
    tcase_add_test(tc, an_empty_section_obeys_commands_of_members);
    tcase_add_test(tc, rules_say_what_a_task_gets);
    tcase_add_loop_test(tc, what_is_wrong_is_named, 0, COUNT_OF(refusals));
    suite_add_tcase(suite, tc);
    return suite;
}
