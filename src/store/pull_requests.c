/*
 * pull_requests.c - at most one per run.
 */
#include "store/pull_requests.h"
#include "store/query.h"

#define PULL_REQUEST_SELECT                                                                 \
    "SELECT id, number, repository_id,"                                                     \
    " (SELECT name FROM repositories r WHERE r.id = pull_requests.repository_id), task_id," \
    " run_id, branch, target_branch, url, title, status, draft, head_commit, merge_commit," \
    " created_us, updated_us, merged_us FROM pull_requests"

static const struct sql sql_insert = {
    "pull_request_insert",
    "INSERT INTO pull_requests (id, number, repository_id, task_id, run_id, branch,"
    " target_branch, url, title, status, draft, head_commit, merge_commit, created_us,"
    " updated_us, merged_us)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)"
    " ON CONFLICT DO NOTHING",
    "tittttttttittiii",
};
static const struct sql sql_get = {
    "pull_request_get",
    PULL_REQUEST_SELECT " WHERE id = $1 {for_update}",
    "t",
};
static const struct sql sql_run_of = {
    "pull_request_run_of",
    "SELECT run_id FROM pull_requests WHERE id = $1",
    "t",
};
static const struct sql sql_of_run = {
    "pull_request_of_run",
    PULL_REQUEST_SELECT " WHERE run_id = $1 {for_update}",
    "t",
};
static const struct sql sql_open_at = {
    "pull_request_open_at",
    PULL_REQUEST_SELECT " WHERE url = $1 AND status = 'open'",
    "t",
};
static const struct sql sql_save = {
    "pull_request_save",
    "UPDATE pull_requests SET status = $2, draft = $3, merge_commit = $4, updated_us = $5,"
    " merged_us = $6 WHERE id = $1",
    "ttitii",
};

/* The leading condition chooses the index; the others apply in every form. */
#define IN_REPOSITORY "repository_id = (SELECT min(id) FROM repositories WHERE name = $1)"
#define PULL_REQUEST_LIST(name, lead, walk)                                              \
    {                                                                                    \
        {name,                                                                           \
         PULL_REQUEST_SELECT " WHERE " lead " AND ($1 IS NULL OR " IN_REPOSITORY ")"     \
                             " AND ($2 IS NULL OR status = $2) AND id < $3 AND id >= $4" \
                             " ORDER BY id DESC LIMIT $5",                               \
         "tttti"},                                                                       \
            LIST_WALK(name, "pull_requests", walk),                                      \
    }
static const struct list_sql sql_list = PULL_REQUEST_LIST("pull_request_list", "1 = 1",
                                                          LIST_WALK_ALL);
static const struct list_sql sql_list_status = PULL_REQUEST_LIST("pull_request_list_status",
                                                                 "status = $2", "status = $1");
static const struct list_sql sql_list_repository = PULL_REQUEST_LIST("pull_request_list_repository",
                                                                     IN_REPOSITORY, IN_REPOSITORY);

static enum rc pull_request_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct pull_request_row *row = to;
    row->id = read_id(reader);
    row->number = read_int(reader);
    row->repository_id = read_id(reader);
    row->repository = read_text(reader);
    row->task_id = read_id(reader);
    row->run_id = read_id(reader);
    row->branch = read_text(reader);
    row->target_branch = read_text(reader);
    row->url = read_text(reader);
    row->title = read_text(reader);
    row->status = read_text(reader);
    row->draft = read_int(reader) != 0;
    row->head_commit = read_text(reader);
    row->merge_commit = read_text(reader);
    row->created_us = read_int(reader);
    row->updated_us = read_int(reader);
    row->merged_us = read_int(reader);
    return RC_OK;
}
static const struct shape pull_request_shape = {"pull request", sizeof(struct pull_request_row),
                                                pull_request_decode};

enum rc pull_requests_insert(struct db *db, const struct pull_request_row *row, struct err *err)
{
    int64_t changed;
    enum rc rc = db_exec(db, &sql_insert,
                         P_LIST(P_ID(&row->id), P_INT(row->number), P_ID(&row->repository_id),
                                P_ID(&row->task_id), P_ID(&row->run_id), P_TEXT(row->branch),
                                P_TEXT(row->target_branch), P_TEXT(row->url), P_TEXT(row->title),
                                P_TEXT(row->status), P_INT(row->draft), P_TEXT(row->head_commit),
                                P_TEXT(row->merge_commit), P_INT(row->created_us),
                                P_INT(row->updated_us), P_INT(row->merged_us)),
                         &changed, err);
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
    return exec_one(db, &sql_save,
                    P_LIST(P_ID(&row->id), P_TEXT(row->status), P_INT(row->draft),
                           P_TEXT(row->merge_commit), P_INT(row->updated_us),
                           P_INT(row->merged_us)),
                    pull_request_shape.noun, err);
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
