/*
 * sagas.c - see sagas.h.
 */
#include "store/sagas.h"
#include "store/query.h"

#define SAGA_COLUMNS                                                                          \
    "id, name, dedup_key, workspace_id, run_id, status, phase, position, job_id, definition," \
    " error_code, error_message, created_us, updated_us, ended_us"
#define STEP_COLUMNS                                                                         \
    "saga_id, no, position, phase, name, job_id, status, result, error_code, error_message," \
    " started_us, ended_us"

static const struct sql sql_insert = {
    "saga_insert",
    "INSERT INTO sagas (" SAGA_COLUMNS ")"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"
    " ON CONFLICT (name, dedup_key) WHERE dedup_key IS NOT NULL DO NOTHING",
    "tttttttitjttiii",
};
static const struct sql sql_get = {
    "saga_get",
    "SELECT " SAGA_COLUMNS " FROM sagas WHERE id = $1 {for_update}",
    "t",
};
static const struct sql sql_peek = {
    "saga_peek",
    "SELECT " SAGA_COLUMNS " FROM sagas WHERE id = $1",
    "t",
};
static const struct sql sql_by_dedup = {
    "saga_by_dedup",
    "SELECT " SAGA_COLUMNS " FROM sagas WHERE name = $1 AND dedup_key = $2",
    "tt",
};
static const struct sql sql_save = {
    "saga_save",
    "UPDATE sagas SET status = $2, phase = $3, position = $4, job_id = $5, error_code = $6,"
    " error_message = $7, updated_us = $8, ended_us = $9 WHERE id = $1",
    "tttitttii",
};

/* The leading condition chooses the index; the others apply in every form. */
#define SAGA_LIST(name, lead, walk)                                       \
    {                                                                     \
        {name,                                                            \
         "SELECT " SAGA_COLUMNS " FROM sagas WHERE " lead                 \
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

static const struct sql sql_step_insert = {
    "saga_step_insert",
    "INSERT INTO saga_steps (" STEP_COLUMNS ")"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
    "tiittttjttii",
};
static const struct sql sql_step_save = {
    "saga_step_save",
    "UPDATE saga_steps SET status = $3, result = $4, error_code = $5, error_message = $6,"
    " ended_us = $7 WHERE saga_id = $1 AND no = $2",
    "titjtti",
};
static const struct sql sql_step_list = {
    "saga_step_list",
    "SELECT " STEP_COLUMNS " FROM saga_steps WHERE saga_id = $1 ORDER BY no",
    "t",
};

static enum rc saga_decode(struct row_reader *reader, void *to, struct err *err)
{
    struct saga_row *row = to;
    row->id = read_id(reader);
    row->name = read_text(reader);
    row->dedup_key = read_text(reader);
    row->workspace_id = read_id(reader);
    row->run_id = read_id(reader);
    if (!saga_status_parse(read_word(reader), &row->life.status) ||
        !saga_phase_parse(read_word(reader), &row->life.phase))
        return row_corrupt("saga", err);
    row->life.position = read_int(reader);
    row->job_id = read_id(reader);
    row->definition = read_bytes(reader);
    row->error_code = read_text(reader);
    row->error_message = read_text(reader);
    row->created_us = read_int(reader);
    row->updated_us = read_int(reader);
    row->ended_us = read_int(reader);
    return RC_OK;
}
static const struct shape saga_shape = {"saga", sizeof(struct saga_row), saga_decode};

enum rc sagas_insert(struct db *db, const struct saga_row *row, struct err *err)
{
    int64_t inserted = 1;
    enum rc rc = db_exec(
        db, &sql_insert,
        P_LIST(P_ID(&row->id), P_TEXT(row->name), P_TEXT(row->dedup_key), P_ID(&row->workspace_id),
               P_ID(&row->run_id), P_TEXT(saga_status_name(row->life.status)),
               P_TEXT(saga_phase_name(row->life.phase)), P_INT(row->life.position),
               P_ID(&row->job_id), P_JSON(row->definition), P_TEXT(row->error_code),
               P_TEXT(row->error_message), P_INT(row->created_us), P_INT(row->updated_us),
               P_INT(row->ended_us)),
        row->dedup_key != NULL ? &inserted : NULL, err);
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
    return exec_one(db, &sql_save,
                    P_LIST(P_ID(&row->id), P_TEXT(saga_status_name(row->life.status)),
                           P_TEXT(saga_phase_name(row->life.phase)), P_INT(row->life.position),
                           P_ID(&row->job_id), P_TEXT(row->error_code), P_TEXT(row->error_message),
                           P_INT(row->updated_us), P_INT(row->ended_us)),
                    saga_shape.noun, err);
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

static enum rc step_decode(struct row_reader *reader, void *to, struct err *err)
{
    struct saga_step_row *row = to;
    row->saga_id = read_id(reader);
    row->no = read_int(reader);
    row->position = read_int(reader);
    if (!saga_phase_parse(read_word(reader), &row->phase))
        return row_corrupt("saga step", err);
    row->name = read_text(reader);
    row->job_id = read_id(reader);
    row->status = read_text(reader);
    row->result = read_bytes(reader);
    row->error_code = read_text(reader);
    row->error_message = read_text(reader);
    row->started_us = read_int(reader);
    row->ended_us = read_int(reader);
    return RC_OK;
}
static const struct shape step_shape = {"saga step", sizeof(struct saga_step_row), step_decode};

enum rc saga_steps_insert(struct db *db, const struct saga_step_row *row, struct err *err)
{
    return db_exec(db, &sql_step_insert,
                   P_LIST(P_ID(&row->saga_id), P_INT(row->no), P_INT(row->position),
                          P_TEXT(saga_phase_name(row->phase)), P_TEXT(row->name),
                          P_ID(&row->job_id), P_TEXT(row->status), P_JSON(row->result),
                          P_TEXT(row->error_code), P_TEXT(row->error_message),
                          P_INT(row->started_us), P_INT(row->ended_us)),
                   NULL, err);
}

enum rc saga_steps_save(struct db *db, const struct saga_step_row *row, struct err *err)
{
    return exec_one(db, &sql_step_save,
                    P_LIST(P_ID(&row->saga_id), P_INT(row->no), P_TEXT(row->status),
                           P_JSON(row->result), P_TEXT(row->error_code), P_TEXT(row->error_message),
                           P_INT(row->ended_us)),
                    step_shape.noun, err);
}

enum rc saga_steps_list(struct db *db, const struct id *saga_id, struct arena *arena,
                        struct saga_step_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_step_list, P_LIST(P_ID(saga_id)), &step_shape, arena, ret_rows,
                     ret_count, err);
}
