/*
 * schema_change.c - two schemas, walked side by side.
 *
 * Keywords that hold a schema for one place (properties, items, additionalProperties, and what a
 * $ref names) are walked into, so that a change is named where it is.  Those that combine schemas
 * (allOf, oneOf, if, ...) are compared as a whole.
 */
#include "core/config/schema_change.h"
#include "base/js_bytes.h"
#include "core/config/schema_parts.h"
#include "core/text/prose.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES_MAX = 512, WHY_BYTES_MAX = 512, VALUE_BYTES_MAX = 80, STEPS_MAX = 100000 };
enum {
    VALUE_TEXT_MAX = 8 * VALUE_BYTES_MAX,
    TEXT_BYTES = 64,   /* As much work as one value. */
    WORK_VALUES = 128, /* As much work as one step: values that are compared, */
    WORK_NAMES = 256,  /* and names. */
};

struct comparer {
    const struct schema *before, *after;
    struct schema_compare_options options;
    struct arena *arena;
    struct schema_changes *changes;
    size_t depth, steps;
    bool spent; /* A limit was passed: no more steps. */
};

/* A place in both versions. */
struct pair {
    const struct pair *parent;
    const char *key; /* "[]": elements; "*": other members; NULL: the document. */
    const struct js *before, *after;
};

/* ---- changes ---- */

static const struct {
    const char *name;
    bool breaking;
} rules[] = {
    [RULE_OPTIONAL_ADDED] = {"optional-added", false},
    [RULE_DEPRECATED] = {"deprecated", false},
    [RULE_OPENED] = {"opened", false},
    [RULE_SCHEMA_ADDED] = {"schema-added", false},
    [RULE_REMOVED] = {"removed", true},
    [RULE_RENAMED] = {"renamed", true},
    [RULE_REQUIRED_ADDED] = {"required-added", true},
    [RULE_BECAME_REQUIRED] = {"became-required", true},
    [RULE_BECAME_OPTIONAL] = {"became-optional", true},
    [RULE_TYPE_CHANGED] = {"type-changed", true},
    [RULE_ENUM_CHANGED] = {"enum-changed", true},
    [RULE_LIMIT_CHANGED] = {"limit-changed", true},
    [RULE_CLOSED] = {"closed", true},
    [RULE_MEANING_CHANGED] = {"meaning-changed", true},
    [RULE_SCHEMA_REMOVED] = {"schema-removed", true},
    [RULE_NOT_COMPARABLE] = {"not-comparable", true},
};

void schema_changes_add(struct schema_changes *changes, enum schema_rule rule, const char *path,
                        const char *why)
{
    bool breaking = rules[rule].breaking;
    changes->breaking += breaking;
    if (changes->count < SCHEMA_CHANGES_MAX)
        changes->items[changes->count++] = (struct schema_change){
            .rule = rule, .breaking = breaking, .path = path, .why = why};
    else
        changes->left_out++;
}

void schema_changes_write(const struct schema_changes *changes, struct jw *jw)
{
    jw_begin(jw, '{');
    jw_kbool(jw, "compatible", changes->breaking == 0);
    jw_key(jw, "findings");
    jw_begin(jw, '[');
    for (size_t i = 0; i < changes->count; i++) {
        jw_begin(jw, '{');
        jw_kstr(jw, "path", changes->items[i].path);
        jw_kstr(jw, "rule", rules[changes->items[i].rule].name);
        jw_kbool(jw, "breaking", changes->items[i].breaking);
        jw_kstr(jw, "message", changes->items[i].why);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
    jw_kint(jw, "leftOut", (int64_t)changes->left_out);
    jw_end(jw, '}');
}

static void add_path(struct buf *to, const struct pair *pair)
{
    if (pair == NULL || pair->key == NULL)
        return;
    add_path(to, pair->parent);
    buf_addf(to, "%s%s", to->len > 0 && strcmp(pair->key, "[]") != 0 ? "." : "", pair->key);
}

static void note(struct comparer *comparer, const struct pair *pair, enum schema_rule rule,
                 const char *fmt, ...) PRINTF_LIKE(4, 5);

static bool is_full(const struct comparer *comparer)
{
    return comparer->changes->count == SCHEMA_CHANGES_MAX;
}

static void note(struct comparer *comparer, const struct pair *pair, enum schema_rule rule,
                 const char *fmt, ...)
{
    CLEANUP(buf_release) struct buf path;
    char why[WHY_BYTES_MAX];
    va_list args;
    buf_init(&path, PATH_BYTES_MAX);
    if (is_full(comparer)) { /* Only counted. */
        schema_changes_add(comparer->changes, rule, "", "");
        return;
    }
    add_path(&path, pair);
    va_start(args, fmt);
    (void)vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    schema_changes_add(comparer->changes, rule, arena_strdup(comparer->arena, buf_text(&path)),
                       arena_strdup(comparer->arena, why));
}

/* Its text may be large, and a reference can lead to it from many places. */
static const char *shown(struct comparer *comparer, const struct js *value)
{
    if (is_full(comparer))
        return "";
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, VALUE_TEXT_MAX);
    struct jw jw = jw_to(&text);
    js_write(&jw, value);
    return prose_line(comparer->arena, buf_text(&text), VALUE_BYTES_MAX);
}

