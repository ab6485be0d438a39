/*
 * dead_letters.c - see dead_letters.h.
 *
 * All go by the index jobs_dead, in order of arrival, which holds dead letters only: rare
 * operations (counting, grouping, retention) read each of them, so that other jobs pay for no
 * further index.  A plus before a column, or an empty text behind it, keeps the planner from
 * choosing another one.
 */
#include "store/dead_letters.h"
#include "store/query.h"
#include "store/shapes.h"

/* The compensation at which a saga is stuck: it waits for a replay. */
#define DEAD_STUCK                                              \
    "EXISTS (SELECT 1 FROM sagas WHERE sagas.id = jobs.saga_id" \
    " AND sagas.job_id = jobs.id AND sagas.status = 'stuck')"
/* $1 to $10. */
#define DEAD                                                                                  \
    "state = 'dead_letter' AND ($1 IS NULL OR queue = $1) AND ($2 IS NULL OR type = $2)"      \
    " AND ($3 IS NULL OR dead_reason = $3) AND ($4 IS NULL OR error_code = $4)"               \
    " AND ($5 IS NULL OR error_pattern = $5)"                                                 \
    " AND +updated_us >= $6 AND +updated_us < $7 AND archived_us >= $8 AND archived_us <= $9" \
    " AND ($10 = 0 OR ($10 = 1 AND ((saga_id IS NULL AND (run_id IS NULL OR type = 'clean'))" \
    " OR " DEAD_STUCK ")) OR ($10 = 2 AND NOT " DEAD_STUCK "))"
#define DEAD_ALL   DEAD " AND id > ''"
#define DEAD_TYPES "tttttiiiii"

/* Behind the columns of the job. */
#define DEAD_EXTRAS                                                       \
    ", (SELECT count(*) FROM job_attempts WHERE job_id = jobs.id)"        \
    ", (SELECT min(started_us) FROM job_attempts WHERE job_id = jobs.id)" \
    ", (SELECT max(ended_us) FROM job_attempts WHERE job_id = jobs.id)"

static const struct list_sql sql_list = {
    {
        "dead_letter_list",
        "SELECT {small}" DEAD_EXTRAS " FROM jobs WHERE " DEAD
        " AND id < $11 AND id >= $12 ORDER BY id DESC LIMIT $13",
        DEAD_TYPES "tti",
    },
    LIST_WALK("dead_letter_list", "jobs", "state = 'dead_letter' AND " LIST_WALK_ALL),
};
static const struct sql sql_get = {
    "dead_letter_get",
    "SELECT {columns}" DEAD_EXTRAS " FROM jobs WHERE id = $1 AND state = 'dead_letter'",
    "t",
};
static const struct sql sql_count = {
    "dead_letter_count",
    "SELECT count(*) FROM jobs WHERE " DEAD_ALL,
    DEAD_TYPES,
};
static const struct sql sql_pick = {
    "dead_letter_pick",
    "SELECT id FROM jobs WHERE " DEAD " ORDER BY id LIMIT $11 {for_update}",
    DEAD_TYPES "i",
};
static const struct sql sql_pick_oldest = {
    "dead_letter_pick_oldest",
    "SELECT id FROM jobs WHERE " DEAD_ALL " ORDER BY updated_us LIMIT $11 {for_update}",
    DEAD_TYPES "i",
};
static const struct sql sql_analyse = {
    "dead_letter_analyse",
    "SELECT queue, type, dead_reason, error_pattern, count(*), min(updated_us), max(updated_us),"
    " max(id) FROM jobs WHERE " DEAD_ALL " GROUP BY queue, type, dead_reason, error_pattern"
    " ORDER BY 5 DESC, 7 DESC, 8 DESC LIMIT $11",
    DEAD_TYPES "i",
};
static const struct sql sql_queues = {
    "dead_letter_queues",
    "SELECT DISTINCT queue || '' FROM jobs WHERE state = 'dead_letter' AND id > ''"
    " ORDER BY 1",
    "",
};
static const struct sql sql_archive = {
    "dead_letter_archive",
    "UPDATE jobs SET archived_us = $2 WHERE id = $1 AND state = 'dead_letter'",
    "ti",
};
static const struct sql sql_delete_attempts = {
    "dead_letter_delete_attempts",
    "DELETE FROM job_attempts WHERE job_id = $1",
    "t",
};
static const struct sql sql_delete = {
    "dead_letter_delete",
    "DELETE FROM jobs WHERE id = $1 AND state = 'dead_letter'",
    "t",
};
static const struct sql sql_set_payload = {
    "dead_letter_set_payload",
    "UPDATE jobs SET payload = $3 WHERE seq = $1 AND id = $2",
    "itj",
};

static int64_t until_of(const struct dead_filter *filter)
{
    return filter->until_us > 0 ? filter->until_us : INT64_MAX;
}

