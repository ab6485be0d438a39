/*
 * schema_children.c - keywords for the members of an object and the elements of an array.
 *
 * Those that look at members or elements mark them in spot->seen where that is recorded: what
 * remains is for unevaluatedProperties and unevaluatedItems.
 */
#include "base/suggest.h"
#include "core/config/schema_parts.h"
#include "core/text/pattern.h"
#include <string.h>

enum { LIST_BYTES_MAX = 600 };

/* ---- members ---- */

/* Is the member given, by the checker's options? */
static const struct js *schema_member(const struct checker *checker, const struct js *object,
                                      const char *key)
{
    const struct js *member = js_get(object, key);
    bool null = member != NULL && js_type(member) == JS_NULL;
    return null && checker->options.null_is_absent ? NULL : member;
}

static bool check_member(struct checker *checker, const struct spot *spot, const char *key,
                         const struct js *schema)
{
    const struct place place = {.parent = spot->place, .key = key};
    const struct spot below = {.schema = schema,
                               .value = js_get(spot->value, key),
                               .place = &place,
                               .partial = spot->partial};
    return schema_check_spot(checker, &below);
}

/* Marks the members for which is_meant is true. */
typedef bool member_test(struct checker *checker, const struct spot *spot, const char *key,
                         const struct js *argument);

static void mark_members(struct checker *checker, const struct spot *spot,
                         const struct js *argument, member_test *is_meant)
{
    size_t at = 0, index = 0;
    const char *key;
    const struct js *member;
    if (spot->seen == NULL)
        return;
    for (; js_next(spot->value, &at, &key, &member); index++) {
        if (is_meant(checker, spot, key, argument))
            spot->seen->marks[index] = true;
    }
}

static bool is_named(struct checker *checker, const struct spot *spot, const char *key,
                     const struct js *argument)
{
    (void)checker;
    (void)spot;
    return js_get(argument, key) != NULL;
}

static bool is_matched(struct checker *checker, const struct spot *spot, const char *key,
                       const struct js *argument)
{
    size_t at = 0;
    const char *pattern;
    const struct js *schema;
    (void)spot;
    while (js_next(argument, &at, &pattern, &schema)) {
        if (schema_pattern_fits(checker, pattern, str_of(key)))
            return true;
    }
    return false;
}

/* Neither by properties nor by patternProperties. */
static bool is_additional(struct checker *checker, const struct spot *spot, const char *key,
                          const struct js *argument)
{
    (void)argument;
    const struct js *patterns = js_get(spot->schema, "patternProperties");
    return js_get(js_get(spot->schema, "properties"), key) == NULL &&
           (patterns == NULL || !is_matched(checker, spot, key, patterns));
}

static void mark_elements(const struct spot *spot, size_t from, size_t to)
{
    for (size_t i = from; spot->seen != NULL && i < to; i++)
        spot->seen->marks[i] = true;
}

static bool check_given(struct checker *checker, const struct spot *spot, const struct js *names,
                        const char *because)
{
    bool good = schema_step(checker, js_count(names) / WORK_ENTRIES);
    for (size_t i = 0; !checker->spent && i < js_count(names); i++) {
        const char *name = js_str(js_at(names, i), "");
        const struct place place = {.parent = spot->place, .key = name};
        if (schema_member(checker, spot->value, name) != NULL)
            continue;
        good = because == NULL ? schema_fault(checker, &place, "is required")
                               : schema_fault(checker, &place, "is required beside %s", because);
    }
    return good;
}

bool check_required(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    return js_type(spot->value) != JS_OBJECT || spot->partial ||
           check_given(checker, spot, argument, NULL);
}

bool check_dependent_required(struct checker *checker, const struct spot *spot,
                              const struct js *argument)
{
    size_t at = 0;
    const char *key;
    const struct js *names;
    bool good = true;
    if (js_type(spot->value) != JS_OBJECT || spot->partial)
        return true;
    while (js_next(argument, &at, &key, &names)) {
        if (schema_member(checker, spot->value, key) != NULL &&
            !check_given(checker, spot, names, key))
            good = false;
    }
    return good;
}

bool check_names(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    size_t at = 0;
    const char *key;
    const struct js *member;
    bool good = true;
    while (js_type(spot->value) == JS_OBJECT && js_next(spot->value, &at, &key, &member)) {
        CLEANUP(js_freep) struct js *name = js_new_string(key, strlen(key));
        const struct place place = {.parent = spot->place, .key = key};
        const struct spot below = {.value = name, .place = &place};
        if (!schema_fits(checker, &below, argument))
            good = schema_fault(checker, &place, "is not a name that propertyNames allows");
    }
    return good;
}

bool check_properties(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    if (js_type(spot->value) != JS_OBJECT)
        return true;
    size_t at = 0;
    const char *key;
    const struct js *schema;
    bool good = true;
    while (js_next(argument, &at, &key, &schema)) {
        if (schema_member(checker, spot->value, key) != NULL &&
            !check_member(checker, spot, key, schema))
            good = false;
    }
    mark_members(checker, spot, argument, is_named);
    return good;
}

bool check_pattern_properties(struct checker *checker, const struct spot *spot,
                              const struct js *argument)
{
    if (js_type(spot->value) != JS_OBJECT)
        return true;
    bool good = true;
    size_t at = 0;
    const char *key, *pattern;
    const struct js *member, *schema;
    while (js_next(spot->value, &at, &key, &member)) {
        size_t place = 0;
        while (js_next(argument, &place, &pattern, &schema)) {
            if (schema_member(checker, spot->value, key) != NULL &&
                schema_pattern_fits(checker, pattern, str_of(key)) &&
                !check_member(checker, spot, key, schema))
                good = false;
        }
    }
    mark_members(checker, spot, argument, is_matched);
    return good;
}

