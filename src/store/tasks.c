/*
 * tasks.c - tasks, their dependencies and their idempotency keys.
 */
#include "store/tasks.h"
#include "store/artifact_uses.h"
#include "store/query.h"
#include "store/shapes.h"

WORDS(risk_words, enum risk, risk_name, risk_parse);
WORDS(mode_words, enum mode, mode_name, mode_parse);
WORDS(task_status_words, enum task_status, task_status_name, task_status_parse);

enum {
    TASK_STATE = COLUMN_GROUP(0),  /* tasks_save */
    TASK_CONFIG = COLUMN_GROUP(1), /* tasks_set_config */
};
#define REPOSITORY_NAME "(SELECT name FROM repositories r WHERE r.id = tasks.repository_id)"
static const struct column task_columns[] = {
    COLUMN(struct task_row, id, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct task_row, workspace_id, COLUMN_NEW),
    COLUMN(struct task_row, repository_id, COLUMN_NEW),
    COLUMN(struct task_row, parent_id, COLUMN_NEW),
    COLUMN_AS(struct task_row, repository, REPOSITORY_NAME, COLUMN_COMPUTED),
    COLUMN(struct task_row, description, COLUMN_NEW),
    COLUMN(struct task_row, issue_number, COLUMN_NEW),
    COLUMN(struct task_row, task_type, COLUMN_NEW),
    COLUMN_WORD(struct task_row, risk, "risk", risk_words, COLUMN_NEW),
    COLUMN_WORD(struct task_row, mode, "mode", mode_words, COLUMN_NEW),
    COLUMN(struct task_row, target_branch, COLUMN_NEW),
    COLUMN(struct task_row, scope, COLUMN_NEW),
    COLUMN(struct task_row, priority, COLUMN_NEW),
    COLUMN(struct task_row, max_turns, COLUMN_NEW),
    COLUMN(struct task_row, max_budget_microusd, COLUMN_NEW),
    COLUMN(struct task_row, max_tokens, COLUMN_NEW),
    COLUMN(struct task_row, labels, COLUMN_NEW),
    COLUMN(struct task_row, channel, COLUMN_NEW),
    COLUMN(struct task_row, depends_on, COLUMN_NEW),
    COLUMN(struct task_row, config, COLUMN_NEW | TASK_CONFIG),
    COLUMN(struct task_row, requested_by, COLUMN_NEW),
    COLUMN_WORD(struct task_row, status, "status", task_status_words, COLUMN_NEW | TASK_STATE),
    COLUMN(struct task_row, error_code, COLUMN_NEW | TASK_STATE),
    COLUMN(struct task_row, error_message, COLUMN_NEW | TASK_STATE),
    COLUMN(struct task_row, latest_run_id, COLUMN_NEW | TASK_STATE),
    COLUMN(struct task_row, run_count, COLUMN_NEW | TASK_STATE),
    COLUMN(struct task_row, last_event_id, COLUMN_NEW | TASK_STATE),
    COLUMN(struct task_row, created_us, COLUMN_NEW),
    COLUMN(struct task_row, updated_us, COLUMN_NEW | TASK_STATE),
    COLUMN(struct task_row, ended_us, COLUMN_NEW | TASK_STATE),
    COLUMN(struct task_row, attachments, COLUMN_NEW),
    COLUMN(struct task_row, overrides, COLUMN_NEW),
    COLUMN(struct task_row, best_of, COLUMN_NEW),
    COLUMN(struct task_row, chosen_id, COLUMN_NEW | TASK_STATE),
    COLUMN(struct task_row, candidate_no, COLUMN_NEW),
    COLUMN(struct task_row, candidate, COLUMN_NEW),
    COLUMN(struct task_row, pull_request_id, COLUMN_NEW),
    COLUMN(struct task_row, head_commit, COLUMN_NEW),
    COLUMN(struct task_row, merge_with, COLUMN_NEW),
    COLUMN(struct task_row, origin, COLUMN_NEW),
    COLUMN(struct task_row, persona, COLUMN_NEW),
    COLUMN(struct task_row, agent, COLUMN_NEW),
    COLUMN(struct task_row, batch_id, COLUMN_NEW),
};
const struct shape task_shape = SHAPE("task", struct task_row, task_columns);

