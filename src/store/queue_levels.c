#include "store/queue_levels.h"
#include "store/query.h"
#include "store/shapes.h"
#include <string.h>

WORDS(level_words, enum level, level_name, level_parse);

static const struct column level_columns[] = {
    COLUMN_AS(struct queue_level_row, queue, "name", COLUMN_KEY),
    COLUMN(struct queue_level_row, config, 0),
    COLUMN(struct queue_level_row, paused, 0),
    COLUMN_WORD(struct queue_level_row, level, "level", level_words, 0),
    COLUMN(struct queue_level_row, level_us, 0),
    COLUMN(struct queue_level_row, dead_alert, 0),
    COLUMN(struct queue_level_row, desired, 0),
    COLUMN(struct queue_level_row, desired_us, 0),
};
const struct shape queue_level_shape = SHAPE("queue", struct queue_level_row, level_columns);

static const struct sql sql_get = {
    "queue_level_get",
    "SELECT {columns} FROM queues WHERE name = $1 {for_update}",
    "t",
};
static const struct sql sql_list = {
    "queue_level_list",
    "SELECT {columns} FROM queues ORDER BY name LIMIT $1",
    "i",
};
static const struct sql sql_save = {
    "queue_level_save",
    "INSERT INTO queues (name, config, paused, level, level_us, dead_alert, desired, desired_us,"
    " tokens, tokens_us, version, updated_us)"
    " VALUES ($1, '{}', 0, $2, $3, $4, $5, $6, 0, 0, 0, $7)"
    " ON CONFLICT (name) DO UPDATE SET level = excluded.level, level_us = excluded.level_us,"
    " dead_alert = excluded.dead_alert, desired = excluded.desired,"
    " desired_us = excluded.desired_us",
    "ttiiiii",
};

/* Only a row that holds nothing else. */
static const struct sql sql_forget = {
    "queue_level_forget",
    "DELETE FROM queues WHERE name = $1 AND version = 0 AND level = 'normal' AND dead_alert = 0"
    " AND desired = 0",
    "t",
};

/* From one name to the next by the index, however many jobs have it. */
#define NAMES(cte, jobs_where)                                                                 \
    cte "(name) AS (SELECT min(queue) FROM jobs WHERE " jobs_where                             \
        " UNION ALL SELECT (SELECT min(queue) FROM jobs WHERE " jobs_where " AND queue > " cte \
        ".name) FROM " cte " WHERE " cte ".name IS NOT NULL)"

static const struct sql sql_waiting = {
    "queue_level_waiting",
    "WITH RECURSIVE " NAMES("q", "state = 'queued'") ", " NAMES(
        "b", "state = 'blocked'") " SELECT name FROM q WHERE name IS NOT NULL UNION SELECT name "
                                  "FROM b WHERE name IS NOT NULL"
                                  " ORDER BY name LIMIT $1",
    "i",
};
static const struct sql sql_dead = {
    "queue_level_dead",
    "WITH RECURSIVE " NAMES(
        "d", "state = 'dead_letter' AND archived_us = 0") " SELECT name FROM d WHERE name IS NOT "
                                                          "NULL ORDER BY name LIMIT $1",
    "i",
};
static const struct sql sql_leased = {
    "queue_level_leased",
    "SELECT queue, count(*) FROM jobs WHERE state = 'leased' GROUP BY queue ORDER BY queue"
    " LIMIT $1",
    "i",
};
static const struct sql sql_queued_count = {
    "queue_level_queued",
    "SELECT count(*), min(due_us) FROM (SELECT due_us FROM jobs WHERE state = 'queued'"
    " AND queue = $1 ORDER BY rank, seq LIMIT $2) AS first",
    "ti",
};
static const struct sql sql_blocked_count = {
    "queue_level_blocked",
    "SELECT count(*) FROM (SELECT queue FROM jobs WHERE state = 'blocked' AND queue = $1"
    " LIMIT $2) AS first",
    "ti",
};
static const struct sql sql_dead_count = {
    "queue_level_dead_count",
    "SELECT count(*) FROM (SELECT queue FROM jobs WHERE state = 'dead_letter' AND queue = $1"
    " AND archived_us = 0 LIMIT $2) AS first",
    "ti",
};
static const struct sql sql_agents_count = {
    "queue_level_agents",
    "SELECT count(*) FROM (SELECT queue FROM jobs WHERE state = 'queued'"
    " AND queue IN ('drover.agent', 'drover.plan') LIMIT $1) AS first",
    "i",
};

