/*
 * jobs.c - jobs, their attempts and their ordering keys.
 *
 * Every state that waits for something has a partial index of its own, whose condition stands
 * word for word in the statement that uses it:
 *
 *   queued     jobs_queued     (queue, rank, seq)           claims
 *   scheduled  jobs_scheduled  (due_us)                     promotion
 *   leased     jobs_leased     (due_us)                     lost workers
 *   blocked    jobs_blocked    (queue, ordering_key, seq)   the next of a key
 *   the first, second, fourth with a time to live: jobs_expiry (expires_us)
 *
 * A job is alive at expires_us itself and expired after it, as core/queue/job.c has it.
 */
#include "store/jobs.h"
#include "store/query.h"
#include "store/shapes.h"
#include <assert.h>

WORDS(job_state_words, enum job_state, job_state_name, job_state_parse);

/* What is not known is none. */
static bool dead_reason_read(const char *name, enum dead_reason *ret_reason)
{
    *ret_reason = dead_reason_parse(name);
    return true;
}
WORDS(dead_reason_words, enum dead_reason, dead_reason_name, dead_reason_read);

enum {
    JOB_LIFE = COLUMN_GROUP(0),  /* jobs_save */
    JOB_BATCH = COLUMN_GROUP(1), /* jobs_grow */
};
static const struct column job_columns[] = {
    COLUMN(struct job_row, seq, COLUMN_KEY),
    COLUMN(struct job_row, id, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct job_row, queue, COLUMN_NEW),
    COLUMN(struct job_row, type, COLUMN_NEW),
    COLUMN(struct job_row, workspace_id, COLUMN_NEW),
    COLUMN(struct job_row, run_id, COLUMN_NEW),
    COLUMN(struct job_row, payload, COLUMN_NEW | JOB_BATCH | COLUMN_LARGE),
    COLUMN(struct job_row, result, JOB_LIFE | COLUMN_LARGE),
    COLUMN(struct job_row, priority, COLUMN_NEW),
    COLUMN(struct job_row, rank, COLUMN_NEW),
    COLUMN(struct job_row, ordering_key, COLUMN_NEW),
    COLUMN(struct job_row, dedup_key, COLUMN_NEW | JOB_BATCH),
    COLUMN_WORD(struct job_row, life.state, "state", job_state_words, COLUMN_NEW | JOB_LIFE),
    COLUMN_AS(struct job_row, life.epoch, "epoch", COLUMN_NEW | JOB_LIFE),
    COLUMN_AS(struct job_row, life.due_us, "due_us", COLUMN_NEW | JOB_LIFE | JOB_BATCH),
    COLUMN_AS(struct job_row, life.expires_us, "expires_us", COLUMN_NEW | JOB_LIFE),
    COLUMN_AS(struct job_row, life.attempt, "attempt", COLUMN_NEW | JOB_LIFE),
    COLUMN_AS(struct job_row, life.attempt_max, "attempt_max", COLUMN_NEW | JOB_LIFE),
    COLUMN_AS(struct job_row, life.lost, "lost", COLUMN_NEW | JOB_LIFE),
    COLUMN_WORD(struct job_row, life.dead_reason, "dead_reason", dead_reason_words,
                COLUMN_NEW | JOB_LIFE),
    COLUMN(struct job_row, worker, COLUMN_NEW | JOB_LIFE),
    COLUMN(struct job_row, leased_us, COLUMN_NEW | JOB_LIFE),
    COLUMN(struct job_row, error_code, COLUMN_NEW | JOB_LIFE),
    COLUMN(struct job_row, error_message, COLUMN_NEW | JOB_LIFE),
    COLUMN(struct job_row, created_us, COLUMN_NEW),
    COLUMN(struct job_row, updated_us, COLUMN_NEW | JOB_LIFE),
    COLUMN(struct job_row, headers, COLUMN_NEW | JOB_BATCH | COLUMN_LARGE),
    COLUMN(struct job_row, dependency, COLUMN_NEW),
    COLUMN(struct job_row, saga_id, COLUMN_NEW),
    COLUMN(struct job_row, error_pattern, JOB_LIFE),
    COLUMN(struct job_row, archived_us, JOB_LIFE),
    COLUMN_AS(struct job_row, life.owner, "lease_owner", COLUMN_NEW | JOB_LIFE),
};
const struct shape job_shape = SHAPE("job", struct job_row, job_columns);

