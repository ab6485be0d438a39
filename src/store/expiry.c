/*
 * expiry.c - see expiry.h.
 *
 * Rows are deleted children first, table by table, each by an index.  What only names a task or a
 * run and lives longer (memories, accounts, failures of checks, the audit log) keeps the name.
 */
#include "store/expiry.h"
#include "base/js.h"
#include "core/event_types.h"
#include "core/pr/intake.h"
#include "store/artifact_uses.h"
#include "store/query.h"
#include "store/timers.h"
#include <string.h>

/* ---- finding ---- */

static const struct sql sql_roots = {
    "expiry_roots",
    "SELECT id, status, ended_us FROM tasks WHERE id < $1 AND parent_id IS NULL"
    " ORDER BY id DESC LIMIT $2",
    "ti",
};
static const struct sql sql_children = {
    "expiry_children",
    "SELECT id FROM tasks WHERE parent_id = $1 ORDER BY id LIMIT $2",
    "ti",
};
/* clang-format off */
#define OF_RUNS(table, condition) \
    "(SELECT count(*) FROM runs r JOIN " table " x ON x.run_id = r.id" \
    " WHERE r.task_id = t.id AND " condition "), "
#define OF_PRS(table, condition) \
    "(SELECT count(*) FROM pull_requests p JOIN " table " x ON x.pull_request_id = p.id" \
    " WHERE p.task_id = t.id AND " condition "), "
static const struct sql sql_facts = {
    "expiry_facts",
    "SELECT t.status, t.ended_us, CASE WHEN t.batch_id IS NULL THEN 0 ELSE 1 END,"
    " (SELECT b.ended_us FROM batches b WHERE b.id = t.batch_id),"
    " (SELECT max(p.updated_us) FROM pull_requests p WHERE p.task_id = t.id),"
    " (SELECT count(*) FROM pull_requests p WHERE p.task_id = t.id AND p.status = 'open'), "
    OF_RUNS("jobs", "x.state NOT IN ('succeeded', 'dead_letter', 'cancelled')")
    OF_RUNS("sagas", "x.status NOT IN ('completed', 'compensated')")
    OF_PRS("shepherds", "x.ended_us = 0")
    OF_PRS("train_cars", "(x.ended_us = 0 OR x.told = 0)")
    OF_PRS("tasks", "x.id <> t.id")
    "(SELECT count(*) FROM task_dependencies d JOIN tasks x ON x.id = d.task_id"
    " WHERE d.depends_on_id = t.id AND (x.parent_id IS NULL OR t.parent_id IS NULL"
    " OR x.parent_id <> t.parent_id)),"
    " (SELECT count(*) FROM intake i WHERE i.task_id = t.id AND (i.state = $2 OR i.closes = 1)),"
    " (SELECT count(*) FROM timers m WHERE m.subject = t.id) FROM tasks t WHERE t.id = $1",
    "tt",
};
/* clang-format on */
/* With is_losing: a candidate whose parent has completed. */
static const struct sql sql_runs = {
    "expiry_runs",
    "SELECT r.id, r.status, CASE WHEN r.pull_request_id IS NULL THEN 0 ELSE 1 END,"
    " CASE WHEN t.pull_request_id IS NULL OR r.status <> 'completed' THEN 0 ELSE 1 END,"
    " CASE WHEN r.patch_sha256 IS NULL THEN 0 ELSE 1 END,"
    " CASE WHEN t.candidate_no > 0 AND (SELECT p.status FROM tasks p WHERE p.id = t.parent_id)"
    "  = 'completed' THEN 1 ELSE 0 END"
    " FROM runs r JOIN tasks t ON t.id = r.task_id WHERE r.task_id = $1 ORDER BY r.run_no",
    "t",
};
static const struct sql sql_work = {
    "expiry_work",
    "SELECT run_id, type, data FROM event_log WHERE task_id = $1 AND (type = $2 OR type = $3"
    " OR type = $4 OR type = $5) ORDER BY seq",
    "ttttt",
};

static enum rc root_decode(struct row_reader *reader, void *to, struct err *err)
{
    struct expiry_root *root = to;
    root->id = read_id(reader);
    if (!task_status_parse(read_word(reader), &root->status))
        return row_corrupt("task", err);
    root->ended_us = read_int(reader);
    return RC_OK;
}
static const struct shape root_shape = SHAPE_OF_RESULT("task", struct expiry_root, root_decode);