/* ---- work ---- */

/* False: that was too much. */
static bool work(struct comparer *comparer, size_t steps)
{
    comparer->steps += steps;
    if (comparer->steps > STEPS_MAX)
        comparer->spent = true;
    return !comparer->spent;
}

/* How much there is to compare.  As deep as the tree, which was limited when read. */
static size_t weight(const struct js *value)
{
    size_t sum = 1 + js_bytes(value).len / TEXT_BYTES, at = 0;
    const char *key;
    const struct js *member;
    if (js_type(value) == JS_OBJECT) {
        while (js_next(value, &at, &key, &member))
            sum += weight(member);
        return sum;
    }
    for (; at < js_count(value); at++)
        sum += weight(js_at(value, at));
    return sum;
}

/* ---- keywords of one value ---- */

/* Both have it, and it is another one. */
static void note_replaced(struct comparer *comparer, const struct pair *pair, const char *keyword,
                          enum schema_rule rule, const struct js *before, const struct js *after)
{
    note(comparer, pair, rule, "%s changes from %s to %s", keyword, shown(comparer, before),
         shown(comparer, after));
}

static void compare_as(struct comparer *comparer, const struct pair *pair, const char *keyword,
                       enum schema_rule rule)
{
    const struct js *before = js_get(pair->before, keyword), *after = js_get(pair->after, keyword);
    if (before == NULL && after == NULL)
        return;
    if (before == NULL)
        note(comparer, pair, rule, "%s %s is new: what was valid before may be refused", keyword,
             shown(comparer, after));
    else if (after == NULL)
        note(comparer, pair, rule, "%s %s is gone: consumers may rely on it", keyword,
             shown(comparer, before));
    else if (work(comparer, weight(before) / WORK_VALUES) && !schema_same(before, after))
        note_replaced(comparer, pair, keyword, rule, before, after);
}

static void compare_limit(struct comparer *comparer, const struct pair *pair, const char *keyword)
{
    compare_as(comparer, pair, keyword, RULE_LIMIT_CHANGED);
}

static bool holds(struct comparer *comparer, const struct js *list, const struct js *value)
{
    if (!work(comparer, js_count(list) * weight(value) / WORK_VALUES))
        return true;
    for (size_t i = 0; i < js_count(list); i++) {
        if (schema_same(js_at(list, i), value))
            return true;
    }
    return false;
}

static bool holds_type(const struct js *type, const char *name)
{
    if (js_type(type) == JS_STRING)
        return strcmp(js_str(type, ""), name) == 0;
    for (size_t i = 0; i < js_count(type); i++) {
        if (strcmp(js_str(js_at(type, i), ""), name) == 0)
            return true;
    }
    return false;
}

static bool holds_types(const struct js *all, const struct js *some)
{
    if (js_type(some) == JS_STRING)
        return holds_type(all, js_str(some, ""));
    for (size_t i = 0; i < js_count(some); i++) {
        if (!holds_type(all, js_str(js_at(some, i), "")))
            return false;
    }
    return true;
}

/* In any order, and one name alone is the same as a list of it. */
static void compare_type(struct comparer *comparer, const struct pair *pair)
{
    const struct js *before = js_get(pair->before, "type"), *after = js_get(pair->after, "type");
    if (before == NULL || after == NULL)
        compare_as(comparer, pair, "type", RULE_TYPE_CHANGED);
    else if (work(comparer, js_count(before) * js_count(after) / WORK_NAMES) &&
             (!holds_types(before, after) || !holds_types(after, before)))
        note_replaced(comparer, pair, "type", RULE_TYPE_CHANGED, before, after);
}

