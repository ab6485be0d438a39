#include "store/job_marks.h"
#include "store/query.h"
#include "store/shapes.h"

static const struct sql sql_add = {
    "job_mark_add",
    "INSERT INTO job_marks (queue, repository, label, rank, job_id) VALUES ($1, $2, $3, $4, $5)"
    " ON CONFLICT (queue, repository, label, rank, job_id) DO NOTHING",
    "tttit",
};
static const struct sql sql_drop = {
    "job_mark_drop",
    "DELETE FROM job_marks WHERE job_id = $1",
    "t",
};

/* The marks lead, in the order of their index: CROSS JOIN keeps SQLite to that. */
#define MARKED(cell)                                                                     \
    "SELECT {columns} FROM (SELECT job_id AS mark_job, rank AS mark_rank FROM job_marks" \
    " WHERE queue = $1 AND " cell ") AS marks CROSS JOIN jobs"                           \
    " WHERE id = mark_job AND state = 'queued' AND (expires_us = 0 OR expires_us >= $2)" \
    " ORDER BY mark_rank, mark_job LIMIT $3 {skip_locked}"
static const struct sql sql_of_repository = {
    "job_marked_repository",
    MARKED("repository = $4 AND label = $5"),
    "tiitt",
};
static const struct sql sql_of_any = {
    "job_marked",
    MARKED("label = ''"),
    "tii",
};
static const struct sql sql_of_label = {
    "job_marked_label",
    MARKED("label = $4 AND label <> ''"),
    "tiit",
};

static const struct sql sql_any = {
    "job_any_queued",
    "SELECT count(*) FROM (SELECT seq FROM jobs WHERE queue = $1 AND state = 'queued' LIMIT 1)"
    " AS one",
    "t",
};

static enum rc add_one(struct db *db, const struct job_row *job, const char *repository,
                       const char *label, struct err *err)
{
    return db_exec(db, &sql_add,
                   P_LIST(P_TEXT(job->queue), P_TEXT(repository), P_TEXT(label), P_INT(job->rank),
                          P_ID(&job->id)),
                   NULL, err);
}

enum rc job_marks_add(struct db *db, const struct job_row *job, const struct job_about *about,
                      struct err *err)
{
    enum rc rc = add_one(db, job, about->repository, "", err);
    for (size_t i = 0; rc == RC_OK && about->labels != NULL && about->labels[i] != NULL; i++)
        rc = add_one(db, job, about->repository, about->labels[i], err);
    return rc;
}

enum rc job_marks_drop(struct db *db, const struct id *job_id, struct err *err)
{
    return db_exec(db, &sql_drop, P_LIST(P_ID(job_id)), NULL, err);
}

enum rc job_marks_claimable(struct db *db, const struct marked_ask *ask, struct arena *arena,
                            struct job_row **ret_rows, size_t *ret_count, struct err *err)
{
    const struct job_cell *cell = &ask->cell;
    const char *label = cell->label != NULL ? cell->label : "";
    if (cell->repository != NULL)
        return query_all(db, &sql_of_repository,
                         P_LIST(P_TEXT(ask->queue), P_INT(ask->now_us), P_LIMIT(ask->limit),
                                P_TEXT(cell->repository), P_TEXT(label)),
                         &job_shape, arena, ret_rows, ret_count, err);
    if (cell->label != NULL)
        return query_all(
            db, &sql_of_label,
            P_LIST(P_TEXT(ask->queue), P_INT(ask->now_us), P_LIMIT(ask->limit), P_TEXT(label)),
            &job_shape, arena, ret_rows, ret_count, err);
    return query_all(db, &sql_of_any,
                     P_LIST(P_TEXT(ask->queue), P_INT(ask->now_us), P_LIMIT(ask->limit)),
                     &job_shape, arena, ret_rows, ret_count, err);
}

enum rc jobs_any_queued(struct db *db, const char *queue, bool *ret_any, struct err *err)
{
    int64_t count;
    enum rc rc = query_int(db, &sql_any, P_LIST(P_TEXT(queue)), &count, err);
    if (rc == RC_OK)
        *ret_any = count > 0;
    return rc;
}