#define P_DEAD(f)                                                                                 \
    P_TEXT((f)->queue), P_TEXT((f)->type), P_TEXT((f)->reason), P_TEXT((f)->error_code),          \
        P_TEXT((f)->pattern), P_INT((f)->since_us), P_INT(until_of(f)),                           \
        P_INT((f)->archived == DEAD_ARCHIVED), P_INT((f)->archived == DEAD_OPEN ? 0 : INT64_MAX), \
        P_INT((f)->only)

static enum rc dead_decode(struct row_reader *reader, void *to, struct err *err)
{
    struct dead_row *row = to;
    enum rc rc = read_columns(&job_shape, reader, &row->job, err);
    row->attempts = read_int(reader);
    row->first_us = read_int(reader);
    row->last_us = read_int(reader);
    return rc;
}
static const struct shape dead_shape = {
    .noun = "dead letter",
    .bytes = sizeof(struct dead_row),
    .decode = dead_decode,
    .base = &job_shape,
};

static enum rc id_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    *(struct id *)to = read_id(reader);
    return RC_OK;
}
static const struct shape id_shape = SHAPE_OF_RESULT("dead letter", struct id, id_decode);

static enum rc name_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    *(const char **)to = read_text(reader);
    return RC_OK;
}
static const struct shape name_shape = SHAPE_OF_RESULT("queue", const char *, name_decode);

static enum rc group_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct dead_group *group = to;
    group->queue = read_text(reader);
    group->type = read_text(reader);
    group->reason = read_text(reader);
    group->pattern = read_text(reader);
    group->count = read_int(reader);
    group->first_us = read_int(reader);
    group->last_us = read_int(reader);
    group->example = read_id(reader);
    return RC_OK;
}
static const struct shape group_shape = SHAPE_OF_RESULT("group", struct dead_group, group_decode);

/* Archived or not is a condition, too: those that are may be many. */
enum rc dead_letters_list(struct db *db, const struct dead_filter *filter, const struct id *before,
                          int64_t limit, struct arena *arena, struct dead_row **ret_rows,
                          size_t *ret_count, struct err *err)
{
    struct param params[] = {P_DEAD(filter), P_TEXT(cursor_or_end(before)), P_TEXT(NULL),
                             P_LIMIT(limit)};
    struct list_ask ask = {&sql_list, params, COUNT_OF(params), NULL, filter->scan, true};
    return query_list(db, &ask, &dead_shape, arena, ret_rows, ret_count, err);
}

enum rc dead_letters_get(struct db *db, const struct id *id, struct arena *arena,
                         struct dead_row *ret_row, struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_ID(id)), &dead_shape, arena, ret_row, err);
}

enum rc dead_letters_count(struct db *db, const struct dead_filter *filter, int64_t *ret_count,
                           struct err *err)
{
    return query_int(db, &sql_count, P_LIST(P_DEAD(filter)), ret_count, err);
}

enum rc dead_letters_pick(struct db *db, const struct dead_filter *filter, int64_t limit,
                          struct arena *arena, struct id **ret_ids, size_t *ret_count,
                          struct err *err)
{
    return query_all(db, &sql_pick, P_LIST(P_DEAD(filter), P_LIMIT(limit)), &id_shape, arena,
                     ret_ids, ret_count, err);
}

enum rc dead_letters_pick_oldest(struct db *db, const struct dead_filter *filter, int64_t limit,
                                 struct arena *arena, struct id **ret_ids, size_t *ret_count,
                                 struct err *err)
{
    return query_all(db, &sql_pick_oldest, P_LIST(P_DEAD(filter), P_LIMIT(limit)), &id_shape, arena,
                     ret_ids, ret_count, err);
}

enum rc dead_letters_analyse(struct db *db, const struct dead_filter *filter, int64_t limit,
                             struct arena *arena, struct dead_group **ret_groups, size_t *ret_count,
                             struct err *err)
{
    return query_all(db, &sql_analyse, P_LIST(P_DEAD(filter), P_LIMIT(limit)), &group_shape, arena,
                     ret_groups, ret_count, err);
}

enum rc dead_letters_queues(struct db *db, struct arena *arena, const char ***ret_names,
                            size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_queues, NULL, 0, &name_shape, arena, ret_names, ret_count, err);
}

enum rc dead_letters_archive(struct db *db, const struct id *id, int64_t now_us, struct err *err)
{
    return exec_one(db, &sql_archive, P_LIST(P_ID(id), P_INT(now_us)), dead_shape.noun, err);
}

enum rc dead_letters_delete(struct db *db, const struct id *id, struct err *err)
{
    enum rc rc = db_exec(db, &sql_delete_attempts, P_LIST(P_ID(id)), NULL, err);
    return rc == RC_OK ? exec_one(db, &sql_delete, P_LIST(P_ID(id)), dead_shape.noun, err) : rc;
}

enum rc dead_letters_set_payload(struct db *db, const struct job_row *row, struct err *err)
{
    return exec_one(db, &sql_set_payload,
                    P_LIST(P_INT(row->seq), P_ID(&row->id), P_JSON(row->payload)), dead_shape.noun,
                    err);
}
