/*
 * schema.c - opening a schema: every keyword is one of the table and has the shape it needs.
 */
#include "core/config/schema.h"
#include "base/js_bytes.h"
#include "core/config/schema_parts.h"
#include "core/config/schema_text.h"
#include "core/text/pattern.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* In order of their names. */
static const struct keyword keywords[] = {
    {"$anchor", NULL, SHAPE_ANCHOR, false},
    {"$comment", NULL, SHAPE_TEXT, false},
    {"$defs", NULL, SHAPE_SCHEMA_MAP, false},
    {"$dynamicAnchor", NULL, SHAPE_ANCHOR, false},
    {"$dynamicRef", check_dynamic_ref, SHAPE_TEXT, false},
    {"$id", NULL, SHAPE_URI, false},
    {"$ref", check_ref, SHAPE_TEXT, false},
    {"$schema", NULL, SHAPE_DRAFT, false},
    {"additionalProperties", check_additional, SHAPE_SCHEMA, false},
    {"allOf", check_all, SHAPE_SCHEMAS, false},
    {"anyOf", check_any, SHAPE_SCHEMAS, false},
    {"const", check_const, SHAPE_ANY, false},
    {"contains", check_contains, SHAPE_SCHEMA, false},
    {"contentEncoding", NULL, SHAPE_TEXT, false},
    {"contentMediaType", NULL, SHAPE_TEXT, false},
    {"contentSchema", NULL, SHAPE_SCHEMA, false},
    {"default", NULL, SHAPE_ANY, false},
    {"dependentRequired", check_dependent_required, SHAPE_NAME_MAP, false},
    {"dependentSchemas", check_dependent, SHAPE_SCHEMA_MAP, false},
    {"deprecated", NULL, SHAPE_BOOL, false},
    {"description", NULL, SHAPE_TEXT, false},
    {"else", NULL, SHAPE_SCHEMA, false},
    {"enum", check_enum, SHAPE_VALUES, false},
    {"examples", NULL, SHAPE_VALUES, false},
    {"exclusiveMaximum", check_below, SHAPE_NUMBER, false},
    {"exclusiveMinimum", check_above, SHAPE_NUMBER, false},
    {"format", NULL, SHAPE_TEXT, false},
    {"if", check_if, SHAPE_SCHEMA, false},
    {"items", check_items, SHAPE_SCHEMA, false},
    {"maxContains", NULL, SHAPE_COUNT, false},
    {"maxItems", check_max_items, SHAPE_COUNT, false},
    {"maxLength", check_max_length, SHAPE_COUNT, false},
    {"maxProperties", check_max_members, SHAPE_COUNT, false},
    {"maximum", check_maximum, SHAPE_NUMBER, false},
    {"minContains", NULL, SHAPE_COUNT, false},
    {"minItems", check_min_items, SHAPE_COUNT, false},
    {"minLength", check_min_length, SHAPE_COUNT, false},
    {"minProperties", check_min_members, SHAPE_COUNT, false},
    {"minimum", check_minimum, SHAPE_NUMBER, false},
    {"multipleOf", check_multiple, SHAPE_FACTOR, false},
    {"not", check_not, SHAPE_SCHEMA, false},
    {"oneOf", check_one, SHAPE_SCHEMAS, false},
    {"pattern", check_pattern, SHAPE_PATTERN, false},
    {"patternProperties", check_pattern_properties, SHAPE_PATTERN_MAP, false},
    {"prefixItems", check_prefix, SHAPE_SCHEMAS, false},
    {"properties", check_properties, SHAPE_SCHEMA_MAP, false},
    {"propertyNames", check_names, SHAPE_SCHEMA, false},
    {"readOnly", NULL, SHAPE_BOOL, false},
    {"required", check_required, SHAPE_NAMES, false},
    {"then", NULL, SHAPE_SCHEMA, false},
    {"title", NULL, SHAPE_TEXT, false},
    {"type", check_type, SHAPE_TYPES, false},
    {"unevaluatedItems", check_unevaluated_items, SHAPE_SCHEMA, true},
    {"unevaluatedProperties", check_unevaluated_members, SHAPE_SCHEMA, true},
    {"uniqueItems", check_unique, SHAPE_BOOL, false},
    {"writeOnly", NULL, SHAPE_BOOL, false},
};
static const struct keyword note = {"x-", NULL, SHAPE_ANY, false};

static int compare_names(const void *name, const void *keyword)
{
    return strcmp(name, ((const struct keyword *)keyword)->name);
}

const struct keyword *schema_keyword(const char *name)
{
    const struct keyword *found = bsearch(name, keywords, COUNT_OF(keywords), sizeof *keywords,
                                          compare_names);
    if (found != NULL)
        return found;
    return text_starts(name, note.name) ? &note : NULL;
}

