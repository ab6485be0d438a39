/*
 * artifact_rows.h - contents as rows in bounded chunks, for a store that several servers share;
 * artifacts.c chooses.
 */
#ifndef STORE_ARTIFACT_ROWS_H
#define STORE_ARTIFACT_ROWS_H
#include "base/buf.h"
#include "store/store.h"

/* All of them are thread-safe.  sha256 is that of the bytes; RC_OK when they are there already. */
MUST_USE enum rc artifact_rows_put(struct store *store, const char *sha256, struct str bytes,
                                   struct err *err);
/* Appends; RC_TOO_LARGE when the buffer may not hold as much. */
MUST_USE enum rc artifact_rows_get(struct store *store, const char *sha256, struct buf *into,
                                   struct err *err);
/* A copy in memory, at its beginning; the caller closes it. */
MUST_USE enum rc artifact_rows_open(struct store *store, const char *sha256, int *ret_fd,
                                    int64_t *ret_bytes, struct err *err);
/* For a connection that the caller has: the size of a content, and its bytes. */
MUST_USE enum rc artifact_rows_stat(struct db *db, const char *sha256, int64_t *ret_bytes,
                                    struct err *err);
MUST_USE enum rc artifact_rows_read(struct db *db, const char *sha256, struct buf *into,
                                    struct err *err);
struct artifact_swept;
struct artifact_name;
MUST_USE enum rc artifact_rows_sweep(struct db *db, const char *sha256, int64_t before_us,
                                     struct artifact_swept *swept, struct err *err);
MUST_USE enum rc artifact_rows_names(struct db *db, const char *after, struct arena *arena,
                                     struct artifact_name **ret_names, size_t *ret_count,
                                     struct err *err);
MUST_USE enum rc artifact_rows_drop(struct db *db, const char *sha256, struct err *err);
#endif