static const struct column attempt_columns[] = {
    COLUMN(struct attempt_row, job_id, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct attempt_row, attempt, COLUMN_NEW),
    COLUMN(struct attempt_row, epoch, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct attempt_row, worker, COLUMN_NEW),
    COLUMN(struct attempt_row, started_us, COLUMN_NEW),
    COLUMN(struct attempt_row, ended_us, COLUMN_NEW),
    COLUMN(struct attempt_row, outcome, COLUMN_NEW),
    COLUMN(struct attempt_row, error_code, COLUMN_NEW),
    COLUMN(struct attempt_row, error_message, COLUMN_NEW),
};
const struct shape attempt_shape = SHAPE("attempt", struct attempt_row, attempt_columns);

static const struct row_sql sql_insert = {
    "job_insert",
    "INSERT INTO jobs {values}"
    " ON CONFLICT (queue, dedup_key) WHERE dedup_key IS NOT NULL DO NOTHING",
    &job_shape,
    COLUMN_NEW,
};
static const struct sql sql_by_dedup = {
    "job_by_dedup",
    "SELECT id, state, created_us FROM jobs WHERE queue = $1 AND dedup_key = $2 {for_update}",
    "tt",
};
static const struct sql sql_dedup_release = {
    "job_dedup_release",
    "UPDATE jobs SET dedup_key = NULL WHERE id = $1",
    "t",
};
static const struct row_sql sql_grow = {
    "job_grow",
    "UPDATE jobs SET {set} WHERE {key}",
    &job_shape,
    COLUMN_KEY | JOB_BATCH,
};
static const struct sql sql_get = {
    "job_get",
    "SELECT {columns} FROM jobs WHERE id = $1 {for_update}",
    "t",
};
static const struct sql sql_owner = {
    "job_owner",
    "SELECT jobs.run_id, runs.task_id, runs.root_run_id FROM jobs"
    " LEFT JOIN runs ON runs.id = jobs.run_id WHERE jobs.id = $1",
    "t",
};
static const struct row_sql sql_save = {
    "job_save",
    "UPDATE jobs SET {set} WHERE {key}",
    &job_shape,
    COLUMN_KEY | JOB_LIFE,
};

/* A claim is a locking read and an UPDATE by key for each row: less work than one statement with
   RETURNING, and the rows are read in order. */
static const struct sql sql_claimable = {
    "job_claimable",
    "SELECT {columns} FROM jobs WHERE state = 'queued' AND queue = $1"
    " AND (expires_us = 0 OR expires_us >= $2) ORDER BY rank, seq LIMIT $3 {skip_locked}",
    "tii",
};
static const struct sql sql_claim = {
    "job_claim",
    "UPDATE jobs SET state = 'leased', epoch = $3, worker = $4, leased_us = $5, due_us = $6,"
    " updated_us = $5, lease_owner = $7 WHERE seq = $1 AND id = $2",
    "ititiit",
};

static const struct sql sql_count_probes = {
    "job_count_probes",
    "SELECT count(*) FROM jobs WHERE state = 'leased' AND dependency = $1 AND leased_us >= $2",
    "ti",
};
static const struct sql sql_release_held = {
    "job_release_held",
    "UPDATE jobs SET due_us = $3 WHERE state = 'scheduled' AND due_us = $2 AND dependency = $1",
    "tii",
};
static const struct sql sql_move = {
    "job_move",
    "UPDATE jobs SET queue = $3, dependency = NULL, updated_us = $4 WHERE seq = $1 AND id = $2",
    "itti",
};

