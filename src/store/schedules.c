/*
 * schedules.c - see schedules.h.
 */
#include "store/schedules.h"
#include "store/query.h"
#include <assert.h>

#define SCHEDULE_SELECT                                                                      \
    "SELECT name, cron, job, enabled, next_us, last_us, last_job_id, created_us, updated_us" \
    " FROM schedules"

static const struct sql sql_put = {
    "schedule_put",
    "INSERT INTO schedules"
    " (name, cron, job, enabled, next_us, last_us, created_us, updated_us)"
    " VALUES ($1, $2, $3, $4, $5, 0, $6, $7)"
    " ON CONFLICT (name) DO UPDATE SET cron = excluded.cron, job = excluded.job,"
    " enabled = excluded.enabled, next_us = excluded.next_us, updated_us = excluded.updated_us",
    "ttjiiii",
};
static const struct sql sql_get = {
    "schedule_get",
    SCHEDULE_SELECT " WHERE name = $1 {for_update}",
    "t",
};
static const struct sql sql_save = {
    "schedule_save",
    "UPDATE schedules SET next_us = $2, last_us = $3, last_job_id = $4 WHERE name = $1",
    "tiit",
};
static const struct sql sql_remove = {
    "schedule_remove",
    "DELETE FROM schedules WHERE name = $1",
    "t",
};
static const struct sql sql_list = {
    "schedule_list",
    SCHEDULE_SELECT " WHERE name > $1 ORDER BY name LIMIT $2",
    "ti",
};
static const struct sql sql_count = {
    "schedule_count",
    "SELECT count(*) FROM schedules",
    "",
};
static const struct sql sql_due = {
    "schedule_due",
    SCHEDULE_SELECT " WHERE enabled = 1 AND next_us > 0 AND next_us <= $1"
                    " ORDER BY next_us, name LIMIT $2 {for_update}",
    "ii",
};
static const struct sql sql_next_due = {
    "schedule_next_due",
    "SELECT next_us FROM schedules WHERE enabled = 1 AND next_us > 0 ORDER BY next_us LIMIT 1",
    "",
};

static enum rc schedule_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct schedule_row *row = to;
    row->name = read_text(reader);
    row->cron = read_text(reader);
    row->job = read_bytes(reader);
    row->enabled = read_int(reader) != 0;
    row->next_us = read_int(reader);
    row->last_us = read_int(reader);
    row->last_job_id = read_id(reader);
    row->created_us = read_int(reader);
    row->updated_us = read_int(reader);
    return RC_OK;
}
static const struct shape schedule_shape = {"schedule", sizeof(struct schedule_row),
                                            schedule_decode};

enum rc schedules_put(struct db *db, const struct schedule_row *row, struct err *err)
{
    return db_exec(db, &sql_put,
                   P_LIST(P_TEXT(row->name), P_TEXT(row->cron), P_JSON(row->job),
                          P_INT(row->enabled), P_INT(row->next_us), P_INT(row->created_us),
                          P_INT(row->updated_us)),
                   NULL, err);
}

enum rc schedules_get(struct db *db, const char *name, struct arena *arena,
                      struct schedule_row *ret_row, struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_TEXT(name)), &schedule_shape, arena, ret_row, err);
}

enum rc schedules_save(struct db *db, const struct schedule_row *row, struct err *err)
{
    return exec_one(db, &sql_save,
                    P_LIST(P_TEXT(row->name), P_INT(row->next_us), P_INT(row->last_us),
                           P_ID(&row->last_job_id)),
                    schedule_shape.noun, err);
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
