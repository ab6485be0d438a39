#include "store/schedules.h"
#include "store/query.h"
#include "store/shapes.h"
#include <assert.h>

enum { SCHEDULE_TIMES = COLUMN_GROUP(0) }; /* schedules_save */
static const struct column schedule_columns[] = {
    COLUMN(struct schedule_row, name, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct schedule_row, cron, COLUMN_NEW),
    COLUMN(struct schedule_row, job, COLUMN_NEW),
    COLUMN(struct schedule_row, enabled, COLUMN_NEW),
    COLUMN(struct schedule_row, next_us, COLUMN_NEW | SCHEDULE_TIMES),
    COLUMN(struct schedule_row, last_us, COLUMN_NEW | COLUMN_ONCE | SCHEDULE_TIMES),
    COLUMN(struct schedule_row, last_job_id, SCHEDULE_TIMES),
    COLUMN(struct schedule_row, created_us, COLUMN_NEW | COLUMN_ONCE),
    COLUMN(struct schedule_row, updated_us, COLUMN_NEW),
};
const struct shape schedule_shape = SHAPE("schedule", struct schedule_row, schedule_columns);

static const struct row_sql sql_put = {
    "schedule_put",
    "INSERT INTO schedules {values}"
    " ON CONFLICT (name) DO UPDATE SET {replaced}",
    &schedule_shape,
    COLUMN_NEW,
};
static const struct sql sql_get = {
    "schedule_get",
    "SELECT {columns} FROM schedules WHERE name = $1 {for_update}",
    "t",
};
static const struct row_sql sql_save = {
    "schedule_save",
    "UPDATE schedules SET {set} WHERE {key}",
    &schedule_shape,
    COLUMN_KEY | SCHEDULE_TIMES,
};
static const struct sql sql_remove = {
    "schedule_remove",
    "DELETE FROM schedules WHERE name = $1",
    "t",
};
static const struct sql sql_list = {
    "schedule_list",
    "SELECT {columns} FROM schedules WHERE name > $1 ORDER BY name LIMIT $2",
    "ti",
};
static const struct sql sql_count = {
    "schedule_count",
    "SELECT count(*) FROM schedules",
    "",
};
static const struct sql sql_due = {
    "schedule_due",
    "SELECT {columns} FROM schedules WHERE enabled = 1 AND next_us > 0 AND next_us <= $1"
    " ORDER BY next_us, name LIMIT $2 {for_update}",
    "ii",
};
static const struct sql sql_next_due = {
    "schedule_next_due",
    "SELECT next_us FROM schedules WHERE enabled = 1 AND next_us > 0 ORDER BY next_us LIMIT 1",
    "",
};

enum rc schedules_put(struct db *db, const struct schedule_row *row, struct err *err)
{
    return row_exec(db, &sql_put, row, NULL, err);
}

enum rc schedules_get(struct db *db, const char *name, struct arena *arena,
                      struct schedule_row *ret_row, struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_TEXT(name)), &schedule_shape, arena, ret_row, err);
}

enum rc schedules_save(struct db *db, const struct schedule_row *row, struct err *err)
{
    return row_exec_one(db, &sql_save, row, err);
}

enum rc schedules_remove(struct db *db, const char *name, struct err *err)
{
    return exec_one(db, &sql_remove, P_LIST(P_TEXT(name)), schedule_shape.noun, err);
}

enum rc schedules_list(struct db *db, const char *after, int64_t limit, struct arena *arena,
                       struct schedule_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_list, P_LIST(P_TEXT(after == NULL ? "" : after), P_LIMIT(limit)),
                     &schedule_shape, arena, ret_rows, ret_count, err);
}

enum rc schedules_count(struct db *db, int64_t *ret_count, struct err *err)
{
    return query_int(db, &sql_count, NULL, 0, ret_count, err);
}

enum rc schedules_due(struct db *db, const struct due_ask *ask, struct arena *arena,
                      struct schedule_row **ret_rows, size_t *ret_count, struct err *err)
{
    assert(ask->proof->db == db);
    return query_all(db, &sql_due, P_LIST(P_INT(ask->now_us), P_LIMIT(ask->limit)), &schedule_shape,
                     arena, ret_rows, ret_count, err);
}

enum rc schedules_next_due(struct db *db, int64_t *ret_due_us, struct err *err)
{
    return query_int(db, &sql_next_due, NULL, 0, ret_due_us, err);
}
