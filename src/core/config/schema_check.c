/*
 * schema_check.c - schema and value, walked side by side.
 *
 * Every keyword of a schema is checked, also after others have failed, so that a person gets all
 * faults at once.  Where alternatives are tried, their faults are not kept; when none of them
 * fits, those of the closest one are.
 */
#include "base/js_bytes.h"
#include "base/jw.h"
#include "core/config/schema_parts.h"
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

bool schema_step(struct checker *checker, size_t steps)
{
    checker->steps += steps;
    if (checker->steps > checker->steps_max || checker->moves < 0)
        checker->spent = true;
    return !checker->spent;
}

/* A keyword may look at all of its argument, and at all of a text: that is work, too. */
static bool take_work(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    return schema_step(checker,
                       js_count(argument) / WORK_ENTRIES + js_bytes(spot->value).len / WORK_BYTES);
}

static bool check_keywords(struct checker *checker, const struct spot *spot, bool last)
{
    size_t at = 0;
    const char *name;
    const struct js *argument;
    bool good = true;
    while (js_next(spot->schema, &at, &name, &argument)) {
        const struct keyword *keyword = schema_keyword(name);
        if (keyword->last != last || keyword->check == NULL)
            continue;
        if (!take_work(checker, spot, argument))
            return false;
        if (!keyword->check(checker, spot, argument))
            good = false;
    }
    return good;
}

/* What this schema has seen of the value counts for the one around it if the value fits. */
static bool check_tracked(struct checker *checker, const struct spot *spot)
{
    struct arena_mark mark = arena_mark(&checker->scratch);
    struct seen seen = {.count = js_count(spot->value)};
    struct spot here = *spot;
    seen.marks = arena_alloc(&checker->scratch, seen.count + 1);
    here.seen = &seen;
    bool good = schema_step(checker, seen.count / 16) && check_keywords(checker, &here, false);
    if (!checker->spent && !check_keywords(checker, &here, true))
        good = false;
    for (size_t i = 0; good && spot->seen != NULL && i < seen.count; i++)
        spot->seen->marks[i] |= seen.marks[i];
    arena_rewind(&checker->scratch, &mark);
    return good;
}

static bool check_in_scope(struct checker *checker, const struct spot *spot)
{
    const struct schema_index *index = checker->schema->index;
    const struct scope *outer = checker->scope;
    struct scope scope = {.outer = outer};
    if (index->is_dynamic) {
        scope.resource = schema_resource_of(checker->schema, spot->schema);
        if (outer == NULL || outer->resource != scope.resource)
            checker->scope = &scope;
    }
    bool good = index->tracks ? check_tracked(checker, spot) : check_keywords(checker, spot, false);
    checker->scope = outer;
    return good;
}

bool schema_check_spot(struct checker *checker, const struct spot *spot)
{
    if (js_type(spot->schema) == JS_BOOL)
        return js_bool(spot->schema, false) ||
               schema_fault(checker, spot->place, "is not allowed here");
    if (checker->spent)
        return false;
    if (checker->depth == SCHEMA_DEPTH_MAX ||
        !schema_step(checker, 1 + js_count(spot->schema) / WORK_ENTRIES)) {
        checker->spent = true;
        return false;
    }
    checker->depth++;
    bool good = check_in_scope(checker, spot);
    checker->depth--;
    return good;
}

bool schema_check_same(struct checker *checker, const struct spot *spot, const struct js *schema)
{
    struct spot here = *spot;
    here.schema = schema;
    return schema_check_spot(checker, &here);
}

bool schema_fits(struct checker *checker, const struct spot *spot, const struct js *schema)
{
    struct faults *faults = checker->faults;
    checker->faults = NULL;
    bool good = schema_check_same(checker, spot, schema);
    checker->faults = faults;
    return good;
}

/* A condition is about what is there, also in a document that may be partial. */
static bool condition_holds(struct checker *checker, const struct spot *spot,
                            const struct js *schema)
{
    struct spot whole = *spot;
    whole.partial = false;
    return schema_fits(checker, &whole, schema);
}

static bool check_document(struct checker *checker, const struct js *value)
{
    const struct spot spot = {
        .schema = checker->schema->tree, .value = value, .partial = checker->options.partial};
    bool good = schema_check_spot(checker, &spot);
    arena_release(&checker->scratch);
    return good;
}