enum rc expiry_roots(struct db *db, const struct id *before, int64_t limit, struct arena *arena,
                     struct expiry_root **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_roots, P_LIST(P_ID(before), P_LIMIT(limit)), &root_shape, arena,
                     ret_rows, ret_count, err);
}

static enum rc id_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    *(struct id *)to = read_id(reader);
    return RC_OK;
}
static const struct shape id_shape = SHAPE_OF_RESULT("task", struct id, id_decode);

enum rc expiry_family(struct db *db, const struct id *root_id, int64_t limit, struct arena *arena,
                      struct id **ret_ids, size_t *ret_count, struct err *err)
{
    struct row_list family = {0};
    struct id parent = *root_id;
    for (size_t next = 0;; next++) {
        struct id *children;
        size_t count;
        enum rc rc = query_all(db, &sql_children, P_LIST(P_ID(&parent), P_LIMIT(limit + 1)),
                               &id_shape, arena, &children, &count, err);
        if (rc != RC_OK)
            return rc;
        if ((int64_t)(family.count + count) > limit)
            return err_set(err, RC_TOO_LARGE, "TOO_LARGE", "task %s has too many sub-tasks",
                           root_id->text);
        for (size_t i = 0; i < count; i++)
            *(struct id *)row_list_add(&family, sizeof *children, arena) = children[i];
        if (next == family.count)
            break;
        parent = ((struct id *)family.rows)[next];
    }
    *ret_ids = family.rows;
    *ret_count = family.count;
    return RC_OK;
}

static enum rc facts_decode(struct row_reader *reader, void *to, struct err *err)
{
    struct expiry_task *task = to;
    if (!task_status_parse(read_word(reader), &task->status))
        return row_corrupt("task", err);
    task->ended_us = read_int(reader);
    task->in_batch = read_int(reader) != 0;
    task->batch_ended_us = read_int(reader);
    task->pr_us = read_int(reader);
    task->open_prs = read_int(reader);
    task->open_jobs = read_int(reader);
    task->sagas = read_int(reader);
    task->followed_prs = read_int(reader);
    task->cars = read_int(reader);
    task->repairs = read_int(reader);
    task->dependents = read_int(reader);
    task->issues = read_int(reader);
    task->timers = read_int(reader);
    return RC_OK;
}
static const struct shape facts_shape = SHAPE_OF_RESULT("task", struct expiry_task, facts_decode);

enum rc expiry_facts(struct db *db, const struct id *task_id, struct expiry_task *ret_task,
                     struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    return query_one(db, &sql_facts, P_LIST(P_ID(task_id), P_TEXT(issue_state_name(ISSUE_ACTIVE))),
                     &facts_shape, &arena, ret_task, err);
}

/* ---- the work of runs ---- */

struct work {
    struct id run_id;
    struct expiry_run run;
    const char *last_ref; /* Of its last snapshot. */
};

static enum rc work_decode(struct row_reader *reader, void *to, struct err *err)
{
    struct work *work = to;
    work->run_id = read_id(reader);
    if (!run_status_parse(read_word(reader), &work->run.status))
        return row_corrupt("run", err);
    bool own = read_int(reader) != 0, repaired = read_int(reader) != 0;
    work->run.has_pr = own || repaired;
    work->run.has_patch = read_int(reader) != 0;
    work->run.is_losing = read_int(reader) != 0;
    return RC_OK;
}
static const struct shape work_shape = SHAPE_OF_RESULT("run", struct work, work_decode);

static const char *ref_of(struct rows *rows, struct arena *arena)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    CLEANUP(js_freep) struct js *data = NULL;
    struct str text = row_bytes(rows, 2, &scratch);
    if (js_parse(text.at, text.len, &data, NULL) != RC_OK)
        return NULL;
    return arena_strdup(arena, js_get_str(data, "ref", NULL));
}

static void note_work(struct work *work, struct rows *rows, struct arena *arena)
{
    const char *type = row_text(rows, 1);
    if (strcmp(type, EV_SNAPSHOT_FAILED) == 0) {
        work->run.is_kept = true;
    } else if (strcmp(type, EV_SECRET_DETECTED) == 0) {
        work->run.has_secrets = true;
    } else if (strcmp(type, EV_SNAPSHOT_TAKEN) == 0) {
        work->last_ref = ref_of(rows, arena);
        work->run.snapshot = true;
        work->run.published = false;
    } else if (text_same(work->last_ref, ref_of(rows, arena))) {
        work->run.published = true;
    }
}

