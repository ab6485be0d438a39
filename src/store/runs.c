/*
 * runs.c - runs.
 *
 * Admission reads through indexes alone: runs_queued (workspace, repository, rank, id) and
 * runs_unexplained, whose conditions stand word for word in the statements that use them, and
 * runs_status for the active ones, which are few.
 */
#include "store/runs.h"
#include "base/str.h"
#include "store/query.h"
#include <assert.h>

/* Written at every step. */
#define RUN_MAIN                                                                                \
    "id, task_id, workspace_id, repository_id, run_no, requested_by, task_type, max_turns,"     \
    " budget_microusd, events_left, event_bytes_left, status, attempt, branch, base_commit, "   \
    "prompt_sha256,"                                                                            \
    " feedback_sha256, patch_sha256, patch_id,"                                                 \
    " certificate_sha256, turns, tokens_in, tokens_out, cost_microusd, model, pull_request_id," \
    " job_id, stop, stop_by, stop_reason, stop_us, deferred_reason, used_agent, used_tool,"     \
    " used_verifier, used_pr, lost, rank, error_code, error_message, event_seq, last_event_id," \
    " queued_us, started_us, ended_us, deadline_us, updated_us, step"
/* Written when they change, which is seldom. */
#define RUN_COLUMNS                                                                        \
    RUN_MAIN                                                                               \
    ", step_results, session_id, session_begun_us, session_over, plan_sha256,"             \
    " account, paths, warning_code, warning_message, partial, foreign_pr, prompt_version," \
    " overridden, deferred_detail, held_until_us, quota_hits"
_Static_assert(BUDGET_KIND_COUNT == 4, "a new budget is a new column used_...");

/* Neither queued nor terminal: run_is_active. */
#define RUN_ACTIVE                                                                              \
    "status IN ('preparing', 'context_loading', 'planning', 'running', 'verifying', 'judging'," \
    " 'awaiting_approval', 'creating_pr')"

static const struct sql sql_insert = {
    "run_insert",
    "INSERT INTO runs (" RUN_MAIN ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11,"
    " $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29,"
    " $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, $42, $43, $44, $45, $46, $47,"
    " $48)",
    "ttttittiiiititttttttiiiittttttitiiiiiittitiiiiit",
};
static const struct sql sql_save = {
    "run_save",
    "UPDATE runs SET status = $2, attempt = $3, branch = $4, base_commit = $5,"
    " prompt_sha256 = $6, feedback_sha256 = $7, patch_sha256 = $8, patch_id = $9,"
    " certificate_sha256 = $10, turns = $11, tokens_in = $12, tokens_out = $13,"
    " cost_microusd = $14, model = $15, pull_request_id = $16, job_id = $17, stop = $18,"
    " stop_by = $19, stop_reason = $20, stop_us = $21, deferred_reason = $22, used_agent = $23,"
    " used_tool = $24, used_verifier = $25, used_pr = $26, lost = $27, rank = $28,"
    " error_code = $29, error_message = $30, event_seq = $31, last_event_id = $32,"
    " queued_us = $33, started_us = $34, ended_us = $35, deadline_us = $36, updated_us = $37,"
    " step = $38 WHERE id = $1",
    "ttitttttttiiiittttttitiiiiiittitiiiiit",
};
static const struct sql sql_save_more = {
    "run_save_more",
    "UPDATE runs SET step_results = $2, session_id = $3, plan_sha256 = $4, account = $5,"
    " paths = $6, warning_code = $7, warning_message = $8, partial = $9, foreign_pr = $10,"
    " prompt_version = $11, overridden = $12, session_begun_us = $13, session_over = $14,"
    " deferred_detail = $15, held_until_us = $16, quota_hits = $17 WHERE id = $1",
    "tjtttjttijttiitii",
};
static const struct sql sql_save_begun = {
    "run_save_begun",
    "UPDATE runs SET session_begun_us = $2 WHERE id = $1",
    "ti",
};
static const struct sql sql_save_usage = {
    "run_save_usage",
    "UPDATE runs SET turns = $2, tokens_in = $3, tokens_out = $4, cost_microusd = $5, model = $6"
    " WHERE id = $1",
    "tiiiit",
};
static const struct sql sql_touch = {
    "run_touch",
    "UPDATE runs SET event_seq = $2, last_event_id = $3, updated_us = $4, events_left = $5,"
    " event_bytes_left = $6 WHERE id = $1",
    "titiii",
};
static const struct sql sql_get = {
    "run_get",
    "SELECT " RUN_COLUMNS " FROM runs WHERE id = $1 {for_update}",
    "t",
};
static const struct sql sql_get_free = {
    "run_get_free",
    "SELECT " RUN_COLUMNS " FROM runs WHERE id = $1 {skip_locked}",
    "t",
};
static const struct sql sql_status_of = {
    "run_status_of",
    "SELECT status FROM runs WHERE id = $1",
    "t",
};
static const struct sql sql_of_task = {
    "run_of_task",
    "SELECT " RUN_COLUMNS " FROM runs WHERE task_id = $1 ORDER BY run_no",
    "t",
};

