/*
 * tasks.c - tasks, their dependencies and their idempotency keys.
 */
#include "store/tasks.h"
#include "store/query.h"

#define TASK_SELECT                                                                     \
    "SELECT id, workspace_id, repository_id,"                                           \
    " (SELECT name FROM repositories r WHERE r.id = tasks.repository_id), description," \
    " issue_number, task_type, risk, mode, target_branch, scope, priority, max_turns,"  \
    " max_budget_microusd, labels, channel, depends_on, config, requested_by, status,"  \
    " error_code, error_message, latest_run_id, run_count, last_event_id, created_us,"  \
    " updated_us, ended_us, attachments, overrides FROM tasks"

static const struct sql sql_insert = {
    "task_insert",
    "INSERT INTO tasks (id, workspace_id, repository_id, description, issue_number, task_type,"
    " risk, mode, target_branch, scope, priority, max_turns, max_budget_microusd, labels,"
    " channel, depends_on, config, requested_by, status, error_code, error_message,"
    " latest_run_id, run_count, last_event_id, created_us, updated_us, ended_us, attachments,"
    " overrides)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,"
    " $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29)",
    "ttttittttjiiijjjjtttttitiiijj",
};
static const struct sql sql_insert_dependency = {
    "task_insert_dependency",
    "INSERT INTO task_dependencies (task_id, depends_on_id) VALUES ($1, $2)"
    " ON CONFLICT (task_id, depends_on_id) DO NOTHING",
    "tt",
};
static const struct sql sql_get = {
    "task_get",
    TASK_SELECT " WHERE id = $1 {for_update}",
    "t",
};
static const struct sql sql_latest_run = {
    "task_latest_run",
    "SELECT latest_run_id FROM tasks WHERE id = $1",
    "t",
};
static const struct sql sql_save = {
    "task_save",
    "UPDATE tasks SET status = $2, error_code = $3, error_message = $4, latest_run_id = $5,"
    " run_count = $6, last_event_id = $7, updated_us = $8, ended_us = $9 WHERE id = $1",
    "tttttitii",
};

/* The leading condition chooses the index; the others apply in every form. */
#define IN_REPOSITORY "repository_id = (SELECT min(id) FROM repositories WHERE name = $1)"
#define TASK_LIST(name, lead, walk)                                          \
    {                                                                        \
        {name,                                                               \
         TASK_SELECT " WHERE " lead " AND ($1 IS NULL OR " IN_REPOSITORY ")" \
                     " AND ($2 IS NULL OR status = $2)"                      \
                     " AND ($3 IS NULL OR requested_by = $3)"                \
                     " AND id < $4 AND id >= $5 ORDER BY id DESC LIMIT $6",  \
         "ttttti"},                                                          \
            LIST_WALK(name, "tasks", walk),                                  \
    }
static const struct list_sql sql_list = TASK_LIST("task_list", "1 = 1", LIST_WALK_ALL);
static const struct list_sql sql_list_repository = TASK_LIST("task_list_repository", IN_REPOSITORY,
                                                             IN_REPOSITORY);
static const struct list_sql sql_list_requested = TASK_LIST(
    "task_list_requested", "requested_by = $3", "requested_by = $1");
static const struct list_sql sql_list_status = TASK_LIST("task_list_status", "status = $2",
                                                         "status = $1");

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

static enum rc task_decode(struct row_reader *reader, void *to, struct err *err)
{
    struct task_row *row = to;
    row->id = read_id(reader);
    row->workspace_id = read_id(reader);
    row->repository_id = read_id(reader);
    row->repository = read_text(reader);
    row->description = read_text(reader);
    row->issue_number = read_int(reader);
    row->task_type = read_text(reader);
    if (!risk_parse(read_word(reader), &row->risk) || !mode_parse(read_word(reader), &row->mode))
        return row_corrupt("task", err);
    row->target_branch = read_text(reader);
    row->scope = read_bytes(reader);
    row->priority = read_int(reader);
    row->max_turns = read_int(reader);
    row->max_budget_microusd = read_int(reader);
    row->labels = read_bytes(reader);
    row->channel = read_bytes(reader);
    row->depends_on = read_bytes(reader);
    row->config = read_bytes(reader);
    row->requested_by = read_text(reader);
    if (!task_status_parse(read_word(reader), &row->status))
        return row_corrupt("task", err);
    row->error_code = read_text(reader);
    row->error_message = read_text(reader);
    row->latest_run_id = read_id(reader);
    row->run_count = read_int(reader);
    row->last_event_id = read_id(reader);
    row->created_us = read_int(reader);
    row->updated_us = read_int(reader);
    row->ended_us = read_int(reader);
    row->attachments = read_bytes(reader);
    row->overrides = read_bytes(reader);
    return RC_OK;
}
static const struct shape task_shape = {"task", sizeof(struct task_row), task_decode};