static const struct row_sql sql_insert = {
    "task_insert",
    "INSERT INTO tasks {values}",
    &task_shape,
    COLUMN_NEW,
};
static const struct row_sql sql_save = {
    "task_save",
    "UPDATE tasks SET {set} WHERE {key}",
    &task_shape,
    COLUMN_KEY | TASK_STATE,
};
static const struct row_sql sql_set_config = {
    "task_set_config",
    "UPDATE tasks SET {set} WHERE {key}",
    &task_shape,
    COLUMN_KEY | TASK_CONFIG,
};
static const struct sql sql_insert_dependency = {
    "task_insert_dependency",
    "INSERT INTO task_dependencies (task_id, depends_on_id) VALUES ($1, $2)"
    " ON CONFLICT (task_id, depends_on_id) DO NOTHING",
    "tt",
};
static const struct sql sql_get = {
    "task_get",
    "SELECT {columns} FROM tasks WHERE id = $1 {for_update}",
    "t",
};
static const struct sql sql_runs = {
    "task_runs",
    "SELECT latest_run_id, (SELECT root_run_id FROM runs WHERE runs.id = tasks.latest_run_id)"
    " FROM tasks WHERE id = $1",
    "t",
};

/* The leading condition chooses the index; the others apply in every form. */
#define IN_REPOSITORY "repository_id = (SELECT min(id) FROM repositories WHERE name = $1)"
#define TASK_LIST(name, lead, walk)                                                         \
    {                                                                                       \
        {name,                                                                              \
         "SELECT {columns} FROM tasks WHERE " lead " AND ($1 IS NULL OR " IN_REPOSITORY ")" \
         " AND ($2 IS NULL OR status = $2)"                                                 \
         " AND ($3 IS NULL OR requested_by = $3)"                                           \
         " AND ($4 IS NULL OR parent_id = $4)"                                              \
         " AND ($5 IS NULL OR persona = $5) AND ($6 IS NULL OR agent = $6)"                 \
         " AND ($7 IS NULL OR batch_id = $7)"                                               \
         " AND id < $8 AND id >= $9 ORDER BY id DESC LIMIT $10",                            \
         "ttttttttti"},                                                                     \
            LIST_WALK(name, "tasks", walk),                                                 \
    }
static const struct list_sql sql_list = TASK_LIST("task_list", "1 = 1", LIST_WALK_ALL);
static const struct list_sql sql_list_repository = TASK_LIST("task_list_repository", IN_REPOSITORY,
                                                             IN_REPOSITORY);
static const struct list_sql sql_list_requested = TASK_LIST(
    "task_list_requested", "requested_by = $3", "requested_by = $1");
static const struct list_sql sql_list_status = TASK_LIST("task_list_status", "status = $2",
                                                         "status = $1");
static const struct list_sql sql_list_parent = TASK_LIST("task_list_parent", "parent_id = $4",
                                                         "parent_id = $1");
static const struct list_sql sql_list_batch = TASK_LIST("task_list_batch", "batch_id = $7",
                                                        "batch_id = $1");

static const struct sql sql_count_children = {
    "task_count_children",
    "SELECT count(*) FROM tasks WHERE parent_id = $1",
    "t",
};
static const struct sql sql_unfinished_children = {
    "task_unfinished_children",
    "SELECT id FROM tasks WHERE parent_id = $1 AND status NOT IN"
    " ('completed', 'failed', 'cancelled', 'timed_out') ORDER BY id LIMIT $2",
    "ti",
};

static const struct sql sql_count_since = {
    "task_count_since",
    "SELECT count(*) FROM tasks WHERE requested_by = $1 AND created_us >= $2",
    "ti",
};
static const struct sql sql_dependencies = {
    "task_dependencies",
    "SELECT coalesce(sum(CASE WHEN t.status = 'completed' THEN 0 ELSE 1 END), 0),"
    " min(CASE WHEN t.status IN ('failed', 'cancelled', 'timed_out') THEN t.id END)"
    " FROM task_dependencies d JOIN tasks t ON t.id = d.depends_on_id WHERE d.task_id = $1",
    "t",
};