static enum rc name_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    ((struct queue_count *)to)->queue = read_text(reader);
    return RC_OK;
}
static const struct shape name_shape = SHAPE_OF_RESULT("queue", struct queue_count, name_decode);

static enum rc count_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct queue_count *row = to;
    row->queue = read_text(reader);
    row->count = read_int(reader);
    return RC_OK;
}
static const struct shape count_shape = SHAPE_OF_RESULT("queue", struct queue_count, count_decode);

static enum rc depth_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct queue_depth *depth = to;
    depth->queued = read_int(reader);
    depth->oldest_us = read_int(reader);
    return RC_OK;
}
static const struct shape depth_shape = SHAPE_OF_RESULT("queue", struct queue_depth, depth_decode);

enum rc queue_levels_get(struct db *db, const char *queue, struct arena *arena,
                         struct queue_level_row *ret_row, struct err *err)
{
    enum rc rc = query_one(db, &sql_get, P_LIST(P_TEXT(queue)), &queue_level_shape, arena, ret_row,
                           err);
    if (rc != RC_NOT_FOUND)
        return rc;
    err_clear(err);
    *ret_row = (struct queue_level_row){.queue = arena_strdup(arena, queue)};
    return RC_OK;
}

enum rc queue_levels_list(struct db *db, struct arena *arena, struct queue_level_row **ret_rows,
                          size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_list, P_LIST(P_LIMIT(QUEUE_LEVELS_MAX)), &queue_level_shape, arena,
                     ret_rows, ret_count, err);
}

const struct queue_level_row *queue_levels_find(const struct queue_level_row *rows, size_t count,
                                                const char *queue)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].queue, queue) == 0)
            return &rows[i];
    return NULL;
}

enum rc queue_levels_save(struct db *db, const struct queue_level_row *row, int64_t now_us,
                          struct err *err)
{
    enum rc rc = db_exec(db, &sql_save,
                         P_LIST(P_TEXT(row->queue), P_TEXT(level_name(row->level)),
                                P_INT(row->level_us), P_INT(row->dead_alert), P_INT(row->desired),
                                P_INT(row->desired_us), P_INT(now_us)),
                         NULL, err);
    return rc == RC_OK ? db_exec(db, &sql_forget, P_LIST(P_TEXT(row->queue)), NULL, err) : rc;
}

enum rc queue_levels_waiting(struct db *db, struct arena *arena, struct queue_count **ret_rows,
                             size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_waiting, P_LIST(P_LIMIT(QUEUE_LEVELS_MAX)), &name_shape, arena,
                     ret_rows, ret_count, err);
}

enum rc queue_levels_dead(struct db *db, struct arena *arena, struct queue_count **ret_rows,
                          size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_dead, P_LIST(P_LIMIT(QUEUE_LEVELS_MAX)), &name_shape, arena, ret_rows,
                     ret_count, err);
}

enum rc queue_levels_leased(struct db *db, struct arena *arena, struct queue_count **ret_rows,
                            size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_leased, P_LIST(P_LIMIT(QUEUE_LEVELS_MAX)), &count_shape, arena,
                     ret_rows, ret_count, err);
}

enum rc queue_levels_depth(struct db *db, const char *queue, int64_t limit,
                           struct queue_depth *ret_depth, struct err *err)
{
    struct queue_depth depth = {0};
    struct arena none = {0}; /* Numbers only. */
    enum rc rc = query_one(db, &sql_queued_count, P_LIST(P_TEXT(queue), P_LIMIT(limit)),
                           &depth_shape, &none, &depth, err);
    if (rc == RC_OK)
        rc = query_int(db, &sql_blocked_count, P_LIST(P_TEXT(queue), P_LIMIT(limit)),
                       &depth.blocked, err);
    if (rc == RC_OK)
        *ret_depth = depth;
    return rc;
}

enum rc queue_levels_dead_count(struct db *db, const char *queue, int64_t limit, int64_t *ret_count,
                                struct err *err)
{
    return query_int(db, &sql_dead_count, P_LIST(P_TEXT(queue), P_LIMIT(limit)), ret_count, err);
}

enum rc queue_levels_agents(struct db *db, int64_t limit, int64_t *ret_count, struct err *err)
{
    return query_int(db, &sql_agents_count, P_LIST(P_LIMIT(limit)), ret_count, err);
}