enum rc expiry_unpublished(struct db *db, const struct id *task_id, struct arena *arena,
                           bool *ret_unpublished, struct err *err)
{
    struct work *works;
    size_t count;
    enum rc rc = query_all(db, &sql_runs, P_LIST(P_ID(task_id)), &work_shape, arena, &works, &count,
                           err);
    if (rc != RC_OK)
        return rc;
    CLEANUP(rows_end) struct rows rows = {0};
    rc = db_query(db, &sql_work,
                  P_LIST(P_ID(task_id), P_TEXT(EV_SNAPSHOT_TAKEN), P_TEXT(EV_SNAPSHOT_PUBLISHED),
                         P_TEXT(EV_SNAPSHOT_FAILED), P_TEXT(EV_SECRET_DETECTED)),
                  &rows, err);
    while (rc == RC_OK && (rc = rows_next(&rows, err)) == RC_OK) {
        const struct id run_id = row_id(&rows, 0);
        for (size_t i = 0; i < count; i++)
            if (id_same(&works[i].run_id, &run_id))
                note_work(&works[i], &rows, arena);
    }
    if (rc != RC_NOT_FOUND)
        return rc;
    *ret_unpublished = false;
    for (size_t i = 0; i < count; i++)
        *ret_unpublished |= expiry_run_unpublished(&works[i].run);
    return RC_OK;
}

/* ---- deleting ---- */

/* Of a run, in this order; $1 is its id. */
#define JOBS_OF_RUN  "(SELECT id FROM jobs WHERE run_id = $1)"
#define SAGAS_OF_RUN "(SELECT id FROM sagas WHERE run_id = $1)"
#define PRS_OF_RUN   "(SELECT id FROM pull_requests WHERE run_id = $1)"
static const struct sql run_rows[] = {
    {"expiry_attempts", "DELETE FROM job_attempts WHERE job_id IN " JOBS_OF_RUN, "t"},
    {"expiry_saga_steps", "DELETE FROM saga_steps WHERE saga_id IN " SAGAS_OF_RUN, "t"},
    {"expiry_sagas", "DELETE FROM sagas WHERE run_id = $1", "t"},
    {"expiry_approval_timers",
     "DELETE FROM timers WHERE subject IN (SELECT id FROM approvals WHERE run_id = $1)", "t"},
    {"expiry_approvals", "DELETE FROM approvals WHERE run_id = $1", "t"},
    {"expiry_question_timers",
     "DELETE FROM timers WHERE subject IN (SELECT id FROM questions WHERE run_id = $1)", "t"},
    {"expiry_questions", "DELETE FROM questions WHERE run_id = $1", "t"},
    {"expiry_messages", "DELETE FROM run_messages WHERE run_id = $1", "t"},
    {"expiry_verifications", "DELETE FROM verifications WHERE run_id = $1", "t"},
    {"expiry_patches", "DELETE FROM patches WHERE run_id = $1", "t"},
    {"expiry_cars", "DELETE FROM train_cars WHERE pull_request_id IN " PRS_OF_RUN, "t"},
    {"expiry_shepherds", "DELETE FROM shepherds WHERE pull_request_id IN " PRS_OF_RUN, "t"},
    {"expiry_pr_timers", "DELETE FROM timers WHERE subject IN " PRS_OF_RUN, "t"},
    {"expiry_prs", "DELETE FROM pull_requests WHERE run_id = $1", "t"},
    {"expiry_run_timers", "DELETE FROM timers WHERE subject = $1", "t"},
};
static const struct sql sql_delete_jobs = {
    "expiry_jobs",
    "DELETE FROM jobs WHERE run_id = $1",
    "t",
};
static const struct sql sql_delete_run = {
    "expiry_run",
    "DELETE FROM runs WHERE id = $1",
    "t",
};
/* Of the task; $1 is its id. */
static const struct sql task_rows[] = {
    {"expiry_depends", "DELETE FROM task_dependencies WHERE task_id = $1", "t"},
    {"expiry_member", "DELETE FROM batch_members WHERE task_id = $1", "t"},
    {"expiry_intake", "UPDATE intake SET task_id = NULL WHERE task_id = $1", "t"},
    {"expiry_task_timers", "DELETE FROM timers WHERE subject = $1", "t"},
};
/* The one place where an expired task is named from now on, until its events are gone. */
static const struct sql sql_expired = {
    "expiry_expired",
    "INSERT INTO expired_tasks (last_seq, task_id, expired_us) SELECT last.seq, $1, $2"
    " FROM (SELECT max(seq) AS seq FROM event_log WHERE task_id = $1) AS last"
    " WHERE last.seq IS NOT NULL",
    "ti",
};
static const struct sql sql_delete_task = {
    "expiry_task",
    "DELETE FROM tasks WHERE id = $1",
    "t",
};

