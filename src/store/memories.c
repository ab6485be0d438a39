#include "store/memories.h"
#include "store/query.h"
#include "store/shapes.h"

#define REPOSITORY_NAME "(SELECT name FROM repositories r WHERE r.id = memories.repository_id)"
static const struct column memory_columns[] = {
    COLUMN(struct memory_row, id, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct memory_row, workspace_id, COLUMN_NEW),
    COLUMN(struct memory_row, repository_id, COLUMN_NEW),
    COLUMN_AS(struct memory_row, repository, REPOSITORY_NAME, COLUMN_COMPUTED),
    COLUMN(struct memory_row, task_id, COLUMN_NEW),
    COLUMN(struct memory_row, run_id, COLUMN_NEW),
    COLUMN(struct memory_row, outcome, COLUMN_NEW),
    COLUMN(struct memory_row, error_code, COLUMN_NEW),
    COLUMN(struct memory_row, summary, COLUMN_NEW),
    COLUMN(struct memory_row, paths, COLUMN_NEW),
    COLUMN(struct memory_row, pull_request, COLUMN_NEW),
    COLUMN(struct memory_row, head_commit, COLUMN_NEW),
    COLUMN(struct memory_row, turns, COLUMN_NEW),
    COLUMN(struct memory_row, cost_microusd, COLUMN_NEW),
    COLUMN(struct memory_row, created_us, COLUMN_NEW),
};
const struct shape memory_shape = SHAPE("memory", struct memory_row, memory_columns);

static const struct row_sql sql_insert = {
    "memory_insert",
    "INSERT INTO memories {values}",
    &memory_shape,
    COLUMN_NEW,
};
static const struct sql sql_get = {
    "memory_get",
    "SELECT {columns} FROM memories WHERE id = $1",
    "t",
};
static const struct sql sql_remove = {
    "memory_remove",
    "DELETE FROM memories WHERE id = $1",
    "t",
};
static const struct sql sql_list = {
    "memory_list",
    "SELECT {columns} FROM memories WHERE id < $1 ORDER BY id DESC LIMIT $2",
    "ti",
};
static const struct sql sql_list_repository = {
    "memory_list_repository",
    "SELECT {columns} FROM memories WHERE repository_id = (SELECT min(id) FROM repositories WHERE "
    "name = $1)"
    " AND id < $2 ORDER BY id DESC LIMIT $3",
    "tti",
};
static const struct sql sql_of_repository = {
    "memory_of_repository",
    "SELECT {columns} FROM memories WHERE repository_id = $1 ORDER BY id DESC LIMIT $2",
    "ti",
};

enum rc memories_insert(struct db *db, const struct memory_row *row, struct err *err)
{
    return row_exec(db, &sql_insert, row, NULL, err);
}

enum rc memories_get(struct db *db, const struct id *id, struct arena *arena,
                     struct memory_row *ret_row, struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_ID(id)), &memory_shape, arena, ret_row, err);
}

enum rc memories_remove(struct db *db, const struct id *id, struct err *err)
{
    return exec_one(db, &sql_remove, P_LIST(P_ID(id)), memory_shape.noun, err);
}

enum rc memories_list(struct db *db, const struct memory_filter *filter, struct arena *arena,
                      struct memory_row **ret_rows, size_t *ret_count, struct err *err)
{
    const char *before = cursor_or_end(&filter->before);
    if (filter->repository == NULL)
        return query_all(db, &sql_list, P_LIST(P_TEXT(before), P_LIMIT(filter->limit)),
                         &memory_shape, arena, ret_rows, ret_count, err);
    return query_all(db, &sql_list_repository,
                     P_LIST(P_TEXT(filter->repository), P_TEXT(before), P_LIMIT(filter->limit)),
                     &memory_shape, arena, ret_rows, ret_count, err);
}

enum rc memories_of_repository(struct db *db, const struct id *repository_id, int64_t limit,
                               struct arena *arena, struct memory_row **ret_rows, size_t *ret_count,
                               struct err *err)
{
    return query_all(db, &sql_of_repository, P_LIST(P_ID(repository_id), P_LIMIT(limit)),
                     &memory_shape, arena, ret_rows, ret_count, err);
}
