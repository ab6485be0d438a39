/*
 * patches.c - the patches that agents made, one for each attempt.
 */
#include "store/patches.h"
#include "store/query.h"
#include "store/shapes.h"

static const struct column patch_columns[] = {
    COLUMN(struct patch_row, id, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct patch_row, run_id, COLUMN_NEW),
    COLUMN(struct patch_row, attempt_no, COLUMN_NEW),
    COLUMN(struct patch_row, sha256, COLUMN_NEW),
    COLUMN(struct patch_row, base_commit, COLUMN_NEW),
    COLUMN(struct patch_row, tree_hash, COLUMN_NEW),
    COLUMN(struct patch_row, files, COLUMN_NEW),
    COLUMN(struct patch_row, lines_added, COLUMN_NEW),
    COLUMN(struct patch_row, lines_deleted, COLUMN_NEW),
    COLUMN(struct patch_row, summary, COLUMN_NEW),
    COLUMN(struct patch_row, status, COLUMN_NEW),
    COLUMN(struct patch_row, created_us, COLUMN_NEW),
};
const struct shape patch_shape = SHAPE("patch", struct patch_row, patch_columns);

static const struct row_sql sql_insert = {
    "patch_insert",
    "INSERT INTO patches {values}",
    &patch_shape,
    COLUMN_NEW,
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
    "SELECT {columns} FROM patches WHERE id = $1",
    "t",
};
static const struct sql sql_of_run = {
    "patch_of_run",
    "SELECT {columns} FROM patches WHERE run_id = $1 ORDER BY id",
    "t",
};

enum rc patches_insert(struct db *db, const struct patch_row *row, struct err *err)
{
    return row_exec(db, &sql_insert, row, NULL, err);
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
