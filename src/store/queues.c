/*
 * queues.c - what is stored of queues.
 */
#include "store/queues.h"
#include "store/query.h"
#include "store/shapes.h"

static const struct column queue_columns[] = {
    COLUMN(struct queue_row, name, COLUMN_KEY), COLUMN(struct queue_row, config, 0),
    COLUMN(struct queue_row, paused, 0),        COLUMN(struct queue_row, level, 0),
    COLUMN(struct queue_row, level_us, 0),      COLUMN(struct queue_row, desired, 0),
    COLUMN(struct queue_row, version, 0),       COLUMN(struct queue_row, updated_us, 0),
};
const struct shape queue_shape = SHAPE("queue", struct queue_row, queue_columns);

static const struct sql sql_get = {
    "queue_get",
    "SELECT {columns} FROM queues WHERE name = $1 {for_update}",
    "t",
};
static const struct sql sql_put = {
    "queue_put",
    "INSERT INTO queues (name, config, paused, level, level_us, dead_alert, tokens, tokens_us,"
    " version, updated_us) VALUES ($1, $2, $3, 'normal', 0, 0, 0, 0, 1, $4)"
    " ON CONFLICT (name) DO UPDATE SET config = excluded.config, paused = excluded.paused,"
    " version = queues.version + 1, updated_us = excluded.updated_us"
    " WHERE queues.version = $5",
    "tjiii",
};
static const struct sql sql_list = {
    "queue_list",
    "SELECT {columns} FROM queues ORDER BY name LIMIT $1",
    "i",
};
static const struct sql sql_list_rules = {
    "queue_list_rules",
    "SELECT {columns} FROM queues WHERE version > 0 ORDER BY name LIMIT $1",
    "i",
};
static const struct sql sql_flow = {
    "queue_flow",
    "SELECT tokens, tokens_us FROM queues WHERE name = $1 {for_update}",
    "t",
};
static const struct sql sql_flow_save = {
    "queue_flow_save",
    "UPDATE queues SET tokens = $2, tokens_us = $3 WHERE name = $1",
    "tii",
};
/* One index lookup for each state, none further than the limit.  Scheduled jobs stand in
   order of time, those of all queues together: an index of their own would cost every job. */
static const struct sql sql_waiting = {
    "queue_waiting",
    "SELECT (SELECT count(*) FROM (SELECT 1 FROM jobs WHERE state = 'queued' AND queue = $1"
    " LIMIT $2) AS a)"
    " + (SELECT count(*) FROM (SELECT 1 FROM jobs WHERE state = 'scheduled'"
    " AND due_us >= 0 AND queue = $1 LIMIT $2) AS b)"
    " + (SELECT count(*) FROM (SELECT 1 FROM jobs WHERE state = 'blocked' AND queue = $1"
    " LIMIT $2) AS c)",
    "ti",
};
/* All leases are read: they are few. */
static const struct sql sql_leased = {
    "queue_leased",
    "SELECT count(*) FROM jobs WHERE state = 'leased' AND queue = $1",
    "t",
};

enum rc queues_get(struct db *db, const char *name, struct arena *arena, struct queue_row *ret_row,
                   struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_TEXT(name)), &queue_shape, arena, ret_row, err);
}

enum rc queues_put(struct db *db, const struct queue_row *row, struct err *err)
{
    int64_t written = 0;
    enum rc rc = db_exec(db, &sql_put,
                         P_LIST(P_TEXT(row->name), P_JSON(row->config), P_INT(row->paused),
                                P_INT(row->updated_us), P_INT(row->version)),
                         &written, err);
    if (rc == RC_OK && written == 0)
        return err_set(err, RC_BUSY, "STORE_BUSY", "another call changes queue %s just now",
                       row->name);
    return rc;
}

enum rc queues_list(struct db *db, struct arena *arena, struct queue_row **ret_rows,
                    size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_list, P_LIST(P_LIMIT(QUEUES_MAX)), &queue_shape, arena, ret_rows,
                     ret_count, err);
}

enum rc queues_list_rules(struct db *db, struct arena *arena, struct queue_row **ret_rows,
                          size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_list_rules, P_LIST(P_LIMIT(QUEUES_MAX)), &queue_shape, arena,
                     ret_rows, ret_count, err);
}

enum rc queues_flow(struct db *db, const char *name, struct queue_flow *ret_flow, struct err *err)
{
    CLEANUP(rows_end) struct rows rows = {0};
    enum rc rc = db_query(db, &sql_flow, P_LIST(P_TEXT(name)), &rows, err);
    if (rc == RC_OK)
        rc = rows_next(&rows, err);
    if (rc == RC_OK)
        *ret_flow = (struct queue_flow){row_int(&rows, 0), row_int(&rows, 1)};
    return rc;
}

enum rc queues_flow_save(struct db *db, const char *name, const struct queue_flow *flow,
                         struct err *err)
{
    return db_exec(db, &sql_flow_save,
                   P_LIST(P_TEXT(name), P_INT(flow->tokens), P_INT(flow->tokens_us)), NULL, err);
}

enum rc queues_waiting(struct db *db, const char *name, int64_t limit, int64_t *ret_count,
                       struct err *err)
{
    return query_int(db, &sql_waiting, P_LIST(P_TEXT(name), P_LIMIT(limit)), ret_count, err);
}

enum rc queues_leased(struct db *db, const char *name, int64_t *ret_count, struct err *err)
{
    return query_int(db, &sql_leased, P_LIST(P_TEXT(name)), ret_count, err);
}
