/*
 * test_store_expiry.c - what is deleted after its time, on each engine: tasks with all that belongs
 * to them, events, contents by reference, and space.
 */
#include "base/clock.h"
#include "base/fd.h"
#include "core/event_types.h"
#include "store/approvals.h"
#include "store/artifact_uses.h"
#include "store/artifacts.h"
#include "store/batches.h"
#include "store/engine.h"
#include "store/events.h"
#include "store/expiry.h"
#include "store/expiry_rows.h"
#include "store/query.h"
#include "store/retention_sums.h"
#include "store/run_diagnostics.h"
#include "store/run_snapshots.h"
#include "store/sagas.h"
#include "store/settled.h"
#include "store/space.h"
#include "store/timers.h"
#include "tests/store/fixture.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int64_t count_of(struct fixture *fixture, const char *text)
{
    struct fixture f = *fixture;
    int64_t value = -1;
    struct sql sql = {"test_count", text, ""};
    const struct sql *kept = memcpy(arena_alloc(&fixture->arena, sizeof sql), &sql, sizeof sql);
    must(query_int(f.db, kept, NULL, 0, &value, &f.err));
    return value;
}

static void run_text(struct fixture *fixture, const char *text)
{
    struct fixture f = *fixture;
    must(db_script(f.db, "test", text, &f.err));
}

static struct event event_of(struct fixture *f, const struct run_row *run, const char *type,
                             int64_t run_seq)
{
    return (struct event){.id = fixture_id(f),
                          .type = type,
                          .version = 1,
                          .task_id = run->task_id,
                          .run_id = run->id,
                          .time_us = f->now_us,
                          .run_seq = run_seq,
                          .actor = {"system", "drover"},
                          .data = STR("{}")};
}

/* ---- finding ---- */

