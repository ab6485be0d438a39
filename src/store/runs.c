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
#include "store/shapes.h"
#include <assert.h>

WORDS(run_status_words, enum run_status, run_status_name, run_status_parse);

static const char *const stop_names[] = {
    [RUN_STOP_NONE] = "none",
    [RUN_STOP_CANCEL] = "cancel",
    [RUN_STOP_TIMEOUT] = "timeout",
    [RUN_STOP_BUDGET] = "budget",
};

const char *run_stop_name(enum run_stop stop)
{
    return stop_names[stop];
}

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
WORDS(run_stop_words, enum run_stop, run_stop_name, stop_parse);

/* RUN_STEP is written at every step, RUN_MORE when one of them has changed, which is seldom. */
enum {
    RUN_STEP = COLUMN_GROUP(0),   /* runs_save */
    RUN_MORE = COLUMN_GROUP(1),   /* runs_save_more */
    RUN_USAGE = COLUMN_GROUP(2),  /* runs_save_usage */
    RUN_EVENTS = COLUMN_GROUP(3), /* runs_touch */
    RUN_BEGUN = COLUMN_GROUP(4),  /* runs_save_begun */
};
static const struct column run_columns[] = {
    COLUMN(struct run_row, id, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct run_row, task_id, COLUMN_NEW),
    COLUMN(struct run_row, workspace_id, COLUMN_NEW),
    COLUMN(struct run_row, repository_id, COLUMN_NEW),
    COLUMN(struct run_row, run_no, COLUMN_NEW),
    COLUMN(struct run_row, parent_run_id, COLUMN_NEW),
    COLUMN(struct run_row, root_run_id, COLUMN_NEW),
    COLUMN(struct run_row, batch_id, COLUMN_NEW),
    COLUMN(struct run_row, requested_by, COLUMN_NEW),
    COLUMN(struct run_row, task_type, COLUMN_NEW),
    COLUMN(struct run_row, max_turns, COLUMN_NEW),
    COLUMN(struct run_row, budget_microusd, COLUMN_NEW),
    COLUMN(struct run_row, max_tokens, COLUMN_NEW),
    COLUMN(struct run_row, wanted_agent, COLUMN_NEW),
    COLUMN(struct run_row, forecast, COLUMN_NEW),
    COLUMN(struct run_row, traceparent, COLUMN_NEW),
    COLUMN(struct run_row, tags, COLUMN_NEW),
    COLUMN_AS(struct run_row, events_left.events, "events_left", COLUMN_NEW | RUN_EVENTS),
    COLUMN_AS(struct run_row, events_left.bytes, "event_bytes_left", COLUMN_NEW | RUN_EVENTS),
    COLUMN_WORD(struct run_row, status, "status", run_status_words, COLUMN_NEW | RUN_STEP),
    COLUMN(struct run_row, attempt, COLUMN_NEW | RUN_STEP),
    COLUMN(struct run_row, branch, COLUMN_NEW | RUN_STEP),
    COLUMN(struct run_row, base_commit, COLUMN_NEW | RUN_STEP),
    COLUMN(struct run_row, prompt_sha256, COLUMN_NEW | RUN_STEP),
    COLUMN(struct run_row, feedback_sha256, COLUMN_NEW | RUN_STEP),
    COLUMN(struct run_row, patch_sha256, COLUMN_NEW | RUN_STEP),
    COLUMN(struct run_row, patch_id, COLUMN_NEW | RUN_STEP),
    COLUMN(struct run_row, certificate_sha256, COLUMN_NEW | RUN_STEP),
    COLUMN(struct run_row, turns, COLUMN_NEW | RUN_STEP | RUN_USAGE),
    COLUMN(struct run_row, tokens_in, COLUMN_NEW | RUN_STEP | RUN_USAGE),
    COLUMN(struct run_row, tokens_out, COLUMN_NEW | RUN_STEP | RUN_USAGE),
    COLUMN(struct run_row, cost_microusd, COLUMN_NEW | RUN_STEP | RUN_USAGE),
    COLUMN(struct run_row, model, COLUMN_NEW | RUN_STEP | RUN_USAGE),
    COLUMN(struct run_row, pull_request_id, COLUMN_NEW | RUN_STEP),
    COLUMN(struct run_row, job_id, COLUMN_NEW | RUN_STEP),
    COLUMN_WORD(struct run_row, stop, "stop", run_stop_words, COLUMN_NEW | RUN_STEP),
    COLUMN(struct run_row, stop_by, COLUMN_NEW | RUN_STEP),
    COLUMN(struct run_row, stop_reason, COLUMN_NEW | RUN_STEP),
    COLUMN(struct run_row, stop_us, COLUMN_NEW | RUN_STEP),
    COLUMN(struct run_row, deferred_reason, COLUMN_NEW | RUN_STEP),
    COLUMN_AS(struct run_row, used[BUDGET_AGENT], "used_agent", COLUMN_NEW | RUN_STEP),
    COLUMN_AS(struct run_row, used[BUDGET_TOOL], "used_tool", COLUMN_NEW | RUN_STEP),
    COLUMN_AS(struct run_row, used[BUDGET_VERIFIER], "used_verifier", COLUMN_NEW | RUN_STEP),
    COLUMN_AS(struct run_row, used[BUDGET_PR], "used_pr", COLUMN_NEW | RUN_STEP),
    COLUMN(struct run_row, lost, COLUMN_NEW | RUN_STEP),
    COLUMN(struct run_row, rank, COLUMN_NEW | RUN_STEP),
    COLUMN(struct run_row, error_code, COLUMN_NEW | RUN_STEP),
    COLUMN(struct run_row, error_message, COLUMN_NEW | RUN_STEP),
    COLUMN(struct run_row, event_seq, COLUMN_NEW | RUN_STEP | RUN_EVENTS),
    COLUMN(struct run_row, last_event_id, COLUMN_NEW | RUN_STEP | RUN_EVENTS),
    COLUMN(struct run_row, queued_us, COLUMN_NEW | RUN_STEP),
    COLUMN(struct run_row, started_us, COLUMN_NEW | RUN_STEP),
    COLUMN(struct run_row, ended_us, COLUMN_NEW | RUN_STEP),
    COLUMN(struct run_row, deadline_us, COLUMN_NEW | RUN_STEP),
    COLUMN(struct run_row, updated_us, COLUMN_NEW | RUN_STEP | RUN_EVENTS),
    COLUMN(struct run_row, step, COLUMN_NEW | RUN_STEP),
    COLUMN(struct run_row, work_us, RUN_STEP),
    COLUMN(struct run_row, work_since_us, RUN_STEP),
    COLUMN(struct run_row, account, RUN_STEP),
    COLUMN(struct run_row, agent, RUN_STEP),
    COLUMN(struct run_row, judge_score_milli, RUN_STEP),
    COLUMN(struct run_row, step_results, RUN_MORE),
    COLUMN(struct run_row, session_id, RUN_MORE),
    COLUMN(struct run_row, session_begun_us, RUN_MORE | RUN_BEGUN),
    COLUMN(struct run_row, session_over, RUN_MORE),
    COLUMN(struct run_row, agent_session, RUN_MORE | RUN_BEGUN),
    COLUMN(struct run_row, plan_sha256, RUN_MORE),
    COLUMN(struct run_row, account_us, RUN_MORE),
    COLUMN(struct run_row, fallback, RUN_MORE),
    COLUMN(struct run_row, pool, RUN_MORE),
    COLUMN(struct run_row, tried_accounts, RUN_MORE),
    COLUMN(struct run_row, booked_microusd, RUN_MORE),
    COLUMN(struct run_row, paths, RUN_MORE),
    COLUMN(struct run_row, warning_code, RUN_MORE),
    COLUMN(struct run_row, warning_message, RUN_MORE),
    COLUMN(struct run_row, partial, RUN_MORE),
    COLUMN(struct run_row, foreign_pr, RUN_MORE),
    COLUMN(struct run_row, prompt_version, RUN_MORE),
    COLUMN(struct run_row, overridden, RUN_MORE),
    COLUMN(struct run_row, deferred_detail, RUN_MORE),
    COLUMN(struct run_row, held_until_us, RUN_MORE),
    COLUMN(struct run_row, quota_hits, RUN_MORE),
    COLUMN(struct run_row, overloads, RUN_MORE),
    COLUMN(struct run_row, overloaded_us, RUN_MORE),
    COLUMN(struct run_row, overloaded_until_us, RUN_MORE),
    COLUMN(struct run_row, paused_us, RUN_MORE),
    COLUMN(struct run_row, paused_by, RUN_MORE),
    COLUMN(struct run_row, still_us, RUN_MORE),
    COLUMN(struct run_row, question_id, RUN_MORE),
    COLUMN(struct run_row, question_count, RUN_MORE),
    COLUMN(struct run_row, message_seq, RUN_MORE),
};
const struct shape run_shape = SHAPE("run", struct run_row, run_columns);