static const struct sql sql_idempotency_get = {
    "idempotency_get",
    "SELECT workspace_id, key, body_sha256, task_id, run_id, expires_us FROM idempotency_keys"
    " WHERE workspace_id = $1 AND key = $2 AND expires_us > $3",
    "tti",
};
static const struct sql sql_idempotency_put = {
    "idempotency_put",
    "INSERT INTO idempotency_keys (workspace_id, key, body_sha256, task_id, run_id, expires_us)"
    " VALUES ($1, $2, $3, $4, $5, $6)"
    " ON CONFLICT (workspace_id, key) DO UPDATE SET body_sha256 = excluded.body_sha256,"
    " task_id = excluded.task_id, run_id = excluded.run_id, expires_us = excluded.expires_us"
    " WHERE idempotency_keys.expires_us <= $7",
    "tttttii",
};
static const struct sql sql_idempotency_prune = {
    "idempotency_prune",
    "DELETE FROM idempotency_keys WHERE expires_us <= $1",
    "i",
};

enum rc tasks_insert(struct db *db, const struct task_row *row, const struct id *depends_on,
                     size_t depends_count, struct err *err)
{
    enum rc rc = row_exec(db, &sql_insert, row, NULL, err);
    for (size_t i = 0; rc == RC_OK && i < depends_count; i++)
        rc = db_exec(db, &sql_insert_dependency, P_LIST(P_ID(&row->id), P_ID(&depends_on[i])), NULL,
                     err);
    if (rc == RC_OK && row->attachments.len > 0)
        rc = artifact_uses_add(db, &row->id, row->attachments, row->created_us, err);
    if (rc == RC_OK && row->origin.len > 0)
        rc = artifact_uses_add(db, &row->id, row->origin, row->created_us, err);
    return rc;
}

enum rc tasks_read_ahead(struct db *db, const struct id *id, struct err *err)
{
    return db_read_ahead(db, &sql_get, &task_shape, id, err);
}

enum rc tasks_runs_read_ahead(struct db *db, const struct id *id, struct err *err)
{
    return db_read_ahead(db, &sql_runs, NULL, id, err);
}

enum rc tasks_runs(struct db *db, const struct id *id, struct task_runs *ret_runs, struct err *err)
{
    CLEANUP(rows_end) struct rows rows = {0};
    enum rc rc = db_query(db, &sql_runs, P_LIST(P_ID(id)), &rows, err);
    if (rc == RC_OK)
        rc = rows_next(&rows, err);
    if (rc == RC_OK)
        *ret_runs = (struct task_runs){row_id(&rows, 0), row_id(&rows, 1)};
    return rc;
}

enum rc tasks_get(struct db *db, const struct id *id, struct arena *arena, struct task_row *ret_row,
                  struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_ID(id)), &task_shape, arena, ret_row, err);
}

enum rc tasks_save(struct db *db, const struct task_row *row, struct err *err)
{
    return row_exec_one(db, &sql_save, row, err);
}

bool tasks_changed(const struct task_row *now, const struct task_row *stored)
{
    return columns_changed(&task_shape, TASK_STATE, now, stored);
}

enum rc tasks_set_config(struct db *db, const struct task_row *row, struct err *err)
{
    return row_exec_one(db, &sql_set_config, row, err);
}