static void compare_enum(struct comparer *comparer, const struct pair *pair)
{
    const struct js *before = js_get(pair->before, "enum"), *after = js_get(pair->after, "enum");
    if (before == NULL || after == NULL) {
        compare_as(comparer, pair, "enum", RULE_ENUM_CHANGED);
        return;
    }
    for (size_t i = 0; !comparer->spent && i < js_count(after); i++) {
        if (!holds(comparer, before, js_at(after, i)))
            note(comparer, pair, RULE_ENUM_CHANGED, "the value %s is new: consumers do not know it",
                 shown(comparer, js_at(after, i)));
    }
    for (size_t i = 0; !comparer->spent && i < js_count(before); i++) {
        if (!holds(comparer, after, js_at(before, i)))
            note(comparer, pair, RULE_ENUM_CHANGED,
                 "the value %s is gone: records of before may hold it",
                 shown(comparer, js_at(before, i)));
    }
}

static void compare_notes(struct comparer *comparer, const struct pair *pair)
{
    const char *before = js_get_str(pair->before, "description", NULL);
    const char *after = js_get_str(pair->after, "description", NULL);
    bool deprecated = js_get_bool(pair->after, "deprecated", false);
    if (before != NULL && (after == NULL || strcmp(before, after) != 0) &&
        !comparer->options.same_meaning)
        note(comparer, pair, RULE_MEANING_CHANGED,
             "the description changes, and with it perhaps the meaning");
    if (deprecated && !js_get_bool(pair->before, "deprecated", false))
        note(comparer, pair, RULE_DEPRECATED, "is deprecated");
}

/* ---- members ---- */

static void compare(struct comparer *comparer, const struct pair *pair);

static bool requires(struct comparer *comparer, const struct js *schema, const char *name)
{
    const struct js *names = js_get(schema, "required");
    if (!work(comparer, js_count(names) / WORK_NAMES))
        return false;
    for (size_t i = 0; i < js_count(names); i++) {
        if (strcmp(js_str(js_at(names, i), ""), name) == 0)
            return true;
    }
    return false;
}

/* A member that only the version after has, with the schema of one that is gone; or NULL. */
static const char *new_name(struct comparer *comparer, const struct pair *pair,
                            const struct js *gone)
{
    const struct js *before = js_get(pair->before, "properties"), *schema;
    const struct js *after = js_get(pair->after, "properties");
    size_t at = 0;
    const char *name;
    if (!work(comparer, js_count(after) * weight(gone) / WORK_VALUES))
        return NULL;
    while (after != NULL && js_next(after, &at, &name, &schema)) {
        if (js_get(before, name) == NULL && schema_same(schema, gone))
            return name;
    }
    return NULL;
}

static void compare_required(struct comparer *comparer, const struct pair *parent,
                             const struct pair *member)
{
    bool before = requires(comparer, parent->before, member->key);
    bool after = requires(comparer, parent->after, member->key);
    if (!before && after)
        note(comparer, member, RULE_BECAME_REQUIRED,
             "becomes required: records of before may lack it");
    else if (before && !after)
        note(comparer, member, RULE_BECAME_OPTIONAL, "becomes optional: consumers may rely on it");
}

static void compare_member(struct comparer *comparer, const struct pair *pair, const char *name,
                           const struct js *before)
{
    const struct js *after = js_get(js_get(pair->after, "properties"), name);
    const struct pair member = {pair, name, before, after};
    if (after != NULL) {
        compare_required(comparer, pair, &member);
        compare(comparer, &member);
        return;
    }
    const char *renamed = new_name(comparer, pair, before);
    if (renamed != NULL)
        note(comparer, &member, RULE_RENAMED,
             "is gone; %s has its schema: keep both if it is renamed", renamed);
    else
        note(comparer, &member, RULE_REMOVED, "is gone: consumers may rely on it");
}

static void compare_members(struct comparer *comparer, const struct pair *pair)
{
    const struct js *before = js_get(pair->before, "properties");
    const struct js *after = js_get(pair->after, "properties"), *schema;
    const char *name;
    size_t at = 0;
    while (before != NULL && !comparer->spent && js_next(before, &at, &name, &schema))
        compare_member(comparer, pair, name, schema);
    for (at = 0; after != NULL && !comparer->spent && js_next(after, &at, &name, &schema);) {
        const struct pair member = {pair, name, NULL, schema};
        if (js_get(before, name) != NULL)
            continue;
        bool required = requires(comparer, pair->after, name);
        note(comparer, &member, required ? RULE_REQUIRED_ADDED : RULE_OPTIONAL_ADDED,
             required ? "is new and required: records of before lack it" : "is new and optional");
    }
}

static bool is_closed(const struct js *schema)
{
    const struct js *other = js_get(schema, "additionalProperties");
    return js_type(other) == JS_BOOL && !js_bool(other, true);
}

