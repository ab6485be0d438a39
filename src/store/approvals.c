/*
 * approvals.c - decisions that a person has to make.
 */
#include "store/approvals.h"
#include "store/query.h"
#include "store/shapes.h"

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

/* The leading condition chooses the index; the others apply in every form. */
#define APPROVAL_LIST(name, lead, walk)                                                 \
    {                                                                                   \
        {name,                                                                          \
         "SELECT {columns} FROM approvals WHERE " lead                                  \
         " AND ($1 IS NULL OR status = $1) AND ($2 IS NULL OR run_id = $2) AND id < $3" \
         " AND id >= $4 ORDER BY id DESC LIMIT $5",                                     \
         "tttti"},                                                                      \
            LIST_WALK(name, "approvals", walk),                                         \
    }
static const struct list_sql sql_list = APPROVAL_LIST("approval_list", "1 = 1", LIST_WALK_ALL);
static const struct list_sql sql_list_status = APPROVAL_LIST("approval_list_status", "status = $1",
                                                             "status = $1");
static const struct list_sql sql_list_run = APPROVAL_LIST("approval_list_run", "run_id = $2",
                                                          "run_id = $1");

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

static const struct list_sql *list_fields(const struct approval_filter *filter)
{
    if (!id_is_none(&filter->run_id))
        return &sql_list_run;
    return filter->status != NULL ? &sql_list_status : &sql_list;
}

enum rc approvals_list(struct db *db, const struct approval_filter *filter, struct arena *arena,
                       struct approval_row **ret_rows, size_t *ret_count, struct err *err)
{
    struct param params[] = {P_TEXT(filter->status), P_ID(&filter->run_id),
                             P_TEXT(cursor_or_end(&filter->before)), P_TEXT(NULL),
                             P_LIMIT(filter->limit)};
    bool of_run = !id_is_none(&filter->run_id);
    struct list_ask ask = {list_fields(filter), params,
                           COUNT_OF(params),    of_run ? filter->run_id.text : filter->status,
                           filter->scan,        of_run && filter->status != NULL};
    return query_list(db, &ask, &approval_shape, arena, ret_rows, ret_count, err);
}
