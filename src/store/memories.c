/*
 * memories.c - see memories.h.
 */
#include "store/memories.h"
#include "store/query.h"

#define MEMORY_SELECT                                                                          \
    "SELECT id, workspace_id, repository_id,"                                                  \
    " (SELECT name FROM repositories r WHERE r.id = memories.repository_id), task_id, run_id," \
    " outcome, error_code, summary, paths, pull_request, head_commit, turns, cost_microusd,"   \
    " created_us FROM memories"

static const struct sql sql_insert = {
    "memory_insert",
    "INSERT INTO memories (id, workspace_id, repository_id, task_id, run_id, outcome, error_code,"
    " summary, paths, pull_request, head_commit, turns, cost_microusd, created_us)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
    "ttttttttjttiii",
};
static const struct sql sql_get = {
    "memory_get",
    MEMORY_SELECT " WHERE id = $1",
    "t",
};
static const struct sql sql_remove = {
    "memory_remove",
    "DELETE FROM memories WHERE id = $1",
    "t",
};
static const struct sql sql_list = {
    "memory_list",
    MEMORY_SELECT " WHERE id < $1 ORDER BY id DESC LIMIT $2",
    "ti",
};
static const struct sql sql_list_repository = {
    "memory_list_repository",
    MEMORY_SELECT " WHERE repository_id = (SELECT min(id) FROM repositories WHERE name = $1)"
                  " AND id < $2 ORDER BY id DESC LIMIT $3",
    "tti",
};
static const struct sql sql_of_repository = {
    "memory_of_repository",
    MEMORY_SELECT " WHERE repository_id = $1 ORDER BY id DESC LIMIT $2",
    "ti",
};

static enum rc memory_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct memory_row *row = to;
    row->id = read_id(reader);
    row->workspace_id = read_id(reader);
    row->repository_id = read_id(reader);
    row->repository = read_text(reader);
    row->task_id = read_id(reader);
    row->run_id = read_id(reader);
    row->outcome = read_text(reader);
    row->error_code = read_text(reader);
    row->summary = read_text(reader);
    row->paths = read_bytes(reader);
    row->pull_request = read_text(reader);
    row->head_commit = read_text(reader);
    row->turns = read_int(reader);
    row->cost_microusd = read_int(reader);
    row->created_us = read_int(reader);
    return RC_OK;
}
static const struct shape memory_shape = {"memory", sizeof(struct memory_row), memory_decode};

enum rc memories_insert(struct db *db, const struct memory_row *row, struct err *err)
{
    return db_exec(db, &sql_insert,
                   P_LIST(P_ID(&row->id), P_ID(&row->workspace_id), P_ID(&row->repository_id),
                          P_ID(&row->task_id), P_ID(&row->run_id), P_TEXT(row->outcome),
                          P_TEXT(row->error_code), P_TEXT(row->summary), P_JSON(row->paths),
                          P_TEXT(row->pull_request), P_TEXT(row->head_commit), P_INT(row->turns),
                          P_INT(row->cost_microusd), P_INT(row->created_us)),
                   NULL, err);
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