bool schema_check(const struct schema *schema, const struct js *value,
                  const struct schema_options *options, struct arena *arena, struct faults *faults)
{
    enum { STEP_MOVES = SCHEMA_MOVES_MAX / SCHEMA_STEPS_MAX };
    size_t steps_max = options->steps_max > 0 ? options->steps_max : SCHEMA_STEPS_MAX;
    int64_t moves_max = (int64_t)steps_max * STEP_MOVES;
    struct checker checker = {.schema = schema,
                              .options = *options,
                              .arena = arena,
                              .faults = faults,
                              .steps_max = steps_max,
                              .moves = moves_max};
    struct faults before = *faults;
    bool good = check_document(&checker, value);
    if (options->used != NULL)
        *options->used += checker.steps + (size_t)((moves_max - checker.moves) / STEP_MOVES);
    if (!checker.spent && checker.moves >= 0)
        return good;
    *faults = before; /* What was found on the way may follow from the limit. */
    return schema_fault(&checker, NULL, "is too deep or too large to be checked");
}

bool check_ref(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    (void)argument;
    return schema_check_same(checker, spot, schema_ref(checker->schema, spot->schema));
}

bool check_dynamic_ref(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    (void)argument;
    size_t looks = 0; /* At anchors. */
    for (const struct scope *scope = checker->scope; scope != NULL; scope = scope->outer)
        looks += checker->schema->index->anchor_count;
    if (!schema_step(checker, looks / WORK_ENTRIES))
        return false;
    return schema_check_same(checker, spot,
                             schema_dynamic_ref(checker->schema, spot->schema, checker->scope));
}

/* ---- combinations ---- */

bool check_all(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    bool good = true;
    for (size_t i = 0; i < js_count(argument); i++) {
        if (!schema_check_same(checker, spot, js_at(argument, i)))
            good = false;
    }
    return good;
}

static size_t count_fitting(struct checker *checker, const struct spot *spot,
                            const struct js *schemas)
{
    size_t fitting = 0;
    for (size_t i = 0; i < js_count(schemas); i++)
        fitting += schema_fits(checker, spot, js_at(schemas, i));
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
        (void)schema_check_same(checker, spot, js_at(schemas, i));
        if (fault_total(&own) < fewest) {
            fewest = fault_total(&own);
            closest = i;
        }
    }
    checker->faults = kept;
    if (kept != NULL)
        (void)schema_check_same(checker, spot, js_at(schemas, closest));
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
    struct spot apart = *spot;
    apart.seen = NULL;
    if (!condition_holds(checker, &apart, argument))
        return true;
    const struct js *target = schema_follow(checker->schema, argument);
    const char *why = js_get_str(target, "description", NULL);
    return schema_fault(checker, spot->place, "%s", why != NULL ? why : "is not allowed");
}

bool check_if(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    bool fits = condition_holds(checker, spot, argument);
    const struct js *next = js_get(spot->schema, fits ? "then" : "else");
    return next == NULL || schema_check_same(checker, spot, next);
}

bool check_dependent(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    size_t at = 0;
    const char *key;
    const struct js *schema;
    bool good = true;
    while (js_type(spot->value) == JS_OBJECT && js_next(argument, &at, &key, &schema)) {
        if (js_get(spot->value, key) != NULL && !schema_check_same(checker, spot, schema))
            good = false;
    }
    return good;
}

/* ---- defaults ---- */

static void fill_object(const struct schema *whole, const struct js *schema,
                        const struct js *object, struct jw *jw, size_t depth);

static void fill_value(const struct schema *whole, const struct js *schema, const struct js *value,
                       struct jw *jw, size_t depth)
{
    schema = schema_follow(whole, schema);
    bool open = js_type(value) == JS_OBJECT && js_get(schema, "properties") != NULL;
    if (open && depth < JS_DEPTH_MAX)
        fill_object(whole, schema, value, jw, depth + 1);
    else
        js_write(jw, value);
}

static void fill_object(const struct schema *whole, const struct js *schema,
                        const struct js *object, struct jw *jw, size_t depth)
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
            value = js_get(schema_follow(whole, below), "default");
        if (value == NULL)
            continue;
        jw_key(jw, key);
        fill_value(whole, below, value, jw, depth);
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
    fill_value(schema, schema->tree, object, jw, 0);
}
