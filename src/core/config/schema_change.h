/*
 * schema_change.h - what changed between two versions of a schema, and whether both can be used at
 * once.
 *
 * A change is compatible if consumers that know the version before can read what is made by the
 * version after, and records made by the version before are still valid by the version after.
 * Consumers ignore members that they do not know.
 *
 *     rule               a change                                    verdict
 *     optional-added     an optional member is added                 compatible
 *     deprecated         a member is deprecated                      compatible
 *     opened             a closed object is opened                   compatible
 *     schema-added       a whole schema is new: a new type of event  compatible
 *     removed            a member is removed                         breaking
 *     renamed            a member is renamed                         breaking
 *     required-added     a required member is added                  breaking
 *     became-required    an optional member becomes required         breaking
 *     became-optional    a required member becomes optional          breaking
 *     type-changed       a type changes                              breaking
 *     enum-changed       a value is added to an enum, or removed     breaking
 *     limit-changed      a limit, a pattern or a condition changes   breaking
 *     closed             an open object is closed                    breaking
 *     meaning-changed    a description changes                       breaking, unless it means the
 *                                                                    same
 *     schema-removed     a whole schema is gone                      breaking
 *     not-comparable     the schemas are too deep or too large       breaking
 *
 * An example, a default, a title or a comment may change.
 *
 * Pure.
 */
#ifndef CORE_CONFIG_SCHEMA_CHANGE_H
#define CORE_CONFIG_SCHEMA_CHANGE_H
#include "base/jw.h"
#include "core/config/schema.h"

enum { SCHEMA_CHANGES_MAX = 200 };

enum schema_rule {
    RULE_OPTIONAL_ADDED,
    RULE_DEPRECATED,
    RULE_OPENED,
    RULE_SCHEMA_ADDED,
    RULE_REMOVED,
    RULE_RENAMED,
    RULE_REQUIRED_ADDED,
    RULE_BECAME_REQUIRED,
    RULE_BECAME_OPTIONAL,
    RULE_TYPE_CHANGED,
    RULE_ENUM_CHANGED,
    RULE_LIMIT_CHANGED,
    RULE_CLOSED,
    RULE_MEANING_CHANGED,
    RULE_SCHEMA_REMOVED,
    RULE_NOT_COMPARABLE,
};

struct schema_change {
    enum schema_rule rule;
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
void schema_changes_add(struct schema_changes *changes, enum schema_rule rule, const char *path,
                        const char *why);
/* {"compatible", "findings": [{"path", "rule", "breaking", "message"}], "leftOut"} */
void schema_changes_write(const struct schema_changes *changes, struct jw *jw);
#endif
