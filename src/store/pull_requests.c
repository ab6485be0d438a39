/*
 * pull_requests.c - at most one per run.
 */
#include "store/pull_requests.h"
#include "store/query.h"
#include "store/shapes.h"

enum { PULL_REQUEST_STATE = COLUMN_GROUP(0) }; /* pull_requests_save */
#define REPOSITORY_NAME "(SELECT name FROM repositories r WHERE r.id = pull_requests.repository_id)"
#define SHEPHERD_STATE_OF \
    "(SELECT state FROM shepherds s WHERE s.pull_request_id = pull_requests.id)"
static const struct column pull_request_columns[] = {
    COLUMN(struct pull_request_row, id, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct pull_request_row, number, COLUMN_NEW),
    COLUMN(struct pull_request_row, repository_id, COLUMN_NEW),
    COLUMN_AS(struct pull_request_row, repository, REPOSITORY_NAME, COLUMN_COMPUTED),
    COLUMN(struct pull_request_row, task_id, COLUMN_NEW),
    COLUMN(struct pull_request_row, run_id, COLUMN_NEW),
    COLUMN(struct pull_request_row, branch, COLUMN_NEW),
    COLUMN(struct pull_request_row, target_branch, COLUMN_NEW),
    COLUMN(struct pull_request_row, url, COLUMN_NEW),
    COLUMN(struct pull_request_row, title, COLUMN_NEW),
    COLUMN(struct pull_request_row, status, COLUMN_NEW | PULL_REQUEST_STATE),
    COLUMN_AS(struct pull_request_row, shepherd_state, SHEPHERD_STATE_OF, COLUMN_COMPUTED),
    COLUMN(struct pull_request_row, draft, COLUMN_NEW | PULL_REQUEST_STATE),
    COLUMN(struct pull_request_row, head_commit, COLUMN_NEW | PULL_REQUEST_STATE),
    COLUMN(struct pull_request_row, merge_commit, COLUMN_NEW | PULL_REQUEST_STATE),
    COLUMN(struct pull_request_row, created_us, COLUMN_NEW),
    COLUMN(struct pull_request_row, updated_us, COLUMN_NEW | PULL_REQUEST_STATE),
    COLUMN(struct pull_request_row, merged_us, COLUMN_NEW | PULL_REQUEST_STATE),
};
const struct shape pull_request_shape = SHAPE("pull request", struct pull_request_row,
                                              pull_request_columns);

static const struct row_sql sql_insert = {
    "pull_request_insert",
    "INSERT INTO pull_requests {values} ON CONFLICT DO NOTHING",
    &pull_request_shape,
    COLUMN_NEW,
};
static const struct sql sql_get = {
    "pull_request_get",
    "SELECT {columns} FROM pull_requests WHERE id = $1 {for_update}",
    "t",
};
static const struct sql sql_run_of = {
    "pull_request_run_of",
    "SELECT run_id FROM pull_requests WHERE id = $1",
    "t",
};
static const struct sql sql_of_run = {
    "pull_request_of_run",
    "SELECT {columns} FROM pull_requests WHERE run_id = $1 {for_update}",
    "t",
};
static const struct sql sql_open_at = {
    "pull_request_open_at",
    "SELECT {columns} FROM pull_requests WHERE url = $1 AND status = 'open'",
    "t",
};
static const struct row_sql sql_save = {
    "pull_request_save",
    "UPDATE pull_requests SET {set} WHERE {key}",
    &pull_request_shape,
    COLUMN_KEY | PULL_REQUEST_STATE,
};

/* The leading condition chooses the index; the others apply in every form. */
#define IN_REPOSITORY "repository_id = (SELECT min(id) FROM repositories WHERE name = $1)"
#define PULL_REQUEST_LIST(name, lead, walk)                                                     \
    {                                                                                           \
        {name,                                                                                  \
         "SELECT {columns} FROM pull_requests WHERE " lead " AND ($1 IS NULL OR " IN_REPOSITORY \
         ")"                                                                                    \
         " AND ($2 IS NULL OR status = $2) AND id < $3 AND id >= $4"                            \
         " ORDER BY id DESC LIMIT $5",                                                          \
         "tttti"},                                                                              \
            LIST_WALK(name, "pull_requests", walk),                                             \
    }
static const struct list_sql sql_list = PULL_REQUEST_LIST("pull_request_list", "1 = 1",
                                                          LIST_WALK_ALL);
static const struct list_sql sql_list_status = PULL_REQUEST_LIST("pull_request_list_status",
                                                                 "status = $2", "status = $1");
static const struct list_sql sql_list_repository = PULL_REQUEST_LIST("pull_request_list_repository",
                                                                     IN_REPOSITORY, IN_REPOSITORY);