enum rc tasks_list(struct db *db, const struct task_filter *filter, struct arena *arena,
                   struct task_row **ret_rows, size_t *ret_count, struct err *err)
{
    const char *status = filter->status < 0 ? NULL
                                            : task_status_name((enum task_status)filter->status);
    struct param params[] = {P_TEXT(filter->repository),
                             P_TEXT(status),
                             P_TEXT(filter->requested_by),
                             P_ID(&filter->parent_id),
                             P_TEXT(filter->persona),
                             P_TEXT(filter->agent),
                             P_ID(&filter->batch_id),
                             P_TEXT(cursor_or_end(&filter->before)),
                             P_TEXT(NULL),
                             P_LIMIT(filter->limit)};
    int conditions = (filter->repository != NULL) + (status != NULL) +
                     (filter->requested_by != NULL) + !id_is_none(&filter->parent_id) +
                     !id_is_none(&filter->batch_id);
    bool addressed = filter->persona != NULL || filter->agent != NULL; /* Without an index. */
    struct list_ask ask = {&sql_list, params,       COUNT_OF(params),
                           NULL,      filter->scan, conditions > 1 || addressed};
    if (!id_is_none(&filter->parent_id)) {
        ask.sql = &sql_list_parent;
        ask.lead = filter->parent_id.text;
    } else if (!id_is_none(&filter->batch_id)) {
        ask.sql = &sql_list_batch;
        ask.lead = filter->batch_id.text;
    } else if (filter->repository != NULL) {
        ask.sql = &sql_list_repository;
        ask.lead = filter->repository;
    } else if (filter->requested_by != NULL) {
        ask.sql = &sql_list_requested;
        ask.lead = filter->requested_by;
    } else if (status != NULL) {
        ask.sql = &sql_list_status;
        ask.lead = status;
    }
    return query_list(db, &ask, &task_shape, arena, ret_rows, ret_count, err);
}

enum rc tasks_count_children(struct db *db, const struct id *parent_id, int64_t *ret_count,
                             struct err *err)
{
    return query_int(db, &sql_count_children, P_LIST(P_ID(parent_id)), ret_count, err);
}

static enum rc id_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    *(struct id *)to = read_id(reader);
    return RC_OK;
}
static const struct shape id_shape = SHAPE_OF_RESULT("task", struct id, id_decode);

enum rc tasks_unfinished_children(struct db *db, const struct id *parent_id, int64_t limit,
                                  struct arena *arena, struct id **ret_ids, size_t *ret_count,
                                  struct err *err)
{
    return query_all(db, &sql_unfinished_children, P_LIST(P_ID(parent_id), P_LIMIT(limit)),
                     &id_shape, arena, ret_ids, ret_count, err);
}

enum rc tasks_count_since(struct db *db, const char *requested_by, int64_t since_us,
                          int64_t *ret_count, struct err *err)
{
    return query_int(db, &sql_count_since, P_LIST(P_TEXT(requested_by), P_INT(since_us)), ret_count,
                     err);
}

enum rc tasks_dependencies(struct db *db, const struct id *task_id,
                           struct dependency_state *ret_state, struct err *err)
{
    CLEANUP(rows_end) struct rows rows = {0};
    enum rc rc = db_query(db, &sql_dependencies, P_LIST(P_ID(task_id)), &rows, err);
    if (rc == RC_OK)
        rc = rows_next(&rows, err);
    if (rc != RC_OK)
        return rc;
    ret_state->pending = row_int(&rows, 0);
    ret_state->broken = row_id(&rows, 1);
    return RC_OK;
}

static enum rc idempotency_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct idempotency_row *row = to;
    row->workspace_id = read_id(reader);
    row->key = read_text(reader);
    row->body_sha256 = read_text(reader);
    row->task_id = read_id(reader);
    row->run_id = read_id(reader);
    row->expires_us = read_int(reader);
    return RC_OK;
}
static const struct shape idempotency_shape = SHAPE_OF_RESULT(
    "idempotency key", struct idempotency_row, idempotency_decode);

enum rc idempotency_get(struct db *db, const struct id *workspace_id, const char *key,
                        int64_t now_us, struct arena *arena, struct idempotency_row *ret_row,
                        struct err *err)
{
    return query_one(db, &sql_idempotency_get,
                     P_LIST(P_ID(workspace_id), P_TEXT(key), P_INT(now_us)), &idempotency_shape,
                     arena, ret_row, err);
}

enum rc idempotency_put(struct db *db, const struct idempotency_row *row, int64_t now_us,
                        struct err *err)
{
    return exec_one(db, &sql_idempotency_put,
                    P_LIST(P_ID(&row->workspace_id), P_TEXT(row->key), P_TEXT(row->body_sha256),
                           P_ID(&row->task_id), P_ID(&row->run_id), P_INT(row->expires_us),
                           P_INT(now_us)),
                    "free idempotency key", err);
}

enum rc idempotency_prune(struct db *db, int64_t now_us, struct err *err)
{
    return db_exec(db, &sql_idempotency_prune, P_LIST(P_INT(now_us)), NULL, err);
}
