/*
 * forges.h - the forges that there are, by the names that configurations give them.
 */
#ifndef FORGE_FORGES_H
#define FORGE_FORGES_H
#include "forge/port/forge.h"
#include "forge/port/issues.h"
#include "forge/port/people.h"

const struct forge_ops *forge_find(const char *name); /* NULL: there is no such forge. */

/* Merges a pull request; RC_CONFLICT: err has the reason.  Merged already is RC_OK. */
MUST_USE enum rc forge_merge(struct forge_call *call, const struct forge_merge *merge,
                             char ret_commit[GIT_HASH_BYTES], struct err *err);

MUST_USE enum rc forge_close(struct forge_call *call, const struct forge_closing *closing,
                             struct err *err);

/* The issues of the forge of that name.  RC_INVALID: it is not known, or has none. */
MUST_USE enum rc issues_find(const char *forge, const struct issue_ops **ret_ops, struct err *err);
const struct people_ops *people_of(const char *forge); /* NULL: it tells nothing. */
#endif
