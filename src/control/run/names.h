/*
 * names.h - lists of names that the store keeps as JSON arrays: globs of a scope, paths of a patch.
 */
#ifndef CONTROL_RUN_NAMES_H
#define CONTROL_RUN_NAMES_H
#include "control/commit/context.h"

struct names {
    const char **at; /* In the command's arena. */
    size_t count;
};

/* The array itself, or with a dotted member the array at that path; an absent one is an empty list.
   RC_CORRUPT: the store holds something else. */
MUST_USE enum rc names_read(struct context *ctx, struct str json, const char *member,
                            struct names *ret);
#endif
