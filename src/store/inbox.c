/*
 * inbox.c - one statement for each kind, with the same parameters and columns.
 *
 *   $1  the name of a repository, or NULL     $2  the present     $3  the limit
 *
 *   key, argument, task_id, run_id, repository, title, reason, detail, since_us, expires_us,
 *   behind, count, priority
 */
#include "store/inbox.h"
#include "base/clock.h"
#include "store/query.h"
#include <stdlib.h>

/* A task or batch that has ended is shown for so long: 3 days. */
#define RECENT "($2 - 259200000000)"
/* More is not counted. */
#define MANY "1000"

#define IN_REPOSITORY "($1 IS NULL OR r.name = $1)"
#define OF_SERVER     "($1 IS NULL)" /* Belongs to no repository. */
#define SHORT(text)   "substr(" text ", 1, 400)"
/* Tasks that wait for this one. */
#define BEHIND_TASK(task)                                             \
    "(SELECT count(*) FROM (SELECT 1 FROM task_dependencies d"        \
    " JOIN tasks w ON w.id = d.task_id WHERE d.depends_on_id = " task \
    " AND (w.status = 'submitted' OR w.status = 'deferred') LIMIT " MANY ") b)"
#define QUEUED_IN(repository)                                                                   \
    "(SELECT count(*) FROM (SELECT 1 FROM runs q WHERE q.workspace_id = " repository            \
    ".workspace_id AND q.repository_id = " repository ".id AND q.status = 'queued' LIMIT " MANY \
    ") b)"
/* Queued runs that wait for this reason. */
#define HELD(reason)                                                        \
    "(SELECT count(*) FROM (SELECT 1 FROM runs h WHERE h.status = 'queued'" \
    " AND h.deferred_reason = " reason " LIMIT " MANY ") b)"
#define NO_IDS "NULL, NULL"

/* clang-format off */
/* Issues that wait for this one: those that need it and are not done. */
#define BEHIND_ISSUE                                                                        \
    "(SELECT count(*) FROM (SELECT 1 FROM issue_needs n JOIN issue_states w ON w.id = n.id" \
    " WHERE n.workspace_id = i.workspace_id AND n.needs = i.issue_id AND w.done_us = 0"     \
    " LIMIT " MANY ") b)"
#define OF_ISSUE "($1 IS NULL OR i.repository = $1)"

static const char escalations[] =
    "SELECT i.issue_id, i.issue_id, i.task_id, NULL, i.repository, " SHORT("i.title") ","
    " i.last_stuck, i.status, i.stage_us, 0, " BEHIND_ISSUE ", 1, i.priority"
    " FROM issue_states i WHERE i.stage = 'escalated' AND " OF_ISSUE " AND $2 >= 0"
    " ORDER BY i.priority, i.id LIMIT $3";

/* The condition of the index issue_states_gate. */
static const char gates[] =
    "SELECT i.issue_id, i.issue_id, i.task_id, NULL, i.repository, " SHORT("i.title") ","
    " NULL, i.stage, i.gate_us, 0, " BEHIND_ISSUE ", 1, i.priority"
    " FROM issue_states i WHERE i.gate_us > 0 AND " OF_ISSUE " AND $2 >= 0"
    " ORDER BY i.gate_us LIMIT $3";

static const char approvals[] =
    "SELECT a.id, a.id, a.task_id, a.run_id, r.name,"
    " " SHORT("coalesce(a.summary, t.description)") ", " SHORT("a.question") ", a.kind,"
    " a.requested_us, a.expires_us, " BEHIND_TASK("a.task_id") ", 1, t.priority"
    " FROM approvals a JOIN tasks t ON t.id = a.task_id"
    " JOIN repositories r ON r.id = t.repository_id"
    " WHERE a.status = 'pending' AND " IN_REPOSITORY " AND $2 >= 0 ORDER BY a.id LIMIT $3";

static const char questions[] =
    "SELECT q.id, q.id, q.task_id, q.run_id, r.name,"
    " " SHORT("t.description") ", " SHORT("q.text") ", NULL,"
    " q.requested_us, q.expires_us, " BEHIND_TASK("q.task_id") ", 1, t.priority"
    " FROM questions q JOIN tasks t ON t.id = q.task_id"
    " JOIN repositories r ON r.id = t.repository_id"
    " WHERE q.status = 'pending' AND " IN_REPOSITORY " AND $2 >= 0 ORDER BY q.id LIMIT $3";

static const char quarantines[] =
    "SELECT r.name, r.name, " NO_IDS ", r.name, NULL, r.quarantine_reason, NULL,"
    " r.quarantined_us, 0, " QUEUED_IN("r") ", 1, 100 FROM repositories r"
    " WHERE r.quarantined_us > 0 AND r.removed = 0 AND " IN_REPOSITORY " AND $2 >= 0"
    " ORDER BY r.quarantined_us LIMIT $3";

