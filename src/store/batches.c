#include "store/batches.h"
#include "store/artifact_uses.h"
#include "store/query.h"
#include "store/shapes.h"

WORDS(batch_status_words, enum batch_status, batch_status_name, batch_status_parse);
WORDS(member_state_words, enum member_state, member_state_name, member_state_parse);

enum {
    BATCH_STATE = COLUMN_GROUP(0),  /* batches_save */
    MEMBER_STATE = COLUMN_GROUP(1), /* batch_members_save */
};
static const struct column batch_columns[] = {
    COLUMN(struct batch_row, id, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct batch_row, workspace_id, COLUMN_NEW),
    COLUMN(struct batch_row, name, COLUMN_NEW),
    COLUMN_WORD(struct batch_row, status, "status", batch_status_words, COLUMN_NEW | BATCH_STATE),
    COLUMN(struct batch_row, task, COLUMN_NEW),
    COLUMN(struct batch_row, max_active, COLUMN_NEW),
    COLUMN(struct batch_row, budget_microusd, COLUMN_NEW),
    COLUMN(struct batch_row, stop_failures, COLUMN_NEW),
    COLUMN(struct batch_row, stop_percent, COLUMN_NEW),
    COLUMN(struct batch_row, stop_after, COLUMN_NEW),
    COLUMN(struct batch_row, stop_cancels, COLUMN_NEW),
    COLUMN(struct batch_row, requested_by, COLUMN_NEW),
    COLUMN(struct batch_row, reason_code, COLUMN_NEW | BATCH_STATE),
    COLUMN(struct batch_row, reason, COLUMN_NEW | BATCH_STATE),
    COLUMN(struct batch_row, stopped_by, COLUMN_NEW | BATCH_STATE),
    COLUMN(struct batch_row, held, COLUMN_NEW | BATCH_STATE),
    COLUMN(struct batch_row, told, COLUMN_NEW | BATCH_STATE),
    COLUMN(struct batch_row, last_event_id, COLUMN_NEW | BATCH_STATE),
    COLUMN(struct batch_row, created_us, COLUMN_NEW),
    COLUMN(struct batch_row, updated_us, COLUMN_NEW | BATCH_STATE),
    COLUMN(struct batch_row, ended_us, COLUMN_NEW | BATCH_STATE),
};
const struct shape batch_shape = SHAPE("batch", struct batch_row, batch_columns);

static const struct column batch_member_columns[] = {
    COLUMN(struct batch_member_row, id, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct batch_member_row, batch_id, COLUMN_NEW),
    COLUMN(struct batch_member_row, no, COLUMN_NEW),
    COLUMN(struct batch_member_row, key, COLUMN_NEW),
    COLUMN(struct batch_member_row, repository, COLUMN_NEW),
    COLUMN(struct batch_member_row, task, COLUMN_NEW),
    COLUMN(struct batch_member_row, depends_on, COLUMN_NEW),
    COLUMN_WORD(struct batch_member_row, state, "state", member_state_words,
                COLUMN_NEW | MEMBER_STATE),
    COLUMN(struct batch_member_row, task_id, COLUMN_NEW | MEMBER_STATE),
    COLUMN(struct batch_member_row, error_code, COLUMN_NEW | MEMBER_STATE),
    COLUMN(struct batch_member_row, error_message, COLUMN_NEW | MEMBER_STATE),
    COLUMN(struct batch_member_row, updated_us, COLUMN_NEW | MEMBER_STATE),
};
const struct shape batch_member_shape = SHAPE("member of a batch", struct batch_member_row,
                                              batch_member_columns);

/* ---- batches ---- */

