/*
 * artifact_uses.h - which contents are referred to, and which may not be any more.
 *
 *   run_artifacts            by a run: artifacts.h
 *   artifact_uses            by a task or a batch: attachments, the issue that it was made of; by
 *                            a run: what its results name and is not linked to it, or was linked
 *                            to it under a name that another content has now
 *   intake, shepherds, external_event_receipts    by their own columns
 *   loose_artifacts          contents that a deleted row referred to: to be looked at, and dropped
 *                            if none of the above refers to them
 *
 * A content is there before a row refers to it.  So one that was put a short while ago is never
 * dropped (artifact_sweep), and putting one that is there counts as putting it anew.
 */
#ifndef STORE_ARTIFACT_USES_H
#define STORE_ARTIFACT_USES_H
#include "base/hash.h"
#include "store/db.h"

/* Every sha256 that the document names, as a text of its own.  Contents that are there count as put
   now: no other transaction drops them before this one ends. */
MUST_USE enum rc artifact_uses_add(struct db *db, const struct id *owner, struct str json,
                                   int64_t now_us, struct err *err);
MUST_USE enum rc artifact_use_add(struct db *db, const struct id *owner, const char *sha256,
                                  int64_t now_us, struct err *err);
/* The owner, or the run, is deleted: what it used may be loose. */
MUST_USE enum rc artifact_uses_end(struct db *db, const struct id *owner, int64_t now_us,
                                   struct err *err);
MUST_USE enum rc artifact_uses_end_run(struct db *db, const struct id *run_id, int64_t now_us,
                                       struct err *err);

MUST_USE enum rc artifact_is_used(struct db *db, const char *sha256, bool *ret_used,
                                  struct err *err);

struct loose_artifact {
    char sha256[SHA256_TEXT_BYTES];
};
/* In order, behind `after`; NULL: from the first. */
MUST_USE enum rc loose_artifacts_list(struct db *db, const char *after, int64_t limit,
                                      struct arena *arena, struct loose_artifact **ret_rows,
                                      size_t *ret_count, struct err *err);
MUST_USE enum rc loose_artifacts_add(struct db *db, const char *sha256, int64_t now_us,
                                     struct err *err);
MUST_USE enum rc loose_artifacts_remove(struct db *db, const char *sha256, struct err *err);
#endif
