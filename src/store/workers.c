/*
 * workers.c - the workers, as they last reported.
 */
#include "store/workers.h"
#include "store/query.h"
#include "store/shapes.h"

/* $1 is the present. */
#define WORKER_STATE                                         \
    "CASE WHEN last_seen_us + 3 * lease_us < $1 THEN 'lost'" \
    " WHEN draining = 1 THEN 'draining' ELSE 'active' END"

static const struct column worker_columns[] = {
    COLUMN(struct worker_row, name, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct worker_row, host, COLUMN_NEW),
    COLUMN(struct worker_row, version, COLUMN_NEW),
    COLUMN(struct worker_row, queues, COLUMN_NEW),
    COLUMN(struct worker_row, pid, COLUMN_NEW),
    COLUMN(struct worker_row, slots, COLUMN_NEW),
    COLUMN(struct worker_row, busy, COLUMN_NEW),
    COLUMN(struct worker_row, draining, COLUMN_NEW),
    COLUMN(struct worker_row, lease_us, COLUMN_NEW),
    COLUMN(struct worker_row, started_us, COLUMN_NEW),
    COLUMN(struct worker_row, last_seen_us, COLUMN_NEW),
    COLUMN(struct worker_row, unpublished_count, COLUMN_NEW),
    COLUMN(struct worker_row, unpublished_bytes, COLUMN_NEW),
    COLUMN(struct worker_row, disk_free, COLUMN_NEW),
    COLUMN(struct worker_row, disk_low, COLUMN_NEW),
    COLUMN(struct worker_row, leased_ports, COLUMN_NEW),
    COLUMN(struct worker_row, leased_databases, COLUMN_NEW),
    COLUMN_AS(struct worker_row, state, WORKER_STATE, COLUMN_COMPUTED),
};
const struct shape worker_shape = SHAPE("worker", struct worker_row, worker_columns);

static const struct row_sql sql_put = {
    "worker_put",
    "INSERT INTO workers {values}"
    " ON CONFLICT (name) DO UPDATE SET {replaced}",
    &worker_shape,
    COLUMN_NEW,
};
static const struct sql sql_get = {
    "worker_get",
    "SELECT {columns} FROM workers WHERE name = $2",
    "it",
};
static const struct sql sql_remove = {
    "worker_remove",
    "DELETE FROM workers WHERE name = $1",
    "t",
};
static const struct sql sql_prune = {
    "worker_prune",
    "DELETE FROM workers WHERE last_seen_us < $1",
    "i",
};
static const struct sql sql_list = {
    "worker_list",
    "SELECT {columns} FROM workers WHERE name > $2 AND ($3 IS NULL OR " WORKER_STATE " = $3)"
    " ORDER BY name LIMIT $4",
    "itti",
};

static const struct sql sql_unpublished = {
    "worker_unpublished",
    "SELECT {columns} FROM workers WHERE unpublished_count > 0 ORDER BY name LIMIT $2",
    "ii",
};

static const struct sql sql_low = {
    "worker_low",
    "SELECT {columns} FROM workers WHERE disk_low = 1 ORDER BY name LIMIT $2",
    "ii",
};

enum rc workers_put(struct db *db, const struct worker_row *row, struct err *err)
{
    return row_exec(db, &sql_put, row, NULL, err);
}

enum rc workers_get(struct db *db, const char *name, int64_t now_us, struct arena *arena,
                    struct worker_row *ret_row, struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_INT(now_us), P_TEXT(name)), &worker_shape, arena,
                     ret_row, err);
}

enum rc workers_remove(struct db *db, const char *name, struct err *err)
{
    return db_exec(db, &sql_remove, P_LIST(P_TEXT(name)), NULL, err);
}

enum rc workers_prune(struct db *db, int64_t before_us, struct err *err)
{
    return db_exec(db, &sql_prune, P_LIST(P_INT(before_us)), NULL, err);
}

enum rc workers_list(struct db *db, const struct worker_filter *filter, struct arena *arena,
                     struct worker_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_list,
                     P_LIST(P_INT(filter->now_us),
                            P_TEXT(filter->after != NULL ? filter->after : ""),
                            P_TEXT(filter->state), P_LIMIT(filter->limit)),
                     &worker_shape, arena, ret_rows, ret_count, err);
}

enum rc workers_unpublished(struct db *db, const struct worker_filter *filter, struct arena *arena,
                            struct worker_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_unpublished, P_LIST(P_INT(filter->now_us), P_LIMIT(filter->limit)),
                     &worker_shape, arena, ret_rows, ret_count, err);
}

enum rc workers_low(struct db *db, const struct worker_filter *filter, struct arena *arena,
                    struct worker_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_low, P_LIST(P_INT(filter->now_us), P_LIMIT(filter->limit)),
                     &worker_shape, arena, ret_rows, ret_count, err);
}