START_TEST(roots_come_newest_first_and_without_sub_tasks)
{
    FIXTURE(f);
    struct task_row first = fixture_task(&f), second = fixture_task(&f);
    struct task_row child = fixture_task(&f), grandchild = fixture_task(&f);
    run_text(&f, arena_printf(&f.arena, "UPDATE tasks SET parent_id = '%s' WHERE id = '%s'",
                              first.id.text, child.id.text));
    run_text(&f, arena_printf(&f.arena, "UPDATE tasks SET parent_id = '%s' WHERE id = '%s'",
                              child.id.text, grandchild.id.text));
    struct id end = id_first_at(f.now_us + US_PER_DAY);
    struct expiry_root *roots;
    struct id *ids;
    size_t count;
    must(expiry_roots(f.db, &end, 10, &f.arena, &roots, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_id_eq(roots[0].id, second.id);
    ck_assert_id_eq(roots[1].id, first.id);
    must(expiry_roots(f.db, &second.id, 10, &f.arena, &roots, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    must(expiry_family(f.db, &first.id, 10, &f.arena, &ids, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_id_eq(ids[0], child.id);
    ck_assert_id_eq(ids[1], grandchild.id);
    must_be(RC_TOO_LARGE, expiry_family(f.db, &first.id, 1, &f.arena, &ids, &count, &f.err));
    must(expiry_family(f.db, &second.id, 10, &f.arena, &ids, &count, &f.err));
    ck_assert_uint_eq(count, 0);
}
END_TEST

#define PR_ROW                                                                                   \
    "INSERT INTO pull_requests (id, number, repository_id, task_id, run_id, branch, status, "    \
    "draft,"                                                                                     \
    " created_us, updated_us, merged_us) VALUES ('pr', 1, '%s', '%s', '%s', 'b', 'open', 0, 1, " \
    "77,"                                                                                        \
    " 0)"

START_TEST(what_keeps_a_task_is_counted)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f), other = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task);
    struct expiry_task facts = {0};
    must(expiry_facts(f.db, &task.id, &facts, &f.err));
    ck_assert_int_eq(facts.status, task.status);
    ck_assert_int_eq(facts.open_jobs + facts.open_prs + facts.followed_prs + facts.cars +
                         facts.repairs + facts.dependents + facts.issues + facts.sagas +
                         facts.timers + facts.pr_us,
                     0);
    ck_assert(!facts.in_batch);
    struct job_row job = fixture_job(&f, "drover.agent");
    job.run_id = run.id;
    must(jobs_insert(f.db, &job, &f.err));
    run_text(&f, arena_printf(&f.arena, PR_ROW, f.repository_id.text, task.id.text, run.id.text));
    run_text(&f, arena_printf(&f.arena,
                              "INSERT INTO task_dependencies (task_id, depends_on_id)"
                              " VALUES ('%s', '%s')",
                              other.id.text, task.id.text));
    run_text(&f, arena_printf(&f.arena, "UPDATE tasks SET pull_request_id = 'pr' WHERE id = '%s'",
                              other.id.text));
    run_text(&f, arena_printf(&f.arena,
                              "INSERT INTO timers (subject, kind, due_us) VALUES ('%s', 'x', 1)",
                              task.id.text));
    run_text(&f, arena_printf(&f.arena,
                              "INSERT INTO sagas (id, name, run_id, status, phase, position,"
                              " definition, created_us, updated_us, ended_us)"
                              " VALUES ('s', 'x', '%s', 'stuck', 'step', 0, '[]', 1, 1, 0)",
                              run.id.text));
    must(expiry_facts(f.db, &task.id, &facts, &f.err));
    ck_assert_int_eq(facts.open_jobs, 1);
    ck_assert_int_eq(facts.open_prs, 1);
    ck_assert_int_eq(facts.pr_us, 77);
    ck_assert_int_eq(facts.dependents, 1);
    ck_assert_int_eq(facts.repairs, 1);
    ck_assert_int_eq(facts.timers, 1);
    ck_assert_int_eq(facts.sagas, 1);
    struct id nothing = fixture_id(&f);
    must_be(RC_NOT_FOUND, expiry_facts(f.db, &nothing, &facts, &f.err));
}
END_TEST

START_TEST(sub_tasks_of_one_parent_may_depend_on_each_other)
{
    FIXTURE(f);
    struct task_row parent = fixture_task(&f), one = fixture_task(&f), two = fixture_task(&f);
    struct expiry_task facts = {0};
    run_text(&f, arena_printf(&f.arena,
                              "UPDATE tasks SET parent_id = '%s' WHERE id = '%s' OR id = '%s'",
                              parent.id.text, one.id.text, two.id.text));
    run_text(&f, arena_printf(&f.arena,
                              "INSERT INTO task_dependencies (task_id, depends_on_id)"
                              " VALUES ('%s', '%s')",
                              two.id.text, one.id.text));
    must(expiry_facts(f.db, &one.id, &facts, &f.err));
    ck_assert_int_eq(facts.dependents, 0);
}
END_TEST

static void append(struct fixture *fixture, const struct run_row *run, const char *type,
                   int64_t run_seq, const char *data)
{
    struct fixture f = *fixture;
    struct event event = event_of(fixture, run, type, run_seq);
    event.data = str_of(data);
    must(events_append(f.db, &event, &f.err));
}

START_TEST(the_last_snapshot_decides_whether_work_is_published)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task);
    bool unpublished;
    run_text(&f, "UPDATE runs SET status = 'failed'");
    must(expiry_unpublished(f.db, &task.id, &f.arena, &unpublished, &f.err));
    ck_assert(!unpublished);
    append(&f, &run, EV_SNAPSHOT_TAKEN, 1, "{\"ref\":\"r/1\"}");
    append(&f, &run, EV_SNAPSHOT_PUBLISHED, 2, "{\"ref\":\"r/1\"}");
    must(expiry_unpublished(f.db, &task.id, &f.arena, &unpublished, &f.err));
    ck_assert(!unpublished);
    append(&f, &run, EV_SNAPSHOT_TAKEN, 3, "{\"ref\":\"r/2\"}");
    must(expiry_unpublished(f.db, &task.id, &f.arena, &unpublished, &f.err));
    ck_assert(unpublished);
    append(&f, &run, EV_SNAPSHOT_PUBLISHED, 4, "{\"ref\":\"r/2\"}");
    must(expiry_unpublished(f.db, &task.id, &f.arena, &unpublished, &f.err));
    ck_assert(!unpublished);
    append(&f, &run, EV_SNAPSHOT_FAILED, 5, "{\"keptAt\":\"/x\"}");
    must(expiry_unpublished(f.db, &task.id, &f.arena, &unpublished, &f.err));
    ck_assert(unpublished);
}
END_TEST

/* ---- deleting ---- */

static const char *const of_run[] = {
    "INSERT INTO job_attempts (job_id, epoch, attempt, started_us, ended_us, outcome)"
    " SELECT id, 1, 1, 1, 1, 'failed' FROM jobs",
    "INSERT INTO sagas (id, name, run_id, status, phase, position, definition, created_us,"
    " updated_us, ended_us) SELECT 's', 'x', id, 'completed', 'step', 0, '[]', 1, 1, 1 FROM runs",
    "INSERT INTO saga_steps (saga_id, no, position, phase, name, job_id, status, started_us,"
    " ended_us) VALUES ('s', 1, 0, 'step', 'x', 'j', 'succeeded', 1, 1)",
    "INSERT INTO approvals (id, task_id, run_id, kind, status, requested_us, expires_us,"
    " decided_us, reminded) SELECT 'a', task_id, id, 'plan', 'approved', 1, 1, 1, 0 FROM runs",
    "INSERT INTO questions (id, task_id, run_id, asked_by, text, status, attempt, requested_us,"
    " expires_us, answered_us, delivered_us, reminded)"
    " SELECT 'q', task_id, id, 'a', '?', 'answered', 1, 1, 1, 1, 1, 0 FROM runs",
    "INSERT INTO run_messages (run_id, seq, author, text, created_us, delivered_us)"
    " SELECT id, 1, 'a', 'b', 1, 1 FROM runs",
    "INSERT INTO verifications (id, run_id, name, status, exit_code, duration_ms, created_us)"
    " SELECT 'v', id, 'unit', 'passed', 0, 1, 1 FROM runs",
    "INSERT INTO patches (id, run_id, attempt_no, sha256, files, lines_added, lines_deleted,"
    " status, created_us) SELECT 'p', id, 1, 'x', 1, 1, 1, 'published', 1 FROM runs",
    "INSERT INTO pull_requests (id, number, repository_id, task_id, run_id, branch, status, draft,"
    " created_us, updated_us, merged_us)"
    " SELECT 'pr', 1, repository_id, task_id, id, 'b', 'merged', 0, 1, 1, 1 FROM runs",
    "INSERT INTO trains (id, workspace_id, repository_id, target_branch, rounds, verifications,"
    " landed, rejected, failures, retry_us, created_us, updated_us)"
    " SELECT 't', workspace_id, repository_id, 'main', 0, 0, 1, 0, 0, 0, 1, 1 FROM runs",
    "INSERT INTO train_cars (id, train_id, pull_request_id, run_id, task_id, number, branch,"
    " head_commit, urgent, clash, state, told, entered_us, updated_us, ended_us)"
    " SELECT 'c', 't', 'pr', id, task_id, 1, 'b', 'h', 0, 0, 'landed', 1, 1, 1, 1 FROM runs",
    "INSERT INTO timers (subject, kind, due_us) VALUES ('pr', 'shepherd', 1)",
    "INSERT INTO run_snapshots (run_id, sequence_no, log_seq, time_us, version, snapshot,"
    " created_us) SELECT id, 1, 1, 1, 1, '{}', 1 FROM runs",
    "INSERT INTO run_diagnostics (run_id, through_seq, removed, sums, updated_us)"
    " SELECT id, 1, 1, '{}', 1 FROM runs",
    "INSERT INTO run_artifacts (run_id, kind, name, sha256, bytes, created_us)"
    " SELECT id, 'diff', 'a', '1111111111111111111111111111111111111111111111111111111111111111',"
    " 1, 1 FROM runs",
};

START_TEST(a_task_is_deleted_from_every_table)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task);
    struct job_row job = fixture_job(&f, "drover.agent");
    struct expiry_counts counts = {0};
    job.run_id = run.id;
    must(jobs_insert(f.db, &job, &f.err));
    append(&f, &run, EV_RUN_QUEUED, 1, "{}");
    for (size_t i = 0; i < COUNT_OF(of_run); i++)
        run_text(&f, of_run[i]);
    run_text(&f, "UPDATE runs SET status = 'completed'");
    CLEANUP(tx_abort) struct tx tx = {0};
    must(tx_begin(f.db, &tx, &f.err));
    must(expiry_delete_task(f.db, &task.id, 5, &f.arena, &counts, &f.err));
    must(tx_commit(&tx, &f.err));
    static const char *const tables[] = {
        "tasks",         "runs",           "jobs",          "job_attempts", "sagas",
        "saga_steps",    "approvals",      "questions",     "run_messages", "verifications",
        "patches",       "train_cars",     "pull_requests", "timers",       "run_snapshots",
        "run_artifacts", "run_diagnostics"};
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        ck_assert_msg(count_of(&f, arena_printf(&f.arena, "SELECT count(*) FROM %s", tables[i])) ==
                          0,
                      "%s", tables[i]);
    ck_assert_int_eq(counts.tasks, 1);
    ck_assert_int_eq(counts.runs, 1);
    ck_assert_int_eq(counts.jobs, 1);
    ck_assert_int_eq(counts.runs_by_status[RUN_COMPLETED], 1);
    ck_assert_int_gt(counts.rows, 10);
    ck_assert_int_eq(count_of(&f, "SELECT count(*) FROM loose_artifacts"), 1);
    ck_assert_int_eq(count_of(&f, "SELECT count(*) FROM trains"), 1);
    ck_assert_int_eq(count_of(&f, "SELECT count(*) FROM event_log"), 1);
    struct expired_task *expired;
    size_t count;
    must(expired_tasks_list(f.db, INT64_MAX, 10, &f.arena, &expired, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    ck_assert_id_eq(expired[0].task_id, task.id);
}
END_TEST

START_TEST(a_task_that_others_refer_to_cannot_be_deleted)
{
    FIXTURE(f);
    struct task_row parent = fixture_task(&f), child = fixture_task(&f);
    struct expiry_counts counts = {0};
    run_text(&f, arena_printf(&f.arena, "UPDATE tasks SET parent_id = '%s' WHERE id = '%s'",
                              parent.id.text, child.id.text));
    struct tx tx = {0};
    must(tx_begin(f.db, &tx, &f.err));
    enum rc rc = expiry_delete_task(f.db, &parent.id, 5, &f.arena, &counts, &f.err);
    if (rc == RC_OK)
        rc = tx_commit(&tx, &f.err);
    ck_assert_int_ne(rc, RC_OK);
    tx_abort(&tx);
    ck_assert_int_eq(count_of(&f, "SELECT count(*) FROM tasks"), 2);
}
END_TEST

/* ---- events ---- */

struct types {
    int64_t all, own;
    char last[64];
};

static void count_type(void *ctx, const char *type, bool own)
{
    struct types *types = ctx;
    types->all++;
    types->own += own;
    (void)snprintf(types->last, sizeof types->last, "%s", type);
}

START_TEST(events_of_an_expired_task_go_in_pieces_but_not_all_of_them)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task);
    struct types types = {0};
    for (int i = 1; i <= 5; i++)
        append(&f, &run, EV_RUN_STATUS_CHANGED, i, "{}");
    append(&f, &run, EV_RUN_STATUS_CHANGED, 6, "{\"issueId\":\"7\"}");
    append(&f, &run, "conductor.issue.approved", 7, "{}");
    append(&f, &run, EV_RUN_COMPLETED, 8, "{}"); /* The newest of the log. */
    const struct expired_task expired = {.task_id = task.id};
    const struct event_expiry expiry = {count_type, &types, 3};
    int64_t count = 0;
    must(expired_events_delete(f.db, &expired, &expiry, &count, &f.err));
    ck_assert_int_eq(count, 3);
    must(expired_events_delete(f.db, &expired, &expiry, &count, &f.err));
    ck_assert_int_eq(count, 2);
    must(expired_events_delete(f.db, &expired, &expiry, &count, &f.err));
    ck_assert_int_eq(count, 0);
    ck_assert_int_eq(types.all, 5);
    ck_assert_int_eq(types.own, 5);
    ck_assert_str_eq(types.last, EV_RUN_STATUS_CHANGED);
    ck_assert_int_eq(count_of(&f, "SELECT count(*) FROM event_log"), 3);
}
END_TEST

