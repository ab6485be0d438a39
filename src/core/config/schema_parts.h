/*
 * schema_parts.h - what the files of schema.h share; for no other file.
 *
 *   schema.c        opening: the shape of keywords, references
 *   schema_check.c  walking schema and value side by side: keywords with schemas in them
 *   schema_value.c  keywords that check one value
 */
#ifndef CORE_CONFIG_SCHEMA_PARTS_H
#define CORE_CONFIG_SCHEMA_PARTS_H
#include "core/config/schema.h"

/* Where a value stands: a chain up to the document. */
struct place {
    const struct place *parent;
    const char *key; /* NULL: an element. */
    size_t index;
};

struct checker {
    const struct js *root;
    struct schema_options options;
    struct arena *arena;
    struct faults *faults; /* NULL: only the result counts. */
    size_t depth, steps;
    bool spent; /* A limit was passed: no more steps. */
};

/* One schema beside one value. */
struct spot {
    const struct js *schema; /* An object. */
    const struct js *value;
    const struct place *place; /* NULL: the document. */
    bool partial;
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
    SHAPE_VALUES, /* An array with something in it. */
    SHAPE_PATTERN,
    SHAPE_REF,
    SHAPE_SCHEMA,
    SHAPE_SCHEMAS,    /* An array of them. */
    SHAPE_SCHEMA_MAP, /* By name. */
    SHAPE_PATTERN_MAP /* By pattern. */
};

struct keyword {
    const char *name;
    enum shape shape;
    keyword_check *check; /* NULL: a note, or checked by another keyword. */
};
/* NULL: not a known keyword. */
const struct keyword *schema_keyword(const char *name);

/* The argument of minLength and its kind, where 2.0 is 2; -1: it is no count. */
int64_t schema_count(const struct js *argument);
/* What a $ref means; NULL when it leads nowhere. */
const struct js *schema_target(const struct js *root, const char *ref);
/* Is it one of the seven names of types? */
bool schema_type_known(const char *name);
/* By value: 1 and 1.0 are the same, and members have no order. */
bool schema_same(const struct js *a, const struct js *b);

/* Is no text wanted?  Because only the result counts, or because the list is full: counts it. */
bool schema_mute(struct checker *checker);
/* Notes what is wrong; false, so that callers can return it. */
bool schema_fault(struct checker *checker, const struct place *place, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

keyword_check check_type, check_enum, check_const;
keyword_check check_minimum, check_maximum, check_above, check_below, check_multiple;
keyword_check check_min_length, check_max_length, check_pattern;
keyword_check check_min_items, check_max_items, check_unique;
keyword_check check_min_members, check_max_members;
keyword_check check_required, check_properties, check_pattern_properties, check_additional;
keyword_check check_items, check_prefix;
keyword_check check_all, check_any, check_one, check_not, check_if, check_ref;
#endif
