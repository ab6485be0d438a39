#include "api/throttle.h"
#include "api/api.h"
#include "api/routes.h"
#include "base/fields.h"
#include "base/mem.h"
#include <string.h>

enum { PLACES = 4096, PROBES = 8, ROUTE_BYTES_MAX = 200, ACTOR_BYTES_MAX = 200, PATH_BYTES = 80 };

#define TOKEN_ACTOR "token:"
#define ROLE_ACTOR  "role:"

/* ---- Rules ---- */

static const struct route *route_named(const char *name)
{
    size_t count = 0;
    const struct route *routes = routes_all(&count);
    const char *space = strchr(name, ' ');
    for (size_t i = 0; space != NULL && i < count; i++) {
        struct str method = {name, (size_t)(space - name)};
        if (str_is(method, http_method_name(routes[i].method)) &&
            text_same(routes[i].pattern, space + 1))
            return &routes[i];
    }
    return NULL;
}

static void read_route(struct fields *fields, struct rate_rule *rule)
{
    const char *name = NULL;
    fields_string(fields, "route", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = ROUTE_BYTES_MAX}, &name);
    if (name == NULL || text_same(name, "*"))
        return;
    rule->route = route_named(name);
    if (rule->route == NULL)
        fields_fail(fields, "route",
                    "%s is not a route: write it like \"POST /v1/tasks\", or \"*\"", name);
}

static bool role_named(const char *name, enum role *ret_role)
{
    if (!text_same(name, role_name(ROLE_AGENT)))
        return role_parse(name, ret_role);
    *ret_role = ROLE_AGENT;
    return true;
}

static void read_actor(struct fields *fields, struct arena *arena, struct rate_rule *rule)
{
    const char *actor = NULL;
    enum role role;
    fields_string(fields, "actor", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = ACTOR_BYTES_MAX}, &actor);
    if (actor == NULL)
        return;
    if (text_starts(actor, TOKEN_ACTOR) && actor[strlen(TOKEN_ACTOR)])
        rule->token = arena_strdup(arena, actor + strlen(TOKEN_ACTOR));
    else if (text_starts(actor, ROLE_ACTOR) && role_named(actor + strlen(ROLE_ACTOR), &role))
        rule->role = (int)role;
    else
        fields_fail(fields, "actor", "actor must be token:NAME or role:ROLE, not %s", actor);
}

static enum rc read_rule(const struct js *entry, const char *path, struct arena *arena,
                         struct rate_rule *ret_rule, struct err *err)
{
    const struct field_range range = {1, 1000000};
    struct rate_rule rule = {.role = -1};
    struct fields fields;
    fields_open(&fields, entry, path, err);
    read_route(&fields, &rule);
    read_actor(&fields, arena, &rule);
    fields_int(&fields, "perSecond", FIELD_REQUIRED, &range, &rule.bucket.per_second);
    rule.bucket.burst = rule.bucket.per_second;
    fields_int(&fields, "burst", FIELD_OPTIONAL, &range, &rule.bucket.burst);
    enum rc rc = fields_close(&fields);
    if (rc == RC_OK)
        *ret_rule = rule;
    return rc;
}

enum rc rate_rules_decode(const struct js *rates, const char *path, struct arena *arena,
                          struct rate_rule **ret_rules, size_t *ret_count, struct err *err)
{
    size_t count = js_count(rates);
    struct rate_rule *rules = arena_array(arena, count + 1, sizeof *rules);
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        const char *at = arena_printf(arena, "%.*s[%zu]", PATH_BYTES, path, i);
        rc = read_rule(js_at(rates, i), at, arena, &rules[i], err);
    }
    if (rc != RC_OK)
        return rc;
    *ret_rules = rules;
    *ret_count = count;
    return RC_OK;
}

/* ---- Buckets ---- */

struct place {
    uint64_t key; /* A hash: two actors that share it share a bucket.  0: free */
    int64_t used_us;
    struct bucket bucket;
};
struct throttle {
    const struct rate_rule *rules;
    size_t count;
    struct place places[PLACES];
};

