/*
 * schema_check.c - schema and value, walked side by side.
 *
 * Every keyword of a schema is checked, also after others have failed, so that a person gets all
 * faults at once.  Where alternatives are tried, their faults are not kept; when none of them
 * fits, those of the closest one are.
 */
#include "base/jw.h"
#include "base/suggest.h"
#include "core/config/schema_parts.h"
#include "core/text/pattern.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES_MAX = 512, LIST_BYTES_MAX = 600, MESSAGE_BYTES_MAX = 1024 };

/* ---- faults ---- */

/* As deep as the value. */
static void add_path(struct buf *to, const struct place *place)
{
    if (place == NULL)
        return;
    add_path(to, place->parent);
    if (place->key != NULL)
        buf_addf(to, "%s%s", to->len > 0 ? "." : "", place->key);
    else
        buf_addf(to, "[%zu]", place->index);
}

bool schema_mute(struct checker *checker)
{
    if (checker->faults == NULL)
        return true;
    if (checker->faults->count < FAULTS_MAX)
        return false;
    checker->faults->left_out++;
    return true;
}

bool schema_fault(struct checker *checker, const struct place *place, const char *fmt, ...)
{
    if (schema_mute(checker))
        return false;
    CLEANUP(buf_release) struct buf path;
    char message[MESSAGE_BYTES_MAX];
    va_list args;
    buf_init(&path, PATH_BYTES_MAX);
    add_path(&path, place);
    va_start(args, fmt);
    (void)vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    faults_add(checker->faults, checker->arena, buf_text(&path), message);
    return false;
}

/* ---- the walk ---- */

static bool check_keywords(struct checker *checker, const struct spot *spot)
{
    size_t at = 0;
    const char *name;
    const struct js *argument;
    bool good = true;
    while (js_next(spot->schema, &at, &name, &argument)) {
        const struct keyword *keyword = schema_keyword(name);
        if (keyword->check != NULL && !keyword->check(checker, spot, argument))
            good = false;
    }
    return good;
}

static bool check_spot(struct checker *checker, const struct spot *spot)
{
    if (js_type(spot->schema) == JS_BOOL)
        return js_bool(spot->schema, false) ||
               schema_fault(checker, spot->place, "is not allowed here");
    if (checker->spent)
        return false;
    if (checker->depth == SCHEMA_DEPTH_MAX || ++checker->steps > SCHEMA_STEPS_MAX) {
        checker->spent = true;
        return false;
    }
    checker->depth++;
    bool good = check_keywords(checker, spot);
    checker->depth--;
    return good;
}

/* Another schema for the same value. */
static bool check_same_value(struct checker *checker, const struct spot *spot,
                             const struct js *schema)
{
    struct spot here = *spot;
    here.schema = schema;
    return check_spot(checker, &here);
}

static bool fits_quietly(struct checker *checker, const struct spot *spot, const struct js *schema)
{
    struct faults *faults = checker->faults;
    checker->faults = NULL;
    bool good = check_same_value(checker, spot, schema);
    checker->faults = faults;
    return good;
}

/* A condition is about what is there, also in a document that may be partial. */
static bool condition_holds(struct checker *checker, const struct spot *spot,
                            const struct js *schema)
{
    struct spot whole = *spot;
    whole.partial = false;
    return fits_quietly(checker, &whole, schema);
}

bool schema_check(const struct schema *schema, const struct js *value,
                  const struct schema_options *options, struct arena *arena, struct faults *faults)
{
    struct checker checker = {
        .root = schema->tree, .options = *options, .arena = arena, .faults = faults};
    const struct spot spot = {.schema = schema->tree, .value = value, .partial = options->partial};
    struct faults before = *faults;
    bool good = check_spot(&checker, &spot);
    if (!checker.spent)
        return good;
    *faults = before; /* What was found on the way may follow from the limit. */
    return schema_fault(&checker, NULL, "is too deep or too large to be checked");
}