static const struct row_sql sql_insert = {
    "batch_insert",
    "INSERT INTO batches {values}",
    &batch_shape,
    COLUMN_NEW,
};
static const struct row_sql sql_save = {
    "batch_save",
    "UPDATE batches SET {set} WHERE {key}",
    &batch_shape,
    COLUMN_KEY | BATCH_STATE,
};
static const struct sql sql_get = {
    "batch_get",
    "SELECT {columns} FROM batches WHERE id = $1 {for_update}",
    "t",
};
static const struct sql sql_peek = {
    "batch_peek",
    "SELECT {columns} FROM batches WHERE id = $1",
    "t",
};
static const struct list_sql sql_list = {
    {"batch_list",
     "SELECT {columns} FROM batches WHERE ($1 IS NULL OR status = $1)"
     " AND ($2 IS NULL OR name = $2) AND ($3 IS NULL OR requested_by = $3)"
     " AND id < $4 AND id >= $5 ORDER BY id DESC LIMIT $6",
     "ttttti"},
    LIST_WALK("batch_list", "batches", LIST_WALK_ALL),
};
static const struct sql sql_open = {
    "batch_open",
    "SELECT {columns} FROM batches WHERE ended_us = 0 ORDER BY id LIMIT $1",
    "i",
};
static const struct sql sql_strays = {
    "batch_strays",
    "SELECT (SELECT count(*) FROM batch_members m LEFT JOIN tasks t ON t.id = m.task_id"
    "  WHERE m.batch_id = $1 AND NOT (CASE WHEN m.state = 'submitted'"
    "   THEN t.batch_id IS NOT NULL AND t.batch_id = m.batch_id ELSE m.task_id IS NULL END))"
    " + (SELECT count(*) FROM tasks t WHERE t.batch_id = $1 AND t.parent_id IS NULL"
    "  AND NOT EXISTS (SELECT 1 FROM batch_members m WHERE m.task_id = t.id))",
    "t",
};
/* member_phase() of core/run/batch.h. */
#define PHASE                                                                           \
    "(CASE WHEN m.state IN ('waiting', 'skipped') THEN m.state"                         \
    " WHEN m.state = 'refused' THEN 'failed' WHEN m.state = 'dropped' THEN 'cancelled'" \
    " WHEN t.status = 'timed_out' THEN 'failed'"                                        \
    " WHEN t.status IN ('completed', 'failed', 'cancelled') THEN t.status ELSE 'active' END)"
static const struct sql sql_counts = {
    "batch_counts",
    "SELECT " PHASE ", count(*) FROM batch_members m LEFT JOIN tasks t ON t.id = m.task_id"
    " WHERE m.batch_id = $1 GROUP BY 1",
    "t",
};
static const struct sql sql_cost = {
    "batch_cost",
    "SELECT coalesce(sum(cost_microusd), 0) FROM runs WHERE batch_id = $1",
    "t",
};
static const struct sql sql_gate = {
    "batch_gate",
    "SELECT b.status, b.max_active, (SELECT count(*) FROM runs r WHERE r.batch_id = b.id"
    " AND r.parent_run_id IS NULL AND r.status IN ('preparing', 'context_loading', 'planning',"
    " 'running', 'verifying', 'judging', 'awaiting_approval', 'creating_pr')), b.name"
    " FROM batches b WHERE b.id = $1",
    "t",
};
static const struct sql sql_budget = {
    "batch_budget",
    "SELECT budget_microusd FROM batches WHERE id = $1",
    "t",
};

static enum rc named(enum rc rc, const struct id *id, struct err *err)
{
    if (rc == RC_NOT_FOUND)
        return err_set(err, rc, "BATCH_NOT_FOUND", "there is no batch %s", id->text);
    return rc;
}

enum rc batches_get(struct db *db, const struct id *id, struct arena *arena,
                    struct batch_row *ret_row, struct err *err)
{
    return named(query_one(db, &sql_get, P_LIST(P_ID(id)), &batch_shape, arena, ret_row, err), id,
                 err);
}

enum rc batches_peek(struct db *db, const struct id *id, struct arena *arena,
                     struct batch_row *ret_row, struct err *err)
{
    return named(query_one(db, &sql_peek, P_LIST(P_ID(id)), &batch_shape, arena, ret_row, err), id,
                 err);
}

enum rc batches_insert(struct db *db, const struct batch_row *row, struct err *err)
{
    enum rc rc = row_exec(db, &sql_insert, row, NULL, err);
    return rc == RC_OK ? artifact_uses_add(db, &row->id, row->task, row->created_us, err) : rc;
}

enum rc batches_save(struct db *db, const struct batch_row *row, struct err *err)
{
    return row_exec_one(db, &sql_save, row, err);
}

bool batches_changed(const struct batch_row *now, const struct batch_row *stored)
{
    return columns_changed(&batch_shape, BATCH_STATE, now, stored);
}

enum rc batches_list(struct db *db, const struct batch_filter *filter, struct arena *arena,
                     struct batch_row **ret_rows, size_t *ret_count, struct err *err)
{
    const char *status = filter->status < 0 ? NULL
                                            : batch_status_name((enum batch_status)filter->status);
    struct param params[] = {P_TEXT(status),
                             P_TEXT(filter->name),
                             P_TEXT(filter->requested_by),
                             P_TEXT(cursor_or_end(&filter->before)),
                             P_TEXT(NULL),
                             P_LIMIT(filter->limit)};
    bool filtered = status != NULL || filter->name != NULL || filter->requested_by != NULL;
    const struct list_ask ask = {&sql_list, params, COUNT_OF(params), NULL, filter->scan, filtered};
    return query_list(db, &ask, &batch_shape, arena, ret_rows, ret_count, err);
}

