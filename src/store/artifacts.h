/*
 * artifacts.h - content-addressed bytes, and which run they belong to.
 *
 * SQLite: a file per content under the artifact directory (ab/cdef...), written beside, fsynced,
 * renamed.  PostgreSQL: rows in chunks.  Content is stored before any row refers to it.
 */
#ifndef STORE_ARTIFACTS_H
#define STORE_ARTIFACTS_H
#include "base/buf.h"
#include "base/hash.h"
#include "store/store.h"

enum { ARTIFACT_BYTES_MAX = 64 * 1024 * 1024 };

struct artifact_row {
    struct id run_id;
    const char *kind; /* prompt, diff, agent_log, verify_log, certificate, feedback */
    const char *name;
    const char *sha256;
    int64_t bytes;
    int64_t created_us;
};

/* Thread-safe; RC_TOO_LARGE past ARTIFACT_BYTES_MAX. */
MUST_USE enum rc artifact_put(struct store *store, struct str bytes,
                              char ret_sha256[SHA256_TEXT_BYTES], struct err *err);
/* The same for bytes that are in an open file without a name, whose sha256 the caller has: where
   contents are files it gets its name, if the file system supports that. */
MUST_USE enum rc artifact_put_nameless(struct store *store, int fd, struct str bytes,
                                       const char *sha256, struct err *err);
MUST_USE enum rc artifact_put_file(struct store *store, const char *path,
                                   char ret_sha256[SHA256_TEXT_BYTES], int64_t *ret_bytes,
                                   struct err *err);
MUST_USE enum rc artifact_get(struct store *store, const char *sha256, struct buf *into,
                              struct err *err);
/* For streaming: an open descriptor (the caller closes it) and the size. */
MUST_USE enum rc artifact_open(struct store *store, const char *sha256, int *ret_fd,
                               int64_t *ret_bytes, struct err *err);

/* For a transaction that is open on db: the size of a content, and its bytes, whose hash
   is not checked.  RC_NOT_FOUND when there is none.  Reads through db where contents are rows. */
struct artifact_source {
    struct store *store;
    struct db *db;
};
MUST_USE enum rc artifact_stat(const struct artifact_source *source, const char *sha256,
                               int64_t *ret_bytes, struct err *err);
MUST_USE enum rc artifact_read(const struct artifact_source *source, const char *sha256,
                               struct buf *into, struct err *err);
/* Deletes a content that no row names any more.  One that is not there is RC_OK.  Where contents
   are files a rollback does not bring it back. */
MUST_USE enum rc artifact_drop(const struct artifact_source *source, const char *sha256,
                               struct err *err);

/* The same for one that was put before this time, also for the last of several times. */
struct artifact_swept {
    int64_t bytes; /* That are free now; 0: it was not there, or */
    bool is_young; /* it stays, since it was put later. */
};
MUST_USE enum rc artifact_sweep(const struct artifact_source *source, const char *sha256,
                                int64_t before_us, struct artifact_swept *ret_swept,
                                struct err *err);
/* Some of the contents that are stored, in order, behind `after` (NULL: from the first).  None:
   there are no more. */
struct artifact_name {
    char sha256[SHA256_TEXT_BYTES];
};
MUST_USE enum rc artifact_names(const struct artifact_source *source, const char *after,
                                struct arena *arena, struct artifact_name **ret_names,
                                size_t *ret_count, struct err *err);

/* The same (run, kind, name) again replaces the link; the content that had it stays the run's. */
MUST_USE enum rc artifacts_link(struct db *db, const struct artifact_row *row, struct err *err);
MUST_USE enum rc artifacts_of_run(struct db *db, const struct id *run_id, struct arena *arena,
                                  struct artifact_row **ret_rows, size_t *ret_count,
                                  struct err *err);
/* Is it linked to any run?  The media type to serve it with follows from the kind. */
MUST_USE enum rc artifacts_by_sha256(struct db *db, const char *sha256, struct arena *arena,
                                     struct artifact_row *ret_row, struct err *err);
#endif
