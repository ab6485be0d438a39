/*
 * workers.c - the workers, as they last reported.
 */
#include "store/workers.h"
#include "store/query.h"

/* $1 is the present. */
#define WORKER_STATE                                         \
    "CASE WHEN last_seen_us + 3 * lease_us < $1 THEN 'lost'" \
    " WHEN draining = 1 THEN 'draining' ELSE 'active' END"
#define WORKER_SELECT                                                                       \
    "SELECT name, host, version, queues, pid, slots, busy, draining, lease_us, started_us," \
    " last_seen_us, unpublished_count, unpublished_bytes, " WORKER_STATE " FROM workers"

static const struct sql sql_put = {
    "worker_put",
    "INSERT INTO workers (name, host, version, queues, pid, slots, busy, draining, lease_us,"
    " started_us, last_seen_us, unpublished_count, unpublished_bytes)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
    " ON CONFLICT (name) DO UPDATE SET host = excluded.host, version = excluded.version,"
    " queues = excluded.queues, pid = excluded.pid, slots = excluded.slots, busy = excluded.busy,"
    " draining = excluded.draining, lease_us = excluded.lease_us,"
    " started_us = excluded.started_us, last_seen_us = excluded.last_seen_us,"
    " unpublished_count = excluded.unpublished_count,"
    " unpublished_bytes = excluded.unpublished_bytes",
    "tttjiiiiiiiii",
};
static const struct sql sql_get = {
    "worker_get",
    WORKER_SELECT " WHERE name = $2",
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
    WORKER_SELECT " WHERE name > $2 AND ($3 IS NULL OR " WORKER_STATE " = $3)"
                  " ORDER BY name LIMIT $4",
    "itti",
};

static const struct sql sql_unpublished = {
    "worker_unpublished",
    WORKER_SELECT " WHERE unpublished_count > 0 ORDER BY name LIMIT $2",
    "ii",
};

static enum rc worker_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct worker_row *row = to;
    row->name = read_text(reader);
    row->host = read_text(reader);
    row->version = read_text(reader);
    row->queues = read_bytes(reader);
    row->pid = read_int(reader);
    row->slots = read_int(reader);
    row->busy = read_int(reader);
    row->draining = read_int(reader) != 0;
    row->lease_us = read_int(reader);
    row->started_us = read_int(reader);
    row->last_seen_us = read_int(reader);
    row->unpublished_count = read_int(reader);
    row->unpublished_bytes = read_int(reader);
    row->state = read_text(reader);
    return RC_OK;
}
static const struct shape worker_shape = {"worker", sizeof(struct worker_row), worker_decode};

enum rc workers_put(struct db *db, const struct worker_row *row, struct err *err)
{
    return db_exec(db, &sql_put,
                   P_LIST(P_TEXT(row->name), P_TEXT(row->host), P_TEXT(row->version),
                          P_JSON(row->queues), P_INT(row->pid), P_INT(row->slots), P_INT(row->busy),
                          P_INT(row->draining), P_INT(row->lease_us), P_INT(row->started_us),
                          P_INT(row->last_seen_us), P_INT(row->unpublished_count),
                          P_INT(row->unpublished_bytes)),
                   NULL, err);
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
                     P_LIST(P_INT(filter->now_us), P_TEXT(filter->after ? filter->after : ""),
                            P_TEXT(filter->state), P_LIMIT(filter->limit)),
                     &worker_shape, arena, ret_rows, ret_count, err);
}

enum rc workers_unpublished(struct db *db, const struct worker_filter *filter, struct arena *arena,
                            struct worker_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_unpublished, P_LIST(P_INT(filter->now_us), P_LIMIT(filter->limit)),
                     &worker_shape, arena, ret_rows, ret_count, err);
}