/* One, if any run waits for it. */
static const char cost_limit[] =
    "SELECT 'costPerDayUsd', '', " NO_IDS ", NULL, NULL, c.detail, 'cost_budget_exceeded',"
    " c.since_us, 0, c.waiting, c.waiting, 100 FROM (SELECT max(q.deferred_detail) AS detail,"
    " min(q.queued_us) AS since_us, count(*) AS waiting FROM (SELECT deferred_detail, queued_us"
    " FROM runs WHERE status = 'queued' AND deferred_reason = 'cost_budget_exceeded'"
    " ORDER BY queued_us LIMIT " MANY ") q) c"
    " WHERE c.waiting > 0 AND " OF_SERVER " AND $2 >= 0 LIMIT $3";

static const char trains[] =
    "SELECT l.name || ' ' || l.target_branch, l.name, " NO_IDS ", l.name, l.target_branch,"
    " " SHORT("l.error_message") ", l.error_code, l.entered_us, 0, l.cars, l.cars, 100"
    " FROM (SELECT r.name, t.target_branch, t.error_message, t.error_code,"
    " (SELECT min(c.entered_us) FROM train_cars c WHERE c.train_id = t.id AND c.ended_us = 0)"
    " AS entered_us,"
    " (SELECT count(*) FROM train_cars c WHERE c.train_id = t.id AND c.ended_us = 0) AS cars"
    " FROM trains t JOIN repositories r ON r.id = t.repository_id"
    " WHERE t.error_code IS NOT NULL AND " IN_REPOSITORY ") l"
    " WHERE l.cars > 0 AND $2 >= 0 ORDER BY l.entered_us LIMIT $3";

static const char accounts[] =
    "SELECT a.name, a.name, " NO_IDS ", NULL, NULL, " SHORT("a.reason") ", NULL,"
    " a.parked_us, 0, h.waiting, h.waiting, 100"
    " FROM (SELECT " HELD("'provider_quota_parked'") " AS waiting) h, accounts a"
    " WHERE h.waiting > 0 AND a.parked_until_us > $2 AND " OF_SERVER
    " ORDER BY a.parked_us LIMIT $3";

static const char sagas[] =
    "SELECT s.id, coalesce(s.job_id, s.id), NULL, s.run_id, NULL, s.name,"
    " " SHORT("s.error_message") ", s.error_code, s.updated_us, 0, 1, 1, 100 FROM sagas s"
    " WHERE s.status = 'stuck' AND " OF_SERVER " AND $2 >= 0 ORDER BY s.id LIMIT $3";

static const char batches[] =
    "SELECT b.id, b.id, " NO_IDS ", NULL, b.name, " SHORT("b.reason") ", b.reason_code,"
    " b.updated_us, 0, (SELECT count(*) FROM batch_members m WHERE m.batch_id = b.id"
    " AND m.state = 'dropped'), 1, 100 FROM batches b"
    " WHERE (b.status = 'stopping' OR b.status = 'stopped') AND b.updated_us > " RECENT
    " AND " OF_SERVER " ORDER BY b.updated_us LIMIT $3";

/* The condition of the index tasks_budget. */
static const char budgets[] =
    "SELECT t.id, t.id, t.id, t.latest_run_id, r.name, " SHORT("t.description") ","
    " " SHORT("t.error_message") ", t.error_code, t.ended_us, 0, " BEHIND_TASK("t.id") ","
    " 1, t.priority FROM tasks t JOIN repositories r ON r.id = t.repository_id"
    " WHERE t.status = 'failed' AND (t.error_code = 'max_budget_exceeded'"
    " OR t.error_code = 'max_tokens_exceeded' OR t.error_code = 'max_turns_exceeded'"
    " OR t.error_code = 'cost_budget_exceeded' OR t.error_code = 'retry_budget_exhausted')"
    " AND t.ended_us > " RECENT " AND t.parent_id IS NULL AND t.candidate_no = 0"
    " AND " IN_REPOSITORY " ORDER BY t.ended_us LIMIT $3";

static const char sinks[] =
    "SELECT s.name, s.name, " NO_IDS ", NULL, NULL, " SHORT("s.last_error") ", NULL,"
    " s.updated_us, 0, coalesce((SELECT max(seq) FROM event_log), 0) - s.cursor_seq, 1, 100"
    " FROM sinks s WHERE s.breaker_open = 1 AND s.paused = 0 AND " OF_SERVER
    " AND $2 >= 0 ORDER BY s.name LIMIT $3";

static const char sink_letters[] =
    "SELECT l.sink, l.sink, " NO_IDS ", NULL, NULL, " SHORT("min(l.error_message)") ", NULL,"
    " min(l.created_us), 0, 0, count(*), 100 FROM (SELECT sink, error_message, created_us"
    " FROM sink_dead_letters WHERE replay = 0 ORDER BY sink, seq LIMIT 10000) l WHERE " OF_SERVER
    " AND $2 >= 0 GROUP BY l.sink ORDER BY l.sink LIMIT $3";