static void compare_others(struct comparer *comparer, const struct pair *pair)
{
    const struct js *before = js_get(pair->before, "additionalProperties");
    const struct js *after = js_get(pair->after, "additionalProperties");
    const struct pair others = {pair, "*", before, after};
    if (is_closed(pair->before) != is_closed(pair->after))
        note(comparer, &others, is_closed(pair->after) ? RULE_CLOSED : RULE_OPENED,
             is_closed(pair->after) ? "other members are refused: records of before may have some"
                                    : "other members are allowed");
    else if (js_type(before) == JS_OBJECT && js_type(after) == JS_OBJECT)
        compare(comparer, &others);
    else if (js_type(before) == JS_OBJECT || js_type(after) == JS_OBJECT)
        compare_limit(comparer, pair, "additionalProperties");
}

static void compare_items(struct comparer *comparer, const struct pair *pair)
{
    const struct js *before = js_get(pair->before, "items"), *after = js_get(pair->after, "items");
    const struct pair elements = {pair, "[]", before, after};
    if (before != NULL && after != NULL)
        compare(comparer, &elements);
    else
        compare_limit(comparer, pair, "items");
}

/* ---- the walk ---- */

/* Is this pair being compared further up?  A schema that holds itself ends here. */
static bool is_open(const struct pair *up, const struct js *before, const struct js *after)
{
    for (; up != NULL; up = up->parent) {
        if (up->before == before && up->after == after)
            return true;
    }
    return false;
}

static void compare_objects(struct comparer *comparer, const struct pair *pair)
{
    static const char *const whole[] = {"const",
                                        "minimum",
                                        "maximum",
                                        "exclusiveMinimum",
                                        "exclusiveMaximum",
                                        "multipleOf",
                                        "minLength",
                                        "maxLength",
                                        "pattern",
                                        "minItems",
                                        "maxItems",
                                        "uniqueItems",
                                        "minProperties",
                                        "maxProperties",
                                        "prefixItems",
                                        "allOf",
                                        "anyOf",
                                        "oneOf",
                                        "not",
                                        "if",
                                        "then",
                                        "else",
                                        "patternProperties",
                                        "propertyNames",
                                        "dependentRequired",
                                        "dependentSchemas",
                                        "contains",
                                        "minContains",
                                        "maxContains",
                                        "unevaluatedProperties",
                                        "unevaluatedItems",
                                        "$dynamicRef",
                                        "format",
                                        "contentEncoding",
                                        "contentMediaType",
                                        "contentSchema",
                                        NULL};
    compare_notes(comparer, pair);
    compare_type(comparer, pair);
    compare_enum(comparer, pair);
    for (size_t i = 0; whole[i] != NULL; i++)
        compare_limit(comparer, pair, whole[i]);
    compare_members(comparer, pair);
    compare_others(comparer, pair);
    compare_items(comparer, pair);
}

/* Keywords beside a $ref count as well as what it names. */
static void compare_beside_ref(struct comparer *comparer, const struct pair *pair)
{
    bool before = js_get(pair->before, "$ref") != NULL, after = js_get(pair->after, "$ref") != NULL;
    bool more = (before && js_count(pair->before) > 1) || (after && js_count(pair->after) > 1);
    if (more && before && after)
        compare_objects(comparer, pair);
    else if (more)
        note(comparer, pair, RULE_LIMIT_CHANGED,
             "a $ref with keywords beside it takes the place of a schema");
}

static void compare(struct comparer *comparer, const struct pair *pair)
{
    const struct pair here = {pair->parent, pair->key,
                              schema_follow(comparer->before, pair->before),
                              schema_follow(comparer->after, pair->after)};
    if (comparer->spent || is_open(pair->parent, here.before, here.after))
        return;
    if (comparer->depth == SCHEMA_DEPTH_MAX || ++comparer->steps > STEPS_MAX ||
        here.before == NULL || here.after == NULL) {
        comparer->spent = true;
        return;
    }
    if (js_type(here.before) != JS_OBJECT || js_type(here.after) != JS_OBJECT) {
        if (!schema_same(here.before, here.after))
            note_replaced(comparer, &here, "the schema", RULE_LIMIT_CHANGED, here.before,
                          here.after);
        return;
    }
    comparer->depth++;
    compare_beside_ref(comparer, pair);
    compare_objects(comparer, &here);
    comparer->depth--;
}

bool schema_compare(const struct schema *before, const struct schema *after,
                    const struct schema_compare_options *options, struct arena *arena,
                    struct schema_changes *changes)
{
    struct comparer comparer = {
        .before = before, .after = after, .options = *options, .arena = arena, .changes = changes};
    const struct pair document = {.before = before->tree, .after = after->tree};
    compare(&comparer, &document);
    if (comparer.spent)
        note(&comparer, &document, RULE_NOT_COMPARABLE,
             "the schemas are too deep or too large to be compared");
    return !comparer.spent;
}