/* runs_get_claim.  A claim comes with every step, and a row of all columns costs several times as
   much to read. */
static const struct column claim_columns[] = {
    COLUMN(struct run_row, id, COLUMN_KEY),
    COLUMN(struct run_row, task_id, 0),
    COLUMN_AS(struct run_row, events_left.events, "events_left", 0),
    COLUMN_AS(struct run_row, events_left.bytes, "event_bytes_left", 0),
    COLUMN(struct run_row, attempt, 0),
    COLUMN(struct run_row, job_id, 0),
    COLUMN(struct run_row, event_seq, 0),
    COLUMN(struct run_row, last_event_id, 0),
    COLUMN(struct run_row, updated_us, 0),
    COLUMN(struct run_row, step, 0),
    COLUMN(struct run_row, traceparent, 0),
    COLUMN(struct run_row, tags, 0),
    COLUMN(struct run_row, paused_us, 0),
    COLUMN(struct run_row, still_us, 0),
    COLUMN(struct run_row, message_seq, 0),
    /* A run of another version's word is not worked on: it is put off before a worker has it. */
    COLUMN_WORD(struct run_row, stop, "stop", run_stop_words, 0),
};
static const struct shape claim_shape = SHAPE("run", struct run_row, claim_columns);
_Static_assert(BUDGET_KIND_COUNT == 4, "a new budget is a new column used_...");