enum rc batches_open(struct db *db, int64_t limit, struct arena *arena, struct batch_row **ret_rows,
                     size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_open, P_LIST(P_LIMIT(limit)), &batch_shape, arena, ret_rows,
                     ret_count, err);
}

enum rc batches_strays(struct db *db, const struct id *id, int64_t *ret_count, struct err *err)
{
    return query_int(db, &sql_strays, P_LIST(P_ID(id)), ret_count, err);
}

static bool phase_parse(const char *name, enum member_phase *ret_phase)
{
    for (int i = 0; i < PHASE_COUNT; i++) {
        if (text_same(member_phase_name((enum member_phase)i), name)) {
            *ret_phase = (enum member_phase)i;
            return true;
        }
    }
    return false;
}

enum rc batches_counts(struct db *db, const struct id *id, struct batch_counts *ret_counts,
                       struct err *err)
{
    CLEANUP(rows_end) struct rows rows = {0};
    struct batch_counts counts = {0};
    enum rc rc = db_query(db, &sql_counts, P_LIST(P_ID(id)), &rows, err);
    while (rc == RC_OK && (rc = rows_next(&rows, err)) == RC_OK) {
        enum member_phase phase;
        if (!phase_parse(row_text(&rows, 0), &phase))
            return row_corrupt("member of a batch", err);
        counts.of[phase] = row_int(&rows, 1);
        counts.total += counts.of[phase];
    }
    if (rc != RC_NOT_FOUND)
        return rc;
    *ret_counts = counts;
    return RC_OK;
}

enum rc batches_cost(struct db *db, const struct id *id, int64_t *ret_microusd, struct err *err)
{
    return query_int(db, &sql_cost, P_LIST(P_ID(id)), ret_microusd, err);
}

enum rc batches_gate(struct db *db, const struct id *id, struct arena *arena,
                     struct batch_gate *ret_gate, struct err *err)
{
    CLEANUP(rows_end) struct rows rows = {0};
    struct batch_gate gate = {0};
    enum rc rc = db_query(db, &sql_gate, P_LIST(P_ID(id)), &rows, err);
    if (rc == RC_OK)
        rc = named(rows_next(&rows, err), id, err);
    if (rc != RC_OK)
        return rc;
    if (!batch_status_parse(row_text(&rows, 0), &gate.status))
        return row_corrupt("batch", err);
    gate.max_active = row_int(&rows, 1);
    gate.active = row_int(&rows, 2);
    gate.name = row_dup(&rows, 3, arena);
    *ret_gate = gate;
    return RC_OK;
}

enum rc batches_budget(struct db *db, const struct id *id, int64_t *ret_microusd, struct err *err)
{
    return query_int(db, &sql_budget, P_LIST(P_ID(id)), ret_microusd, err);
}

/* ---- members ---- */

static const struct row_sql sql_member_insert = {
    "batch_member_insert",
    "INSERT INTO batch_members {values}",
    &batch_member_shape,
    COLUMN_NEW,
};
static const struct row_sql sql_member_save = {
    "batch_member_save",
    "UPDATE batch_members SET {set} WHERE {key}",
    &batch_member_shape,
    COLUMN_KEY | MEMBER_STATE,
};
static const struct sql sql_member_get = {
    "batch_member_get",
    "SELECT {columns} FROM batch_members WHERE id = $1",
    "t",
};
#define MEMBER_VIEW(cost)                                                                    \
    "SELECT m.id, m.batch_id, m.no, m.key, m.repository, m.depends_on, m.state, m.task_id,"  \
    " m.error_code, m.error_message, m.updated_us, t.status, t.error_code, t.error_message," \
    " t.latest_run_id, t.run_count, " cost ", p.id, p.number, p.url, p.status"               \
    " FROM batch_members m LEFT JOIN tasks t ON t.id = m.task_id"                            \
    " LEFT JOIN runs r ON r.id = t.latest_run_id"                                            \
    " LEFT JOIN pull_requests p ON p.id = r.pull_request_id WHERE m.batch_id = $1"
static const struct sql sql_all = {
    "batch_member_all",
    MEMBER_VIEW("0") " ORDER BY m.no LIMIT $2",
    "ti",
};
#define MEMBER_COST                                                                      \
    "(SELECT coalesce(sum(o.cost_microusd), 0) FROM runs o WHERE o.task_id = m.task_id)" \
    " + (SELECT coalesce(sum(c.cost_microusd), 0) FROM runs o JOIN runs c ON"            \
    " c.root_run_id = o.id AND c.id <> o.id WHERE o.task_id = m.task_id)"
