/*
 * schemas.h - JSON Schemas that clients have registered, by name and version.
 *
 * Versions of a name count from 1 and are kept.  Removing a name removes all of its versions: their
 * numbers are not given again.
 */
#ifndef STORE_SCHEMAS_H
#define STORE_SCHEMAS_H
#include "store/db.h"

struct schema_row {
    const char *name;
    int64_t version;
    struct str document; /* JSON, as it was sent. */
    const char *created_by;
    int64_t created_us;
    int64_t removed_us; /* 0: it is there. */
};

MUST_USE enum rc schemas_insert(struct db *db, const struct schema_row *row, struct err *err);
/* Version 0: the latest.  RC_NOT_FOUND, also when it was removed. */
MUST_USE enum rc schemas_get(struct db *db, const char *name, int64_t version, struct arena *arena,
                             struct schema_row *ret_row, struct err *err);
/* The highest version that was ever given; 0: none. */
MUST_USE enum rc schemas_last_version(struct db *db, const char *name, int64_t *ret_version,
                                      struct err *err);
/* RC_NOT_FOUND */
MUST_USE enum rc schemas_remove(struct db *db, const char *name, int64_t now_us, struct err *err);
/* The latest version of each name, after `after` (NULL: from the start), by name; without their
   documents. */
MUST_USE enum rc schemas_list(struct db *db, const char *after, int64_t limit, struct arena *arena,
                              struct schema_row **ret_rows, size_t *ret_count, struct err *err);
/* The versions of one name, newest first; without their documents. */
MUST_USE enum rc schemas_versions(struct db *db, const char *name, int64_t limit,
                                  struct arena *arena, struct schema_row **ret_rows,
                                  size_t *ret_count, struct err *err);
/* Names that are there. */
MUST_USE enum rc schemas_count(struct db *db, int64_t *ret_count, struct err *err);
#endif
