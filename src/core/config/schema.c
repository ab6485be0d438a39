/*
 * schema.c - opening a schema: every keyword is one of the table and has the shape it needs.
 */
#include "core/config/schema.h"
#include "core/config/schema_parts.h"
#include "core/text/pattern.h"
#include <assert.h>
#include <string.h>

static const struct keyword keywords[] = {
    {"$ref", SHAPE_REF, check_ref},
    {"type", SHAPE_TYPES, check_type},
    {"enum", SHAPE_VALUES, check_enum},
    {"const", SHAPE_ANY, check_const},
    {"minimum", SHAPE_NUMBER, check_minimum},
    {"maximum", SHAPE_NUMBER, check_maximum},
    {"exclusiveMinimum", SHAPE_NUMBER, check_above},
    {"exclusiveMaximum", SHAPE_NUMBER, check_below},
    {"multipleOf", SHAPE_FACTOR, check_multiple},
    {"minLength", SHAPE_COUNT, check_min_length},
    {"maxLength", SHAPE_COUNT, check_max_length},
    {"pattern", SHAPE_PATTERN, check_pattern},
    {"minItems", SHAPE_COUNT, check_min_items},
    {"maxItems", SHAPE_COUNT, check_max_items},
    {"uniqueItems", SHAPE_BOOL, check_unique},
    {"minProperties", SHAPE_COUNT, check_min_members},
    {"maxProperties", SHAPE_COUNT, check_max_members},
    {"required", SHAPE_NAMES, check_required},
    {"properties", SHAPE_SCHEMA_MAP, check_properties},
    {"patternProperties", SHAPE_PATTERN_MAP, check_pattern_properties},
    {"additionalProperties", SHAPE_SCHEMA, check_additional},
    {"items", SHAPE_SCHEMA, check_items},
    {"prefixItems", SHAPE_SCHEMAS, check_prefix},
    {"allOf", SHAPE_SCHEMAS, check_all},
    {"anyOf", SHAPE_SCHEMAS, check_any},
    {"oneOf", SHAPE_SCHEMAS, check_one},
    {"not", SHAPE_SCHEMA, check_not},
    {"if", SHAPE_SCHEMA, check_if},
    {"then", SHAPE_SCHEMA, NULL},
    {"else", SHAPE_SCHEMA, NULL},
    {"$defs", SHAPE_SCHEMA_MAP, NULL},
    {"$schema", SHAPE_TEXT, NULL},
    {"$id", SHAPE_TEXT, NULL},
    {"$comment", SHAPE_TEXT, NULL},
    {"title", SHAPE_TEXT, NULL},
    {"description", SHAPE_TEXT, NULL},
    {"default", SHAPE_ANY, NULL},
    {"examples", SHAPE_VALUES, NULL},
    {"deprecated", SHAPE_BOOL, NULL},
};

const struct keyword *schema_keyword(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(keywords); i++) {
        if (strcmp(keywords[i].name, name) == 0)
            return &keywords[i];
    }
    return NULL;
}

const struct js *schema_target(const struct js *root, const char *ref)
{
    static const char definitions[] = "#/$defs/";
    if (strcmp(ref, "#") == 0)
        return root;
    if (!text_starts(ref, definitions))
        return NULL;
    return js_get(js_get(root, "$defs"), ref + strlen(definitions));
}

/* ---- shapes ---- */

struct opener {
    const struct js *root;
    struct err *err;
};

/* The schema that is being checked, and the keyword in it. */
struct where {
    const struct where *parent;
    const char *name;
};

static void add_where(struct buf *to, const struct where *where)
{
    if (where == NULL)
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
        const struct where below = {where, key};
        enum rc rc = patterns ? open_pattern(opener, &below, key) : RC_OK;
        if (rc == RC_OK)
            rc = open_schema(opener, &below, member);
        if (rc != RC_OK)
            return rc;
    }
    return RC_OK;
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
    case SHAPE_VALUES:
        return type == JS_ARRAY && js_count(value) > 0 ? NULL : "must be an array of values";
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
    case SHAPE_REF:
        if (schema_target(opener->root, js_str(value, "")) == NULL)
            return refuse(opener, where, "must be # or #/$defs/NAME of this schema");
        return RC_OK;
    case SHAPE_SCHEMA:
        return open_schema(opener, where, value);
    case SHAPE_SCHEMAS:
        return open_list(opener, where, value);
    case SHAPE_SCHEMA_MAP:
    case SHAPE_PATTERN_MAP:
        return open_map(opener, where, value, shape == SHAPE_PATTERN_MAP);
    default:
        break;
    }
    const char *why = misshapen(shape, value);
    return why == NULL ? RC_OK : refuse(opener, where, why);
}

/* As deep as the tree, which was limited when read. */
static enum rc open_schema(const struct opener *opener, const struct where *where,
                           const struct js *schema)
{
    if (js_type(schema) == JS_BOOL)
        return RC_OK;
    if (js_type(schema) != JS_OBJECT)
        return refuse(opener, where, "must be a schema: an object or a boolean");
    size_t at = 0;
    const char *name;
    const struct js *value;
    while (js_next(schema, &at, &name, &value)) {
        const struct where below = {where, name};
        const struct keyword *keyword = schema_keyword(name);
        if (keyword == NULL)
            return refuse(opener, &below, "is a keyword that would not be checked");
        enum rc rc = open_keyword(opener, &below, keyword->shape, value);
        if (rc != RC_OK)
            return rc;
    }
    return RC_OK;
}

enum rc schema_open(struct schema *schema, struct str text, struct err *err)
{
    assert(schema->tree == NULL);
    CLEANUP(js_freep) struct js *tree = NULL;
    enum rc rc = js_parse(text.at, text.len, &tree, err);
    if (rc != RC_OK)
        return rc;
    const struct opener opener = {.root = tree, .err = err};
    rc = open_schema(&opener, NULL, tree);
    if (rc != RC_OK)
        return rc;
    schema->tree = tree;
    tree = NULL;
    return RC_OK;
}

void schema_release(struct schema *schema)
{
    js_free(schema->tree);
    schema->tree = NULL;
}
