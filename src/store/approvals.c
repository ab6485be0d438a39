/*
 * approvals.c - decisions that a person has to make.
 */
#include "store/approvals.h"
#include "store/query.h"
#include "store/shapes.h"
#include "store/waiting_list.h"

enum { APPROVAL_STATE = COLUMN_GROUP(0) }; /* approvals_save */
static const struct column approval_columns[] = {
    COLUMN(struct approval_row, id, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct approval_row, task_id, COLUMN_NEW),
    COLUMN(struct approval_row, run_id, COLUMN_NEW),
    COLUMN(struct approval_row, kind, COLUMN_NEW),
    COLUMN(struct approval_row, status, COLUMN_NEW | APPROVAL_STATE),
    COLUMN(struct approval_row, decided_by, COLUMN_NEW | APPROVAL_STATE),
    COLUMN(struct approval_row, reason, COLUMN_NEW | APPROVAL_STATE),
    COLUMN(struct approval_row, requested_us, COLUMN_NEW),
    COLUMN(struct approval_row, expires_us, COLUMN_NEW | APPROVAL_STATE),
    COLUMN(struct approval_row, decided_us, COLUMN_NEW | APPROVAL_STATE),
    COLUMN(struct approval_row, question, COLUMN_NEW),
    COLUMN(struct approval_row, summary, COLUMN_NEW),
    COLUMN(struct approval_row, detail, COLUMN_NEW),
    COLUMN(struct approval_row, artifact_sha256, COLUMN_NEW),
    COLUMN(struct approval_row, reminded, COLUMN_NEW | APPROVAL_STATE),
};
const struct shape approval_shape = SHAPE("approval", struct approval_row, approval_columns);

static const struct row_sql sql_insert = {
    "approval_insert",
    "INSERT INTO approvals {values}",
    &approval_shape,
    COLUMN_NEW,
};
static const struct sql sql_get = {
    "approval_get",
    "SELECT {columns} FROM approvals WHERE id = $1 {for_update}",
    "t",
};
static const struct sql sql_run_of = {
    "approval_run_of",
    "SELECT run_id FROM approvals WHERE id = $1",
    "t",
};
static const struct row_sql sql_save = {
    "approval_save",
    "UPDATE approvals SET {set} WHERE {key}",
    &approval_shape,
    COLUMN_KEY | APPROVAL_STATE,
};

static const struct waiting_sql sql_lists = WAITING_SQL("approval", "approvals");

enum rc approvals_insert(struct db *db, const struct approval_row *row, struct err *err)
{
    return row_exec(db, &sql_insert, row, NULL, err);
}

enum rc approvals_get(struct db *db, const struct id *id, struct arena *arena,
                      struct approval_row *ret_row, struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_ID(id)), &approval_shape, arena, ret_row, err);
}

enum rc approvals_run_of(struct db *db, const struct id *id, struct id *ret_run_id, struct err *err)
{
    return query_id(db, &sql_run_of, P_LIST(P_ID(id)), ret_run_id, err);
}

enum rc approvals_save(struct db *db, const struct approval_row *row, struct err *err)
{
    return row_exec_one(db, &sql_save, row, err);
}

enum rc approvals_list(struct db *db, const struct waiting_filter *filter, struct arena *arena,
                       struct approval_row **ret_rows, size_t *ret_count, struct err *err)
{
    return waiting_list(db, &sql_lists, &approval_shape, filter, arena, ret_rows, ret_count, err);
}
