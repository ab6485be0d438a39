/*
 * questions.c - what agents ask people.
 */
#include "store/questions.h"
#include "store/query.h"
#include "store/shapes.h"

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

/* The leading condition chooses the index; the others apply in every form. */
#define QUESTION_LIST(name, lead, walk)                                                 \
    {                                                                                   \
        {name,                                                                          \
         "SELECT {columns} FROM questions WHERE " lead                                  \
         " AND ($1 IS NULL OR status = $1) AND ($2 IS NULL OR run_id = $2) AND id < $3" \
         " AND id >= $4 ORDER BY id DESC LIMIT $5",                                     \
         "tttti"},                                                                      \
            LIST_WALK(name, "questions", walk),                                         \
    }
static const struct list_sql sql_list = QUESTION_LIST("question_list", "1 = 1", LIST_WALK_ALL);
static const struct list_sql sql_list_status = QUESTION_LIST("question_list_status", "status = $1",
                                                             "status = $1");
static const struct list_sql sql_list_run = QUESTION_LIST("question_list_run", "run_id = $2",
                                                          "run_id = $1");

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

static const struct list_sql *list_fields(const struct question_filter *filter)
{
    if (!id_is_none(&filter->run_id))
        return &sql_list_run;
    return filter->status != NULL ? &sql_list_status : &sql_list;
}

enum rc questions_list(struct db *db, const struct question_filter *filter, struct arena *arena,
                       struct question_row **ret_rows, size_t *ret_count, struct err *err)
{
    struct param params[] = {P_TEXT(filter->status), P_ID(&filter->run_id),
                             P_TEXT(cursor_or_end(&filter->before)), P_TEXT(NULL),
                             P_LIMIT(filter->limit)};
    bool of_run = !id_is_none(&filter->run_id);
    struct list_ask ask = {list_fields(filter), params,
                           COUNT_OF(params),    of_run ? filter->run_id.text : filter->status,
                           filter->scan,        of_run && filter->status != NULL};
    return query_list(db, &ask, &question_shape, arena, ret_rows, ret_count, err);
}