START_TEST(the_reader_that_is_furthest_behind_is_found)
{
    FIXTURE(f);
    int64_t cursor = 0;
    const char *reader = NULL;
    must_be(RC_NOT_FOUND, log_unread(f.db, &f.arena, &cursor, &reader, &f.err));
    run_text(&f, "INSERT INTO consumers (name, cursor_seq, epoch, acked_us, created_us, updated_us)"
                 " VALUES ('c', 9, 1, 1, 1, 1)");
    must(log_unread(f.db, &f.arena, &cursor, &reader, &f.err));
    ck_assert_int_eq(cursor, 9);
    ck_assert_str_eq(reader, "consumer c");
    run_text(&f, "INSERT INTO sinks (name, cursor_seq, created_us, updated_us)"
                 " VALUES ('s', 4, 1, 1)");
    must(log_unread(f.db, &f.arena, &cursor, &reader, &f.err));
    ck_assert_int_eq(cursor, 4);
    ck_assert_str_eq(reader, "sink s");
}
END_TEST

/* A cursor passes what was deleted, at once where it is known to be settled. */
START_TEST(a_cursor_passes_over_deleted_events)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task);
    for (int i = 1; i <= 20; i++)
        append(&f, &run, EV_RUN_STATUS_CHANGED, i, "{}");
    run_text(&f, "DELETE FROM event_log WHERE run_seq IN (1, 2, 5, 6, 7, 11, 13, 15, 17)");
    must(retention_sums_raise(f.db, MARK_FLOOR_SEQ, 1000000, &f.err));
    struct settled cursor = {0};
    struct event *events;
    size_t count;
    must(settled_read(f.db, &cursor, 100, &f.arena, &events, &count, &f.err));
    ck_assert_uint_eq(count, 11);
    ck_assert_int_eq(events[0].run_seq, 3);
    ck_assert_int_eq(events[10].run_seq, 20);
    ck_assert(!settled_waits(&cursor));
}
END_TEST

