/*
 * artifact_rows.c - contents as rows in bounded chunks.
 *
 *   artifact_contents  sha256, bytes        one for each content
 *   artifact_chunks    sha256, no, data     CHUNK_BYTES each, the last one shorter
 *
 * A content is written in one transaction, so that it is there whole or not at all; another
 * transaction that puts the same one at the same time waits for the first and finds it there.
 */
#include "store/artifact_rows.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "store/artifacts.h"
#include "store/engine.h"
#include "store/query.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CHUNK_BYTES = 256 * 1024, NAMES_AT_ONCE = 1000 };

/* One that is there counts as put now (artifact_sweep). */
static const struct sql sql_put_anew = {
    "content_put_anew",
    "UPDATE artifact_contents SET put_us = $2 WHERE sha256 = $1",
    "ti",
};
static const struct sql sql_put = {
    "content_put",
    "INSERT INTO artifact_contents (sha256, bytes, put_us) VALUES ($1, $2, $3)"
    " ON CONFLICT (sha256) DO NOTHING",
    "tii",
};
static const struct sql sql_put_chunk = {
    "content_put_chunk",
    "INSERT INTO artifact_chunks (sha256, no, data) VALUES ($1, $2, $3)",
    "tib",
};
static const struct sql sql_bytes = {
    "content_bytes",
    "SELECT bytes FROM artifact_contents WHERE sha256 = $1",
    "t",
};
static const struct sql sql_chunk = {
    "content_chunk",
    "SELECT data FROM artifact_chunks WHERE sha256 = $1 AND no = $2",
    "ti",
};

/* Locks it against being put anew. */
static const struct sql sql_put_us = {
    "content_put_us",
    "SELECT bytes, put_us FROM artifact_contents WHERE sha256 = $1 {for_update}",
    "t",
};
static const struct sql sql_names = {
    "content_names",
    "SELECT sha256 FROM artifact_contents WHERE sha256 > $1 ORDER BY sha256 LIMIT $2",
    "ti",
};
static const struct sql sql_drop_chunks = {
    "content_drop_chunks",
    "DELETE FROM artifact_chunks WHERE sha256 = $1",
    "t",
};
static const struct sql sql_drop = {
    "content_drop",
    "DELETE FROM artifact_contents WHERE sha256 = $1",
    "t",
};

static enum rc put_chunks(struct db *db, const char *sha256, struct str bytes, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t at = 0; rc == RC_OK && at < bytes.len; at += CHUNK_BYTES) {
        size_t left = bytes.len - at;
        struct str chunk = {bytes.at + at, left < CHUNK_BYTES ? left : CHUNK_BYTES};
        rc = db_exec(db, &sql_put_chunk,
                     P_LIST(P_TEXT(sha256), P_INT(at / CHUNK_BYTES), P_BYTES(chunk)), NULL, err);
    }
    return rc;
}

static enum rc put(struct db *db, const char *sha256, struct str bytes, struct err *err)
{
    CLEANUP(tx_abort) struct tx tx = {0};
    const struct clock clock = clock_real();
    const struct param now = P_INT(clock_now_us(&clock));
    enum rc rc = tx_begin(db, &tx, err);
    int64_t there = 0, is_new = 0;
    if (rc == RC_OK)
        rc = db_exec(db, &sql_put_anew, P_LIST(P_TEXT(sha256), now), &there, err);
    if (rc == RC_OK && there == 0)
        rc = db_exec(db, &sql_put, P_LIST(P_TEXT(sha256), P_INT(bytes.len), now), &is_new, err);
    if (rc != RC_OK || is_new == 0)
        return rc == RC_OK ? tx_commit(&tx, err) : rc;
    rc = fault_point("artifact.write", err);
    if (rc == RC_OK)
        rc = put_chunks(db, sha256, bytes, err);
    return rc == RC_OK ? tx_commit(&tx, err) : rc;
}

enum rc artifact_rows_put(struct store *store, const char *sha256, struct str bytes,
                          struct err *err)
{
    struct db *db;
    enum rc rc = store_borrow(store, STORE_FOR_CONTENTS, &db, err);
    if (rc != RC_OK)
        return rc;
    rc = put(db, sha256, bytes, err);
    store_give_back(store, STORE_FOR_CONTENTS);
    return rc == RC_OK ? fault_point("artifact.done", err) : rc;
}

/* The destination of chunks that are read: a buffer or a descriptor. */
struct way_out {
    struct buf *into; /* NULL: */
    int fd;
};

static enum rc chunk_out(const struct way_out *out, struct str chunk, struct err *err)
{
    if (out->into == NULL)
        return fd_write_all(out->fd, chunk.at, chunk.len, err);
    buf_add(out->into, chunk.at, chunk.len);
    return RC_OK;
}

static enum rc get_chunk(struct db *db, const char *sha256, int64_t no, const struct way_out *out,
                         struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(rows_end) struct rows rows = {0};
    enum rc rc = db_query(db, &sql_chunk, P_LIST(P_TEXT(sha256), P_INT(no)), &rows, err);
    if (rc == RC_OK)
        rc = rows_next(&rows, err);
    if (rc == RC_NOT_FOUND)
        return err_set(err, RC_CORRUPT, "ARTIFACT_CORRUPT", "artifact %s lacks a part", sha256);
    return rc == RC_OK ? chunk_out(out, row_bytes(&rows, 0, &arena), err) : rc;
}