struct throttle *throttle_new(const struct rate_rule *rules, size_t count)
{
    struct throttle *throttle = mem_alloc(sizeof *throttle);
    throttle->rules = rules;
    throttle->count = count;
    return throttle;
}

void throttle_free(struct throttle *throttle)
{
    mem_free(throttle);
}

/* FNV-1a. */
static uint64_t key_of_name(size_t rule, const char *name)
{
    uint64_t hash = UINT64_C(14695981039346656037) ^ rule;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
    return hash | 1;
}

static uint64_t key_of(size_t rule, const struct identity *who)
{
    return key_of_name(rule, who->role == ROLE_AGENT ? who->run_id.text : who->name);
}

static struct bucket *bucket_of(struct throttle *throttle, uint64_t key, int64_t now_us)
{
    struct place *stalest = NULL;
    for (size_t i = 0; i < PROBES; i++) {
        struct place *place = &throttle->places[((key >> 20) + i) % PLACES];
        if (place->key == key || place->key == 0) {
            place->key = key;
            place->used_us = now_us;
            return &place->bucket;
        }
        if (stalest == NULL || place->used_us < stalest->used_us)
            stalest = place;
    }
    *stalest = (struct place){.key = key, .used_us = now_us};
    return &stalest->bucket;
}

static bool fits(const struct rate_rule *rule, const struct identity *who,
                 const struct route *route)
{
    if (rule->route != NULL && rule->route != route)
        return false;
    if (rule->role >= 0 && rule->role != (int)who->role)
        return false;
    return rule->token == NULL || (who->role != ROLE_AGENT && text_same(rule->token, who->name));
}

/* The rule that decides; count: none. */
static size_t rule_for(const struct throttle *throttle, const struct identity *who,
                       const struct route *route)
{
    size_t i = 0;
    while (i < throttle->count && !fits(&throttle->rules[i], who, route))
        i++;
    return i;
}

static int64_t take_one_us(struct throttle *throttle, size_t rule, const struct identity *who,
                           int64_t now_us)
{
    const struct bucket_rule *rate = &throttle->rules[rule].bucket;
    struct bucket *bucket = bucket_of(throttle, key_of(rule, who), now_us);
    if (bucket_take(rate, bucket, now_us, 1) == 1)
        return 0;
    return bucket_ready_us(rate, bucket, now_us) - now_us;
}

int64_t throttle_wait_us(struct throttle *throttle, const struct identity *who,
                         const struct route *route, int64_t now_us)
{
    size_t rule = rule_for(throttle, who, route);
    return rule < throttle->count ? take_one_us(throttle, rule, who, now_us) : 0;
}

int64_t throttle_inner_us(struct throttle *throttle, const struct identity *who,
                          const struct route *route, int64_t now_us)
{
    size_t rule = rule_for(throttle, who, route);
    if (rule == throttle->count || throttle->rules[rule].route == NULL)
        return 0;
    return take_one_us(throttle, rule, who, now_us);
}

int64_t throttle_bytes_us(struct throttle *throttle, const struct bucket_rule *rule,
                          const struct identity *who, int64_t bytes, int64_t now_us)
{
    struct bucket *bucket = bucket_of(throttle, key_of(RATE_RULES_MAX, who), now_us);
    return bucket_take_all(rule, bucket, now_us, bytes);
}

int64_t throttle_source_us(struct throttle *throttle, const struct bucket_rule *rule,
                           const struct caps_key *source, int64_t now_us)
{
    uint64_t key = key_of_name(RATE_RULES_MAX + 1 + (size_t)source->kind, source->name);
    struct bucket *bucket = bucket_of(throttle, key, now_us);
    if (bucket_take(rule, bucket, now_us, 1) == 1)
        return 0;
    return bucket_ready_us(rule, bucket, now_us) - now_us;
}