/* ---- rows of no task ---- */

START_TEST(only_settled_jobs_of_no_run_go)
{
    FIXTURE(f);
    static const struct {
        const char *state;
        bool of_run, goes;
    } table[] = {{"succeeded", false, true},  {"cancelled", false, true},
                 {"queued", false, false},    {"leased", false, false},
                 {"scheduled", false, false}, {"dead_letter", false, false},
                 {"succeeded", true, false}};
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task);
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct job_row job = fixture_job(&f, "q");
        if (table[i].of_run)
            job.run_id = run.id;
        must(jobs_insert(f.db, &job, &f.err));
        run_text(&f, arena_printf(&f.arena,
                                  "UPDATE jobs SET state = '%s', updated_us = 100 WHERE id = '%s'",
                                  table[i].state, job.id.text));
    }
    struct expiry_job *jobs;
    size_t count;
    const struct expiry_job_page page = {0, 101, 100};
    must(expiry_jobs(f.db, &page, &f.arena, &jobs, &count, &f.err));
    ck_assert_uint_eq(count, COUNT_OF(table));
    for (size_t i = 0; i < count; i++) {
        int64_t deleted = -1;
        ck_assert_int_eq(jobs[i].goes, table[i].goes);
        must(expiry_delete_job(f.db, &jobs[i].id, 101, &deleted, &f.err));
        ck_assert_int_eq(deleted, table[i].goes);
    }
    ck_assert_int_eq(count_of(&f, "SELECT count(*) FROM jobs"), 5);
}
END_TEST