/* The leading condition chooses the index; the others apply in every form. */
#define IN_REPOSITORY(n) "repository_id = (SELECT min(id) FROM repositories WHERE name = " n ")"
#define RUN_LIST(name, lead, walk)                                                          \
    {                                                                                       \
        {name,                                                                              \
         "SELECT " RUN_COLUMNS " FROM runs WHERE " lead " AND ($1 IS NULL OR task_id = $1)" \
         " AND ($2 IS NULL OR " IN_REPOSITORY(                                              \
             "$2") ") AND ($3 IS NULL OR status = $3)"                                      \
                   " AND id < $4 AND id >= $5 ORDER BY id DESC LIMIT $6",                   \
         "ttttti"},                                                                         \
            LIST_WALK(name, "runs", walk),                                                  \
    }
static const struct list_sql sql_list = RUN_LIST("run_list", "1 = 1", LIST_WALK_ALL);
static const struct list_sql sql_list_task = RUN_LIST("run_list_task", "task_id = $1",
                                                      "task_id = $1");
static const struct list_sql sql_list_repository = RUN_LIST(
    "run_list_repository", IN_REPOSITORY("$2"), IN_REPOSITORY("$1"));
static const struct list_sql sql_list_status = RUN_LIST("run_list_status", "status = $3",
                                                        "status = $1");

static const struct sql sql_active = {
    "run_active",
    "SELECT workspace_id, repository_id, requested_by, task_type, count(*),"
    " count(CASE WHEN status = 'awaiting_approval' THEN 1 END) FROM runs"
    " WHERE " RUN_ACTIVE " GROUP BY workspace_id, repository_id, requested_by, task_type",
    "",
};
/* Jumps from one repository to the next: one index lookup for each. */
static const struct sql sql_queued_repositories = {
    "run_queued_repositories",
    "WITH RECURSIVE r (id) AS ("
    " SELECT (SELECT repository_id FROM runs WHERE status = 'queued' AND workspace_id = $1"
    "         ORDER BY repository_id LIMIT 1)"
    " UNION ALL"
    " SELECT (SELECT repository_id FROM runs WHERE status = 'queued' AND workspace_id = $1"
    "         AND repository_id > r.id ORDER BY repository_id LIMIT 1)"
    " FROM r WHERE r.id IS NOT NULL)"
    " SELECT id FROM r WHERE id IS NOT NULL",
    "t",
};
static const struct sql sql_next_queued = {
    "run_next_queued",
    "SELECT " RUN_COLUMNS " FROM runs WHERE status = 'queued'"
    " AND workspace_id = (SELECT workspace_id FROM repositories WHERE id = $1)"
    " AND repository_id = $1 AND (rank, id) > ($2, $3) ORDER BY rank, id LIMIT 1",
    "tit",
};
static const struct sql sql_next_queued_but = {
    "run_next_queued_but",
    "SELECT " RUN_COLUMNS " FROM runs WHERE status = 'queued'"
    " AND workspace_id = (SELECT workspace_id FROM repositories WHERE id = $1)"
    " AND repository_id = $1 AND (rank, id) > ($2, $3)"
    " AND (deferred_reason IS NULL OR deferred_reason <> $4 OR account IS NULL OR account <> $5)"
    " ORDER BY rank, id LIMIT 1",
    "tittt",
};
static const struct sql sql_queued_unexplained = {
    "run_queued_unexplained",
    "SELECT " RUN_COLUMNS " FROM runs WHERE status = 'queued' AND deferred_reason IS NULL"
    " AND workspace_id = $1 ORDER BY rank, id LIMIT $2",
    "ti",
};
static const struct sql sql_count = {
    "run_count",
    "SELECT status, count(*) FROM runs GROUP BY status",
    "",
};

static const char *const stop_names[] = {
    [RUN_STOP_NONE] = "none",
    [RUN_STOP_CANCEL] = "cancel",
    [RUN_STOP_TIMEOUT] = "timeout",
};