#define EXPIRING "expires_us > 0 AND (state = 'queued' OR state = 'scheduled' OR state = 'blocked')"
/* UNION: a scheduled job may be due and expired at once. */
static const struct sql sql_due = {
    "job_due",
    "WITH d AS MATERIALIZED ("
    " SELECT seq FROM (SELECT seq FROM jobs WHERE state = 'scheduled' AND due_us <= $1"
    "                  ORDER BY due_us LIMIT $2) AS a"
    " UNION SELECT seq FROM (SELECT seq FROM jobs WHERE state = 'leased' AND due_us <= $1"
    "                        ORDER BY due_us LIMIT $2) AS b"
    " UNION SELECT seq FROM (SELECT seq FROM jobs WHERE " EXPIRING " AND expires_us < $1"
    "                        ORDER BY expires_us LIMIT $2) AS c)"
    " SELECT {columns} FROM jobs WHERE seq IN (SELECT seq FROM d)"
    " ORDER BY due_us, seq LIMIT $2",
    "ii",
};
static const struct sql sql_next_due = {
    "job_next_due",
    "SELECT min(due_us) FROM ("
    " SELECT min(due_us) AS due_us FROM jobs WHERE state = 'scheduled'"
    " UNION ALL SELECT min(due_us) FROM jobs WHERE state = 'leased'"
    " UNION ALL SELECT min(expires_us) + 1 FROM jobs WHERE " EXPIRING ") AS d",
    "",
};
static const struct sql sql_leased_to = {
    "job_leased_to",
    "SELECT {columns} FROM jobs WHERE state = 'leased' AND lease_owner = $1"
    " ORDER BY due_us, seq",
    "t",
};
static const struct sql sql_grant = {
    "job_grant",
    "UPDATE jobs SET due_us = $1 WHERE state = 'leased' AND due_us < $1",
    "i",
};
/* Its due time becomes this one, and so does an earlier expiry. */
static const struct sql sql_put_off = {
    "job_put_off",
    "UPDATE jobs SET due_us = CASE WHEN state IN ('scheduled', 'leased') THEN $2 ELSE due_us END,"
    " expires_us = CASE WHEN expires_us > 0 AND expires_us < $2 THEN $2 ELSE expires_us END"
    " WHERE id = $1",
    "ti",
};

/* The leading condition chooses the index; the others apply in every form. */
#define JOB_LIST(name, lead, walk)                                                  \
    {                                                                               \
        {name,                                                                      \
         "SELECT {columns} FROM jobs WHERE " lead " AND ($1 IS NULL OR queue = $1)" \
         " AND ($2 IS NULL OR type = $2) AND ($3 IS NULL OR state = $3)"            \
         " AND ($4 IS NULL OR run_id = $4) AND id < $5 AND id >= $6"                \
         " ORDER BY id DESC LIMIT $7",                                              \
         "tttttti"},                                                                \
            LIST_WALK(name, "jobs", walk),                                          \
    }
#define JOB_DEAD "state = 'dead_letter'"
static const struct list_sql sql_list = JOB_LIST("job_list", "1 = 1", LIST_WALK_ALL);
static const struct list_sql sql_list_run = JOB_LIST("job_list_run", "run_id = $4", "run_id = $1");
static const struct list_sql sql_list_dead = JOB_LIST("job_list_dead", JOB_DEAD,
                                                      JOB_DEAD " AND " LIST_WALK_ALL);

/* Through the partial indexes: of the table only leased jobs are read, and they are few. */
static const struct sql sql_count = {
    "job_count",
    "SELECT queue, 'queued' AS state, count(*), min(due_us) FROM jobs WHERE state = 'queued'"
    " GROUP BY queue"
    " UNION ALL SELECT queue, 'leased', count(*), 0 FROM jobs WHERE state = 'leased'"
    " GROUP BY queue"
    " UNION ALL SELECT queue, 'scheduled', count(*), 0 FROM jobs WHERE state = 'scheduled'"
    " GROUP BY queue"
    " UNION ALL SELECT queue, 'blocked', count(*), 0 FROM jobs WHERE state = 'blocked'"
    " GROUP BY queue"
    " UNION ALL SELECT queue, state, count(*), 0 FROM jobs"
    " WHERE state = 'succeeded' OR state = 'dead_letter' OR state = 'cancelled'"
    " GROUP BY queue, state"
    " ORDER BY 1",
    "",
};

static const struct row_sql sql_attempt_insert = {
    "attempt_insert",
    "INSERT INTO job_attempts {values}",
    &attempt_shape,
    COLUMN_NEW,
};
/* The attempt that succeeded stands in the job itself, which changes no more. */
static const struct sql sql_attempt_list = {
    "attempt_list",
    "SELECT {columns} FROM job_attempts WHERE job_id = $1"
    " UNION ALL SELECT id, attempt, epoch, worker, leased_us, updated_us, 'succeeded', NULL, NULL"
    " FROM jobs WHERE id = $1 AND state = 'succeeded' ORDER BY 3",
    "t",
};

