#include "store/sagas.h"
#include "store/query.h"
#include "store/shapes.h"

WORDS(saga_status_words, enum saga_status, saga_status_name, saga_status_parse);
WORDS(saga_phase_words, enum saga_phase, saga_phase_name, saga_phase_parse);

enum {
    SAGA_STATE = COLUMN_GROUP(0), /* sagas_save */
    STEP_STATE = COLUMN_GROUP(1), /* saga_steps_save */
};
static const struct column saga_columns[] = {
    COLUMN(struct saga_row, id, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct saga_row, name, COLUMN_NEW),
    COLUMN(struct saga_row, dedup_key, COLUMN_NEW),
    COLUMN(struct saga_row, workspace_id, COLUMN_NEW),
    COLUMN(struct saga_row, run_id, COLUMN_NEW),
    COLUMN_WORD(struct saga_row, life.status, "status", saga_status_words, COLUMN_NEW | SAGA_STATE),
    COLUMN_WORD(struct saga_row, life.phase, "phase", saga_phase_words, COLUMN_NEW | SAGA_STATE),
    COLUMN_AS(struct saga_row, life.position, "position", COLUMN_NEW | SAGA_STATE),
    COLUMN(struct saga_row, job_id, COLUMN_NEW | SAGA_STATE),
    COLUMN(struct saga_row, definition, COLUMN_NEW),
    COLUMN(struct saga_row, error_code, COLUMN_NEW | SAGA_STATE),
    COLUMN(struct saga_row, error_message, COLUMN_NEW | SAGA_STATE),
    COLUMN(struct saga_row, created_us, COLUMN_NEW),
    COLUMN(struct saga_row, updated_us, COLUMN_NEW | SAGA_STATE),
    COLUMN(struct saga_row, ended_us, COLUMN_NEW | SAGA_STATE),
};
const struct shape saga_shape = SHAPE("saga", struct saga_row, saga_columns);

static const struct column saga_step_columns[] = {
    COLUMN(struct saga_step_row, saga_id, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct saga_step_row, no, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct saga_step_row, position, COLUMN_NEW),
    COLUMN_WORD(struct saga_step_row, phase, "phase", saga_phase_words, COLUMN_NEW),
    COLUMN(struct saga_step_row, name, COLUMN_NEW),
    COLUMN(struct saga_step_row, job_id, COLUMN_NEW),
    COLUMN(struct saga_step_row, status, COLUMN_NEW | STEP_STATE),
    COLUMN(struct saga_step_row, result, COLUMN_NEW | STEP_STATE),
    COLUMN(struct saga_step_row, error_code, COLUMN_NEW | STEP_STATE),
    COLUMN(struct saga_step_row, error_message, COLUMN_NEW | STEP_STATE),
    COLUMN(struct saga_step_row, started_us, COLUMN_NEW),
    COLUMN(struct saga_step_row, ended_us, COLUMN_NEW | STEP_STATE),
};
const struct shape saga_step_shape = SHAPE("saga step", struct saga_step_row, saga_step_columns);

static const struct row_sql sql_insert = {
    "saga_insert",
    "INSERT INTO sagas {values}"
    " ON CONFLICT (name, dedup_key) WHERE dedup_key IS NOT NULL DO NOTHING",
    &saga_shape,
    COLUMN_NEW,
};
static const struct sql sql_get = {
    "saga_get",
    "SELECT {columns} FROM sagas WHERE id = $1 {for_update}",
    "t",
};
static const struct sql sql_peek = {
    "saga_peek",
    "SELECT {columns} FROM sagas WHERE id = $1",
    "t",
};
static const struct sql sql_by_dedup = {
    "saga_by_dedup",
    "SELECT {columns} FROM sagas WHERE name = $1 AND dedup_key = $2",
    "tt",
};
static const struct row_sql sql_save = {
    "saga_save",
    "UPDATE sagas SET {set} WHERE {key}",
    &saga_shape,
    COLUMN_KEY | SAGA_STATE,
};

/* The leading condition chooses the index; the others apply in every form. */
#define SAGA_LIST(name, lead, walk)                                       \
    {                                                                     \
        {name,                                                            \
         "SELECT {columns} FROM sagas WHERE " lead                        \
         " AND ($1 IS NULL OR name = $1) AND ($2 IS NULL OR status = $2)" \
         " AND ($3 IS NULL OR run_id = $3) AND id < $4 AND id >= $5"      \
         " ORDER BY id DESC LIMIT $6",                                    \
         "ttttti"},                                                       \
            LIST_WALK(name, "sagas", walk),                               \
    }
