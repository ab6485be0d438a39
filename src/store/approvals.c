/*
 * approvals.c - decisions that a person has to make.
 */
#include "store/approvals.h"
#include "store/query.h"

#define APPROVAL_COLUMNS                                                                           \
    "id, task_id, run_id, kind, status, decided_by, reason, requested_us, expires_us, decided_us," \
    " question, summary, detail, artifact_sha256, reminded"

static const struct sql sql_insert = {
    "approval_insert",
    "INSERT INTO approvals (" APPROVAL_COLUMNS ")"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
    "tttttttiiittjti",
};
static const struct sql sql_get = {
    "approval_get",
    "SELECT " APPROVAL_COLUMNS " FROM approvals WHERE id = $1 {for_update}",
    "t",
};
static const struct sql sql_run_of = {
    "approval_run_of",
    "SELECT run_id FROM approvals WHERE id = $1",
    "t",
};
static const struct sql sql_save = {
    "approval_save",
    "UPDATE approvals SET status = $2, decided_by = $3, reason = $4, expires_us = $5,"
    " decided_us = $6, reminded = $7 WHERE id = $1",
    "ttttiii",
};

/* The leading condition chooses the index; the others apply in every form. */
#define APPROVAL_LIST(name, lead, walk)                                                 \
    {                                                                                   \
        {name,                                                                          \
         "SELECT " APPROVAL_COLUMNS " FROM approvals WHERE " lead                       \
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

static enum rc approval_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct approval_row *row = to;
    row->id = read_id(reader);
    row->task_id = read_id(reader);
    row->run_id = read_id(reader);
    row->kind = read_text(reader);
    row->status = read_text(reader);
    row->decided_by = read_text(reader);
    row->reason = read_text(reader);
    row->requested_us = read_int(reader);
    row->expires_us = read_int(reader);
    row->decided_us = read_int(reader);
    row->question = read_text(reader);
    row->summary = read_text(reader);
    row->detail = read_bytes(reader);
    row->artifact_sha256 = read_text(reader);
    row->reminded = read_int(reader);
    return RC_OK;
}
static const struct shape approval_shape = {"approval", sizeof(struct approval_row),
                                            approval_decode};

enum rc approvals_insert(struct db *db, const struct approval_row *row, struct err *err)
{
    return db_exec(db, &sql_insert,
                   P_LIST(P_ID(&row->id), P_ID(&row->task_id), P_ID(&row->run_id),
                          P_TEXT(row->kind), P_TEXT(row->status), P_TEXT(row->decided_by),
                          P_TEXT(row->reason), P_INT(row->requested_us), P_INT(row->expires_us),
                          P_INT(row->decided_us), P_TEXT(row->question), P_TEXT(row->summary),
                          P_JSON(row->detail), P_TEXT(row->artifact_sha256), P_INT(row->reminded)),
                   NULL, err);
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
    return exec_one(db, &sql_save,
                    P_LIST(P_ID(&row->id), P_TEXT(row->status), P_TEXT(row->decided_by),
                           P_TEXT(row->reason), P_INT(row->expires_us), P_INT(row->decided_us),
                           P_INT(row->reminded)),
                    approval_shape.noun, err);
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
