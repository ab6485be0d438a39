/*
 * schema.h - JSON Schema (2020-12) over the trees of js.h.
 *
 *     CLEANUP(schema_release) struct schema schema = {0};
 *     rc = schema_open(&schema, text, err);       // refuses what it would not check
 *     schema_check(&schema, tree, &(struct schema_options){0}, arena, &faults);
 *
 * Checked: type, enum, const, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf,
 * minLength, maxLength, pattern (of pattern.h), minItems, maxItems, uniqueItems, prefixItems,
 * items, contains, minContains, maxContains, unevaluatedItems, minProperties, maxProperties,
 * required, dependentRequired, properties, patternProperties, additionalProperties, propertyNames,
 * dependentSchemas, unevaluatedProperties, allOf, anyOf, oneOf, not, if, then, else, $ref,
 * $dynamicRef.  References lead to places of the same document by $id, $anchor, $dynamicAnchor and
 * JSON Pointers, to the schema of 2020-12 itself, and to schemas of drover.
 * Notes: title, description, default, examples, deprecated, readOnly, writeOnly, format,
 * contentEncoding, contentMediaType, contentSchema, $schema, $comment, $defs, and all that begins
 * with x-.  A schema with any other keyword is refused, so that nothing passes unchecked.
 *
 * Checking is bounded: in depth, in steps, in the moves of patterns, and in the faults that are
 * kept.  Pure.
 */
#ifndef CORE_CONFIG_SCHEMA_H
#define CORE_CONFIG_SCHEMA_H
#include "base/js.h"
#include "base/str.h"
#include "core/config/faults.h"

enum {
    SCHEMA_DEPTH_MAX = 200,
    SCHEMA_STEPS_MAX = 1000000,
    SCHEMA_MOVES_MAX = 50 * 1000 * 1000,
    SCHEMA_DOCUMENTS_MAX = 8,
};

/* Start from {0}; all is owned. */
struct schema {
    struct js *tree;
    struct js *others[SCHEMA_DOCUMENTS_MAX]; /* Documents that it refers to. */
    size_t other_count;
    struct schema_index *index; /* In the arena. */
    struct arena arena;
};

/* RC_MALFORMED: not JSON.  RC_INVALID, INVALID_SCHEMA: err has the place and the reason. */
MUST_USE enum rc schema_open(struct schema *schema, struct str text, struct err *err);
void schema_release(struct schema *schema); /* For CLEANUP too. */

struct schema_options {
    bool null_is_absent; /* A member that is null counts as not given. */
    size_t steps_max;    /* 0: SCHEMA_STEPS_MAX, and as many moves as they may have. */
    size_t *used;        /* What it took is added, in steps; NULL: not wanted. */
    bool partial; /* Members may be missing, except in elements of arrays: for a document that is
                     laid over or under another one. */
};

/* True: it fits, and *faults is as it was. */
bool schema_check(const struct schema *schema, const struct js *value,
                  const struct schema_options *options, struct arena *arena, struct faults *faults);

/*
 * Writes the object with the defaults of its schema: members that are missing (or null) and have
 * a default, and so on inside of members that are objects.  Elements of arrays stay as they are.
 */
void schema_fill(const struct schema *schema, const struct js *object, struct jw *jw);
#endif