static const struct sql sql_page = {
    "batch_member_page",
    MEMBER_VIEW(MEMBER_COST) " AND m.no > $2 AND ($3 IS NULL OR " PHASE " = $3)"
                             " ORDER BY m.no LIMIT $4",
    "titi",
};
static const struct sql sql_unfinished = {
    "batch_member_unfinished",
    "SELECT t.id FROM batch_members m JOIN tasks t ON t.id = m.task_id WHERE m.batch_id = $1"
    " AND t.status NOT IN ('completed', 'failed', 'cancelled', 'timed_out')"
    " ORDER BY t.id LIMIT $2",
    "ti",
};
static const struct sql sql_last_no = {
    "batch_member_last_no",
    "SELECT max(no) FROM batch_members WHERE batch_id = $1",
    "t",
};

static enum rc view_decode(struct row_reader *reader, void *to, struct err *err)
{
    struct batch_member_view *view = to;
    struct batch_member_row *row = &view->row;
    row->id = read_id(reader);
    row->batch_id = read_id(reader);
    row->no = read_int(reader);
    row->key = read_text(reader);
    row->repository = read_text(reader);
    row->depends_on = read_bytes(reader);
    if (!member_state_parse(read_word(reader), &row->state))
        return row_corrupt("member of a batch", err);
    row->task_id = read_id(reader);
    row->error_code = read_text(reader);
    row->error_message = read_text(reader);
    row->updated_us = read_int(reader);
    const char *status = read_word(reader);
    if (!id_is_none(&row->task_id) && !task_status_parse(status, &view->status))
        return row_corrupt("task", err);
    view->task_error_code = read_text(reader);
    view->task_error_message = read_text(reader);
    view->run_id = read_id(reader);
    view->run_count = read_int(reader);
    view->cost_microusd = read_int(reader);
    view->pull_request_id = read_id(reader);
    view->pr_number = read_int(reader);
    view->pr_url = read_text(reader);
    view->pr_status = read_text(reader);
    return RC_OK;
}
static const struct shape view_shape = SHAPE_OF_RESULT("member of a batch",
                                                       struct batch_member_view, view_decode);

enum rc batch_members_insert(struct db *db, const struct batch_member_row *row, struct err *err)
{
    enum rc rc = row_exec(db, &sql_member_insert, row, NULL, err);
    return rc == RC_OK ? artifact_uses_add(db, &row->batch_id, row->task, row->updated_us, err)
                       : rc;
}

enum rc batch_members_save(struct db *db, const struct batch_member_row *row, struct err *err)
{
    return row_exec_one(db, &sql_member_save, row, err);
}

enum rc batch_members_get(struct db *db, const struct id *id, struct arena *arena,
                          struct batch_member_row *ret_row, struct err *err)
{
    return query_one(db, &sql_member_get, P_LIST(P_ID(id)), &batch_member_shape, arena, ret_row,
                     err);
}

enum rc batch_members_all(struct db *db, const struct id *batch_id, struct arena *arena,
                          struct batch_member_view **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_all, P_LIST(P_ID(batch_id), P_LIMIT(BATCH_MEMBERS_MAX)), &view_shape,
                     arena, ret_rows, ret_count, err);
}

enum rc batch_members_page(struct db *db, const struct batch_page *page, struct arena *arena,
                           struct batch_member_view **ret_rows, size_t *ret_count, struct err *err)
{
    const char *phase = page->phase < 0 ? NULL : member_phase_name((enum member_phase)page->phase);
    return query_all(
        db, &sql_page,
        P_LIST(P_ID(&page->batch_id), P_INT(page->after_no), P_TEXT(phase), P_LIMIT(page->limit)),
        &view_shape, arena, ret_rows, ret_count, err);
}

static enum rc id_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    *(struct id *)to = read_id(reader);
    return RC_OK;
}
static const struct shape id_shape = SHAPE_OF_RESULT("task", struct id, id_decode);

enum rc batch_members_unfinished(struct db *db, const struct id *batch_id, struct arena *arena,
                                 struct id **ret_ids, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_unfinished, P_LIST(P_ID(batch_id), P_LIMIT(BATCH_MEMBERS_MAX)),
                     &id_shape, arena, ret_ids, ret_count, err);
}

enum rc batch_members_last_no(struct db *db, const struct id *batch_id, int64_t *ret_last_no,
                              struct err *err)
{
    return query_int(db, &sql_last_no, P_LIST(P_ID(batch_id)), ret_last_no, err);
}