static enum rc delete_rows(struct db *db, const struct sql *statements, size_t count,
                           const struct id *id, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        rc = db_exec(db, &statements[i], P_LIST(P_ID(id)), NULL, err);
    return rc;
}

static enum rc delete_run(struct db *db, const struct work *work, int64_t now_us,
                          struct expiry_counts *counts, struct err *err)
{
    int64_t jobs = 0;
    enum rc rc = delete_rows(db, run_rows, COUNT_OF(run_rows), &work->run_id, err);
    if (rc == RC_OK)
        rc = artifact_uses_end_run(db, &work->run_id, now_us, err);
    if (rc == RC_OK)
        rc = db_exec(db, &sql_delete_jobs, P_LIST(P_ID(&work->run_id)), &jobs, err);
    if (rc == RC_OK)
        rc = db_exec(db, &sql_delete_run, P_LIST(P_ID(&work->run_id)), NULL, err);
    if (rc != RC_OK)
        return rc;
    counts->runs++;
    counts->runs_by_status[work->run.status]++;
    counts->jobs += jobs;
    return RC_OK;
}

enum rc expiry_delete_task(struct db *db, const struct id *task_id, int64_t now_us,
                           struct arena *arena, struct expiry_counts *counts, struct err *err)
{
    struct work *works;
    size_t count;
    int64_t before = db_changes(db), deleted = 0;
    enum rc rc = query_all(db, &sql_runs, P_LIST(P_ID(task_id)), &work_shape, arena, &works, &count,
                           err);
    if (rc == RC_OK)
        rc = db_exec(db, &sql_expired, P_LIST(P_ID(task_id), P_INT(now_us)), NULL, err);
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        rc = delete_run(db, &works[i], now_us, counts, err);
    if (rc == RC_OK)
        rc = delete_rows(db, task_rows, COUNT_OF(task_rows), task_id, err);
    if (rc == RC_OK)
        rc = artifact_uses_end(db, task_id, now_us, err);
    if (rc == RC_OK)
        rc = db_exec(db, &sql_delete_task, P_LIST(P_ID(task_id)), &deleted, err);
    if (rc != RC_OK)
        return rc;
    counts->tasks += deleted;
    counts->rows += db_changes(db) - before;
    return RC_OK;
}

/* ---- events of tasks that are deleted ---- */

static const struct sql sql_expired_list = {
    "expired_list",
    "SELECT task_id, last_seq FROM expired_tasks WHERE last_seq <= $1"
    " ORDER BY last_seq, task_id LIMIT $2",
    "ii",
};
static const struct sql sql_expired_count = {
    "expired_count",
    "SELECT count(*) FROM expired_tasks WHERE last_seq > $1",
    "i",
};
static const struct sql sql_expired_remove = {
    "expired_remove",
    "DELETE FROM expired_tasks WHERE last_seq = $1 AND task_id = $2",
    "it",
};
/* What may go is decided here and in expiry_event_may_go() alike.  The newest event stays. */
#define MAY_GO                                                                                \
    " AND issue_id IS NULL AND type NOT LIKE 'conductor.%' AND type NOT LIKE 'agent.issue.%'" \
    " AND type <> 'agent.audit.recorded' AND seq < (SELECT max(seq) FROM event_log)"
static const struct sql sql_expired_events = {
    "expired_events",
    "DELETE FROM event_log WHERE seq IN (SELECT seq FROM event_log WHERE task_id = $1" MAY_GO
    " ORDER BY seq LIMIT $2) RETURNING type, CASE WHEN source IS NULL THEN 1 ELSE 0 END",
    "ti",
};

static enum rc expired_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct expired_task *task = to;
    task->task_id = read_id(reader);
    task->last_seq = read_int(reader);
    return RC_OK;
}
static const struct shape expired_shape = SHAPE_OF_RESULT("expired task", struct expired_task,
                                                          expired_decode);

enum rc expired_tasks_list(struct db *db, int64_t through_seq, int64_t limit, struct arena *arena,
                           struct expired_task **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_expired_list, P_LIST(P_INT(through_seq), P_LIMIT(limit)),
                     &expired_shape, arena, ret_rows, ret_count, err);
}