enum rc artifact_rows_stat(struct db *db, const char *sha256, int64_t *ret_bytes, struct err *err)
{
    enum rc rc = query_int(db, &sql_bytes, P_LIST(P_TEXT(sha256)), ret_bytes, err);
    if (rc == RC_NOT_FOUND)
        return err_set(err, rc, "NOT_FOUND", "there is no artifact %s", sha256);
    return rc;
}

static enum rc get(struct db *db, const char *sha256, const struct way_out *out, int64_t *ret_bytes,
                   struct err *err)
{
    int64_t bytes;
    enum rc rc = artifact_rows_stat(db, sha256, &bytes, err);
    if (rc == RC_OK && out->into != NULL && (size_t)bytes > out->into->max_bytes - out->into->len)
        return err_set(err, RC_TOO_LARGE, "TOO_LARGE", "artifact %s has %lld bytes", sha256,
                       (long long)bytes);
    for (int64_t no = 0; rc == RC_OK && no * CHUNK_BYTES < bytes; no++)
        rc = get_chunk(db, sha256, no, out, err);
    if (rc == RC_OK)
        *ret_bytes = bytes;
    return rc;
}

static enum rc borrow_and_get(struct store *store, const char *sha256, const struct way_out *out,
                              int64_t *ret_bytes, struct err *err)
{
    struct db *db;
    enum rc rc = store_borrow(store, STORE_FOR_CONTENTS, &db, err);
    if (rc != RC_OK)
        return rc;
    rc = get(db, sha256, out, ret_bytes, err);
    store_give_back(store, STORE_FOR_CONTENTS);
    return rc;
}

enum rc artifact_rows_read(struct db *db, const char *sha256, struct buf *into, struct err *err)
{
    size_t start = into->len;
    int64_t bytes;
    enum rc rc = get(db, sha256, &(struct way_out){.into = into}, &bytes, err);
    if (rc != RC_OK)
        buf_cut(into, start);
    return rc;
}

enum rc artifact_rows_get(struct store *store, const char *sha256, struct buf *into,
                          struct err *err)
{
    size_t start = into->len;
    int64_t bytes;
    enum rc rc = borrow_and_get(store, sha256, &(struct way_out){.into = into}, &bytes, err);
    if (rc != RC_OK)
        buf_cut(into, start);
    return rc;
}

enum rc artifact_rows_open(struct store *store, const char *sha256, int *ret_fd, int64_t *ret_bytes,
                           struct err *err)
{
    CLEANUP(fd_closep) int fd = memfd_create("artifact", MFD_CLOEXEC);
    if (fd < 0)
        return err_set(err, RC_IO, "STORE_IO", "cannot make a file in memory: %s", strerror(errno));
    int64_t bytes;
    enum rc rc = borrow_and_get(store, sha256, &(struct way_out){.fd = fd}, &bytes, err);
    if (rc != RC_OK)
        return rc;
    if (lseek(fd, 0, SEEK_SET) != 0)
        return err_set(err, RC_IO, "STORE_IO", "cannot rewind: %s", strerror(errno));
    *ret_fd = fd_take(&fd);
    *ret_bytes = bytes;
    return RC_OK;
}

enum rc artifact_rows_sweep(struct db *db, const char *sha256, int64_t before_us,
                            struct artifact_swept *swept, struct err *err)
{
    CLEANUP(rows_end) struct rows rows = {0};
    enum rc rc = db_query(db, &sql_put_us, P_LIST(P_TEXT(sha256)), &rows, err);
    if (rc == RC_OK)
        rc = rows_next(&rows, err);
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    int64_t bytes = row_int(&rows, 0), put_us = row_int(&rows, 1);
    rows_end(&rows);
    swept->is_young = put_us >= before_us;
    if (swept->is_young)
        return RC_OK;
    swept->bytes = bytes;
    return artifact_rows_drop(db, sha256, err);
}

static enum rc name_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct artifact_name *name = to;
    text_copy(name->sha256, sizeof name->sha256, read_word(reader));
    return RC_OK;
}
static const struct shape name_shape = SHAPE_OF_RESULT("content", struct artifact_name,
                                                       name_decode);

enum rc artifact_rows_names(struct db *db, const char *after, struct arena *arena,
                            struct artifact_name **ret_names, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_names,
                     P_LIST(P_TEXT(after != NULL ? after : ""), P_LIMIT(NAMES_AT_ONCE)),
                     &name_shape, arena, ret_names, ret_count, err);
}

enum rc artifact_rows_drop(struct db *db, const char *sha256, struct err *err)
{
    enum rc rc = db_exec(db, &sql_drop_chunks, P_LIST(P_TEXT(sha256)), NULL, err);
    return rc == RC_OK ? db_exec(db, &sql_drop, P_LIST(P_TEXT(sha256)), NULL, err) : rc;
}