static const struct sql sql_key_enter = {
    "job_key_enter",
    "INSERT INTO job_keys (queue, key, head_id) VALUES ($1, $2, $3)"
    " ON CONFLICT (queue, key) DO UPDATE SET head_id = job_keys.head_id RETURNING head_id",
    "ttt",
};
static const struct sql sql_key_next = {
    "job_key_next",
    "SELECT id FROM jobs WHERE state = 'blocked' AND queue = $1 AND ordering_key = $2"
    " ORDER BY seq LIMIT 1",
    "tt",
};
static const struct sql sql_key_lock = {
    "job_key_lock",
    "SELECT head_id FROM job_keys WHERE queue = $1 AND key = $2 {for_update}",
    "tt",
};
static const struct sql sql_key_pass_on = {
    "job_key_pass_on",
    "INSERT INTO job_keys (queue, key, head_id) VALUES ($1, $2, $3)"
    " ON CONFLICT (queue, key) DO UPDATE SET head_id = excluded.head_id",
    "ttt",
};
static const struct sql sql_key_drop = {
    "job_key_drop",
    "DELETE FROM job_keys WHERE queue = $1 AND key = $2",
    "tt",
};

enum rc jobs_insert(struct db *db, const struct job_row *row, struct err *err)
{
    int64_t inserted = 1;
    enum rc rc = row_exec(db, &sql_insert, row, row->dedup_key != NULL ? &inserted : NULL, err);
    if (rc == RC_OK && inserted == 0)
        return err_set(err, RC_CONFLICT, "DUPLICATE_JOB",
                       "queue %s has a job with the dedup key %s already", row->queue,
                       row->dedup_key);
    return rc;
}

enum rc jobs_by_dedup(struct db *db, const char *queue, const char *dedup_key,
                      struct dedup_row *ret_row, struct err *err)
{
    CLEANUP(rows_end) struct rows rows = {0};
    enum rc rc = db_query(db, &sql_by_dedup, P_LIST(P_TEXT(queue), P_TEXT(dedup_key)), &rows, err);
    if (rc == RC_OK)
        rc = rows_next(&rows, err);
    if (rc != RC_OK)
        return rc;
    struct dedup_row row = {.id = row_id(&rows, 0), .created_us = row_int(&rows, 2)};
    if (!job_state_parse(row_text(&rows, 1), &row.state))
        return row_corrupt("job", err);
    *ret_row = row;
    return RC_OK;
}

enum rc jobs_dedup_release(struct db *db, const struct id *id, struct err *err)
{
    return exec_one(db, &sql_dedup_release, P_LIST(P_ID(id)), job_shape.noun, err);
}

enum rc jobs_grow(struct db *db, const struct job_row *row, struct err *err)
{
    return row_exec_one(db, &sql_grow, row, err);
}

enum rc jobs_get(struct db *db, const struct id *id, struct arena *arena, struct job_row *ret_row,
                 struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_ID(id)), &job_shape, arena, ret_row, err);
}

enum rc jobs_read_ahead(struct db *db, const struct id *id, struct err *err)
{
    return db_read_ahead(db, &sql_get, &job_shape, id, err);
}

enum rc jobs_owner_read_ahead(struct db *db, const struct id *id, struct err *err)
{
    return db_read_ahead(db, &sql_owner, NULL, id, err);
}

enum rc jobs_owner(struct db *db, const struct id *id, struct job_owner *ret_owner, struct err *err)
{
    CLEANUP(rows_end) struct rows rows = {0};
    enum rc rc = db_query(db, &sql_owner, P_LIST(P_ID(id)), &rows, err);
    if (rc == RC_OK)
        rc = rows_next(&rows, err);
    if (rc == RC_OK)
        *ret_owner = (struct job_owner){row_id(&rows, 0), row_id(&rows, 1), row_id(&rows, 2)};
    return rc;
}

enum rc jobs_save(struct db *db, const struct job_row *row, struct err *err)
{
    return row_exec_one(db, &sql_save, row, err);
}

enum rc jobs_claimable(struct db *db, const char *queue, int64_t now_us, int64_t limit,
                       struct arena *arena, struct job_row **ret_rows, size_t *ret_count,
                       struct err *err)
{
    return query_all(db, &sql_claimable, P_LIST(P_TEXT(queue), P_INT(now_us), P_LIMIT(limit)),
                     &job_shape, arena, ret_rows, ret_count, err);
}