static const struct list_sql sql_list = SAGA_LIST("saga_list", "1 = 1", LIST_WALK_ALL);
static const struct list_sql sql_list_name = SAGA_LIST("saga_list_name", "name = $1", "name = $1");
static const struct list_sql sql_list_status = SAGA_LIST("saga_list_status", "status = $2",
                                                         "status = $1");
static const struct list_sql sql_list_run = SAGA_LIST("saga_list_run", "run_id = $3",
                                                      "run_id = $1");

static const struct row_sql sql_step_insert = {
    "saga_step_insert",
    "INSERT INTO saga_steps {values}",
    &saga_step_shape,
    COLUMN_NEW,
};
static const struct row_sql sql_step_save = {
    "saga_step_save",
    "UPDATE saga_steps SET {set} WHERE {key}",
    &saga_step_shape,
    COLUMN_KEY | STEP_STATE,
};
static const struct sql sql_step_list = {
    "saga_step_list",
    "SELECT {columns} FROM saga_steps WHERE saga_id = $1 ORDER BY no",
    "t",
};

enum rc sagas_insert(struct db *db, const struct saga_row *row, struct err *err)
{
    int64_t inserted = 1;
    enum rc rc = row_exec(db, &sql_insert, row, row->dedup_key != NULL ? &inserted : NULL, err);
    if (rc == RC_OK && inserted == 0)
        return err_set(err, RC_CONFLICT, "DUPLICATE_SAGA",
                       "there is a saga %.100s with the dedup key %.200s already", row->name,
                       row->dedup_key);
    return rc;
}

enum rc sagas_get(struct db *db, const struct id *id, struct arena *arena, struct saga_row *ret_row,
                  struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_ID(id)), &saga_shape, arena, ret_row, err);
}

enum rc sagas_peek(struct db *db, const struct id *id, struct arena *arena,
                   struct saga_row *ret_row, struct err *err)
{
    return query_one(db, &sql_peek, P_LIST(P_ID(id)), &saga_shape, arena, ret_row, err);
}

enum rc sagas_by_dedup(struct db *db, const char *name, const char *dedup_key, struct arena *arena,
                       struct saga_row *ret_row, struct err *err)
{
    return query_one(db, &sql_by_dedup, P_LIST(P_TEXT(name), P_TEXT(dedup_key)), &saga_shape, arena,
                     ret_row, err);
}

enum rc sagas_save(struct db *db, const struct saga_row *row, struct err *err)
{
    return row_exec_one(db, &sql_save, row, err);
}

enum rc sagas_list(struct db *db, const struct saga_filter *filter, struct arena *arena,
                   struct saga_row **ret_rows, size_t *ret_count, struct err *err)
{
    const char *status = filter->status < 0 ? NULL
                                            : saga_status_name((enum saga_status)filter->status);
    struct param params[] = {P_TEXT(filter->name),  P_TEXT(status),
                             P_ID(&filter->run_id), P_TEXT(cursor_or_end(&filter->before)),
                             P_TEXT(NULL),          P_LIMIT(filter->limit)};
    int conditions = (filter->name != NULL) + (status != NULL) + !id_is_none(&filter->run_id);
    struct list_ask ask = {&sql_list, params, COUNT_OF(params), NULL, filter->scan, conditions > 1};
    if (!id_is_none(&filter->run_id)) {
        ask.sql = &sql_list_run;
        ask.lead = filter->run_id.text;
    } else if (filter->name != NULL) {
        ask.sql = &sql_list_name;
        ask.lead = filter->name;
    } else if (status != NULL) {
        ask.sql = &sql_list_status;
        ask.lead = status;
    }
    return query_list(db, &ask, &saga_shape, arena, ret_rows, ret_count, err);
}

enum rc saga_steps_insert(struct db *db, const struct saga_step_row *row, struct err *err)
{
    return row_exec(db, &sql_step_insert, row, NULL, err);
}

enum rc saga_steps_save(struct db *db, const struct saga_step_row *row, struct err *err)
{
    return row_exec_one(db, &sql_step_save, row, err);
}

enum rc saga_steps_list(struct db *db, const struct id *saga_id, struct arena *arena,
                        struct saga_step_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_step_list, P_LIST(P_ID(saga_id)), &saga_step_shape, arena, ret_rows,
                     ret_count, err);
}
