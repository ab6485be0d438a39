/*
 * test_store_sqlite.c - what only SQLite has: its files, its lock, its query plans, its errors.
 *
 * The store's own connections are caught as they are opened (an automatic extension sees every
 * new one), so that plans and faults are those of the production code.
 */
#include "base/fd.h"
#include "store/agents.h"
#include "store/capacity.h"
#include "store/dead_letters.h"
#include "store/deliveries.h"
#include "store/events.h"
#include "store/job_marks.h"
#include "store/job_prune.h"
#include "store/pull_requests.h"
#include "store/queue_levels.h"
#include "store/syncs.h"
#include "store/timers.h"
#include "tests/store/fixture.h"
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

static sqlite3 *writer_handle; /* Of the store that was opened last. */

static int catch_connection(sqlite3 *handle, char **error, const struct sqlite3_api_routines *api)
{
    (void)error;
    (void)api;
    if (sqlite3_db_readonly(handle, "main") != 1)
        writer_handle = handle;
    return SQLITE_OK;
}

static struct fixture caught_open(int engine)
{
    sqlite3_auto_extension((void (*)(void))catch_connection);
    struct fixture f = fixture_open(engine);
    sqlite3_cancel_auto_extension((void (*)(void))catch_connection);
    ck_assert_ptr_nonnull(writer_handle);
    return f;
}
#define CAUGHT(f) CLEANUP(fixture_close) struct fixture f = caught_open(ENGINE_FILE)