static const struct sql sql_set_config = {
    .name = "task_set_config",
    .text = "UPDATE tasks SET config = $2 WHERE id = $1",
    .types = "tj",
};

enum rc tasks_insert(struct db *db, const struct task_row *row, const struct id *depends_on,
                     size_t depends_count, struct err *err)
{
    enum rc rc = db_exec(
        db, &sql_insert,
        P_LIST(P_ID(&row->id), P_ID(&row->workspace_id), P_ID(&row->repository_id),
               P_TEXT(row->description), P_INT(row->issue_number), P_TEXT(row->task_type),
               P_TEXT(risk_name(row->risk)), P_TEXT(mode_name(row->mode)),
               P_TEXT(row->target_branch), P_JSON(row->scope), P_INT(row->priority),
               P_INT(row->max_turns), P_INT(row->max_budget_microusd), P_JSON(row->labels),
               P_JSON(row->channel), P_JSON(row->depends_on), P_JSON(row->config),
               P_TEXT(row->requested_by), P_TEXT(task_status_name(row->status)),
               P_TEXT(row->error_code), P_TEXT(row->error_message), P_ID(&row->latest_run_id),
               P_INT(row->run_count), P_ID(&row->last_event_id), P_INT(row->created_us),
               P_INT(row->updated_us), P_INT(row->ended_us), P_JSON(row->attachments),
               P_JSON(row->overrides)),
        NULL, err);
    for (size_t i = 0; rc == RC_OK && i < depends_count; i++)
        rc = db_exec(db, &sql_insert_dependency, P_LIST(P_ID(&row->id), P_ID(&depends_on[i])), NULL,
                     err);
    return rc;
}

enum rc tasks_read_ahead(struct db *db, const struct id *id, struct err *err)
{
    return db_read_ahead(db, &sql_get, id, err);
}

enum rc tasks_latest_run_read_ahead(struct db *db, const struct id *id, struct err *err)
{
    return db_read_ahead(db, &sql_latest_run, id, err);
}

enum rc tasks_latest_run(struct db *db, const struct id *id, struct id *ret_run_id, struct err *err)
{
    CLEANUP(rows_end) struct rows rows = {0};
    enum rc rc = db_query(db, &sql_latest_run, P_LIST(P_ID(id)), &rows, err);
    if (rc == RC_OK)
        rc = rows_next(&rows, err);
    if (rc == RC_OK)
        *ret_run_id = row_id(&rows, 0);
    return rc;
}

enum rc tasks_get(struct db *db, const struct id *id, struct arena *arena, struct task_row *ret_row,
                  struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_ID(id)), &task_shape, arena, ret_row, err);
}

enum rc tasks_save(struct db *db, const struct task_row *row, struct err *err)
{
    return exec_one(db, &sql_save,
                    P_LIST(P_ID(&row->id), P_TEXT(task_status_name(row->status)),
                           P_TEXT(row->error_code), P_TEXT(row->error_message),
                           P_ID(&row->latest_run_id), P_INT(row->run_count),
                           P_ID(&row->last_event_id), P_INT(row->updated_us), P_INT(row->ended_us)),
                    task_shape.noun, err);
}

enum rc tasks_set_config(struct db *db, const struct task_row *row, struct err *err)
{
    return exec_one(db, &sql_set_config, P_LIST(P_ID(&row->id), P_JSON(row->config)),
                    task_shape.noun, err);
}

enum rc tasks_list(struct db *db, const struct task_filter *filter, struct arena *arena,
                   struct task_row **ret_rows, size_t *ret_count, struct err *err)
{
    const char *status = filter->status < 0 ? NULL
                                            : task_status_name((enum task_status)filter->status);
    struct param params[] = {P_TEXT(filter->repository),
                             P_TEXT(status),
                             P_TEXT(filter->requested_by),
                             P_TEXT(cursor_or_end(&filter->before)),
                             P_TEXT(NULL),
                             P_LIMIT(filter->limit)};
    int conditions = (filter->repository != NULL) + (status != NULL) +
                     (filter->requested_by != NULL);
    struct list_ask ask = {&sql_list, params, COUNT_OF(params), NULL, filter->scan, conditions > 1};
    if (filter->repository != NULL) {
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
static const struct shape idempotency_shape = {"idempotency key", sizeof(struct idempotency_row),
                                               idempotency_decode};

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