/* Neither queued nor terminal: run_is_active. */
#define RUN_ACTIVE                                                                              \
    "status IN ('preparing', 'context_loading', 'planning', 'running', 'verifying', 'judging'," \
    " 'awaiting_approval', 'creating_pr')"

static const struct row_sql sql_insert = {
    "run_insert",
    "INSERT INTO runs {values}",
    &run_shape,
    COLUMN_NEW,
};
static const struct row_sql sql_save = {
    "run_save",
    "UPDATE runs SET {set} WHERE {key}",
    &run_shape,
    COLUMN_KEY | RUN_STEP,
};
static const struct row_sql sql_save_more = {
    "run_save_more",
    "UPDATE runs SET {set} WHERE {key}",
    &run_shape,
    COLUMN_KEY | RUN_MORE,
};
static const struct row_sql sql_save_begun = {
    "run_save_begun",
    "UPDATE runs SET {set} WHERE {key}",
    &run_shape,
    COLUMN_KEY | RUN_BEGUN,
};
static const struct row_sql sql_save_usage = {
    "run_save_usage",
    "UPDATE runs SET {set} WHERE {key}",
    &run_shape,
    COLUMN_KEY | RUN_USAGE,
};
static const struct row_sql sql_touch = {
    "run_touch",
    "UPDATE runs SET {set} WHERE {key}",
    &run_shape,
    COLUMN_KEY | RUN_EVENTS,
};
static const struct sql sql_get = {
    "run_get",
    "SELECT {columns} FROM runs WHERE id = $1 {for_update}",
    "t",
};
static const struct sql sql_get_claim = {
    "run_get_claim",
    "SELECT {columns} FROM runs WHERE id = $1 {skip_locked}",
    "t",
};
static const struct sql sql_set_root = {
    "run_set_root",
    "UPDATE runs SET root_run_id = id WHERE id = $1",
    "t",
};
static const struct sql sql_tree = {
    "run_tree",
    "SELECT id, task_id, parent_run_id, status, stop, cost_microusd, tokens_in + tokens_out,"
    " budget_microusd, max_tokens, deadline_us, still_us, work_us, work_since_us"
    " FROM runs WHERE root_run_id = $1"
    " ORDER BY id LIMIT $2",
    "ti",
};
/* From the index runs_completed alone. */
static const struct sql sql_past = {
    "run_past",
    "SELECT task_type, wanted_agent, cost_microusd, turns, work_us FROM runs"
    " WHERE repository_id = $1 AND status = 'completed' ORDER BY id DESC LIMIT $2",
    "ti",
};
static const struct sql sql_status_of = {
    "run_status_of",
    "SELECT status FROM runs WHERE id = $1",
    "t",
};
static const struct sql sql_of_task = {
    "run_of_task",
    "SELECT {columns} FROM runs WHERE task_id = $1 ORDER BY run_no",
    "t",
};