START_TEST(sagas_batches_and_letters_go_after_their_end)
{
    FIXTURE(f);
    struct id *ids;
    size_t count;
    int64_t deleted = 0;
    run_text(&f,
             "INSERT INTO sagas (id, name, status, phase, position, definition, created_us,"
             " updated_us, ended_us) VALUES ('old', 'x', 'completed', 'step', 0, '[]', 1, 1, 5),"
             " ('new', 'x', 'compensated', 'step', 0, '[]', 1, 1, 50),"
             " ('stuck', 'x', 'stuck', 'step', 0, '[]', 1, 1, 5)");
    must(expiry_sagas(f.db, 10, 10, &f.arena, &ids, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    run_text(&f,
             arena_printf(&f.arena,
                          "INSERT INTO batches (id, workspace_id, name, status, max_active,"
                          " budget_microusd, stop_failures, stop_percent, stop_after,"
                          " stop_cancels, told, created_us, updated_us, ended_us)"
                          " VALUES ('%s', '%s', 'b', 'completed', 0, 0, 0, 0, 0, 0, 0, 1, 1, 5)",
                          f.repository_id.text, f.workspace_id.text));
    must(expiry_batches(f.db, 5, 10, &f.arena, &ids, &count, &f.err));
    ck_assert_uint_eq(count, 0);
    struct task_row task = fixture_task(&f);
    run_text(&f, arena_printf(&f.arena, "UPDATE tasks SET batch_id = '%s'", f.repository_id.text));
    must(expiry_batches(f.db, 6, 10, &f.arena, &ids, &count, &f.err));
    ck_assert_msg(count == 0, "task %s is of it", task.id.text);
    run_text(&f, "UPDATE tasks SET batch_id = NULL");
    must(expiry_batches(f.db, 6, 10, &f.arena, &ids, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    must(expiry_delete_batch(f.db, &ids[0], 7, &f.err));
    ck_assert_int_eq(count_of(&f, "SELECT count(*) FROM batches"), 0);
    run_text(&f, "INSERT INTO sinks (name, cursor_seq, created_us, updated_us)"
                 " VALUES ('s', 4, 1, 1)");
    run_text(&f, "INSERT INTO sink_dead_letters (sink, seq, event_id, event_type, error_code,"
                 " error_message, created_us, replay) VALUES ('s', 1, 'x', 'x', 'x', 'x', 5, 0),"
                 " ('s', 2, 'x', 'x', 'x', 'x', 5, 1), ('s', 3, 'x', 'x', 'x', 'x', 50, 0)");
    must(expiry_count_letters(f.db, 10, &deleted, &f.err));
    ck_assert_int_eq(deleted, 1);
    must(expiry_delete_letters(f.db, 10, 10, &deleted, &f.err));
    ck_assert_int_eq(deleted, 1);
    ck_assert_int_eq(count_of(&f, "SELECT count(*) FROM sink_dead_letters"), 2);
}
END_TEST

/* ---- contents ---- */

static bool is_used(struct fixture *fixture, const char *sha256)
{
    struct fixture f = *fixture;
    bool used = false;
    must(artifact_is_used(f.db, sha256, &used, &f.err));
    return used;
}

#define SHA_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SHA_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

START_TEST(contents_are_used_as_long_as_a_row_names_them)
{
    FIXTURE(f);
    struct id owner = fixture_id(&f), other = fixture_id(&f);
    ck_assert(!is_used(&f, SHA_A));
    must(artifact_uses_add(
        f.db, &owner,
        STR("[{\"name\":\"a\",\"sha256\":\"" SHA_A "\"},\"" SHA_B "\",\"x" SHA_B "\",\"AA\"]"), 5,
        &f.err));
    must(artifact_uses_add(f.db, &other, STR("\"" SHA_B "\""), 5, &f.err));
    must(artifact_uses_add(f.db, &other, STR("{\"cut\":\"" SHA_A), 5, &f.err));
    must(artifact_uses_add(f.db, &other, (struct str){0}, 5, &f.err));
    ck_assert_int_eq(count_of(&f, "SELECT count(*) FROM artifact_uses"), 3);
    must(artifact_uses_end(f.db, &owner, 6, &f.err));
    ck_assert(!is_used(&f, SHA_A) && is_used(&f, SHA_B));
    struct loose_artifact *loose;
    size_t count;
    must(loose_artifacts_list(f.db, NULL, 10, &f.arena, &loose, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(loose[0].sha256, SHA_A);
    must(loose_artifacts_list(f.db, SHA_A, 10, &f.arena, &loose, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    must(loose_artifacts_remove(f.db, SHA_A, &f.err));
    must(loose_artifacts_add(f.db, SHA_B, 7, &f.err));
    ck_assert_int_eq(count_of(&f, "SELECT count(*) FROM loose_artifacts"), 1);
}
END_TEST

START_TEST(a_link_that_is_replaced_still_holds_its_content)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task);
    struct artifact_row row = {
        .run_id = run.id, .kind = "verify_log", .name = "unit", .sha256 = SHA_A, .bytes = 1};
    must(artifacts_link(f.db, &row, &f.err));
    row.sha256 = SHA_B;
    must(artifacts_link(f.db, &row, &f.err));
    must(artifacts_link(f.db, &row, &f.err));
    ck_assert(is_used(&f, SHA_A) && is_used(&f, SHA_B));
    must(artifact_uses_end_run(f.db, &run.id, 5, &f.err));
    ck_assert(!is_used(&f, SHA_A) && !is_used(&f, SHA_B));
    ck_assert_int_eq(count_of(&f, "SELECT count(*) FROM loose_artifacts"), 2);
}
END_TEST

START_TEST(a_content_that_was_just_put_is_not_swept)
{
    FIXTURE(f);
    const struct artifact_source source = {f.store, f.db};
    const struct clock clock = clock_real();
    struct artifact_swept swept = {0};
    char sha256[SHA256_TEXT_BYTES], again[SHA256_TEXT_BYTES];
    int64_t bytes;
    must(artifact_put(f.store, STR("hello"), sha256, &f.err));
    must(artifact_sweep(&source, sha256, clock_now_us(&clock) - US_PER_MINUTE, &swept, &f.err));
    ck_assert(swept.is_young);
    must(artifact_put(f.store, STR("hello"), again, &f.err));
    must(artifact_sweep(&source, sha256, clock_now_us(&clock) + US_PER_MINUTE, &swept, &f.err));
    ck_assert(!swept.is_young);
    ck_assert_int_eq(swept.bytes, 5);
    must_be(RC_NOT_FOUND, artifact_stat(&source, sha256, &bytes, &f.err));
    must(artifact_sweep(&source, sha256, clock_now_us(&clock), &swept, &f.err));
    ck_assert_int_eq(swept.bytes, 0);
    must_be(RC_INVALID, artifact_sweep(&source, "../x", 0, &swept, &f.err));
    must(artifact_put(f.store, STR("hello"), again, &f.err));
    must(artifact_stat(&source, sha256, &bytes, &f.err));
}
END_TEST

START_TEST(all_contents_can_be_named_in_order)
{
    FIXTURE(f);
    const struct artifact_source source = {f.store, f.db};
    struct artifact_name *names;
    size_t count, all = 0;
    char last[SHA256_TEXT_BYTES] = "";
    for (int i = 0; i < 300; i++) {
        char sha256[SHA256_TEXT_BYTES];
        struct str text = str_of(arena_printf(&f.arena, "content %d", i));
        must(artifact_put(f.store, text, sha256, &f.err));
    }
    for (;;) {
        must(artifact_names(&source, last[0] ? last : NULL, &f.arena, &names, &count, &f.err));
        if (count == 0)
            break;
        for (size_t i = 0; i < count; i++) {
            ck_assert_int_gt(strcmp(names[i].sha256, last), 0);
            memcpy(last, names[i].sha256, sizeof last);
        }
        all += count;
    }
    ck_assert_uint_eq(all, 300);
}
END_TEST

/* ---- sums ---- */

START_TEST(sums_add_up_and_marks_only_grow)
{
    FIXTURE(f);
    int64_t value = 5;
    must(retention_sums_get(f.db, "expired.tasks", &value, &f.err));
    ck_assert_int_eq(value, 0);
    must(retention_sums_add(f.db, "expired.tasks", 2, &f.err));
    must(retention_sums_add(f.db, "expired.tasks", 3, &f.err));
    must(retention_sums_add(f.db, "expired.jobs", 0, &f.err));
    must(retention_sums_raise(f.db, "mark.x", 7, &f.err));
    must(retention_sums_raise(f.db, "mark.x", 6, &f.err));
    must(retention_sums_set(f.db, &(struct retention_sum){"kept.train", 4, "an id"}, &f.err));
    must(retention_sums_get(f.db, "expired.tasks", &value, &f.err));
    ck_assert_int_eq(value, 5);
    must(retention_sums_get(f.db, "mark.x", &value, &f.err));
    ck_assert_int_eq(value, 7);
    struct retention_sum *sums;
    size_t count;
    must(retention_sums_list(f.db, "", &f.arena, &sums, &count, &f.err));
    ck_assert_uint_eq(count, 3);
    must(retention_sums_list(f.db, RETENTION_KEPT, &f.arena, &sums, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(sums[0].note, "an id");
}
END_TEST

START_TEST(what_was_deleted_of_a_run_is_remembered)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task);
    struct run_diagnostics_row row = {
        .run_id = run.id, .through_seq = 7, .removed = 5, .sums = STR("{\"a\":1}")};
    int64_t removed = -1, seq = -1;
    must(run_diagnostics_removed(f.db, &run.id, &removed, &f.err));
    ck_assert_int_eq(removed, 0);
    must(run_diagnostics_put(f.db, &row, &f.err));
    row.removed = 6;
    must(run_diagnostics_put(f.db, &row, &f.err));
    must(run_diagnostics_get(f.db, &run.id, &f.arena, &row, &f.err));
    ck_assert_int_eq(row.removed, 6);
    ck_assert_bytes_eq(row.sums, "{\"a\":1}");
    append(&f, &run, EV_MODEL_TURN_COMPLETED, 1, "{\"runUsage\":{\"turns\":1}}");
    append(&f, &run, EV_RUN_COMPLETED, 2, "{\"runUsage\":{\"turns\":1}}");
    append(&f, &run, EV_TOOL_CALL_STARTED, 3, "{\"issueId\":\"1\"}");
    must(run_diagnostics_usage(f.db, &run.id, &seq, &f.err));
    ck_assert_int_eq(seq, 2);
    struct diagnostic_event *events;
    size_t count;
    const struct diagnostic_page page = {run.id, 1, 10};
    must(run_diagnostics_events(f.db, &page, &f.arena, &events, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert(!events[0].about_issue && events[1].about_issue);
    must(run_diagnostics_delete(f.db, events[0].event.seq, &f.err));
    ck_assert_int_eq(count_of(&f, "SELECT count(*) FROM event_log"), 2);
}
END_TEST

/* ---- space ---- */

START_TEST(free_pages_are_given_back_while_it_is_in_use)
{
    FIXTURE_ON(f, ENGINE_FILE);
    struct db_space full, empty, after;
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task);
    struct tx tx = {0};
    must(tx_begin(f.db, &tx, &f.err));
    for (int i = 1; i <= 3000; i++)
        append(&f, &run, EV_RUN_STATUS_CHANGED, i, "{\"reason\":\"a text that takes some room\"}");
    must(tx_commit(&tx, &f.err));
    must(db_space(f.db, &full, &f.err));
    ck_assert(full.gives_back);
    run_text(&f, "DELETE FROM event_log");
    must(db_space(f.db, &empty, &f.err));
    ck_assert_int_gt(empty.free_pages, full.pages / 2);
    for (int64_t left = empty.free_pages; left > 0; left -= 50) {
        must(tx_begin(f.db, &tx, &f.err));
        must(db_give_back(f.db, 50, &f.err));
        must(tx_commit(&tx, &f.err));
    }
    must(db_space(f.db, &after, &f.err));
    ck_assert_int_lt(after.pages, full.pages / 2);
    ck_assert_int_eq(after.free_pages, 0);
    struct space space;
    must(space_of(f.db, &space, &f.err));
    ck_assert_int_eq(space.database_bytes, after.pages * after.page_bytes);
    ck_assert_int_eq(space.content_bytes, -1);
}
END_TEST

START_TEST(an_old_database_gives_space_back_after_it_was_made_compact)
{
    FIXTURE_ON(f, ENGINE_FILE);
    struct db_space space;
    struct compacted compacted = {0};
    struct fixture scratch = f;
    /* As a version made it that knew nothing of this. */
    run_text(&f, "PRAGMA auto_vacuum = NONE");
    run_text(&f, "VACUUM");
    must(db_space(f.db, &space, &f.err));
    ck_assert(!space.gives_back);
    must_be(RC_CONFLICT, store_compact(f.url, &compacted, &scratch.err));
    ck_assert_str_eq(scratch.err.code, "STORE_IN_USE");
    store_close(f.store);
    must(store_compact(f.url, &compacted, &f.err));
    ck_assert_int_gt(compacted.after_bytes, 0);
    const struct store_options options = {.url = f.url, .artifact_dir = f.artifact_dir};
    must(store_open(&options, &f.store, &f.err));
    f.db = store_writer(f.store);
    must(db_space(f.db, &space, &f.err));
    ck_assert(space.gives_back);
    must_be(RC_INVALID, store_compact("postgres://x", &compacted, &f.err));
}
END_TEST

START_TEST(what_a_shared_store_takes_is_known)
{
    FIXTURE_ON(f, ENGINE_POSTGRES);
    struct space space;
    char sha256[SHA256_TEXT_BYTES];
    must(artifact_put(f.store, STR("hello"), sha256, &f.err));
    must(space_of(f.db, &space, &f.err));
    ck_assert_int_gt(space.database_bytes, 0);
    ck_assert_int_eq(space.content_bytes, 5);
    ck_assert_int_eq(space.contents, 1);
}
END_TEST

Suite *store_expiry_suite(void)
{
    Suite *suite = suite_create("store_expiry");
    TCase *tc = tcase_create("expiry");
    tcase_set_timeout(tc, 60);
    case_add(tc, roots_come_newest_first_and_without_sub_tasks);
    case_add(tc, what_keeps_a_task_is_counted);
    case_add(tc, sub_tasks_of_one_parent_may_depend_on_each_other);
    case_add(tc, the_last_snapshot_decides_whether_work_is_published);
    case_add(tc, a_task_is_deleted_from_every_table);
    case_add(tc, a_task_that_others_refer_to_cannot_be_deleted);
    case_add(tc, events_of_an_expired_task_go_in_pieces_but_not_all_of_them);
    case_add(tc, the_reader_that_is_furthest_behind_is_found);
    case_add(tc, a_cursor_passes_over_deleted_events);
    case_add(tc, only_settled_jobs_of_no_run_go);
    case_add(tc, sagas_batches_and_letters_go_after_their_end);
    case_add(tc, contents_are_used_as_long_as_a_row_names_them);
    case_add(tc, a_link_that_is_replaced_still_holds_its_content);
    case_add(tc, a_content_that_was_just_put_is_not_swept);
    case_add(tc, all_contents_can_be_named_in_order);
    case_add(tc, sums_add_up_and_marks_only_grow);
    case_add(tc, what_was_deleted_of_a_run_is_remembered);
    tcase_add_test(tc, free_pages_are_given_back_while_it_is_in_use);
    tcase_add_test(tc, an_old_database_gives_space_back_after_it_was_made_compact);
    if (postgres_url() != NULL)
        tcase_add_test(tc, what_a_shared_store_takes_is_known);
    suite_add_tcase(suite, tc);
    return suite;
}