enum rc jobs_claim(struct db *db, const struct claim *claim, struct job_row *row, struct err *err)
{
    row->life.state = JOB_LEASED;
    row->life.epoch++;
    row->life.due_us = claim->until_us;
    row->life.owner = claim->owner;
    row->worker = claim->worker;
    row->leased_us = claim->now_us;
    row->updated_us = claim->now_us;
    return exec_one(db, &sql_claim,
                    P_LIST(P_INT(row->seq), P_ID(&row->id), P_INT(row->life.epoch),
                           P_TEXT(row->worker), P_INT(row->leased_us), P_INT(row->life.due_us),
                           P_TEXT(row->life.owner)),
                    job_shape.noun, err);
}

static struct str bytes_copy(struct str bytes, struct arena *arena)
{
    return bytes.at == NULL ? bytes
                            : (struct str){arena_strndup(arena, bytes.at, bytes.len), bytes.len};
}

struct job_row job_row_copy(const struct job_row *row, struct arena *arena)
{
    struct job_row copy = *row;
    copy.queue = arena_strdup(arena, row->queue);
    copy.type = arena_strdup(arena, row->type);
    copy.payload = bytes_copy(row->payload, arena);
    copy.result = bytes_copy(row->result, arena);
    copy.ordering_key = arena_strdup(arena, row->ordering_key);
    copy.dedup_key = arena_strdup(arena, row->dedup_key);
    copy.life.owner = arena_strdup(arena, row->life.owner);
    copy.worker = arena_strdup(arena, row->worker);
    copy.error_code = arena_strdup(arena, row->error_code);
    copy.error_message = arena_strdup(arena, row->error_message);
    copy.headers = bytes_copy(row->headers, arena);
    copy.dependency = arena_strdup(arena, row->dependency);
    copy.error_pattern = arena_strdup(arena, row->error_pattern);
    return copy;
}

enum rc jobs_count_probes(struct db *db, const char *dependency, int64_t since_us,
                          int64_t *ret_count, struct err *err)
{
    return query_int(db, &sql_count_probes, P_LIST(P_TEXT(dependency), P_INT(since_us)), ret_count,
                     err);
}

enum rc jobs_release_held(struct db *db, const char *dependency, int64_t due_us, int64_t now_us,
                          struct err *err)
{
    return db_exec(db, &sql_release_held, P_LIST(P_TEXT(dependency), P_INT(due_us), P_INT(now_us)),
                   NULL, err);
}

enum rc jobs_move(struct db *db, struct job_row *row, const char *queue, int64_t now_us,
                  struct err *err)
{
    assert(row->ordering_key == NULL && row->dedup_key == NULL);
    row->queue = queue;
    row->dependency = NULL;
    row->updated_us = now_us;
    return exec_one(db, &sql_move,
                    P_LIST(P_INT(row->seq), P_ID(&row->id), P_TEXT(queue), P_INT(now_us)),
                    job_shape.noun, err);
}

enum rc jobs_due(struct db *db, const struct due_ask *ask, struct arena *arena,
                 struct job_row **ret_rows, size_t *ret_count, struct err *err)
{
    assert(ask->proof->db == db);
    return query_all(db, &sql_due, P_LIST(P_INT(ask->now_us), P_LIMIT(ask->limit)), &job_shape,
                     arena, ret_rows, ret_count, err);
}

enum rc jobs_next_due(struct db *db, int64_t *ret_due_us, struct err *err)
{
    return query_int(db, &sql_next_due, NULL, 0, ret_due_us, err);
}

enum rc jobs_leased_to(struct db *db, const char *owner, struct arena *arena,
                       struct job_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_leased_to, P_LIST(P_TEXT(owner)), &job_shape, arena, ret_rows,
                     ret_count, err);
}

enum rc jobs_grant(struct db *db, int64_t until_us, struct err *err)
{
    return db_exec(db, &sql_grant, P_LIST(P_INT(until_us)), NULL, err);
}

enum rc jobs_put_off(struct db *db, const struct id *id, int64_t until_us, struct err *err)
{
    return exec_one(db, &sql_put_off, P_LIST(P_ID(id), P_INT(until_us)), "job", err);
}

static const struct list_sql *list_fields(const struct job_filter *filter)
{
    if (!id_is_none(&filter->run_id))
        return &sql_list_run;
    return filter->state == JOB_DEAD_LETTER ? &sql_list_dead : &sql_list;
}

