/*
 * merge_patch.h - JSON merge patch (RFC 7396): an object lists the changes, null removes a
 * member, every other value replaces the old one.
 */
#ifndef BASE_MERGE_PATCH_H
#define BASE_MERGE_PATCH_H
#include "base/js.h"
#include "base/str.h"

/* RC_MALFORMED when the document is not JSON; an empty one is null. */
MUST_USE enum rc merge_patch(struct str document, const struct js *patch, struct arena *arena,
                             struct str *ret_text, struct err *err);
#endif