static bool fault_unknown(struct checker *checker, const struct spot *spot, const char *key)
{
    const struct js *properties = js_get(spot->schema, "properties");
    if (schema_mute(checker) || !schema_step(checker, js_count(properties) / WORK_CHOICES))
        return false;
    const struct place place = {.parent = spot->place, .key = key};
    CLEANUP(buf_release) struct buf names;
    buf_init(&names, LIST_BYTES_MAX);
    struct suggest suggest = suggest_for(key);
    size_t at = 0;
    const char *name;
    const struct js *schema;
    while (properties != NULL && js_next(properties, &at, &name, &schema)) {
        suggest_offer(&suggest, name);
        buf_addf(&names, "%s%s", names.len > 0 ? ", " : "", name);
    }
    if (names.len == 0)
        return schema_fault(checker, &place, "is not known here; nothing is allowed");
    if (suggest.closest != NULL)
        return schema_fault(checker, &place, "is not known here; did you mean %s? allowed: %s",
                            suggest.closest, buf_text(&names));
    return schema_fault(checker, &place, "is not known here; allowed: %s", buf_text(&names));
}

bool check_additional(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    if (js_type(spot->value) != JS_OBJECT)
        return true;
    bool none = js_type(argument) == JS_BOOL && !js_bool(argument, true);
    bool good = true;
    size_t at = 0;
    const char *key;
    const struct js *member;
    while (js_next(spot->value, &at, &key, &member)) {
        if (!is_additional(checker, spot, key, argument))
            continue;
        if (none)
            good = fault_unknown(checker, spot, key);
        else if (!check_member(checker, spot, key, argument))
            good = false;
    }
    mark_members(checker, spot, argument, is_additional);
    return good;
}

/* ---- elements ---- */

/* Arrays take the place of others as a whole, so their elements must be whole. */
static bool check_element(struct checker *checker, const struct spot *spot, size_t index,
                          const struct js *schema)
{
    const struct place place = {.parent = spot->place, .index = index};
    const struct spot below = {
        .schema = schema, .value = js_at(spot->value, index), .place = &place};
    return schema_check_spot(checker, &below);
}

bool check_prefix(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    size_t count = js_type(spot->value) == JS_ARRAY ? js_count(spot->value) : 0;
    bool good = true;
    for (size_t i = 0; i < count && i < js_count(argument); i++) {
        if (!check_element(checker, spot, i, js_at(argument, i)))
            good = false;
    }
    mark_elements(spot, 0, count < js_count(argument) ? count : js_count(argument));
    return good;
}

/* Elements beyond maxItems are reported by that keyword: their other faults would not help. */
bool check_items(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    size_t count = js_type(spot->value) == JS_ARRAY ? js_count(spot->value) : 0;
    const struct js *limit = js_get(spot->schema, "maxItems");
    int64_t most = limit != NULL ? schema_count(limit) : INT64_MAX;
    bool good = true;
    if (count > (size_t)most)
        count = (size_t)most;
    for (size_t i = js_count(js_get(spot->schema, "prefixItems")); i < count; i++) {
        if (!check_element(checker, spot, i, argument))
            good = false;
    }
    mark_elements(spot, 0, count);
    return good;
}

static bool fault_contains(struct checker *checker, const struct spot *spot, size_t count)
{
    const struct js *most = js_get(spot->schema, "maxContains");
    const struct js *least = js_get(spot->schema, "minContains");
    size_t limit = least != NULL ? (size_t)schema_count(least) : 1;
    if (count < limit)
        return schema_fault(checker, spot->place,
                            "must have at least %zu %s that fit contains, not %zu", limit,
                            limit == 1 ? "element" : "elements", count);
    if (most != NULL && count > (size_t)schema_count(most))
        return schema_fault(checker, spot->place,
                            "must have at most %zu elements that fit contains, not %zu",
                            (size_t)schema_count(most), count);
    return true;
}

bool check_contains(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    size_t fitting = 0;
    if (js_type(spot->value) != JS_ARRAY)
        return true;
    for (size_t i = 0; i < js_count(spot->value) && !checker->spent; i++) {
        const struct spot below = {.value = js_at(spot->value, i)};
        if (!schema_fits(checker, &below, argument))
            continue;
        fitting++;
        mark_elements(spot, i, i + 1);
    }
    return fault_contains(checker, spot, fitting);
}

/* ---- what the other keywords have not seen ---- */

bool check_unevaluated_members(struct checker *checker, const struct spot *spot,
                               const struct js *argument)
{
    size_t at = 0, index = 0;
    const char *key;
    const struct js *member;
    bool good = true;
    for (; js_type(spot->value) == JS_OBJECT && js_next(spot->value, &at, &key, &member); index++) {
        if (!spot->seen->marks[index] && !check_member(checker, spot, key, argument))
            good = false;
        spot->seen->marks[index] = true;
    }
    return good;
}

bool check_unevaluated_items(struct checker *checker, const struct spot *spot,
                             const struct js *argument)
{
    bool good = true;
    for (size_t i = 0; js_type(spot->value) == JS_ARRAY && i < js_count(spot->value); i++) {
        if (!spot->seen->marks[i] && !check_element(checker, spot, i, argument))
            good = false;
        spot->seen->marks[i] = true;
    }
    return good;
}
