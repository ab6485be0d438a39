/*
 * patches.c - the patches that agents made, one for each attempt.
 */
#include "store/patches.h"
#include "store/query.h"

#define PATCH_COLUMNS                                                                            \
    "id, run_id, attempt_no, sha256, base_commit, tree_hash, files, lines_added, lines_deleted," \
    " summary, status, created_us"

static const struct sql sql_insert = {
    "patch_insert",
    "INSERT INTO patches (" PATCH_COLUMNS ")"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
    "ttitttiiitti",
};
static const struct sql sql_set_status = {
    "patch_set_status",
    "UPDATE patches SET status = $2 WHERE id = $1",
    "tt",
};
static const struct sql sql_is_flagged = {
    "patch_is_flagged",
    "SELECT count(*) FROM patches WHERE id = $1 AND status = 'flagged'",
    "t",
};
static const struct sql sql_get = {
    "patch_get",
    "SELECT " PATCH_COLUMNS " FROM patches WHERE id = $1",
    "t",
};
static const struct sql sql_of_run = {
    "patch_of_run",
    "SELECT " PATCH_COLUMNS " FROM patches WHERE run_id = $1 ORDER BY id",
    "t",
};

static enum rc patch_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct patch_row *row = to;
    row->id = read_id(reader);
    row->run_id = read_id(reader);
    row->attempt_no = read_int(reader);
    row->sha256 = read_text(reader);
    row->base_commit = read_text(reader);
    row->tree_hash = read_text(reader);
    row->files = read_int(reader);
    row->lines_added = read_int(reader);
    row->lines_deleted = read_int(reader);
    row->summary = read_text(reader);
    row->status = read_text(reader);
    row->created_us = read_int(reader);
    return RC_OK;
}
static const struct shape patch_shape = {"patch", sizeof(struct patch_row), patch_decode};

enum rc patches_insert(struct db *db, const struct patch_row *row, struct err *err)
{
    return db_exec(db, &sql_insert,
                   P_LIST(P_ID(&row->id), P_ID(&row->run_id), P_INT(row->attempt_no),
                          P_TEXT(row->sha256), P_TEXT(row->base_commit), P_TEXT(row->tree_hash),
                          P_INT(row->files), P_INT(row->lines_added), P_INT(row->lines_deleted),
                          P_TEXT(row->summary), P_TEXT(row->status), P_INT(row->created_us)),
                   NULL, err);
}

enum rc patches_set_status(struct db *db, const struct id *id, const char *status, struct err *err)
{
    return exec_one(db, &sql_set_status, P_LIST(P_ID(id), P_TEXT(status)), patch_shape.noun, err);
}

enum rc patches_is_flagged(struct db *db, const struct id *id, bool *ret_flagged, struct err *err)
{
    int64_t count = 0;
    enum rc rc = query_int(db, &sql_is_flagged, P_LIST(P_ID(id)), &count, err);
    if (rc == RC_OK)
        *ret_flagged = count > 0;
    return rc;
}

enum rc patches_get(struct db *db, const struct id *id, struct arena *arena,
                    struct patch_row *ret_row, struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_ID(id)), &patch_shape, arena, ret_row, err);
}

enum rc patches_of_run(struct db *db, const struct id *run_id, struct arena *arena,
                       struct patch_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_of_run, P_LIST(P_ID(run_id)), &patch_shape, arena, ret_rows,
                     ret_count, err);
}
