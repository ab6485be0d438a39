#include "control/watch/bus_rules.h"
#include "base/clock.h"
#include "base/fields.h"
#include "core/event.h"
#include <string.h>

enum { NAME_MAX_BYTES = 64 };

/* ---- reading them ---- */

struct reading {
    struct arena *arena;
    struct err *err;
};

static bool fits_a_kind(const char *pattern)
{
    for (int who = 0; who < BUS_SUBSCRIBER_COUNT; who++) {
        const struct bus_default *usual = bus_default((enum bus_subscriber)who);
        if (!usual->fixed && event_type_match(pattern, usual->name))
            return true;
    }
    return false;
}

static void read_overflow(struct fields *fields, int *ret_overflow)
{
    fields_choice(fields, "overflow", FIELD_OPTIONAL, bus_overflow_names, ret_overflow);
}

static enum rc read_type(const struct reading *reading, const struct js *object, const char *path,
                         struct bus_type_rule *rule)
{
    struct fields fields;
    const char *pattern = NULL;
    *rule = (struct bus_type_rule){.overflow = -1};
    fields_open(&fields, object, path, reading->err);
    fields_string(&fields, "type", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = EVENT_TYPE_MAX}, &pattern);
    fields_int(&fields, "capacity", FIELD_OPTIONAL, &(struct field_range){1, BUS_CAPACITY_MAX},
               &rule->capacity);
    read_overflow(&fields, &rule->overflow);
    if (rule->capacity == 0 && rule->overflow < 0)
        fields_fail(&fields, "overflow", "give capacity, overflow, or both");
    rule->pattern = arena_strdup(reading->arena, pattern);
    return fields_close(&fields);
}

static enum rc read_types(const struct reading *reading, const struct js *array, const char *path,
                          struct bus_type_rules *rules)
{
    enum rc rc = RC_OK;
    if (js_count(array) == 0)
        return RC_OK;
    struct bus_type_rule *items = arena_array(reading->arena, js_count(array), sizeof *items);
    for (size_t i = 0; rc == RC_OK && i < js_count(array); i++)
        rc = read_type(reading, js_at(array, i),
                       arena_printf(reading->arena, "%s.types[%zu]", path, i), &items[i]);
    *rules = (struct bus_type_rules){items, js_count(array)};
    return rc;
}

static enum rc read_subscriber(const struct reading *reading, const struct js *object,
                               const char *path, struct bus_subscriber_rule *rule)
{
    struct fields fields;
    const struct js *types = NULL;
    const char *name = NULL;
    int64_t latency_ms = 0;
    *rule = (struct bus_subscriber_rule){.overflow = -1};
    fields_open(&fields, object, path, reading->err);
    fields_string(&fields, "name", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = NAME_MAX_BYTES}, &name);
    if (name != NULL && !fits_a_kind(name))
        fields_fail(&fields, "name",
                    "%s is no subscriber with a channel to configure: there are sse.run, "
                    "sse.events, orders, log.file and log.store; * is one word of a name, > the "
                    "rest",
                    name);
    fields_int(&fields, "capacity", FIELD_OPTIONAL, &(struct field_range){1, BUS_CAPACITY_MAX},
               &rule->capacity);
    read_overflow(&fields, &rule->overflow);
    fields_int(&fields, "latencyBudgetMs", FIELD_OPTIONAL,
               &(struct field_range){1, BUS_LATENCY_MS_MAX}, &latency_ms);
    fields_array(&fields, "types", FIELD_OPTIONAL, BUS_RULES_MAX, &types);
    rule->pattern = arena_strdup(reading->arena, name);
    rule->latency_us = latency_ms * US_PER_MS;
    enum rc rc = fields_close(&fields);
    return rc == RC_OK ? read_types(reading, types, path, &rule->types) : rc;
}

