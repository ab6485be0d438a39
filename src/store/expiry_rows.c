#include "store/expiry_rows.h"
#include "store/artifact_uses.h"
#include "store/query.h"
#include "store/timers.h"

#define JOB_GOES                                                                          \
    "run_id IS NULL AND saga_id IS NULL AND (state = 'succeeded' OR state = 'cancelled')" \
    " AND updated_us < $2"
static const struct sql sql_jobs = {
    "expiry_job_page",
    "SELECT id, seq, created_us, CASE WHEN " JOB_GOES " THEN 1 ELSE 0 END FROM jobs"
    " WHERE seq > $1 ORDER BY seq LIMIT $3",
    "iii",
};
static const struct sql sql_delete_job = {
    "expiry_job_delete",
    "DELETE FROM jobs WHERE id = $1 AND " JOB_GOES,
    "ti",
};
static const struct sql sql_delete_attempts = {
    "expiry_job_attempts",
    "DELETE FROM job_attempts WHERE job_id = $1",
    "t",
};

static enum rc job_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct expiry_job *job = to;
    job->id = read_id(reader);
    job->seq = read_int(reader);
    job->created_us = read_int(reader);
    job->goes = read_int(reader) != 0;
    return RC_OK;
}
static const struct shape job_shape = SHAPE_OF_RESULT("job", struct expiry_job, job_decode);

enum rc expiry_jobs(struct db *db, const struct expiry_job_page *page, struct arena *arena,
                    struct expiry_job **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_jobs,
                     P_LIST(P_INT(page->after_seq), P_INT(page->before_us), P_LIMIT(page->limit)),
                     &job_shape, arena, ret_rows, ret_count, err);
}

enum rc expiry_delete_job(struct db *db, const struct id *id, int64_t before_us, int64_t *ret_count,
                          struct err *err)
{
    int64_t count = 0;
    enum rc rc = db_exec(db, &sql_delete_job, P_LIST(P_ID(id), P_INT(before_us)), &count, err);
    if (rc == RC_OK && count > 0)
        rc = db_exec(db, &sql_delete_attempts, P_LIST(P_ID(id)), NULL, err);
    if (rc == RC_OK)
        *ret_count = count;
    return rc;
}

/* ---- sagas ---- */

static const struct sql sql_sagas = {
    "expiry_saga_list",
    "SELECT id FROM sagas WHERE (status = 'completed' OR status = 'compensated')"
    " AND run_id IS NULL AND ended_us > 0 AND ended_us < $1 ORDER BY id LIMIT $2",
    "ii",
};
#define JOBS_OF_SAGA "(SELECT job_id FROM saga_steps WHERE saga_id = $1)"
static const struct sql saga_rows[] = {
    {"expiry_saga_attempts", "DELETE FROM job_attempts WHERE job_id IN " JOBS_OF_SAGA, "t"},
    {"expiry_saga_steps", "DELETE FROM saga_steps WHERE saga_id = $1", "t"},
    {"expiry_saga_delete", "DELETE FROM sagas WHERE id = $1", "t"},
};
static const struct sql sql_saga_jobs = {
    "expiry_saga_jobs",
    "DELETE FROM jobs WHERE id IN " JOBS_OF_SAGA
    " AND (state = 'succeeded' OR state = 'cancelled' OR state = 'dead_letter')",
    "t",
};

static enum rc id_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    *(struct id *)to = read_id(reader);
    return RC_OK;
}
static const struct shape id_shape = SHAPE_OF_RESULT("row", struct id, id_decode);

enum rc expiry_sagas(struct db *db, int64_t before_us, int64_t limit, struct arena *arena,
                     struct id **ret_ids, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_sagas, P_LIST(P_INT(before_us), P_LIMIT(limit)), &id_shape, arena,
                     ret_ids, ret_count, err);
}

enum rc expiry_delete_saga(struct db *db, const struct id *id, int64_t *ret_jobs, struct err *err)
{
    enum rc rc = db_exec(db, &sql_saga_jobs, P_LIST(P_ID(id)), ret_jobs, err);
    for (size_t i = 0; rc == RC_OK && i < COUNT_OF(saga_rows); i++)
        rc = db_exec(db, &saga_rows[i], P_LIST(P_ID(id)), NULL, err);
    return rc;
}

/* ---- batches ---- */

static const struct sql sql_batches = {
    "expiry_batch_list",
    "SELECT b.id FROM batches b WHERE b.ended_us > 0 AND b.ended_us < $1"
    " AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.batch_id = b.id) ORDER BY b.id LIMIT $2",
    "ii",
};
static const struct sql batch_rows[] = {
    {"expiry_batch_members", "DELETE FROM batch_members WHERE batch_id = $1", "t"},
    {"expiry_batch_delete", "DELETE FROM batches WHERE id = $1", "t"},
};

enum rc expiry_batches(struct db *db, int64_t before_us, int64_t limit, struct arena *arena,
                       struct id **ret_ids, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_batches, P_LIST(P_INT(before_us), P_LIMIT(limit)), &id_shape, arena,
                     ret_ids, ret_count, err);
}

enum rc expiry_delete_batch(struct db *db, const struct id *id, int64_t now_us, struct err *err)
{
    enum rc rc = timers_clear_subject(db, id, err);
    if (rc == RC_OK)
        rc = artifact_uses_end(db, id, now_us, err);
    for (size_t i = 0; rc == RC_OK && i < COUNT_OF(batch_rows); i++)
        rc = db_exec(db, &batch_rows[i], P_LIST(P_ID(id)), NULL, err);
    return rc;
}

/* ---- dead letters of sinks ---- */

static const struct sql sql_letters = {
    "expiry_letters",
    "DELETE FROM sink_dead_letters WHERE (sink, seq) IN (SELECT sink, seq FROM sink_dead_letters"
    " WHERE created_us < $1 AND replay = 0 ORDER BY sink, seq LIMIT $2)",
    "ii",
};
static const struct sql sql_count_letters = {
    "expiry_letter_count",
    "SELECT count(*) FROM sink_dead_letters WHERE created_us < $1 AND replay = 0",
    "i",
};

enum rc expiry_delete_letters(struct db *db, int64_t before_us, int64_t limit, int64_t *ret_count,
                              struct err *err)
{
    return db_exec(db, &sql_letters, P_LIST(P_INT(before_us), P_LIMIT(limit)), ret_count, err);
}

enum rc expiry_count_letters(struct db *db, int64_t before_us, int64_t *ret_count, struct err *err)
{
    return query_int(db, &sql_count_letters, P_LIST(P_INT(before_us)), ret_count, err);
}