/* References are followed as often as a schema may be deep: a ring of them ends here. */
static const struct js *resolve(const struct js *root, const struct js *schema)
{
    for (size_t i = 0; i < JS_DEPTH_MAX; i++) {
        const char *ref = js_get_str(schema, "$ref", NULL);
        if (ref == NULL)
            return schema;
        schema = schema_target(root, ref);
    }
    return NULL;
}

bool check_ref(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    return check_same_value(checker, spot, schema_target(checker->root, js_str(argument, "")));
}

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
    return check_spot(checker, &below);
}

bool check_required(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    if (js_type(spot->value) != JS_OBJECT || spot->partial)
        return true;
    bool good = true;
    for (size_t i = 0; i < js_count(argument); i++) {
        const char *name = js_str(js_at(argument, i), "");
        const struct place place = {.parent = spot->place, .key = name};
        if (schema_member(checker, spot->value, name) == NULL)
            good = schema_fault(checker, &place, "is required");
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
    return good;
}

static bool key_matches(const char *text, const char *key)
{
    struct pattern pattern;
    return pattern_read(text, &pattern, NULL) == RC_OK && pattern_matches(&pattern, key);
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
            if (schema_member(checker, spot->value, key) != NULL && key_matches(pattern, key) &&
                !check_member(checker, spot, key, schema))
                good = false;
        }
    }
    return good;
}

static bool is_additional(const struct spot *spot, const char *key)
{
    if (js_get(js_get(spot->schema, "properties"), key) != NULL)
        return false;
    size_t at = 0;
    const char *pattern;
    const struct js *schema;
    const struct js *patterns = js_get(spot->schema, "patternProperties");
    while (patterns != NULL && js_next(patterns, &at, &pattern, &schema)) {
        if (key_matches(pattern, key))
            return false;
    }
    return true;
}

static bool fault_unknown(struct checker *checker, const struct spot *spot, const char *key)
{
    if (schema_mute(checker))
        return false;
    const struct place place = {.parent = spot->place, .key = key};
    CLEANUP(buf_release) struct buf names;
    buf_init(&names, LIST_BYTES_MAX);
    struct suggest suggest = suggest_for(key);
    size_t at = 0;
    const char *name;
    const struct js *schema;
    const struct js *properties = js_get(spot->schema, "properties");
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
        if (!is_additional(spot, key))
            continue;
        if (none)
            good = fault_unknown(checker, spot, key);
        else if (!check_member(checker, spot, key, argument))
            good = false;
    }
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
    return check_spot(checker, &below);
}

bool check_prefix(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    size_t count = js_type(spot->value) == JS_ARRAY ? js_count(spot->value) : 0;
    bool good = true;
    for (size_t i = 0; i < count && i < js_count(argument); i++) {
        if (!check_element(checker, spot, i, js_at(argument, i)))
            good = false;
    }
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
    return good;
}

/* ---- combinations ---- */

bool check_all(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    bool good = true;
    for (size_t i = 0; i < js_count(argument); i++) {
        if (!check_same_value(checker, spot, js_at(argument, i)))
            good = false;
    }
    return good;
}

static size_t count_fitting(struct checker *checker, const struct spot *spot,
                            const struct js *schemas)
{
    size_t fitting = 0;
    for (size_t i = 0; i < js_count(schemas); i++)
        fitting += fits_quietly(checker, spot, js_at(schemas, i));
    return fitting;
}

/* Of a schema that only requires one member, its name. */
static const char *only_required(const struct js *schema)
{
    const struct js *names = js_get(schema, "required");
    bool only = js_type(schema) == JS_OBJECT && js_count(schema) == 1 && js_count(names) == 1;
    return only ? js_str(js_at(names, 0), NULL) : NULL;
}

/* "a, b, c" when every alternative requires one member. */
static bool list_alternatives(const struct js *schemas, struct buf *to)
{
    for (size_t i = 0; i < js_count(schemas); i++) {
        const char *name = only_required(js_at(schemas, i));
        if (name == NULL)
            return false;
        buf_addf(to, "%s%s", i > 0 ? ", " : "", name);
    }
    return true;
}

static size_t fault_total(const struct faults *faults)
{
    return faults->count + faults->left_out;
}

