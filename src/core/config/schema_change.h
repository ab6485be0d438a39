/*
 * schema_change.h - what changed between two versions of a schema, and whether both can be used at
 * once.
 *
 * A change is compatible if consumers that know the version before can read what is made by the
 * version after, and records made by the version before are still valid by the version after.
 * Consumers ignore members that they do not know.
 *
 *     an optional member is added                compatible
 *     a member is deprecated                     compatible
 *     a closed object is opened                  compatible
 *     an example, a default or a title changes   compatible
 *     a member is removed, or renamed            breaking
 *     a type changes                             breaking
 *     a member becomes required, or optional     breaking
 *     a required member is added                 breaking
 *     a value is added to an enum, or removed    breaking
 *     a limit or a pattern changes               breaking
 *     an open object is closed                   breaking
 *     a description changes                      breaking, unless it means the same
 *
 * Pure.
 */
#ifndef CORE_CONFIG_SCHEMA_CHANGE_H
#define CORE_CONFIG_SCHEMA_CHANGE_H
#include "core/config/schema.h"

enum { SCHEMA_CHANGES_MAX = 200 };

struct schema_change {
    bool breaking;
    const char *path; /* checks[].name; "" is the document itself. */
    const char *why;  /* Without the path. */
};

struct schema_changes {
    struct schema_change items[SCHEMA_CHANGES_MAX];
    size_t count;
    size_t breaking; /* All of them, also beyond the limit. */
    size_t left_out; /* Beyond the limit. */
};

struct schema_compare_options {
    bool same_meaning; /* Descriptions that changed mean the same as before. */
};

/* Adds to *changes; texts go into the arena.  False: the schemas are too deep or too large to be
   compared, which counts as one breaking change. */
bool schema_compare(const struct schema *before, const struct schema *after,
                    const struct schema_compare_options *options, struct arena *arena,
                    struct schema_changes *changes);
/* One change that was found elsewhere: a whole schema is new, or is gone. */
void schema_changes_add(struct schema_changes *changes, bool breaking, const char *path,
                        const char *why);
#endif