/* The leading condition chooses the index; the others apply in every form. */
#define IN_REPOSITORY(n) "repository_id = (SELECT min(id) FROM repositories WHERE name = " n ")"
#define RUN_LIST(name, lead, walk)                                                    \
    {                                                                                 \
        {name,                                                                        \
         "SELECT {columns} FROM runs WHERE " lead " AND ($1 IS NULL OR task_id = $1)" \
         " AND ($2 IS NULL OR " IN_REPOSITORY(                                        \
             "$2") ") AND ($3 IS NULL OR status = $3)"                                \
                   " AND id < $4 AND id >= $5 ORDER BY id DESC LIMIT $6",             \
         "ttttti"},                                                                   \
            LIST_WALK(name, "runs", walk),                                            \
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
    "SELECT {columns} FROM runs WHERE status = 'queued'"
    " AND workspace_id = (SELECT workspace_id FROM repositories WHERE id = $1)"
    " AND repository_id = $1 AND (rank, id) > ($2, $3) ORDER BY rank, id LIMIT 1",
    "tit",
};
static const struct sql sql_next_queued_but = {
    "run_next_queued_but",
    "SELECT {columns} FROM runs WHERE status = 'queued'"
    " AND workspace_id = (SELECT workspace_id FROM repositories WHERE id = $1)"
    " AND repository_id = $1 AND (rank, id) > ($2, $3)"
    " AND (pool IS NULL OR pool <> $4) ORDER BY rank, id LIMIT 1",
    "titt",
};
static const struct sql sql_queued_unexplained = {
    "run_queued_unexplained",
    "SELECT {columns} FROM runs WHERE status = 'queued' AND deferred_reason IS NULL"
    " AND workspace_id = $1 ORDER BY rank, id LIMIT $2",
    "ti",
};
static const struct sql sql_count = {
    "run_count",
    "SELECT status, count(*) FROM runs GROUP BY status",
    "",
};

enum rc runs_insert(struct db *db, const struct run_row *row, struct err *err)
{
    return row_exec(db, &sql_insert, row, NULL, err);
}

enum rc runs_save(struct db *db, const struct run_row *row, struct err *err)
{
    return row_exec_one(db, &sql_save, row, err);
}

enum rc runs_save_more(struct db *db, const struct run_row *row, struct err *err)
{
    return row_exec_one(db, &sql_save_more, row, err);
}

bool runs_changed_more(const struct run_row *now, const struct run_row *stored)
{
    return columns_changed(&run_shape, RUN_MORE, now, stored);
}

enum rc runs_save_begun(struct db *db, const struct run_row *row, struct err *err)
{
    return row_exec_one(db, &sql_save_begun, row, err);
}

enum rc runs_save_usage(struct db *db, const struct run_row *row, struct err *err)
{
    return row_exec_one(db, &sql_save_usage, row, err);
}

enum rc runs_touch(struct db *db, const struct run_row *row, struct err *err)
{
    return row_exec_one(db, &sql_touch, row, err);
}

enum rc runs_get(struct db *db, const struct id *id, struct arena *arena, struct run_row *ret_row,
                 struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_ID(id)), &run_shape, arena, ret_row, err);
}

enum rc runs_get_claim(struct db *db, const struct id *id, struct arena *arena,
                       struct run_row *ret_row, struct err *err)
{
    return query_one(db, &sql_get_claim, P_LIST(P_ID(id)), &claim_shape, arena, ret_row, err);
}

enum rc runs_set_root(struct db *db, const struct id *id, struct err *err)
{
    return db_exec(db, &sql_set_root, P_LIST(P_ID(id)), NULL, err);
}