enum rc bus_rules_decode(const struct js *object, const char *path, struct arena *arena,
                         struct bus_rules *ret_rules, struct err *err)
{
    const struct reading reading = {arena, err};
    const struct js *subscribers = NULL, *types = NULL;
    struct bus_rules rules = {0};
    int64_t latency_ms = BUS_LATENCY_MS_DEFAULT, drain_ms = BUS_DRAIN_MS_DEFAULT;
    struct fields fields;
    fields_open(&fields, object, path, err);
    fields_int(&fields, "latencyBudgetMs", FIELD_OPTIONAL,
               &(struct field_range){1, BUS_LATENCY_MS_MAX}, &latency_ms);
    fields_int(&fields, "drainMs", FIELD_OPTIONAL, &(struct field_range){1, BUS_DRAIN_MS_MAX},
               &drain_ms);
    fields_array(&fields, "subscribers", FIELD_OPTIONAL, BUS_RULES_MAX, &subscribers);
    fields_array(&fields, "types", FIELD_OPTIONAL, BUS_RULES_MAX, &types);
    rules.latency_us = latency_ms * US_PER_MS;
    rules.drain_us = drain_ms * US_PER_MS;
    enum rc rc = fields_close(&fields);
    if (rc == RC_OK)
        rc = read_types(&reading, types, path, &rules.types);
    size_t count = js_count(subscribers);
    struct bus_subscriber_rule *items = arena_array(arena, count + 1, sizeof *items);
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        rc = read_subscriber(&reading, js_at(subscribers, i),
                             arena_printf(arena, "%s.subscribers[%zu]", path, i), &items[i]);
    if (rc != RC_OK)
        return rc;
    rules.subscribers = items;
    rules.subscriber_count = count;
    *ret_rules = rules;
    return RC_OK;
}

int64_t bus_rules_latency_us(const struct bus_rules *rules)
{
    return rules->latency_us > 0 ? rules->latency_us : BUS_LATENCY_MS_DEFAULT * US_PER_MS;
}

int64_t bus_rules_drain_us(const struct bus_rules *rules)
{
    return rules->drain_us > 0 ? rules->drain_us : BUS_DRAIN_MS_DEFAULT * US_PER_MS;
}

/* ---- using them ---- */

struct bus_policy bus_rules_policy(const struct bus_rules *rules, enum bus_subscriber who)
{
    const struct bus_default *usual = bus_default(who);
    struct bus_policy policy = {.capacity = usual->capacity,
                                .overflow = usual->overflow,
                                .latency_us = bus_rules_latency_us(rules)};
    if (usual->fixed)
        return policy;
    if (rules->types.count > 0)
        policy.all = &rules->types;
    for (size_t i = 0; i < rules->subscriber_count; i++) {
        const struct bus_subscriber_rule *rule = &rules->subscribers[i];
        if (!event_type_match(rule->pattern, usual->name))
            continue;
        if (rule->capacity > 0)
            policy.capacity = (size_t)rule->capacity;
        if (rule->overflow >= 0)
            policy.overflow = (enum bus_overflow)rule->overflow;
        if (rule->latency_us > 0)
            policy.latency_us = rule->latency_us;
        if (rule->types.count > 0)
            policy.own = &rule->types;
        break;
    }
    return policy;
}

static const struct bus_type_rule *find_rule(const struct bus_type_rules *rules, const char *type)
{
    for (size_t i = 0; rules != NULL && i < rules->count; i++)
        if (event_type_match(rules->items[i].pattern, type))
            return &rules->items[i];
    return NULL;
}

struct bus_type_policy bus_policy_of_type(const struct bus_policy *policy, const char *type)
{
    struct bus_type_policy found = {.overflow = policy->overflow};
    const struct bus_type_rule *rule = find_rule(policy->own, type);
    if (rule == NULL)
        rule = find_rule(policy->all, type);
    if (rule != NULL && rule->overflow >= 0)
        found.overflow = (enum bus_overflow)rule->overflow;
    if (rule != NULL && rule->capacity > 0) {
        found.pattern = rule->pattern;
        found.capacity = (size_t)rule->capacity;
    }
    return found;
}
