/*
 * patches.h - the patches that agents made, one for each attempt.
 */
#ifndef STORE_PATCHES_H
#define STORE_PATCHES_H
#include "store/db.h"

struct patch_row {
    struct id id;
    struct id run_id;
    int64_t attempt_no;
    const char *sha256; /* The diff artifact. */
    const char *base_commit;
    const char *tree_hash;
    int64_t files, lines_added, lines_deleted;
    const char *summary;
    const char *status; /* created, superseded, verified, flagged, rejected, published */
    int64_t created_us;
};
MUST_USE enum rc patches_insert(struct db *db, const struct patch_row *row, struct err *err);
MUST_USE enum rc patches_set_status(struct db *db, const struct id *id, const char *status,
                                    struct err *err);
/* Has a judge left the decision to a person? */
MUST_USE enum rc patches_is_flagged(struct db *db, const struct id *id, bool *ret_flagged,
                                    struct err *err);
MUST_USE enum rc patches_get(struct db *db, const struct id *id, struct arena *arena,
                             struct patch_row *ret_row, struct err *err);
MUST_USE enum rc patches_of_run(struct db *db, const struct id *run_id, struct arena *arena,
                                struct patch_row **ret_rows, size_t *ret_count, struct err *err);
#endif
