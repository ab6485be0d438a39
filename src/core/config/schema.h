/*
 * schema.h - JSON Schema (2020-12) over the trees of js.h.
 *
 *     CLEANUP(schema_release) struct schema schema = {0};
 *     rc = schema_open(&schema, text, err);       // refuses what it would not check
 *     schema_check(&schema, tree, &(struct schema_options){0}, arena, &faults);
 *
 * Known: type, enum, const, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf,
 * minLength, maxLength, pattern (of pattern.h), minItems, maxItems, uniqueItems, minProperties,
 * maxProperties, required, properties, patternProperties, additionalProperties, items,
 * prefixItems, allOf, anyOf, oneOf, not, if, then, else, $ref to "#" and "#/$defs/NAME"; and as
 * notes title, description, default, examples, deprecated, $schema, $id, $comment, $defs.  A
 * schema with any other keyword is refused, so that nothing passes unchecked.
 *
 * Checking is bounded: in depth, in steps, and in the faults that are kept.  Pure.
 */
#ifndef CORE_CONFIG_SCHEMA_H
#define CORE_CONFIG_SCHEMA_H
#include "base/js.h"
#include "base/str.h"
#include "core/config/faults.h"

enum { SCHEMA_DEPTH_MAX = 200, SCHEMA_STEPS_MAX = 1000000 };

/* Start from {0}; the tree is owned. */
struct schema {
    struct js *tree;
};

/* RC_MALFORMED: not JSON.  RC_INVALID, INVALID_SCHEMA: err has the place and the reason. */
MUST_USE enum rc schema_open(struct schema *schema, struct str text, struct err *err);
void schema_release(struct schema *schema); /* For CLEANUP too. */

struct schema_options {
    bool null_is_absent; /* A member that is null counts as not given. */
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