/* Only two conditions have an index of their own: see list_fields. */
static bool is_filtered(const struct job_filter *filter)
{
    bool of_run = !id_is_none(&filter->run_id);
    bool by_state = filter->state >= 0 && (of_run || filter->state != JOB_DEAD_LETTER);
    return filter->queue != NULL || filter->type != NULL || by_state;
}

enum rc jobs_list(struct db *db, const struct job_filter *filter, struct arena *arena,
                  struct job_row **ret_rows, size_t *ret_count, struct err *err)
{
    const char *state = filter->state < 0 ? NULL : job_state_name((enum job_state)filter->state);
    struct param params[] = {P_TEXT(filter->queue),
                             P_TEXT(filter->type),
                             P_TEXT(state),
                             P_ID(&filter->run_id),
                             P_TEXT(cursor_or_end(&filter->before)),
                             P_TEXT(NULL),
                             P_LIMIT(filter->limit)};
    struct list_ask ask = {list_fields(filter),         params,       COUNT_OF(params),
                           id_or_null(&filter->run_id), filter->scan, is_filtered(filter)};
    return query_list(db, &ask, &job_shape, arena, ret_rows, ret_count, err);
}

enum rc attempts_insert(struct db *db, const struct attempt_row *row, struct err *err)
{
    return row_exec(db, &sql_attempt_insert, row, NULL, err);
}

enum rc attempts_list(struct db *db, const struct id *job_id, struct arena *arena,
                      struct attempt_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_attempt_list, P_LIST(P_ID(job_id)), &attempt_shape, arena, ret_rows,
                     ret_count, err);
}

enum rc job_keys_enter(struct db *db, const char *queue, const char *key, const struct id *job_id,
                       bool *ret_head, struct err *err)
{
    struct id head;
    enum rc rc = query_id(db, &sql_key_enter, P_LIST(P_TEXT(queue), P_TEXT(key), P_ID(job_id)),
                          &head, err);
    if (rc == RC_OK)
        *ret_head = id_same(&head, job_id);
    return rc;
}

enum rc job_keys_leave(struct db *db, const char *queue, const char *key, struct id *ret_next,
                       struct err *err)
{
    struct id id;
    enum rc rc = query_id(db, &sql_key_lock, P_LIST(P_TEXT(queue), P_TEXT(key)), &id, err);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    rc = query_id(db, &sql_key_next, P_LIST(P_TEXT(queue), P_TEXT(key)), &id, err);
    if (rc == RC_NOT_FOUND) {
        id = (struct id){0};
        rc = db_exec(db, &sql_key_drop, P_LIST(P_TEXT(queue), P_TEXT(key)), NULL, err);
    } else if (rc == RC_OK) {
        rc = db_exec(db, &sql_key_pass_on, P_LIST(P_TEXT(queue), P_TEXT(key), P_ID(&id)), NULL,
                     err);
    }
    if (rc == RC_OK)
        *ret_next = id;
    return rc;
}

/* Rows of one queue stand together: the last one is the only one that may be continued. */
static struct queue_counts *counts_of(struct row_list *list, const char *queue, struct arena *arena)
{
    struct queue_counts *all = list->rows;
    if (list->count > 0 && text_same(all[list->count - 1].queue, queue))
        return &all[list->count - 1];
    struct queue_counts *counts = row_list_add(list, sizeof *counts, arena);
    counts->queue = arena_strdup(arena, queue);
    return counts;
}

enum rc jobs_count(struct db *db, struct arena *arena, struct queue_counts **ret_rows,
                   size_t *ret_count, struct err *err)
{
    CLEANUP(rows_end) struct rows rows = {0};
    enum rc rc = db_query(db, &sql_count, NULL, 0, &rows, err);
    if (rc != RC_OK)
        return rc;
    struct row_list list = {0};
    while ((rc = rows_next(&rows, err)) == RC_OK) {
        enum job_state state;
        if (!job_state_parse(row_text(&rows, 1), &state))
            return row_corrupt("job", err);
        struct queue_counts *counts = counts_of(&list, row_text(&rows, 0), arena);
        counts->by_state[state] = row_int(&rows, 2);
        if (state == JOB_QUEUED)
            counts->oldest_queued_us = row_int(&rows, 3);
    }
    if (rc != RC_NOT_FOUND)
        return rc;
    *ret_rows = list.rows;
    *ret_count = list.count;
    return RC_OK;
}