static bool stop_parse(const char *name, enum run_stop *ret_stop)
{
    for (size_t i = 0; i < COUNT_OF(stop_names); i++) {
        if (text_same(stop_names[i], name)) {
            *ret_stop = (enum run_stop)i;
            return true;
        }
    }
    return false;
}

static enum rc run_decode(struct row_reader *reader, void *to, struct err *err)
{
    struct run_row *row = to;
    row->id = read_id(reader);
    row->task_id = read_id(reader);
    row->workspace_id = read_id(reader);
    row->repository_id = read_id(reader);
    row->run_no = read_int(reader);
    row->requested_by = read_text(reader);
    row->task_type = read_text(reader);
    row->max_turns = read_int(reader);
    row->budget_microusd = read_int(reader);
    row->events_left.events = read_int(reader);
    row->events_left.bytes = read_int(reader);
    if (!run_status_parse(read_word(reader), &row->status))
        return row_corrupt("run", err);
    row->attempt = read_int(reader);
    row->branch = read_text(reader);
    row->base_commit = read_text(reader);
    row->prompt_sha256 = read_text(reader);
    row->feedback_sha256 = read_text(reader);
    row->patch_sha256 = read_text(reader);
    row->patch_id = read_id(reader);
    row->certificate_sha256 = read_text(reader);
    row->turns = read_int(reader);
    row->tokens_in = read_int(reader);
    row->tokens_out = read_int(reader);
    row->cost_microusd = read_int(reader);
    row->model = read_text(reader);
    row->pull_request_id = read_id(reader);
    row->job_id = read_id(reader);
    if (!stop_parse(read_word(reader), &row->stop))
        return row_corrupt("run", err);
    row->stop_by = read_text(reader);
    row->stop_reason = read_text(reader);
    row->stop_us = read_int(reader);
    row->deferred_reason = read_text(reader);
    for (size_t i = 0; i < BUDGET_KIND_COUNT; i++)
        row->used[i] = read_int(reader);
    row->lost = read_int(reader);
    row->rank = read_int(reader);
    row->error_code = read_text(reader);
    row->error_message = read_text(reader);
    row->event_seq = read_int(reader);
    row->last_event_id = read_id(reader);
    row->queued_us = read_int(reader);
    row->started_us = read_int(reader);
    row->ended_us = read_int(reader);
    row->deadline_us = read_int(reader);
    row->updated_us = read_int(reader);
    row->step = read_text(reader);
    row->step_results = read_bytes(reader);
    row->session_id = read_text(reader);
    row->session_begun_us = read_int(reader);
    row->session_over = read_int(reader) != 0;
    row->plan_sha256 = read_text(reader);
    row->account = read_text(reader);
    row->paths = read_bytes(reader);
    row->warning_code = read_text(reader);
    row->warning_message = read_text(reader);
    row->partial = read_int(reader) != 0;
    row->foreign_pr = read_bytes(reader);
    row->prompt_version = read_text(reader);
    row->overridden = read_text(reader);
    row->deferred_detail = read_text(reader);
    row->held_until_us = read_int(reader);
    row->quota_hits = read_int(reader);
    return RC_OK;
}
static const struct shape run_shape = {"run", sizeof(struct run_row), run_decode};

/* The columns from status on, in the order of RUN_COLUMNS: what runs_save may change. */
#define RUN_CHANGEABLE(row)                                                                       \
    P_TEXT(run_status_name((row)->status)), P_INT((row)->attempt), P_TEXT((row)->branch),         \
        P_TEXT((row)->base_commit), P_TEXT((row)->prompt_sha256), P_TEXT((row)->feedback_sha256), \
        P_TEXT((row)->patch_sha256), P_ID(&(row)->patch_id), P_TEXT((row)->certificate_sha256),   \
        P_INT((row)->turns), P_INT((row)->tokens_in), P_INT((row)->tokens_out),                   \
        P_INT((row)->cost_microusd), P_TEXT((row)->model), P_ID(&(row)->pull_request_id),         \
        P_ID(&(row)->job_id), P_TEXT(stop_names[(row)->stop]), P_TEXT((row)->stop_by),            \
        P_TEXT((row)->stop_reason), P_INT((row)->stop_us), P_TEXT((row)->deferred_reason),        \
        P_INT((row)->used[BUDGET_AGENT]), P_INT((row)->used[BUDGET_TOOL]),                        \
        P_INT((row)->used[BUDGET_VERIFIER]), P_INT((row)->used[BUDGET_PR]), P_INT((row)->lost),   \
        P_INT((row)->rank), P_TEXT((row)->error_code), P_TEXT((row)->error_message),              \
        P_INT((row)->event_seq), P_ID(&(row)->last_event_id), P_INT((row)->queued_us),            \
        P_INT((row)->started_us), P_INT((row)->ended_us), P_INT((row)->deadline_us),              \
        P_INT((row)->updated_us), P_TEXT((row)->step)