enum rc expired_tasks_count(struct db *db, int64_t after_seq, int64_t *ret_count, struct err *err)
{
    return query_int(db, &sql_expired_count, P_LIST(P_INT(after_seq)), ret_count, err);
}

enum rc expired_tasks_remove(struct db *db, const struct expired_task *task, struct err *err)
{
    return db_exec(db, &sql_expired_remove, P_LIST(P_INT(task->last_seq), P_ID(&task->task_id)),
                   NULL, err);
}

enum rc expired_events_delete(struct db *db, const struct expired_task *task,
                              const struct event_expiry *expiry, int64_t *ret_count,
                              struct err *err)
{
    CLEANUP(rows_end) struct rows rows = {0};
    int64_t count = 0;
    enum rc rc = db_query(db, &sql_expired_events,
                          P_LIST(P_ID(&task->task_id), P_LIMIT(expiry->limit)), &rows, err);
    while (rc == RC_OK && (rc = rows_next(&rows, err)) == RC_OK) {
        expiry->counted(expiry->ctx, row_text(&rows, 0), row_int(&rows, 1) != 0);
        count++;
    }
    if (rc != RC_NOT_FOUND)
        return rc;
    *ret_count = count;
    return RC_OK;
}

/* ---- the log ---- */

/* A task that was refused has events and no row. */
#define NO_TASK \
    "(task_id IS NULL OR NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = event_log.task_id))"
static const struct sql sql_entries = {
    "log_entries",
    "SELECT seq, time_us, type, run_id, CASE WHEN " NO_TASK " THEN 0 ELSE 1 END,"
    " CASE WHEN issue_id IS NULL THEN 0 ELSE 1 END, CASE WHEN source IS NULL THEN 1 ELSE 0 END"
    " FROM event_log WHERE seq > $1 ORDER BY seq LIMIT $2",
    "ii",
};
static const struct sql sql_entry_delete = {
    "log_entry_delete",
    "DELETE FROM event_log WHERE seq = $1 AND " NO_TASK MAY_GO,
    "i",
};
static const struct sql sql_unread = {
    "log_unread",
    "SELECT cursor_seq, reader FROM (SELECT cursor_seq, 'sink ' || name AS reader FROM sinks"
    " UNION ALL SELECT cursor_seq, 'consumer ' || name FROM consumers) AS readers"
    " ORDER BY cursor_seq, reader LIMIT 1",
    "",
};
static const struct sql sql_before = {
    "log_place_before",
    "SELECT seq FROM event_log WHERE time_us < $1 ORDER BY time_us DESC, seq DESC LIMIT 1",
    "i",
};

static enum rc entry_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct log_entry *entry = to;
    entry->seq = read_int(reader);
    entry->time_us = read_int(reader);
    entry->type = read_text(reader);
    entry->run_id = read_id(reader);
    entry->of_task = read_int(reader) != 0;
    entry->about_issue = read_int(reader) != 0;
    entry->own = read_int(reader) != 0;
    return RC_OK;
}
static const struct shape entry_shape = SHAPE_OF_RESULT("event", struct log_entry, entry_decode);

enum rc log_entries(struct db *db, int64_t after_seq, int64_t limit, struct arena *arena,
                    struct log_entry **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_entries, P_LIST(P_INT(after_seq), P_LIMIT(limit)), &entry_shape,
                     arena, ret_rows, ret_count, err);
}

enum rc log_entry_delete(struct db *db, int64_t seq, int64_t *ret_count, struct err *err)
{
    *ret_count = 0;
    return db_exec(db, &sql_entry_delete, P_LIST(P_INT(seq)), ret_count, err);
}

enum rc log_unread(struct db *db, struct arena *arena, int64_t *ret_cursor_seq,
                   const char **ret_reader, struct err *err)
{
    CLEANUP(rows_end) struct rows rows = {0};
    enum rc rc = db_query(db, &sql_unread, NULL, 0, &rows, err);
    if (rc == RC_OK)
        rc = rows_next(&rows, err);
    if (rc != RC_OK)
        return rc;
    *ret_cursor_seq = row_int(&rows, 0);
    *ret_reader = row_dup(&rows, 1, arena);
    return RC_OK;
}

enum rc log_place_before(struct db *db, int64_t time_us, int64_t *ret_seq, struct err *err)
{
    int64_t seq = 0;
    enum rc rc = query_int(db, &sql_before, P_LIST(P_INT(time_us)), &seq, err);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    *ret_seq = seq;
    return RC_OK;
}
