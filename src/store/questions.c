/*
 * questions.c - what agents ask people.
 */
#include "store/questions.h"
#include "store/query.h"
#include "store/shapes.h"
#include "store/waiting_list.h"

enum { QUESTION_STATE = COLUMN_GROUP(0) }; /* questions_save */
static const struct column question_columns[] = {
    COLUMN(struct question_row, id, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct question_row, task_id, COLUMN_NEW),
    COLUMN(struct question_row, run_id, COLUMN_NEW),
    COLUMN(struct question_row, asked_by, COLUMN_NEW),
    COLUMN(struct question_row, text, COLUMN_NEW),
    COLUMN(struct question_row, options, COLUMN_NEW),
    COLUMN(struct question_row, default_answer, COLUMN_NEW),
    COLUMN(struct question_row, status, COLUMN_NEW | QUESTION_STATE),
    COLUMN(struct question_row, answer, COLUMN_NEW | QUESTION_STATE),
    COLUMN(struct question_row, answered_by, COLUMN_NEW | QUESTION_STATE),
    COLUMN(struct question_row, attempt, COLUMN_NEW),
    COLUMN(struct question_row, requested_us, COLUMN_NEW),
    COLUMN(struct question_row, expires_us, COLUMN_NEW),
    COLUMN(struct question_row, answered_us, COLUMN_NEW | QUESTION_STATE),
    COLUMN(struct question_row, delivered_us, COLUMN_NEW | QUESTION_STATE),
    COLUMN(struct question_row, reminded, COLUMN_NEW | QUESTION_STATE),
};
const struct shape question_shape = SHAPE("question", struct question_row, question_columns);

static const struct row_sql sql_insert = {
    "question_insert",
    "INSERT INTO questions {values}",
    &question_shape,
    COLUMN_NEW,
};
static const struct sql sql_get = {
    "question_get",
    "SELECT {columns} FROM questions WHERE id = $1 {for_update}",
    "t",
};
static const struct sql sql_run_of = {
    "question_run_of",
    "SELECT run_id FROM questions WHERE id = $1",
    "t",
};
static const struct row_sql sql_save = {
    "question_save",
    "UPDATE questions SET {set} WHERE {key}",
    &question_shape,
    COLUMN_KEY | QUESTION_STATE,
};

static const struct sql sql_deliver = {
    "question_deliver",
    "UPDATE questions SET delivered_us = $2 WHERE run_id = $1 AND delivered_us = 0"
    " AND (status = 'answered' OR status = 'expired')",
    "ti",
};

static const struct waiting_sql sql_lists = WAITING_SQL("question", "questions");

enum rc questions_insert(struct db *db, const struct question_row *row, struct err *err)
{
    return row_exec(db, &sql_insert, row, NULL, err);
}

enum rc questions_get(struct db *db, const struct id *id, struct arena *arena,
                      struct question_row *ret_row, struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_ID(id)), &question_shape, arena, ret_row, err);
}

enum rc questions_run_of(struct db *db, const struct id *id, struct id *ret_run_id, struct err *err)
{
    return query_id(db, &sql_run_of, P_LIST(P_ID(id)), ret_run_id, err);
}

enum rc questions_save(struct db *db, const struct question_row *row, struct err *err)
{
    return row_exec_one(db, &sql_save, row, err);
}

enum rc questions_deliver(struct db *db, const struct id *run_id, int64_t now_us, struct err *err)
{
    return db_exec(db, &sql_deliver, P_LIST(P_ID(run_id), P_INT(now_us)), NULL, err);
}

enum rc questions_list(struct db *db, const struct waiting_filter *filter, struct arena *arena,
                       struct question_row **ret_rows, size_t *ret_count, struct err *err)
{
    return waiting_list(db, &sql_lists, &question_shape, filter, arena, ret_rows, ret_count, err);
}
