/*
 * test_choose.c - which agent gets an issue, and the Conductor's configuration.
 */
#include "base/yaml.h"
#include "core/conductor/choose.h"
#include "core/conductor/conductor_config.h"
#include "tests/unit/suites.h"
#include <string.h>

#define AGENT(room, who, ...) \
    ((struct conductor_agent){.capacity = (room), .name = (who), __VA_ARGS__})

static int choose(const struct issue_life *issue, struct conductor_agent a,
                  struct conductor_agent b)
{
    const struct conductor_agent agents[] = {a, b};
    return choose_agent(issue, true, agents, COUNT_OF(agents));
}

START_TEST(an_agent_must_fit)
{
    const struct issue_life issue = {
        .persona = "web", .repository = "acme/shop", .labels = STR("[\"cart\"]")};
    const struct conductor_agent good = AGENT(1, "a", .persona = "web");
    const struct conductor_agent bad[] = {
        AGENT(1, "a", .persona = "db"),
        AGENT(1, "a", .load = 1, .persona = "web"),
        AGENT(1, "a", .persona = "web", .repositories = STR("[\"acme/bill*\"]")),
        AGENT(1, "a", .persona = "web", .labels = STR("[\"search\"]")),
        AGENT(1, "a", .load = 0),
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        ck_assert_int_eq(choose(&issue, bad[i], good), 1);
        ck_assert_int_eq(choose_agent(&issue, true, &bad[i], 1), CHOOSE_NONE);
    }
    const struct conductor_agent own = AGENT(1, "a", .persona = "web", .in_house = true);
    ck_assert_int_eq(choose_agent(&issue, false, &own, 1), CHOOSE_NONE);
    ck_assert_int_eq(choose_agent(&issue, true, &own, 1), 0);
    ck_assert_int_eq(choose_agent(&issue, true, NULL, 0), CHOOSE_NONE);
}
END_TEST

START_TEST(of_those_that_fit_the_best_gets_it)
{
    const struct issue_life issue = {.labels = STR("[\"cart\",\"api\"]"), .last_stuck = "s"};
    const struct conductor_agent plain = AGENT(4, "a", .load = 0);
    const struct conductor_agent better[] = {
        AGENT(4, "a", .labels = STR("[\"api\"]")),
        AGENT(4, "A", .load = 0),
    };
    const struct conductor_agent worse[] = {
        AGENT(4, "s", .labels = STR("[\"api\"]")),
        AGENT(4, "a", .load = 1),
        AGENT(4, "a", .done = 3, .stuck = 1),
        AGENT(4, "a", .done = 1, .work_us = 5),
        AGENT(4, "b", .load = 0),
    };
    for (size_t i = 0; i < COUNT_OF(better); i++)
        ck_assert_msg(choose(&issue, plain, better[i]) == 1, "better %zu", i);
    for (size_t i = 0; i < COUNT_OF(worse); i++)
        ck_assert_msg(choose(&issue, worse[i], plain) == 1, "worse %zu", i);
    ck_assert_int_eq(choose_agent(&issue, true, &worse[0], 1), 0); /* There is no other. */
}
END_TEST

static const struct {
    const char *yaml, *field;
} configs[] = {
    {"{enabled: false, maxAtWork: 3, agents: [{name: a, persona: web, capacity: 2}]}", NULL},
    {"{}", NULL},
    {"{enabled: maybe}", "conductor.enabled"},
    {"{agents: [{persona: web}]}", "conductor.agents[0].name"},
    {"{agents: [{name: a}, {name: a}]}", "conductor.agents[1]"},
    {"{agents: [{name: a, capacity: 0}]}", "conductor.agents[0].capacity"},
    {"{agents: [{name: a, persona: Web}]}", "conductor.agents[0].persona"},
    {"{agent: []}", "conductor.agent"},
};

START_TEST(the_configuration_is_read)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(js_freep) struct js *tree = NULL;
    struct conductor_config config = conductor_config_default();
    struct err err = {0};
    const char *yaml = configs[_i].yaml;
    ck_assert_int_eq(yaml_parse(yaml, strlen(yaml), &tree, &err), RC_OK);
    enum rc rc = conductor_config_decode(tree, &arena, &config, &err);
    ck_assert_int_eq(rc, configs[_i].field == NULL ? RC_OK : RC_INVALID);
    if (configs[_i].field != NULL)
        ck_assert_str_eq(err.field, configs[_i].field);
    if (_i == 0) {
        ck_assert(!config.enabled && config.at_work_max == 3 && config.count == 1);
        ck_assert_str_eq(config.agents[0].persona, "web");
        ck_assert(config.agents[0].in_house && config.agents[0].capacity == 2);
    }
}
END_TEST

Suite *choose_suite(void)
{
    Suite *suite = suite_create("choose");
    TCase *tc = tcase_create("choose");
    tcase_add_test(tc, an_agent_must_fit);
    tcase_add_test(tc, of_those_that_fit_the_best_gets_it);
    tcase_add_loop_test(tc, the_configuration_is_read, 0, COUNT_OF(configs));
    suite_add_tcase(suite, tc);
    return suite;
}
