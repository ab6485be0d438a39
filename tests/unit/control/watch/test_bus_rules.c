/*
 * test_bus_rules.c - `bus` of the server's configuration: what is refused, and which rule counts.
 */
#include "base/clock.h"
#include "base/yaml.h"
#include "control/watch/bus_rules.h"
#include "tests/unit/suites.h"
#include <string.h>

static struct arena arena;

static void teardown(void)
{
    arena_release(&arena);
}

static enum rc read_rules(const char *yaml, struct bus_rules *ret_rules, struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    ck_assert_int_eq(yaml_parse(yaml, strlen(yaml), &tree, err), RC_OK);
    return bus_rules_decode(tree, "bus", &arena, ret_rules, err);
}

static const struct {
    const char *yaml, *field, *text;
} refused[] = {
    {"{latencyBudgetMs: 0}", "bus.latencyBudgetMs", "between 1 and 1000"},
    {"{drainMs: 6000}", "bus.drainMs", "between 1 and 4000"},
    {"{capacity: 5}", "bus.capacity", ""},
    {"{subscribers: [{capacity: 5}]}", "bus.subscribers[0].name", ""},
    {"{subscribers: [{name: unknown}]}", "bus.subscribers[0].name", "sse.run"},
    {"{subscribers: [{name: wait, capacity: 5}]}", "bus.subscribers[0].name", "no subscriber"},
    {"{subscribers: [{name: orders}, {name: sse.*, capacity: 0}]}", "bus.subscribers[1].capacity",
     "between 1 and 65536"},
    {"{subscribers: [{name: sse.*, overflow: lose}]}", "bus.subscribers[0].overflow",
     "drop-oldest"},
    {"{subscribers: [{name: sse.*, latencyBudgetMs: 5000}]}", "bus.subscribers[0].latencyBudgetMs",
     "between 1 and 1000"},
    {"{subscribers: [{name: sse.*, types: [{type: agent.>}]}]}",
     "bus.subscribers[0].types[0].overflow", "give capacity, overflow, or both"},
    {"{types: [{overflow: coalesce}]}", "bus.types[0].type", ""},
    {"{types: [{type: agent.>, overflow: coalesce, colour: red}]}", "bus.types[0].colour", ""},
};

START_TEST(a_rule_that_cannot_be_is_refused_by_its_field)
{
    struct bus_rules rules;
    struct err err = {0};
    ck_assert_int_eq(read_rules(refused[_i].yaml, &rules, &err), RC_INVALID);
    ck_assert_str_eq(err.field, refused[_i].field);
    ck_assert_msg(strstr(err.text, refused[_i].text) != NULL, "%s", err.text);
}
END_TEST

START_TEST(without_rules_each_kind_has_its_habits)
{
    const struct bus_rules rules = {0};
    for (int i = 0; i < BUS_SUBSCRIBER_COUNT; i++) {
        const struct bus_default *usual = bus_default((enum bus_subscriber)i);
        struct bus_policy policy = bus_rules_policy(&rules, (enum bus_subscriber)i);
        struct bus_type_policy rule = bus_policy_of_type(&policy, "agent.run.started");
        ck_assert_uint_eq(policy.capacity, usual->capacity);
        ck_assert_int_eq(rule.overflow, usual->overflow);
        ck_assert_ptr_null(rule.pattern);
        ck_assert_int_eq(policy.latency_us, BUS_LATENCY_MS_DEFAULT * US_PER_MS);
    }
}
END_TEST

#define RULES                                                                   \
    "latencyBudgetMs: 40\n"                                                     \
    "subscribers:\n"                                                            \
    "  - {name: sse.run, capacity: 64, overflow: block, latencyBudgetMs: 20,\n" \
    "     types: [{type: agent.model.>, overflow: coalesce}]}\n"                \
    "  - {name: 'sse.*', capacity: 128}\n"                                      \
    "  - {name: '>', overflow: coalesce}\n"                                     \
    "types:\n"                                                                  \
    "  - {type: agent.model.turn.completed, overflow: drop-oldest}\n"           \
    "  - {type: agent.tool.>, capacity: 8}\n"

static const struct {
    enum bus_subscriber who;
    const char *type;
    size_t capacity;
    int latency_ms;
    enum bus_overflow overflow;
    size_t type_capacity;
} counts[] = {
    {BUS_SSE_RUN, "agent.run.started", 64, 20, BUS_BLOCK, 0},
    {BUS_SSE_RUN, "agent.model.turn.completed", 64, 20, BUS_COALESCE, 0}, /* Its own come first. */
    {BUS_SSE_RUN, "agent.tool.call.started", 64, 20, BUS_BLOCK, 8},
    {BUS_SSE_EVENTS, "agent.run.started", 128, 40, BUS_DROP_OLDEST, 0}, /* The first name counts. */
    {BUS_SSE_EVENTS, "agent.model.turn.completed", 128, 40, BUS_DROP_OLDEST, 0},
    {BUS_SSE_EVENTS, "agent.tool.call.started", 128, 40, BUS_DROP_OLDEST, 8},
    {BUS_ORDERS, "agent.run.started", 1024, 40, BUS_COALESCE, 0},
    {BUS_ORDERS, "agent.model.turn.completed", 1024, 40, BUS_DROP_OLDEST, 0},
    {BUS_WAIT, "agent.tool.call.started", 1, 40, BUS_SIGNAL,
     0}, /* What relies on it is not touched. */
};

START_TEST(the_first_rule_that_says_something_counts)
{
    struct bus_rules rules = {0};
    struct err err = {0};
    ck_assert_msg(read_rules(RULES, &rules, &err) == RC_OK, "%s", err.text);
    struct bus_policy policy = bus_rules_policy(&rules, counts[_i].who);
    struct bus_type_policy rule = bus_policy_of_type(&policy, counts[_i].type);
    ck_assert_uint_eq(policy.capacity, counts[_i].capacity);
    ck_assert_int_eq(policy.latency_us, counts[_i].latency_ms * US_PER_MS);
    ck_assert_int_eq(rule.overflow, counts[_i].overflow);
    ck_assert_uint_eq(rule.capacity, counts[_i].type_capacity);
}
END_TEST

Suite *bus_rules_suite(void)
{
    Suite *suite = suite_create("bus_rules");
    TCase *tc = tcase_create("bus_rules");
    tcase_add_checked_fixture(tc, NULL, teardown);
    tcase_add_loop_test(tc, a_rule_that_cannot_be_is_refused_by_its_field, 0,
                        (int)COUNT_OF(refused));
    tcase_add_test(tc, without_rules_each_kind_has_its_habits);
    tcase_add_loop_test(tc, the_first_rule_that_says_something_counts, 0, (int)COUNT_OF(counts));
    suite_add_tcase(suite, tc);
    return suite;
}