enum rc runs_insert(struct db *db, const struct run_row *row, struct err *err)
{
    return db_exec(db, &sql_insert,
                   P_LIST(P_ID(&row->id), P_ID(&row->task_id), P_ID(&row->workspace_id),
                          P_ID(&row->repository_id), P_INT(row->run_no), P_TEXT(row->requested_by),
                          P_TEXT(row->task_type), P_INT(row->max_turns),
                          P_INT(row->budget_microusd), P_INT(row->events_left.events),
                          P_INT(row->events_left.bytes), RUN_CHANGEABLE(row)),
                   NULL, err);
}

enum rc runs_save(struct db *db, const struct run_row *row, struct err *err)
{
    return exec_one(db, &sql_save, P_LIST(P_ID(&row->id), RUN_CHANGEABLE(row)), run_shape.noun,
                    err);
}

enum rc runs_save_more(struct db *db, const struct run_row *row, struct err *err)
{
    return exec_one(
        db, &sql_save_more,
        P_LIST(P_ID(&row->id), P_JSON(row->step_results), P_TEXT(row->session_id),
               P_TEXT(row->plan_sha256), P_TEXT(row->account), P_JSON(row->paths),
               P_TEXT(row->warning_code), P_TEXT(row->warning_message), P_INT(row->partial),
               P_JSON(row->foreign_pr), P_TEXT(row->prompt_version), P_TEXT(row->overridden),
               P_INT(row->session_begun_us), P_INT(row->session_over), P_TEXT(row->deferred_detail),
               P_INT(row->held_until_us), P_INT(row->quota_hits)),
        run_shape.noun, err);
}

enum rc runs_save_begun(struct db *db, const struct run_row *row, struct err *err)
{
    return exec_one(db, &sql_save_begun, P_LIST(P_ID(&row->id), P_INT(row->session_begun_us)),
                    run_shape.noun, err);
}

enum rc runs_save_usage(struct db *db, const struct run_row *row, struct err *err)
{
    return exec_one(db, &sql_save_usage,
                    P_LIST(P_ID(&row->id), P_INT(row->turns), P_INT(row->tokens_in),
                           P_INT(row->tokens_out), P_INT(row->cost_microusd), P_TEXT(row->model)),
                    run_shape.noun, err);
}

enum rc runs_touch(struct db *db, const struct run_row *row, struct err *err)
{
    return exec_one(db, &sql_touch,
                    P_LIST(P_ID(&row->id), P_INT(row->event_seq), P_ID(&row->last_event_id),
                           P_INT(row->updated_us), P_INT(row->events_left.events),
                           P_INT(row->events_left.bytes)),
                    run_shape.noun, err);
}

enum rc runs_get(struct db *db, const struct id *id, struct arena *arena, struct run_row *ret_row,
                 struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_ID(id)), &run_shape, arena, ret_row, err);
}

enum rc runs_get_free(struct db *db, const struct id *id, struct arena *arena,
                      struct run_row *ret_row, struct err *err)
{
    return query_one(db, &sql_get_free, P_LIST(P_ID(id)), &run_shape, arena, ret_row, err);
}

static enum rc status_decode(struct row_reader *reader, void *to, struct err *err)
{
    bool known = run_status_parse(read_word(reader), to);
    return known ? RC_OK : row_corrupt("run", err);
}
static const struct shape status_shape = {"run", sizeof(enum run_status), status_decode};

enum rc runs_status_of(struct db *db, const struct id *id, struct arena *arena,
                       enum run_status *ret_status, struct err *err)
{
    return query_one(db, &sql_status_of, P_LIST(P_ID(id)), &status_shape, arena, ret_status, err);
}

enum rc runs_read_ahead(struct db *db, const struct id *id, struct err *err)
{
    return db_read_ahead(db, &sql_get, id, err);
}

enum rc runs_read_ahead_free(struct db *db, const struct id *id, struct err *err)
{
    return db_read_ahead(db, &sql_get_free, id, err);
}