/* None of the alternatives fits: reports the faults of the closest one. */
static bool fault_closest(struct checker *checker, const struct spot *spot,
                          const struct js *schemas)
{
    struct faults *kept = checker->faults;
    size_t closest = 0, fewest = SIZE_MAX;
    for (size_t i = 0; kept != NULL && i < js_count(schemas); i++) {
        struct faults own = {0};
        checker->faults = &own;
        (void)check_same_value(checker, spot, js_at(schemas, i));
        if (fault_total(&own) < fewest) {
            fewest = fault_total(&own);
            closest = i;
        }
    }
    checker->faults = kept;
    if (kept != NULL)
        (void)check_same_value(checker, spot, js_at(schemas, closest));
    return false;
}

static bool fault_none(struct checker *checker, const struct spot *spot, const struct js *schemas)
{
    CLEANUP(buf_release) struct buf names;
    buf_init(&names, LIST_BYTES_MAX);
    if (list_alternatives(schemas, &names) && js_type(spot->value) == JS_OBJECT)
        return schema_fault(checker, spot->place, "needs one of %s", buf_text(&names));
    return fault_closest(checker, spot, schemas);
}

bool check_any(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    return count_fitting(checker, spot, argument) > 0 || fault_none(checker, spot, argument);
}

bool check_one(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    size_t fitting = count_fitting(checker, spot, argument);
    if (fitting == 1 || (fitting > 1 && spot->partial))
        return true;
    if (fitting == 0)
        return fault_none(checker, spot, argument);
    CLEANUP(buf_release) struct buf names;
    buf_init(&names, LIST_BYTES_MAX);
    if (list_alternatives(argument, &names))
        return schema_fault(checker, spot->place, "may have only one of %s", buf_text(&names));
    return schema_fault(checker, spot->place, "fits %zu alternatives, of which one is allowed",
                        fitting);
}

bool check_not(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    if (!condition_holds(checker, spot, argument))
        return true;
    const struct js *target = resolve(checker->root, argument);
    const char *why = js_get_str(target, "description", NULL);
    return schema_fault(checker, spot->place, "%s", why != NULL ? why : "is not allowed");
}

bool check_if(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    bool fits = condition_holds(checker, spot, argument);
    const struct js *next = js_get(spot->schema, fits ? "then" : "else");
    return next == NULL || check_same_value(checker, spot, next);
}

/* ---- defaults ---- */

static void fill_object(const struct js *root, const struct js *schema, const struct js *object,
                        struct jw *jw, size_t depth);

static void fill_value(const struct js *root, const struct js *schema, const struct js *value,
                       struct jw *jw, size_t depth)
{
    schema = resolve(root, schema);
    bool open = js_type(value) == JS_OBJECT && js_get(schema, "properties") != NULL;
    if (open && depth < JS_DEPTH_MAX)
        fill_object(root, schema, value, jw, depth + 1);
    else
        js_write(jw, value);
}

static void fill_object(const struct js *root, const struct js *schema, const struct js *object,
                        struct jw *jw, size_t depth)
{
    size_t at = 0;
    const char *key;
    const struct js *below, *member;
    const struct js *properties = js_get(schema, "properties");
    jw_begin(jw, '{');
    while (js_next(properties, &at, &key, &below)) {
        const struct js *value = js_get(object, key);
        if (js_type(value) == JS_NULL)
            value = js_get(below, "default");
        if (value == NULL)
            value = js_get(resolve(root, below), "default");
        if (value == NULL)
            continue;
        jw_key(jw, key);
        fill_value(root, below, value, jw, depth);
    }
    for (at = 0; js_next(object, &at, &key, &member);) {
        if (js_get(properties, key) != NULL || js_type(member) == JS_NULL)
            continue;
        jw_key(jw, key);
        js_write(jw, member);
    }
    jw_end(jw, '}');
}

void schema_fill(const struct schema *schema, const struct js *object, struct jw *jw)
{
    fill_value(schema->tree, schema->tree, object, jw, 0);
}