/* ---- shapes ---- */

struct opener {
    struct schema *schema;
    struct err *err;
};

/* The schema that is being checked, and the keyword in it. */
struct where {
    const struct where *parent;
    const char *name;
    size_t resource; /* Of the schema (schema_index.c). */
};

static void add_where(struct buf *to, const struct where *where)
{
    if (where == NULL || where->name == NULL)
        return;
    add_where(to, where->parent);
    buf_addf(to, "/%.60s", where->name);
}

static enum rc refuse(const struct opener *opener, const struct where *where, const char *why)
{
    CLEANUP(buf_release) struct buf path;
    buf_init(&path, ERR_TEXT_MAX / 2);
    add_where(&path, where);
    return err_set(opener->err, RC_INVALID, "INVALID_SCHEMA", "#%s %s", buf_text(&path), why);
}

static enum rc open_schema(const struct opener *opener, const struct where *where,
                           const struct js *schema);

static bool are_names(const struct js *value, bool (*good)(const char *name))
{
    for (size_t i = 0; i < js_count(value); i++) {
        const char *name = js_str(js_at(value, i), NULL);
        if (name == NULL || (good != NULL && !good(name)))
            return false;
    }
    return js_type(value) == JS_ARRAY;
}

static bool are_types(const struct js *value)
{
    if (js_type(value) == JS_STRING)
        return schema_type_known(js_str(value, ""));
    return js_count(value) > 0 && are_names(value, schema_type_known);
}

static enum rc open_pattern(const struct opener *opener, const struct where *where,
                            const char *text)
{
    struct pattern pattern;
    struct err err = {0};
    if (pattern_read(text, &pattern, &err) == RC_OK)
        return RC_OK;
    return refuse(opener, where, err.text);
}

static enum rc open_list(const struct opener *opener, const struct where *where,
                         const struct js *list)
{
    if (js_type(list) != JS_ARRAY || js_count(list) == 0)
        return refuse(opener, where, "must be an array of schemas");
    for (size_t i = 0; i < js_count(list); i++) {
        enum rc rc = open_schema(opener, where, js_at(list, i));
        if (rc != RC_OK)
            return rc;
    }
    return RC_OK;
}

static enum rc open_map(const struct opener *opener, const struct where *where,
                        const struct js *map, bool patterns)
{
    if (js_type(map) != JS_OBJECT)
        return refuse(opener, where, "must be an object of schemas");
    size_t at = 0;
    const char *key;
    const struct js *member;
    while (js_next(map, &at, &key, &member)) {
        const struct where below = {where, key, where->resource};
        enum rc rc = patterns ? open_pattern(opener, &below, key) : RC_OK;
        if (rc == RC_OK)
            rc = open_schema(opener, &below, member);
        if (rc != RC_OK)
            return rc;
    }
    return RC_OK;
}

static bool is_name_map(const struct js *map)
{
    size_t at = 0;
    const char *key;
    const struct js *names;
    while (js_next(map, &at, &key, &names)) {
        if (!are_names(names, NULL))
            return false;
    }
    return js_type(map) == JS_OBJECT;
}

/* A resource is named without a fragment; an empty one is the same as none. */
static bool is_uri(const struct js *value)
{
    const char *text = js_str(value, "#");
    size_t len = strcspn(text, "#");
    return text[len] == '\0' || (len > 0 && text[len + 1] == '\0');
}

static bool is_anchor(const struct js *value)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    const char *text = js_str(value, "");
    return *text != '\0' && strchr(letters, *text) != NULL &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789-.") ==
               strlen(text);
}

/* Shapes without schemas inside; what they must be, or NULL when they are. */
static const char *misshapen(enum shape shape, const struct js *value)
{
    enum js_type type = js_type(value);
    switch (shape) {
    case SHAPE_TEXT:
        return type == JS_STRING ? NULL : "must be a string";
    case SHAPE_BOOL:
        return type == JS_BOOL ? NULL : "must be a boolean";
    case SHAPE_COUNT:
        return schema_count(value) >= 0 ? NULL : "must be an integer from 0";
    case SHAPE_NUMBER:
        return type == JS_INT || type == JS_REAL ? NULL : "must be a number";
    case SHAPE_FACTOR:
        return js_num(value, 0) > 0 ? NULL : "must be a number above 0";
    case SHAPE_TYPES:
        return are_types(value) ? NULL : "must name types";
    case SHAPE_NAMES:
        return are_names(value, NULL) ? NULL : "must be an array of strings";
    case SHAPE_NAME_MAP:
        return is_name_map(value) ? NULL : "must be an object of arrays of strings";
    case SHAPE_DRAFT:
        return text_same(js_str(value, ""), SCHEMA_DRAFT) ||
                       text_same(js_str(value, ""), SCHEMA_DRAFT "#")
                   ? NULL
                   : "is of another draft; only " SCHEMA_DRAFT " is supported";
    case SHAPE_URI:
        return is_uri(value) ? NULL : "must be a URI without a fragment";
    case SHAPE_ANCHOR:
        return is_anchor(value) ? NULL : "must be a name of letters, digits, -, _ and .";
    case SHAPE_VALUES:
        return type == JS_ARRAY ? NULL : "must be an array of values";
    default:
        return NULL;
    }
}