enum rc runs_of_task(struct db *db, const struct id *task_id, struct arena *arena,
                     struct run_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_of_task, P_LIST(P_ID(task_id)), &run_shape, arena, ret_rows,
                     ret_count, err);
}

enum rc runs_list(struct db *db, const struct run_filter *filter, struct arena *arena,
                  struct run_row **ret_rows, size_t *ret_count, struct err *err)
{
    const char *status = filter->status < 0 ? NULL
                                            : run_status_name((enum run_status)filter->status);
    struct param params[] = {P_ID(&filter->task_id), P_TEXT(filter->repository),
                             P_TEXT(status),         P_TEXT(cursor_or_end(&filter->before)),
                             P_TEXT(NULL),           P_LIMIT(filter->limit)};
    int conditions = !id_is_none(&filter->task_id) + (filter->repository != NULL) +
                     (status != NULL);
    struct list_ask ask = {&sql_list, params, COUNT_OF(params), NULL, filter->scan, conditions > 1};
    if (!id_is_none(&filter->task_id)) {
        ask.sql = &sql_list_task;
        ask.lead = filter->task_id.text;
    } else if (filter->repository != NULL) {
        ask.sql = &sql_list_repository;
        ask.lead = filter->repository;
    } else if (status != NULL) {
        ask.sql = &sql_list_status;
        ask.lead = status;
    }
    return query_list(db, &ask, &run_shape, arena, ret_rows, ret_count, err);
}

static enum rc active_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct active_row *row = to;
    row->workspace_id = read_id(reader);
    row->repository_id = read_id(reader);
    row->requested_by = read_text(reader);
    row->task_type = read_text(reader);
    row->count = read_int(reader);
    row->asking = read_int(reader);
    return RC_OK;
}
static const struct shape active_shape = {"run", sizeof(struct active_row), active_decode};

enum rc runs_active(struct db *db, struct arena *arena, struct active_row **ret_rows,
                    size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_active, NULL, 0, &active_shape, arena, ret_rows, ret_count, err);
}

static enum rc id_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    *(struct id *)to = read_id(reader);
    return RC_OK;
}
static const struct shape id_shape = {"repository", sizeof(struct id), id_decode};

enum rc runs_queued_repositories(struct db *db, const struct id *workspace_id, struct arena *arena,
                                 struct id **ret_ids, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_queued_repositories, P_LIST(P_ID(workspace_id)), &id_shape, arena,
                     ret_ids, ret_count, err);
}

enum rc runs_next_queued(struct db *db, const struct id *repository_id,
                         const struct run_place *after, struct arena *arena,
                         struct run_row *ret_row, struct err *err)
{
    int64_t rank = after == NULL ? INT64_MIN : after->rank;
    const char *id = after == NULL ? "" : after->id.text;
    return query_one(db, &sql_next_queued, P_LIST(P_ID(repository_id), P_INT(rank), P_TEXT(id)),
                     &run_shape, arena, ret_row, err);
}

enum rc runs_next_queued_but(struct db *db, const struct id *repository_id,
                             const struct run_place *after, const struct run_left *left,
                             struct arena *arena, struct run_row *ret_row, struct err *err)
{
    return query_one(db, &sql_next_queued_but,
                     P_LIST(P_ID(repository_id), P_INT(after->rank), P_ID(&after->id),
                            P_TEXT(left->reason), P_TEXT(left->account)),
                     &run_shape, arena, ret_row, err);
}

enum rc runs_queued_unexplained(struct db *db, const struct id *workspace_id, int64_t limit,
                                struct arena *arena, struct run_row **ret_rows, size_t *ret_count,
                                struct err *err)
{
    return query_all(db, &sql_queued_unexplained, P_LIST(P_ID(workspace_id), P_LIMIT(limit)),
                     &run_shape, arena, ret_rows, ret_count, err);
}

enum rc runs_count(struct db *db, struct run_counts *ret_counts, struct err *err)
{
    CLEANUP(rows_end) struct rows rows = {0};
    enum rc rc = db_query(db, &sql_count, NULL, 0, &rows, err);
    if (rc != RC_OK)
        return rc;
    struct run_counts counts = {0};
    while ((rc = rows_next(&rows, err)) == RC_OK) {
        enum run_status status;
        if (!run_status_parse(row_text(&rows, 0), &status))
            return row_corrupt("run", err);
        counts.by_status[status] = row_int(&rows, 1);
    }
    if (rc != RC_NOT_FOUND)
        return rc;
    *ret_counts = counts;
    return RC_OK;
}
