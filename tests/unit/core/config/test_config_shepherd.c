/*
 * test_config_shepherd.c - who follows a pull request, and with which budgets.
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

START_TEST(the_section_alone_turns_it_on)
{
    static const struct {
        const char *document;
        bool enabled;
    } rows[] = {
        {START "}", false},
        {START ", shepherd: {}}", true},
        {START ", shepherd: {enabled: false}}", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CLEANUP(js_freep) struct js *tree = NULL;
        CLEANUP(arena_release) struct arena arena = {0};
        struct repo_config config;
        struct err err = {0};
        ck_assert_int_eq(decode(rows[i].document, &tree, &arena, &config, &err), RC_OK);
        ck_assert_int_eq(config.shepherd.enabled, rows[i].enabled);
        ck_assert_int_eq(config.shepherd.merge, SHEPHERD_MERGE_NEVER);
        ck_assert_int_eq(config.shepherd.repairs, 3);
        ck_assert_int_eq(config.shepherd.max_budget_microusd, 10000000);
        ck_assert(config.shepherd.learn);
    }
}
END_TEST

START_TEST(every_field_is_read)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    CLEANUP(arena_release) struct arena arena = {0};
    struct repo_config config;
    struct err err = {0};
    ck_assert_int_eq(decode(START ", shepherd: {merge: auto, method: squash, reruns: 2, repairs: 4,"
                                  " rebases: 6, maxBudgetUsd: 2.5, maxHours: 5, quietMs: 7,"
                                  " settleMs: 8, pollMs: 9, learn: false}}",
                            &tree, &arena, &config, &err),
                     RC_OK);
    const struct shepherd_config *rules = &config.shepherd;
    ck_assert_int_eq(rules->merge, SHEPHERD_MERGE_AUTO);
    ck_assert_str_eq(rules->method, "squash");
    ck_assert_int_eq(rules->reruns, 2);
    ck_assert_int_eq(rules->repairs, 4);
    ck_assert_int_eq(rules->rebases, 6);
    ck_assert_int_eq(rules->max_budget_microusd, 2500000);
    ck_assert_int_eq(rules->max_hours, 5);
    ck_assert_int_eq(rules->quiet_ms, 7);
    ck_assert_int_eq(rules->settle_ms, 8);
    ck_assert_int_eq(rules->poll_ms, 9);
    ck_assert(!rules->learn);
}
END_TEST

static const struct {
    const char *section, *field;
} refusals[] = {
    {"{merge: maybe}", "shepherd.merge"},     {"{repairs: 21}", "shepherd.repairs"},
    {"{maxHours: 0}", "shepherd.maxHours"},   {"{maxBudgetUsd: 0}", "shepherd.maxBudgetUsd"},
    {"{quietMs: 0}", "shepherd.quietMs"},     {"{repair: 1}", "shepherd.repair"},
    {"{learn: sometimes}", "shepherd.learn"},
};

START_TEST(what_is_wrong_is_named)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    CLEANUP(arena_release) struct arena arena = {0};
    struct repo_config config;
    struct err err = {0};
    const char *text = arena_printf(&arena, START ", shepherd: %s}", refusals[_i].section);
    ck_assert_int_eq(decode(text, &tree, &arena, &config, &err), RC_INVALID);
    ck_assert_str_eq(err.field, refusals[_i].field);
}
END_TEST

Suite *config_shepherd_suite(void)
{
    Suite *suite = suite_create("config_shepherd");
    TCase *tc = tcase_create("config_shepherd");
    tcase_add_test(tc, the_section_alone_turns_it_on);
    tcase_add_test(tc, every_field_is_read);
    tcase_add_loop_test(tc, what_is_wrong_is_named, 0, COUNT_OF(refusals));
    suite_add_tcase(suite, tc);
    return suite;
}