/* The condition of the index jobs_dead_open: what a person may replay. */
static const char dead_letters[] =
    "SELECT j.queue, j.queue, " NO_IDS ", NULL, NULL, NULL, NULL, min(j.updated_us), 0, 0,"
    " count(*), 100 FROM (SELECT queue, updated_us FROM jobs WHERE state = 'dead_letter'"
    " AND archived_us = 0 AND run_id IS NULL AND saga_id IS NULL ORDER BY queue, updated_us"
    " LIMIT 100000) j WHERE " OF_SERVER
    " AND $2 >= 0 GROUP BY j.queue ORDER BY j.queue LIMIT $3";
/* clang-format on */

static const struct sql sources[INBOX_KIND_COUNT] = {
    [INBOX_ESCALATION] = {"inbox_escalations", escalations, "tii"},
    [INBOX_GATE] = {"inbox_gates", gates, "tii"},
    [INBOX_APPROVAL] = {"inbox_approvals", approvals, "tii"},
    [INBOX_QUESTION] = {"inbox_questions", questions, "tii"},
    [INBOX_QUARANTINE] = {"inbox_quarantines", quarantines, "tii"},
    [INBOX_COST_LIMIT] = {"inbox_cost_limit", cost_limit, "tii"},
    [INBOX_TRAIN] = {"inbox_trains", trains, "tii"},
    [INBOX_ACCOUNT] = {"inbox_accounts", accounts, "tii"},
    [INBOX_SAGA] = {"inbox_sagas", sagas, "tii"},
    [INBOX_BATCH] = {"inbox_batches", batches, "tii"},
    [INBOX_BUDGET] = {"inbox_budgets", budgets, "tii"},
    [INBOX_SINK] = {"inbox_sinks", sinks, "tii"},
    [INBOX_SINK_LETTERS] = {"inbox_sink_letters", sink_letters, "tii"},
    [INBOX_DEAD_LETTERS] = {"inbox_dead_letters", dead_letters, "tii"},
};

static enum rc decode(struct row_reader *reader, void *to, struct err *err)
{
    struct inbox_row *row = to;
    (void)err;
    row->key = read_text(reader);
    row->argument = read_text(reader);
    row->task_id = read_id(reader);
    row->run_id = read_id(reader);
    row->repository = read_text(reader);
    row->title = read_text(reader);
    row->reason = read_text(reader);
    row->detail = read_text(reader);
    row->since_us = read_int(reader);
    row->expires_us = read_int(reader);
    row->behind = read_int(reader);
    row->count = read_int(reader);
    row->priority = read_int(reader);
    return RC_OK;
}
static const struct shape inbox_shape = SHAPE_OF_RESULT("item", struct inbox_row, decode);

static int compare(const void *a, const void *b)
{
    const struct inbox_row *one = a, *two = b;
    return inbox_compare(&(struct inbox_place){one->rank_us, one->kind, one->key},
                         &(struct inbox_place){two->rank_us, two->kind, two->key});
}

static enum rc read_source(struct db *db, enum inbox_kind kind, const struct inbox_filter *filter,
                           struct arena *arena, struct inbox_row *to, size_t *count, bool *more,
                           struct err *err)
{
    struct inbox_row *rows = NULL;
    size_t found = 0;
    enum rc rc = query_all(
        db, &sources[kind],
        P_LIST(P_TEXT(filter->repository), P_INT(filter->now_us), P_LIMIT(INBOX_SOURCE_MAX + 1)),
        &inbox_shape, arena, &rows, &found, err);
    if (rc != RC_OK)
        return rc;
    *more |= found > INBOX_SOURCE_MAX;
    for (size_t i = 0; i < found && i < INBOX_SOURCE_MAX; i++) {
        struct inbox_row *row = &to[(*count)++];
        *row = rows[i];
        row->kind = kind;
        row->rank_us = inbox_rank(&(struct inbox_facts){.kind = kind,
                                                        .since_us = row->since_us,
                                                        .expires_us = row->expires_us,
                                                        .behind = row->behind,
                                                        .priority = row->priority});
    }
    return RC_OK;
}

enum rc inbox_list(struct db *db, const struct inbox_filter *filter, struct arena *arena,
                   struct inbox_row **ret_rows, size_t *ret_count, bool *ret_more, struct err *err)
{
    struct inbox_row *rows = arena_array(arena, (size_t)INBOX_KIND_COUNT * INBOX_SOURCE_MAX,
                                         sizeof *rows);
    size_t count = 0;
    bool more = false;
    for (int kind = 0; kind < INBOX_KIND_COUNT; kind++) {
        if (!filter->kinds[kind] || sources[kind].text == NULL)
            continue;
        enum rc rc = read_source(db, (enum inbox_kind)kind, filter, arena, rows, &count, &more,
                                 err);
        if (rc != RC_OK)
            return rc;
    }
    qsort(rows, count, sizeof *rows, compare);
    *ret_rows = rows;
    *ret_count = count;
    *ret_more = more;
    return RC_OK;
}