static enum rc open_keyword(const struct opener *opener, const struct where *where,
                            enum shape shape, const struct js *value)
{
    switch (shape) {
    case SHAPE_PATTERN:
        return open_pattern(opener, where, js_str(value, "("));
    case SHAPE_SCHEMA:
        return open_schema(opener, where, value);
    case SHAPE_SCHEMAS:
        return open_list(opener, where, value);
    case SHAPE_SCHEMA_MAP:
    case SHAPE_PATTERN_MAP:
        return open_map(opener, where, value, shape == SHAPE_PATTERN_MAP);
    default:
        return RC_OK;
    }
}

/* As deep as the tree, which was limited when read. */
static enum rc open_schema(const struct opener *opener, const struct where *where,
                           const struct js *schema)
{
    if (js_type(schema) == JS_BOOL)
        return RC_OK;
    if (js_type(schema) != JS_OBJECT)
        return refuse(opener, where, "must be a schema: an object or a boolean");
    size_t at = 0, resource = where->resource;
    const char *name;
    const struct js *value;
    while (js_next(schema, &at, &name, &value)) { /* Their shapes first: the index reads some. */
        const struct where below = {where, name, resource};
        const struct keyword *keyword = schema_keyword(name);
        if (keyword == NULL)
            return refuse(opener, &below,
                          "is no keyword that is checked: correct it, or begin its name with x-");
        const char *why = misshapen(keyword->shape, value);
        if (why != NULL)
            return refuse(opener, &below, why);
    }
    enum rc rc = schema_index_add(opener->schema, schema, where->resource, &resource, opener->err);
    for (at = 0; rc == RC_OK && js_next(schema, &at, &name, &value);) {
        const struct where below = {where, name, resource};
        rc = open_keyword(opener, &below, schema_keyword(name)->shape, value);
    }
    return rc;
}

static enum rc open_document(struct schema *schema, const char *uri, const struct js *tree,
                             struct err *err)
{
    const struct opener opener = {.schema = schema, .err = err};
    struct where document = {0};
    enum rc rc = schema_index_document(schema, uri, tree, &document.resource, err);
    return rc == RC_OK ? open_schema(&opener, &document, tree) : rc;
}

/* One that another refers to. */
static enum rc open_other(struct schema *schema, const char *uri, struct err *err)
{
    struct str text = schema_text_of(uri);
    if (text.len == 0)
        return err_set(err, RC_INVALID, "INVALID_SCHEMA",
                       "there is no schema %.200s here: a $ref leads to a place in the same "
                       "document, to " SCHEMA_DRAFT " or to a schema of drover",
                       uri);
    if (schema->other_count == SCHEMA_DOCUMENTS_MAX)
        return err_set(err, RC_INVALID, "INVALID_SCHEMA",
                       "the schema refers to more than %d others", SCHEMA_DOCUMENTS_MAX);
    struct js **tree = &schema->others[schema->other_count];
    enum rc rc = js_parse_bytes(text.at, text.len, tree, err);
    if (rc != RC_OK)
        return rc;
    schema->other_count++;
    return open_document(schema, uri, *tree, err);
}

static enum rc open_tree(struct schema *schema, struct err *err)
{
    const char *wanted = NULL;
    enum rc rc = open_document(schema, "", schema->tree, err);
    do {
        if (rc == RC_OK && wanted != NULL)
            rc = open_other(schema, wanted, err);
        wanted = NULL;
        if (rc == RC_OK)
            rc = schema_index_link(schema, &wanted, err);
    } while (rc == RC_OK && wanted != NULL);
    return rc;
}

enum rc schema_open(struct schema *schema, struct str text, struct err *err)
{
    assert(schema->tree == NULL);
    enum rc rc = js_parse_bytes(text.at, text.len, &schema->tree, err);
    if (rc == RC_OK)
        rc = open_tree(schema, err);
    if (rc != RC_OK)
        schema_release(schema);
    return rc;
}

void schema_release(struct schema *schema)
{
    js_free(schema->tree);
    for (size_t i = 0; i < schema->other_count; i++)
        js_free(schema->others[i]);
    arena_release(&schema->arena);
    *schema = (struct schema){0};
}