static char *pragma(struct fixture *f, const char *text)
{
    sqlite3_stmt *statement;
    ck_assert_int_eq(sqlite3_prepare_v2(writer_handle, text, -1, &statement, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(statement), SQLITE_ROW);
    char *value = arena_strdup(&f->arena, (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    return value;
}

START_TEST(a_commit_is_on_disk)
{
    CAUGHT(f);
    ck_assert_str_eq(pragma(&f, "PRAGMA journal_mode"), "wal");
    ck_assert_str_eq(pragma(&f, "PRAGMA synchronous"), "2");
    ck_assert_str_eq(pragma(&f, "PRAGMA foreign_keys"), "1");
    ck_assert_str_eq(pragma(&f, "PRAGMA mmap_size"), "0");
    ck_assert_str_eq(store_durability(f.store), "sqlite WAL synchronous=FULL");
}
END_TEST

START_TEST(files_are_for_their_owner_only)
{
    FIXTURE_ON(f, ENGINE_FILE);
    static const char *const names[] = {"drover.db", "drover.db-wal", "drover.db-shm",
                                        "drover.db.lock"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct stat status;
        char *path = arena_printf(&f.arena, "%s/%s", f.dir, names[i]);
        ck_assert_msg(stat(path, &status) == 0, "%s", path);
        ck_assert_msg((status.st_mode & 0777) == 0600, "%s: %o", path, status.st_mode);
    }
}
END_TEST

START_TEST(a_second_server_on_the_file_is_refused)
{
    FIXTURE_ON(f, ENGINE_FILE);
    char *other_name = arena_printf(&f.arena, "%s/link.db", f.dir);
    ck_assert_int_eq(symlink("drover.db", other_name), 0);
    const char *const urls[] = {f.url, arena_printf(&f.arena, "sqlite:%s", other_name)};
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        struct store *second = NULL;
        struct store_options options = {.url = urls[i]};
        must_be(RC_CONFLICT, store_open(&options, &second, &f.err));
        ck_assert_str_eq(f.err.code, "STORE_IN_USE");
        ck_assert_ptr_nonnull(strstr(f.err.text, "another drover"));
        ck_assert_ptr_null(second);
    }
    fixture_reopen(&f); /* The lock went with its holder. */
}
END_TEST

START_TEST(stores_in_memory_share_nothing)
{
    FIXTURE_ON(f, ENGINE_MEMORY);
    FIXTURE_ON(g, ENGINE_MEMORY);
    struct job_row job = fixture_job(&f, "q");
    must(jobs_insert(f.db, &job, &f.err));
    must_be(RC_NOT_FOUND, jobs_get(g.db, &job.id, &f.arena, &job, &f.err));
    struct db *reader;
    must(store_reader_open(f.store, &reader, &f.err));
    ck_assert_ptr_eq(reader, f.db);
    store_reader_close(f.store, reader);
    ck_assert_str_eq(store_durability(f.store), "sqlite in memory, nothing is kept");
}
END_TEST

START_TEST(a_file_that_is_no_database_is_corrupt)
{
    FIXTURE_ON(f, ENGINE_FILE);
    char *path = arena_printf(&f.arena, "%s/text.db", f.dir);
    char *noise = arena_alloc(&f.arena, 8192);
    memset(noise, 'x', 8192);
    must(file_write_durable(path, noise, 8192, 0600, &f.err));
    struct store *store = NULL;
    struct store_options options = {.url = arena_printf(&f.arena, "sqlite:%s", path)};
    must_be(RC_CORRUPT, store_open(&options, &store, &f.err));
    ck_assert_str_eq(f.err.code, "STORE_CORRUPT");
    options.url = "sqlite:/no/such/dir/drover.db";
    must_be(RC_IO, store_open(&options, &store, &f.err));
    ck_assert_str_eq(f.err.code, "STORE_IO");
    ck_assert_ptr_null(store);
}
END_TEST

START_TEST(a_full_disk_is_told_and_nothing_is_kept)
{
    CAUGHT(f);
    struct job_row kept = fixture_job(&f, "q");
    must(jobs_insert(f.db, &kept, &f.err));
    char *limit = arena_printf(&f.arena, "PRAGMA max_page_count = %s",
                               pragma(&f, "PRAGMA page_count"));
    pragma(&f, limit);
    struct tx tx;
    must(tx_begin(f.db, &tx, &f.err));
    enum rc rc = RC_OK;
    for (int i = 0; rc == RC_OK && i < 1000; i++) {
        struct job_row job = fixture_job(&f, "q");
        rc = jobs_insert(f.db, &job, &f.err);
    }
    ck_assert_int_eq(rc, RC_IO);
    ck_assert_str_eq(f.err.code, "STORE_FULL");
    must_be(RC_IO, tx_commit(&tx, &f.err));
    pragma(&f, "PRAGMA max_page_count = 1000000");
    struct queue_counts *counts;
    size_t count;
    must(jobs_count(f.db, &f.arena, &counts, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(counts[0].by_state[JOB_QUEUED], 1);
}
END_TEST

START_TEST(a_held_lock_is_busy)
{
    CAUGHT(f);
    sqlite3 *other;
    char *path = arena_printf(&f.arena, "%s/drover.db", f.dir);
    ck_assert_int_eq(sqlite3_open(path, &other), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_busy_timeout(writer_handle, 1);
    struct tx tx = {0};
    must_be(RC_BUSY, tx_begin(f.db, &tx, &f.err));
    ck_assert_str_eq(f.err.code, "STORE_BUSY");
    ck_assert_ptr_null(tx.db);
    ck_assert_int_eq(sqlite3_close(other), SQLITE_OK);
    must(tx_begin(f.db, &tx, &f.err));
    tx_abort(&tx);
}
END_TEST

static int refuse_commit(void *arg)
{
    (void)arg;
    return 1;
}

START_TEST(a_commit_that_fails_is_rolled_back)
{
    CAUGHT(f);
    sqlite3_commit_hook(writer_handle, refuse_commit, NULL);
    struct tx tx;
    must(tx_begin(f.db, &tx, &f.err));
    struct job_row job = fixture_job(&f, "q");
    must(jobs_insert(f.db, &job, &f.err));
    must_be(RC_IO, tx_commit(&tx, &f.err));
    ck_assert_ptr_null(tx.db);
    sqlite3_commit_hook(writer_handle, NULL, NULL);
    must_be(RC_NOT_FOUND, jobs_get(f.db, &job.id, &f.arena, &job, &f.err));
    must(tx_begin(f.db, &tx, &f.err));
    must(tx_commit(&tx, &f.err));
}
END_TEST

struct busy_reader {
    struct store *store;
    atomic_bool stop;
    enum rc rc;
};

static void *read_without_pause(void *arg)
{
    struct busy_reader *reader = arg;
    struct err err;
    struct db *db;
    reader->rc = store_reader_open(reader->store, &db, &err);
    if (reader->rc != RC_OK)
        return NULL;
    while (reader->rc == RC_OK && !atomic_load(&reader->stop)) {
        struct arena arena = {0};
        struct job_filter filter = {.state = -1, .limit = 20};
        struct job_row *rows;
        size_t count;
        reader->rc = jobs_list(db, &filter, &arena, &rows, &count, &err);
        arena_release(&arena);
    }
    store_reader_close(reader->store, db);
    return NULL;
}

static int64_t bytes_of(const char *path)
{
    struct stat status;
    ck_assert_msg(stat(path, &status) == 0, "%s", path);
    return status.st_size;
}

static void copy_file(const char *from, const char *to)
{
    struct err err = {0};
    CLEANUP(buf_release) struct buf bytes;
    buf_init(&bytes, 64 * 1024 * 1024);
    ck_assert_int_eq(file_read(from, &bytes, &err), RC_OK);
    ck_assert_int_eq(file_write_durable(to, bytes.data, bytes.len, 0600, &err), RC_OK);
}

START_TEST(few_commits_make_the_log_longer_and_what_is_in_it_is_found_after_a_crash)
{
    FIXTURE_ON(f, ENGINE_FILE);
    enum { COMMITS = 500 };
    char *db = arena_printf(&f.arena, "%s/drover.db", f.dir);
    char *log = arena_printf(&f.arena, "%s-wal", db);
    int64_t before = bytes_of(log);
    int longer = 0;
    for (int i = 0; i < COMMITS; i++) {
        struct job_row job = fixture_job(&f, "q");
        struct tx tx;
        must(tx_begin(f.db, &tx, &f.err));
        must(jobs_insert(f.db, &job, &f.err));
        must(tx_commit(&tx, &f.err));
        longer += bytes_of(log) > before;
        before = bytes_of(log);
    }
    ck_assert_int_lt(longer, COMMITS / 2); /* All of them, until it is worth it. */
    /* The files as a crash would leave them. */
    char *copy = arena_printf(&f.arena, "%s/copy.db", f.dir);
    copy_file(db, copy);
    copy_file(log, arena_printf(&f.arena, "%s-wal", copy));
    struct store_options options = {.url = arena_printf(&f.arena, "sqlite:%s", copy),
                                    .artifact_dir = f.artifact_dir};
    struct store *store;
    struct queue_counts *counts;
    size_t count;
    must(store_open(&options, &store, &f.err));
    must(jobs_count(store_writer(store), &f.arena, &counts, &count, &f.err));
    ck_assert_int_eq(counts[0].by_state[JOB_QUEUED], COMMITS);
    store_close(store);
}
END_TEST

/* One job of so many bytes, in a transaction of its own. */
static void commit_bytes(struct fixture *f, size_t bytes)
{
    struct job_row job = fixture_job(f, "q");
    char *payload = arena_alloc(&f->arena, bytes);
    memset(payload, '1', bytes);
    job.payload = (struct str){payload, bytes};
    struct tx tx;
    ck_assert_int_eq(tx_begin(f->db, &tx, &f->err), RC_OK);
    ck_assert_int_eq(jobs_insert(f->db, &job, &f->err), RC_OK);
    ck_assert_int_eq(tx_commit(&tx, &f->err), RC_OK);
}

START_TEST(the_log_gets_its_room_between_commits)
{
    FIXTURE_ON(f, ENGINE_FILE);
    enum { SMALL = 20000, ROUNDS = 3, COMMITS_MAX = 200 };
    char *db = arena_printf(&f.arena, "%s/drover.db", f.dir);
    char *log = arena_printf(&f.arena, "%s-wal", db);
    ck_assert(!db_upkeep_due(f.db)); /* A server with little to do needs none. */
    for (int i = 0; i < COMMITS_MAX && !db_upkeep_due(f.db); i++)
        commit_bytes(&f, SMALL);
    for (int i = 0; i < ROUNDS; i++) {
        ck_assert(db_upkeep_due(f.db));
        int64_t before = bytes_of(log);
        db_upkeep(f.db);
        int64_t after = bytes_of(log);
        ck_assert_int_gt(after, before);
        ck_assert(!db_upkeep_due(f.db));
        db_upkeep(f.db); /* There is room: nothing to do. */
        ck_assert_int_eq(bytes_of(log), after);
        for (int j = 0; j < COMMITS_MAX && !db_upkeep_due(f.db); j++) {
            commit_bytes(&f, SMALL);
            ck_assert_int_eq(bytes_of(log), after); /* No commit has to make room. */
        }
    }
    sqlite3 *other; /* Another program writes: left for later, and not waited for. */
    int64_t before = bytes_of(log);
    ck_assert_int_eq(sqlite3_open(db, &other), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    db_upkeep(f.db);
    ck_assert_int_eq(bytes_of(log), before);
    ck_assert_int_eq(sqlite3_close(other), SQLITE_OK);
    db_upkeep(f.db);
    ck_assert_int_gt(bytes_of(log), before);
}
END_TEST

/*
 * A checkpoint gives up after a moment, and the next comes later: how many it takes depends on how
 * long the machine keeps a reader from its next row, so only the number of batches is bounded.  A
 * log that never starts over holds all that was written.
 */
START_TEST(readers_do_not_keep_the_log_from_starting_over)
{
    FIXTURE_ON(f, ENGINE_FILE);
    enum { JOB_BYTES = 100000, BATCH = 20, BATCHES_MAX = 400 };
    char *payload = arena_alloc(&f.arena, JOB_BYTES);
    memset(payload, '1', JOB_BYTES);
    struct busy_reader readers[2] = {{.store = f.store}, {.store = f.store}};
    pthread_t threads[COUNT_OF(readers)];
    for (size_t i = 0; i < COUNT_OF(readers); i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, read_without_pause, &readers[i]), 0);
    char *log = arena_printf(&f.arena, "%s/drover.db-wal", f.dir);
    int batches = 0;
    for (int64_t written = 0; bytes_of(log) >= written; written += (int64_t)BATCH * JOB_BYTES) {
        ck_assert_int_lt(batches++, BATCHES_MAX);
        struct tx tx;
        must(tx_begin(f.db, &tx, &f.err));
        for (int j = 0; j < BATCH; j++) {
            struct job_row job = fixture_job(&f, "q");
            job.payload = (struct str){payload, JOB_BYTES};
            must(jobs_insert(f.db, &job, &f.err));
        }
        must(tx_commit(&tx, &f.err));
    }
    for (size_t i = 0; i < COUNT_OF(readers); i++) {
        atomic_store(&readers[i].stop, true);
        pthread_join(threads[i], NULL);
        ck_assert_int_eq(readers[i].rc, RC_OK);
    }
}
END_TEST

/* ---- plans ---- */

/* The lines of EXPLAIN QUERY PLAN, one after another. */
static char *plan_of(struct fixture *f, const char *text)
{
    sqlite3_stmt *statement;
    char *explain = arena_printf(&f->arena, "EXPLAIN QUERY PLAN %s", text);
    ck_assert_int_eq(sqlite3_prepare_v2(writer_handle, explain, -1, &statement, NULL), SQLITE_OK);
    char *plan = arena_strdup(&f->arena, "");
    while (sqlite3_step(statement) == SQLITE_ROW)
        plan = arena_printf(&f->arena, "%s%s\n", plan, sqlite3_column_text(statement, 3));
    sqlite3_finalize(statement);
    return plan;
}

/* The text of the prepared statement that holds these words. */
static const char *statement_with(const char *words)
{
    sqlite3_stmt *statement = NULL;
    while ((statement = sqlite3_next_stmt(writer_handle, statement)) != NULL)
        if (strstr(sqlite3_sql(statement), words) != NULL)
            return sqlite3_sql(statement);
    ck_abort_msg("no statement holds: %s", words);
    return NULL;
}

struct plan_case {
    const char *words; /* Of the statement. */
    const char *plan;  /* A line that its plan holds. */
    bool sorts;        /* It may sort what it found. */
};

static void check_plans(struct fixture *f, const struct plan_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *plan = plan_of(f, statement_with(cases[i].words));
        ck_assert_msg(strstr(plan, cases[i].plan) != NULL, "%s:\n%s", cases[i].words, plan);
        ck_assert_msg(cases[i].sorts || strstr(plan, "TEMP B-TREE") == NULL, "%s:\n%s",
                      cases[i].words, plan);
    }
}

static void use_agents(struct fixture *fixture)
{
    struct fixture f = *fixture;
    static const struct job_cell cells[] = {
        {true, NULL, NULL}, {true, "a/b", NULL}, {true, NULL, "ui"}, {true, "a/b", "ui"}};
    struct job_row *rows;
    struct id *ids;
    size_t count;
    int64_t number;
    bool any;
    for (size_t i = 0; i < COUNT_OF(cells); i++) {
        struct marked_ask ask = {"q", cells[i], 1, 1};
        must(job_marks_claimable(f.db, &ask, &f.arena, &rows, &count, &f.err));
    }
    must(job_marks_drop(f.db, &(struct id){"x"}, &f.err));
    must(jobs_any_queued(f.db, "q", &any, &f.err));
    must(agents_claims(f.db, "bob", &f.arena, &ids, &count, &f.err));
    must(agents_count_claims(f.db, "bob", &number, &f.err));
}

static void use_jobs(struct fixture *fixture)
{
    struct fixture f = *fixture;
    struct claim claim = {"w", "o", 1, 2};
    struct job_row claimed = fixture_job(&f, "q");
    must(jobs_insert(f.db, &claimed, &f.err));
    struct job_row *rows;
    size_t count;
    int64_t number;
    struct id id = {""};
    bool head;
    must(jobs_claimable(f.db, "q", 1, 3, &f.arena, &rows, &count, &f.err));
    must(jobs_claim(f.db, &claim, rows, &f.err));
    must(jobs_due(f.db, DUE_BY(1, 10), &f.arena, &rows, &count, &f.err));
    must(jobs_next_due(f.db, &number, &f.err));
    must(jobs_leased_to(f.db, "o", &f.arena, &rows, &count, &f.err));
    struct dedup_row same;
    must_be(RC_NOT_FOUND, jobs_by_dedup(f.db, "q", "k", &same, &f.err));
    struct job_row job = fixture_job(&f, "q");
    must_be(RC_NOT_FOUND, jobs_get(f.db, &job.id, &f.arena, &job, &f.err));
    must_be(RC_NOT_FOUND, jobs_save(f.db, &job, &f.err));
    must(job_keys_enter(f.db, "q", "k", &job.id, &head, &f.err));
    must(job_keys_leave(f.db, "q", "k", &id, &f.err));
    struct job_filter filters[] = {{.state = JOB_DEAD_LETTER, .limit = 1},
                                   {.state = -1, .run_id = job.id, .limit = 1},
                                   {.state = -1, .limit = 1}};
    for (size_t i = 0; i < COUNT_OF(filters); i++)
        must(jobs_list(f.db, &filters[i], &f.arena, &rows, &count, &f.err));
    struct queue_counts *counts;
    must(jobs_count(f.db, &f.arena, &counts, &count, &f.err));
    fixture->arena = f.arena;
}

static void use_dead_letters(struct fixture *fixture)
{
    struct fixture f = *fixture;
    struct dead_filter filter = {.archived = DEAD_BOTH};
    struct id id = fixture_id(&f), *ids;
    struct dead_row *rows, row;
    struct dead_group *groups;
    const char **names;
    size_t count;
    int64_t number;
    must(dead_letters_list(f.db, &filter, &id, 1, &f.arena, &rows, &count, &f.err));
    must_be(RC_NOT_FOUND, dead_letters_get(f.db, &id, &f.arena, &row, &f.err));
    must(dead_letters_count(f.db, &filter, &number, &f.err));
    must(dead_letters_pick(f.db, &filter, 1, &f.arena, &ids, &count, &f.err));
    must(dead_letters_pick_oldest(f.db, &filter, 1, &f.arena, &ids, &count, &f.err));
    must(dead_letters_analyse(f.db, &filter, 1, &f.arena, &groups, &count, &f.err));
    must(dead_letters_queues(f.db, &f.arena, &names, &count, &f.err));
    must_be(RC_NOT_FOUND, dead_letters_archive(f.db, &id, 1, &f.err));
    must_be(RC_NOT_FOUND, dead_letters_delete(f.db, &id, &f.err));
    fixture->arena = f.arena;
}

static void use_runs_and_tasks(struct fixture *fixture)
{
    struct fixture f = *fixture;
    struct run_row *rows, row;
    struct active_row *active;
    struct id *ids, id = fixture_id(&f);
    size_t count;
    int64_t number;
    must(runs_active(f.db, &f.arena, &active, &count, &f.err));
    must(runs_queued_repositories(f.db, &f.workspace_id, &f.arena, &ids, &count, &f.err));
    must_be(RC_NOT_FOUND, runs_next_queued(f.db, &id, NULL, &f.arena, &row, &f.err));
    must(runs_queued_unexplained(f.db, &f.workspace_id, 1, &f.arena, &rows, &count, &f.err));
    must(runs_of_task(f.db, &id, &f.arena, &rows, &count, &f.err));
    struct run_counts counts;
    must(runs_count(f.db, &counts, &f.err));
    struct run_filter filters[] = {{.status = RUN_FAILED, .limit = 1},
                                   {.status = -1, .repository = "r", .limit = 1},
                                   {.status = -1, .task_id = id, .limit = 1},
                                   {.status = -1, .limit = 1}};
    for (size_t i = 0; i < COUNT_OF(filters); i++)
        must(runs_list(f.db, &filters[i], &f.arena, &rows, &count, &f.err));
    struct task_filter task_filters[] = {{.status = TASK_FAILED, .limit = 1},
                                         {.status = -1, .repository = "r", .limit = 1},
                                         {.status = -1, .requested_by = "a", .limit = 1},
                                         {.status = -1, .limit = 1}};
    struct task_row *tasks;
    for (size_t i = 0; i < COUNT_OF(task_filters); i++)
        must(tasks_list(f.db, &task_filters[i], &f.arena, &tasks, &count, &f.err));
    must(tasks_count_since(f.db, "a", 1, &number, &f.err));
    struct dependency_state state;
    must(tasks_dependencies(f.db, &id, &state, &f.err));
    must(idempotency_prune(f.db, 1, &f.err));
    fixture->arena = f.arena;
}

static void use_events_and_timers(struct fixture *fixture)
{
    struct fixture f = *fixture;
    struct id id = fixture_id(&f);
    struct event_filter filters[] = {
        {.limit = 1},
        {.run_id = id, .limit = 1},
        {.run_id = id, .with_task = true, .limit = 1},
        {.task_id = id, .limit = 1},
        {.since_us = INT64_C(1) << 50, .until_us = INT64_C(1) << 51, .limit = 1}};
    struct event *events;
    size_t count;
    int64_t number;
    for (size_t i = 0; i < COUNT_OF(filters); i++)
        must(events_list(f.db, &filters[i], &f.arena, &events, &count, &f.err));
    must(events_last_seq(f.db, &number, &f.err));
    struct timer_row *timers;
    must(timers_due(f.db, DUE_BY(1, 1), &f.arena, &timers, &count, &f.err));
    must_be(RC_NOT_FOUND, timers_next_due(f.db, &number, &f.err));
    must(timers_of(f.db, &id, &f.arena, &timers, &count, &f.err));
    fixture->arena = f.arena;
}

START_TEST(looks_at_queues_use_their_index)
{
    CAUGHT(f);
    struct queue_count *rows;
    struct queue_depth depth;
    size_t count;
    int64_t number;
    must(queue_levels_waiting(f.db, &f.arena, &rows, &count, &f.err));
    must(queue_levels_dead(f.db, &f.arena, &rows, &count, &f.err));
    must(queue_levels_leased(f.db, &f.arena, &rows, &count, &f.err));
    must(queue_levels_depth(f.db, "q", 1, &depth, &f.err));
    must(queue_levels_dead_count(f.db, "q", 1, &number, &f.err));
    must(queue_levels_agents(f.db, 1, &number, &f.err));
    static const struct {
        const char *words; /* Of the statement. */
        const char *plan;  /* Part of its plan. */
    } cases[] = {
        {"q(name)", "SEARCH jobs USING COVERING INDEX jobs_queued (queue>?)"},
        {"q(name)", "SEARCH jobs USING COVERING INDEX jobs_blocked (queue>?)"},
        {"d(name)", "INDEX jobs_dead_queue (queue>?)"},
        {"state = 'leased' GROUP", "COVERING INDEX jobs_leased"},
        {"min(due_us) FROM (", "COVERING INDEX jobs_queued (queue=?)"},
        {"'blocked' AND queue", "COVERING INDEX jobs_blocked (queue=?)"},
        {"'dead_letter' AND queue = $1", "INDEX jobs_dead_queue (queue=? AND archived_us=?)"},
        {"'drover.plan'", "COVERING INDEX jobs_queued (queue=?)"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *plan = plan_of(&f, statement_with(cases[i].words));
        ck_assert_msg(strstr(plan, cases[i].plan) != NULL, "%s:\n%s", cases[i].words, plan);
    }
}
END_TEST

START_TEST(admission_counts_in_indexes)
{
    CAUGHT(f);
    struct id id = fixture_id(&f);
    struct working_row *rows;
    struct queue_place place = {f.workspace_id, 1, id};
    size_t count;
    int64_t number;
    struct spent_query spent = {f.workspace_id, 1, 1};
    must(capacity_spent(f.db, &spent, &number, &f.err));
    must(capacity_working(f.db, &id, &f.arena, &rows, &count, &f.err));
    must(capacity_open_pull_requests(f.db, &id, &number, &f.err));
    must(capacity_read_ahead(f.db, &place, &number, &f.err));
    static const struct {
        const char *words, *plan;
    } cases[] = {
        {"sum(CASE", "COVERING INDEX runs_spent (workspace_id=? AND ended_us=?"},
        {"sum(CASE", "COVERING INDEX runs_spent (workspace_id=? AND ended_us>?)"},
        {"FROM runs r JOIN tasks", "SEARCH r USING INDEX runs_status (status=?)"},
        {"count(*) FROM pull_requests", "INDEX pull_requests_open"},
        {"(rank, id) < ", "COVERING INDEX runs_queued (workspace_id=?)"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *plan = plan_of(&f, statement_with(cases[i].words));
        ck_assert_msg(strstr(plan, cases[i].plan) != NULL, "%s:\n%s", cases[i].words, plan);
    }
}
END_TEST

START_TEST(what_comes_from_a_forge_is_found_in_indexes)
{
    CAUGHT(f);
    struct id id = fixture_id(&f), found;
    struct pull_request_ids ids;
    struct sync_row *syncs;
    struct delivery_row *rows;
    size_t count;
    int64_t number;
    const struct artifact_source source = {f.store, f.db};
    must_be(RC_NOT_FOUND, deliveries_find(f.db, &id, "guid", &found, &f.err));
    must(deliveries_list(f.db, &(struct delivery_filter){.repository = "r", .limit = 1}, &f.arena,
                         &rows, &count, &f.err));
    must(deliveries_list(f.db, &(struct delivery_filter){.status = "lost", .limit = 1}, &f.arena,
                         &rows, &count, &f.err));
    must(deliveries_prune(&source, &(struct delivery_prune){.before_us = 1, .limit = 1}, &f.arena,
                          &number, &f.err));
    must(syncs_find(f.db, &(struct sync_question){"github", "7", "a/b"}, &f.arena, &syncs, &count,
                    &f.err));
    must(pull_requests_numbered(f.db, &id, 1, &f.arena, &ids, &f.err));
    must(pull_requests_at_head(f.db, &id, "c", &f.arena, &ids, &f.err));
    must(pull_requests_of_branch(f.db, &id, "b", &f.arena, &ids, &f.err));
    must(jobs_prune(f.db, &(struct job_prune){"q", 1, 1}, &f.arena, &number, &f.err));
    static const struct {
        const char *words, *plan;
    } cases[] = {
        {"AND delivery_id = $2", "INDEX receipts_delivery (repository_id=? AND delivery_id=?)"},
        {"external_event_receipts WHERE repository_id = (SELECT",
         "INDEX receipts_repository (repository_id=? AND id>? AND id<?)"},
        {"external_event_receipts WHERE status = $2", "INDEX receipts_status (status=? AND id>?"},
        {"received_us < $1", "INDEX receipts_received (received_us<?)"},
        {"FROM forge_syncs WHERE repository_id IN",
         "INDEX forge_syncs_provider (forge=? AND provider_id=?)"},
        {"FROM forge_syncs WHERE repository_id IN",
         "INDEX forge_syncs_name (forge=? AND full_name=?)"},
        {"AND number = $2", "INDEX pull_requests_number (number=? AND repository_id=?)"},
        {"AND head_commit = $2", "INDEX pull_requests_open (repository_id=?)"},
        {"OR target_branch = $2", "INDEX pull_requests_open (repository_id=?)"},
        {"state = 'succeeded' AND updated_us", "INDEX jobs_settled (queue=? AND state=?)"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *plan = plan_of(&f, statement_with(cases[i].words));
        ck_assert_msg(strstr(plan, cases[i].plan) != NULL, "%s:\n%s", cases[i].words, plan);
    }
}
END_TEST

START_TEST(hot_statements_use_their_index)
{
    CAUGHT(f);
    use_jobs(&f);
    use_dead_letters(&f);
    use_runs_and_tasks(&f);
    use_events_and_timers(&f);
    static const struct plan_case cases[] = {
        {"state = 'queued' AND queue = $1", "SEARCH jobs USING INDEX jobs_queued (queue=?)", false},
        {"SET state = 'leased'", "SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)", false},
        {"WITH d AS", "INDEX jobs_scheduled (due_us<?)", true},
        {"WITH d AS", "INDEX jobs_leased (due_us<?)", true},
        {"WITH d AS", "jobs_expiry (expires_us>? AND expires_us<?)", true},
        {"min(expires_us)", "SEARCH jobs USING COVERING INDEX jobs_scheduled", false},
        {"min(expires_us)", "SEARCH jobs USING COVERING INDEX jobs_leased", false},
        {"min(expires_us)", "SEARCH jobs USING INDEX jobs_expiry", false},
        {"state = 'blocked' AND queue", "INDEX jobs_blocked (queue=? AND ordering_key=?)", false},
        {"WHERE queue = $1 AND dedup_key", "INDEX jobs_dedup (queue=? AND dedup_key=?)", false},
        {"'dead_letter' AND ($1 IS NULL OR queue = $1) AND ($2 IS NULL OR type = $2)"
         " AND ($3 IS NULL OR state",
         "INDEX jobs_dead (id>? AND id<?)", false},
        {"AND id < $11 AND id >= $12", "INDEX jobs_dead (id>? AND id<?)", false},
        {"ORDER BY id LIMIT $11", "SCAN jobs USING INDEX jobs_dead", false},
        {"ORDER BY updated_us LIMIT", "INDEX jobs_dead (id>?)", true},
        {"GROUP BY queue, type, dead", "INDEX jobs_dead (id>?)", true},
        {"SELECT count(*) FROM jobs WHERE state", "INDEX jobs_dead (id>?)", false},
        {"DISTINCT queue || '' FROM", "INDEX jobs_dead (id>?)", true},
        {"DELETE FROM job_attempts", "PRIMARY KEY (job_id=?)", false},
        {"FROM jobs WHERE run_id = $4", "INDEX jobs_run (run_id=? AND id>? AND id<?)", false},
        {"AND lease_owner = $1", "USING INDEX jobs_leased", true},
        {"UPDATE jobs SET result = $3", "USING INTEGER PRIMARY KEY (rowid=?)", false},
        {"WITH RECURSIVE", "INDEX runs_queued (workspace_id=?)", false},
        {"WITH RECURSIVE", "INDEX runs_queued (workspace_id=? AND repo", false},
        {"(rank, id) > ", "INDEX runs_queued (workspace_id=? AND repository_id=? AND", false},
        {"deferred_reason IS NULL", "INDEX runs_unexplained (workspace_id=?)", false},
        {"GROUP BY workspace_id", "SEARCH runs USING INDEX runs_status (status=?)", true},
        {"AS state, count(*)", "SCAN jobs USING COVERING INDEX jobs_queued", true},
        {"AS state, count(*)", "SCAN jobs USING COVERING INDEX jobs_scheduled", true},
        {"AS state, count(*)", "SCAN jobs USING COVERING INDEX jobs_blocked", true},
        {"AS state, count(*)", "SCAN jobs USING COVERING INDEX jobs_settled", true},
        {"AS state, count(*)", "SCAN jobs USING COVERING INDEX jobs_leased", true},
        {"FROM runs WHERE status = $3", "INDEX runs_status (status=? AND id>? AND id<?)", false},
        {"FROM runs WHERE repository_id = (SELECT min(id)",
         "INDEX runs_repository (repository_id=? AND id>? AND id<?)", false},
        {"FROM runs GROUP BY status", "COVERING INDEX runs_status", false},
        {"FROM tasks WHERE status = $2", "INDEX tasks_status (status=? AND id>? AND id<?)", false},
        {"FROM tasks WHERE requested_by = $3",
         "INDEX tasks_requested (requested_by=? AND id>? AND id<?)", false},
        {"created_us >= $2", "COVERING INDEX tasks_rate", false},
        {"AND $5 IS NULL", "event_log USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", false},
        {"AND run_id = $5", "INDEX event_log_task (task_id=? AND seq>? AND seq<?)", false},
        {"OR run_id IS NULL", "INDEX event_log_task (task_id=? AND seq>? AND seq<?)", false},
        {"AND task_id = $5", "INDEX event_log_task (task_id=? AND seq>? AND seq<?)", false},
        {"time_us < $1 ORDER BY time_us DESC", "COVERING INDEX event_log_time (time_us<?)", false},
        {"time_us >= $1 ORDER BY time_us", "COVERING INDEX event_log_time (time_us>?)", false},
        {"FROM timers WHERE due_us <= $1", "COVERING INDEX timers_due (due_us<?)", false},
        {"FROM timers ORDER BY due_us", "COVERING INDEX timers_due", false},
        {"WHERE subject = $1 ORDER", "PRIMARY KEY (subject=?)", false},
    };
    check_plans(&f, cases, COUNT_OF(cases));
}
END_TEST

START_TEST(agents_find_their_work_by_indexes)
{
    CAUGHT(f);
    use_agents(&f);
    static const struct plan_case cases[] = {
        {"queue = $1 AND label = '')", "COVERING INDEX job_marks_any (queue=?)", false},
        {"AND repository = $4 AND label = $5", "PRIMARY KEY (queue=? AND repository=? AND label=?)",
         false},
        {"AND repository = $4 AND label = $5", "INDEX sqlite_autoindex_jobs_1 (id=?)", false},
        {"AND label = $4 AND label <> ''", "job_marks_label (queue=? AND label=?)", false},
        {"DELETE FROM job_marks", "job_marks_job (job_id=?)", false},
        {"AND state = 'queued' LIMIT 1", "jobs_queued (queue=?)", false},
        {"AND type = 'pull' ORDER BY id", "jobs_pulled (worker=?)", false},
        {"count(*) FROM jobs WHERE worker = $1", "jobs_pulled (worker=?)", false},
    };
    check_plans(&f, cases, COUNT_OF(cases));
}
END_TEST

START_TEST(no_statement_walks_a_whole_table)
{
    CAUGHT(f);
    use_jobs(&f);
    use_dead_letters(&f);
    use_runs_and_tasks(&f);
    use_events_and_timers(&f);
    use_agents(&f);
    static const char *const big[] = {"jobs",      "runs",   "tasks",    "t",
                                      "event_log", "timers", "job_marks"};
    sqlite3_stmt *statement = NULL;
    while ((statement = sqlite3_next_stmt(writer_handle, statement)) != NULL) {
        const char *text = sqlite3_sql(statement);
        char *plan = plan_of(&f, text);
        for (size_t i = 0; i < COUNT_OF(big); i++) {
            char *walk = arena_printf(&f.arena, "SCAN %s\n", big[i]);
            ck_assert_msg(strstr(plan, walk) == NULL, "%s:\n%s", text, plan);
        }
    }
}
END_TEST

Suite *store_sqlite_suite(void)
{
    Suite *suite = suite_create("store_sqlite");
    TCase *tc = tcase_create("sqlite");
    tcase_add_test(tc, a_commit_is_on_disk);
    tcase_add_test(tc, files_are_for_their_owner_only);
    tcase_add_test(tc, a_second_server_on_the_file_is_refused);
    tcase_add_test(tc, stores_in_memory_share_nothing);
    tcase_add_test(tc, a_file_that_is_no_database_is_corrupt);
    tcase_add_test(tc, a_full_disk_is_told_and_nothing_is_kept);
    tcase_add_test(tc, a_held_lock_is_busy);
    tcase_add_test(tc, a_commit_that_fails_is_rolled_back);
    tcase_add_test(tc, few_commits_make_the_log_longer_and_what_is_in_it_is_found_after_a_crash);
    tcase_add_test(tc, the_log_gets_its_room_between_commits);
    tcase_add_test(tc, readers_do_not_keep_the_log_from_starting_over);
    tcase_set_timeout(tc, 30);
    suite_add_tcase(suite, tc);
    TCase *plans = tcase_create("plans");
    tcase_add_test(plans, looks_at_queues_use_their_index);
    tcase_add_test(plans, what_comes_from_a_forge_is_found_in_indexes);
    tcase_add_test(plans, hot_statements_use_their_index);
    tcase_add_test(plans, agents_find_their_work_by_indexes);
    tcase_add_test(plans, admission_counts_in_indexes);
    tcase_add_test(plans, no_statement_walks_a_whole_table);
    suite_add_tcase(suite, plans);
    return suite;
}