enum rc pull_requests_insert(struct db *db, const struct pull_request_row *row, struct err *err)
{
    int64_t changed;
    enum rc rc = row_exec(db, &sql_insert, row, &changed, err);
    if (rc == RC_OK && changed == 0)
        return err_set(err, RC_CONFLICT, "PULL_REQUEST_EXISTS",
                       "the run has a pull request already, or another run has this one");
    return rc;
}

enum rc pull_requests_get(struct db *db, const struct id *id, struct arena *arena,
                          struct pull_request_row *ret_row, struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_ID(id)), &pull_request_shape, arena, ret_row, err);
}

enum rc pull_requests_run_of(struct db *db, const struct id *id, struct id *ret_run_id,
                             struct err *err)
{
    return query_id(db, &sql_run_of, P_LIST(P_ID(id)), ret_run_id, err);
}

enum rc pull_requests_of_run(struct db *db, const struct id *run_id, struct arena *arena,
                             struct pull_request_row *ret_row, struct err *err)
{
    return query_one(db, &sql_of_run, P_LIST(P_ID(run_id)), &pull_request_shape, arena, ret_row,
                     err);
}

enum rc pull_requests_open_at(struct db *db, const char *url, struct arena *arena,
                              struct pull_request_row *ret_row, struct err *err)
{
    return query_one(db, &sql_open_at, P_LIST(P_TEXT(url)), &pull_request_shape, arena, ret_row,
                     err);
}

enum rc pull_requests_save(struct db *db, const struct pull_request_row *row, struct err *err)
{
    return row_exec_one(db, &sql_save, row, err);
}

static const struct list_sql *list_fields(const struct pull_request_filter *filter)
{
    if (filter->repository != NULL)
        return &sql_list_repository;
    return filter->status != NULL ? &sql_list_status : &sql_list;
}

enum rc pull_requests_list(struct db *db, const struct pull_request_filter *filter,
                           struct arena *arena, struct pull_request_row **ret_rows,
                           size_t *ret_count, struct err *err)
{
    struct param params[] = {P_TEXT(filter->repository), P_TEXT(filter->status),
                             P_TEXT(cursor_or_end(&filter->before)), P_TEXT(NULL),
                             P_LIMIT(filter->limit)};
    bool of_repository = filter->repository != NULL;
    struct list_ask ask = {list_fields(filter), params,
                           COUNT_OF(params),    of_repository ? filter->repository : filter->status,
                           filter->scan,        of_repository && filter->status != NULL};
    return query_list(db, &ask, &pull_request_shape, arena, ret_rows, ret_count, err);
}

/* ---- what something at the forge is about ---- */

static const struct sql sql_numbered = {
    "pull_request_numbered",
    "SELECT id FROM pull_requests WHERE repository_id = $1 AND number = $2"
    " ORDER BY id DESC LIMIT $3",
    "tii",
};
static const struct sql sql_at_head = {
    "pull_request_at_head",
    "SELECT id FROM pull_requests WHERE repository_id = $1 AND status = 'open'"
    " AND head_commit = $2 LIMIT $3",
    "tti",
};
static const struct sql sql_of_branch = {
    "pull_request_of_branch",
    "SELECT id FROM pull_requests WHERE repository_id = $1 AND status = 'open'"
    " AND (branch = $2 OR target_branch = $2) LIMIT $3",
    "tti",
};

static enum rc decode_id(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    *(struct id *)to = read_id(reader);
    return RC_OK;
}
static const struct shape id_shape = SHAPE_OF_RESULT("pull request", struct id, decode_id);

enum rc pull_requests_numbered(struct db *db, const struct id *repository_id, int64_t number,
                               struct arena *arena, struct pull_request_ids *ret_ids,
                               struct err *err)
{
    return query_all(db, &sql_numbered,
                     P_LIST(P_ID(repository_id), P_INT(number), P_LIMIT(PULL_REQUESTS_FOUND_MAX)),
                     &id_shape, arena, &ret_ids->ids, &ret_ids->count, err);
}

enum rc pull_requests_at_head(struct db *db, const struct id *repository_id, const char *commit,
                              struct arena *arena, struct pull_request_ids *ret_ids,
                              struct err *err)
{
    return query_all(db, &sql_at_head,
                     P_LIST(P_ID(repository_id), P_TEXT(commit), P_LIMIT(PULL_REQUESTS_FOUND_MAX)),
                     &id_shape, arena, &ret_ids->ids, &ret_ids->count, err);
}

enum rc pull_requests_of_branch(struct db *db, const struct id *repository_id, const char *branch,
                                struct arena *arena, struct pull_request_ids *ret_ids,
                                struct err *err)
{
    return query_all(db, &sql_of_branch,
                     P_LIST(P_ID(repository_id), P_TEXT(branch), P_LIMIT(PULL_REQUESTS_FOUND_MAX)),
                     &id_shape, arena, &ret_ids->ids, &ret_ids->count, err);
}