static enum rc node_decode(struct row_reader *reader, void *to, struct err *err)
{
    struct budget_node *node = to;
    enum run_stop stop;
    node->run_id = read_id(reader);
    node->task_id = read_id(reader);
    node->parent_run_id = read_id(reader);
    if (!run_status_parse(read_word(reader), &node->status) ||
        !stop_parse(read_word(reader), &stop))
        return row_corrupt("run", err);
    node->stopping = stop != RUN_STOP_NONE;
    node->used[MEASURE_COST] = read_int(reader);
    node->used[MEASURE_TOKENS] = read_int(reader);
    node->limit[MEASURE_COST] = read_int(reader);
    node->limit[MEASURE_TOKENS] = read_int(reader);
    node->deadline_us = read_int(reader);
    node->still = read_int(reader) > 0;
    node->work_us = read_int(reader);
    node->work_since_us = read_int(reader);
    return RC_OK;
}
static const struct shape node_shape = SHAPE_OF_RESULT("run", struct budget_node, node_decode);

static enum rc past_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct past_run *run = to;
    run->task_type = read_text(reader);
    run->agent = read_text(reader);
    run->cost_microusd = read_int(reader);
    run->turns = read_int(reader);
    run->work_us = read_int(reader);
    return RC_OK;
}
static const struct shape past_shape = SHAPE_OF_RESULT("run", struct past_run, past_decode);

enum rc runs_past(struct db *db, const struct id *repository_id, int64_t limit, struct arena *arena,
                  struct past_run **ret_runs, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_past, P_LIST(P_ID(repository_id), P_LIMIT(limit)), &past_shape, arena,
                     ret_runs, ret_count, err);
}

static int64_t worked(int64_t work_us, int64_t since_us, int64_t now_us)
{
    return since_us > 0 && now_us > since_us ? work_us + (now_us - since_us) : work_us;
}

int64_t run_work_us(const struct run_row *run, int64_t now_us)
{
    return worked(run->work_us, run->work_since_us, now_us);
}

enum rc runs_tree(struct db *db, const struct id *root_run_id, int64_t now_us, struct arena *arena,
                  struct budget_tree *ret_tree, struct err *err)
{
    struct budget_node *nodes;
    size_t count;
    enum rc rc = query_all(db, &sql_tree, P_LIST(P_ID(root_run_id), P_LIMIT(SUBTASK_RUNS_MAX)),
                           &node_shape, arena, &nodes, &count, err);
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        nodes[i].work_us = worked(nodes[i].work_us, nodes[i].work_since_us, now_us);
    if (rc == RC_OK)
        *ret_tree = (struct budget_tree){nodes, (int)count};
    return rc;
}

static enum rc status_decode(struct row_reader *reader, void *to, struct err *err)
{
    bool known = run_status_parse(read_word(reader), to);
    return known ? RC_OK : row_corrupt("run", err);
}
static const struct shape status_shape = SHAPE_OF_RESULT("run", enum run_status, status_decode);

enum rc runs_status_of(struct db *db, const struct id *id, struct arena *arena,
                       enum run_status *ret_status, struct err *err)
{
    return query_one(db, &sql_status_of, P_LIST(P_ID(id)), &status_shape, arena, ret_status, err);
}

enum rc runs_read_ahead(struct db *db, const struct id *id, struct err *err)
{
    return db_read_ahead(db, &sql_get, &run_shape, id, err);
}

enum rc runs_read_ahead_claim(struct db *db, const struct id *id, struct err *err)
{
    return db_read_ahead(db, &sql_get_claim, &claim_shape, id, err);
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
static const struct shape active_shape = SHAPE_OF_RESULT("run", struct active_row, active_decode);

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
static const struct shape id_shape = SHAPE_OF_RESULT("repository", struct id, id_decode);

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
                             const struct run_place *after, const char *pool, struct arena *arena,
                             struct run_row *ret_row, struct err *err)
{
    return query_one(
        db, &sql_next_queued_but,
        P_LIST(P_ID(repository_id), P_INT(after->rank), P_ID(&after->id), P_TEXT(pool)), &run_shape,
        arena, ret_row, err);
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
