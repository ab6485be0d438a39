/*
 * schema_parts.h - what the files of schema.h share; for no other file.
 *
 *   schema.c           opening: the shape of keywords
 *   schema_index.c     opening: where schemas are, and what references mean
 *   schema_check.c     walking schema and value side by side: combinations, references, defaults
 *   schema_children.c  keywords for the members and elements of a value
 *   schema_value.c     keywords that check one value
 */
#ifndef CORE_CONFIG_SCHEMA_PARTS_H
#define CORE_CONFIG_SCHEMA_PARTS_H
#include "base/arena.h"
#include "core/config/schema.h"

/* Where a value stands: a chain up to the document. */
struct place {
    const struct place *parent;
    const char *key; /* NULL: an element. */
    size_t index;
};

/* Which members or elements of a value were looked at by a schema: for unevaluatedProperties and
   unevaluatedItems. */
struct seen {
    bool *marks;
    size_t count;
};

/* The schemas with an $id that a reference has led through, the innermost first. */
struct scope {
    const struct scope *outer;
    size_t resource;
};

struct checker {
    const struct schema *schema;
    struct schema_options options;
    struct arena *arena;
    struct faults *faults; /* NULL: only the result counts. */
    size_t depth, steps, steps_max;
    int64_t moves; /* Left for patterns. */
    const struct scope *scope;
    struct arena scratch; /* Of sets of what was seen. */
    bool spent;           /* A limit was passed: no more steps. */
};

/* One schema beside one value. */
struct spot {
    const struct js *schema; /* An object. */
    const struct js *value;
    const struct place *place; /* NULL: the document. */
    bool partial;
    struct seen *seen; /* Of this value by this schema; NULL: it is not recorded. */
};

typedef bool keyword_check(struct checker *checker, const struct spot *spot,
                           const struct js *argument);

enum shape {
    SHAPE_ANY,
    SHAPE_TEXT,
    SHAPE_BOOL,
    SHAPE_COUNT, /* An integer from 0. */
    SHAPE_NUMBER,
    SHAPE_FACTOR, /* A number above 0. */
    SHAPE_TYPES,
    SHAPE_NAMES,
    SHAPE_NAME_MAP, /* Arrays of names, by name. */
    SHAPE_VALUES,   /* An array with something in it. */
    SHAPE_PATTERN,
    SHAPE_DRAFT,  /* $schema */
    SHAPE_URI,    /* $id */
    SHAPE_ANCHOR, /* $anchor */
    SHAPE_SCHEMA,
    SHAPE_SCHEMAS,    /* An array of them. */
    SHAPE_SCHEMA_MAP, /* By name. */
    SHAPE_PATTERN_MAP /* By pattern. */
};

struct keyword {
    const char *name;
    keyword_check *check; /* NULL: a note, or checked by another keyword. */
    enum shape shape;
    bool last; /* After all others, since it depends on what they have seen. */
};
/* NULL: not a known keyword. */
const struct keyword *schema_keyword(const char *name);

/* ---- schema_index.c ---- */

struct schema_node;
struct schema_index {
    struct schema_node *nodes; /* The schemas that are objects, in order of address. */
    struct schema_resource *resources;
    struct schema_anchor *anchors;
    size_t node_count, node_room, resource_count, resource_room, anchor_count, anchor_room;
    bool tracks;     /* unevaluatedProperties or unevaluatedItems is somewhere. */
    bool is_dynamic; /* $dynamicRef is. */
};

/* Opening: a document, whose URI is "" unless another one refers to it. */
MUST_USE enum rc schema_index_document(struct schema *schema, const char *uri,
                                       const struct js *root, size_t *ret_resource,
                                       struct err *err);
/* Opening: a schema is found in one with the resource parent. */
MUST_USE enum rc schema_index_add(struct schema *schema, const struct js *node, size_t parent,
                                  size_t *ret_resource, struct err *err);
/* All are found: what do references mean?  *ret_wanted: a URI whose document is not there yet. */
MUST_USE enum rc schema_index_link(struct schema *schema, const char **ret_wanted, struct err *err);
/* What $ref or, in the scope, $dynamicRef of the node means. */
const struct js *schema_ref(const struct schema *schema, const struct js *node);
const struct js *schema_dynamic_ref(const struct schema *schema, const struct js *node,
                                    const struct scope *scope);
size_t schema_resource_of(const struct schema *schema, const struct js *node);
/* Behind all of its $ref; NULL: they go round in a circle. */
const struct js *schema_follow(const struct schema *schema, const struct js *node);

/* The argument of minLength and its kind, where 2.0 is 2; -1: it is no count. */
int64_t schema_count(const struct js *argument);
/* Is it one of the seven names of types? */
bool schema_type_known(const char *name);
/* By value: 1 and 1.0 are the same, and members have no order. */
bool schema_same(const struct js *a, const struct js *b);

/* ---- walking ---- */

/* Is no text wanted?  Because only the result counts, or because the list is full: counts it. */
bool schema_mute(struct checker *checker);
/* Notes what is wrong; false, so that callers can return it. */
bool schema_fault(struct checker *checker, const struct place *place, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* The value of the spot by its schema. */
bool schema_check_spot(struct checker *checker, const struct spot *spot);
/* Another schema for the same value. */
bool schema_check_same(struct checker *checker, const struct spot *spot, const struct js *schema);
/* The same, and only the result counts. */
bool schema_fits(struct checker *checker, const struct spot *spot, const struct js *schema);
/* As much work as one step: entries of a list or members that are looked up, and bytes of a text
   that are looked at; names that are offered in a message. */
enum { WORK_ENTRIES = 32, WORK_BYTES = 1024, WORK_CHOICES = 4 };
/* False: that was the last step. */
bool schema_step(struct checker *checker, size_t steps);
bool schema_pattern_fits(struct checker *checker, const char *pattern, struct str text);

keyword_check check_type, check_enum, check_const;
keyword_check check_minimum, check_maximum, check_above, check_below, check_multiple;
keyword_check check_min_length, check_max_length, check_pattern;
keyword_check check_min_items, check_max_items, check_unique;
keyword_check check_min_members, check_max_members;
keyword_check check_required, check_dependent_required, check_names;
keyword_check check_properties, check_pattern_properties, check_additional;
keyword_check check_items, check_prefix, check_contains;
keyword_check check_unevaluated_members, check_unevaluated_items;
keyword_check check_all, check_any, check_one, check_not, check_if, check_dependent;
keyword_check check_ref, check_dynamic_ref;
#endif
