/*
 * test_store_postgres.c - what only PostgreSQL has: a line that can break, and statements that
 * travel together.
 */
#include "base/clock.h"
#include "base/proc.h"
#include "store/engine.h"
#include "store/settings.h"
#include "tests/store/fixture.h"
#include "tests/store/proxy.h"
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

#define POSTGRES(f) FIXTURE_ON(f, ENGINE_POSTGRES)

static const struct sql sql_pid = {"test_pid", "SELECT pg_backend_pid()", ""};
static const struct sql sql_set = {"test_set", "UPDATE settings SET value = $2 WHERE key = $1",
                                   "tt"};
static const struct sql sql_insert = {"test_insert",
                                      "INSERT INTO settings (key, value) VALUES ($1, $2)", "tt"};
static const struct sql sql_get = {"test_get", "SELECT value FROM settings WHERE key = $1", "t"};

static int64_t query_number(struct fixture *f, struct db *db, const struct sql *sql)
{
    CLEANUP(rows_end) struct rows rows = {0};
    enum rc rc = db_query(db, sql, NULL, 0, &rows, &f->err);
    ck_assert_msg(rc == RC_OK, "%s", f->err.text);
    ck_assert_int_eq(rows_next(&rows, &f->err), RC_OK);
    return row_int(&rows, 0);
}

/* The server ends the connection. */
static void kill_backend(struct fixture *f, struct db *db)
{
    long long pid = query_number(f, db, &sql_pid);
    postgres_run(arena_printf(&f->arena, "SELECT pg_terminate_backend(%lld, 5000)", pid));
}

static void pause_ms(long ms)
{
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    nanosleep(&pause, NULL);
}

static enum rc put(struct db *db, const char *key, const char *value, struct err *err)
{
    return db_exec(db, &sql_insert, P_LIST(P_TEXT(key), P_TEXT(value)), NULL, err);
}

static const char *value_of(struct fixture *f, const char *key)
{
    const char *value = NULL;
    enum rc rc = settings_get(f->db, key, &f->arena, &value, &f->err);
    ck_assert(rc == RC_OK || rc == RC_NOT_FOUND);
    return value;
}

/* ---- opening ---- */

START_TEST(a_url_that_leads_nowhere_is_told_with_a_next_step)
{
    static const struct {
        const char *url;
        enum rc want;
        const char *code;
    } cases[] = {
        {"postgres://nobody@127.0.0.1:1/none", RC_UNREACHABLE, "STORE_UNREACHABLE"},
        {"postgresql:///none?host=/nonexistent", RC_UNREACHABLE, "STORE_UNREACHABLE"},
        {"postgres://[", RC_INVALID, "INVALID_STORE_URL"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct store *store = NULL;
        struct err err;
        struct store_options options = {.url = cases[i].url};
        ck_assert_int_eq(store_open(&options, &store, &err), cases[i].want);
        ck_assert_str_eq(err.code, cases[i].code);
        ck_assert_ptr_null(store);
    }
}
END_TEST

START_TEST(durability_is_what_the_server_says)
{
    POSTGRES(f);
    const char *text = store_durability(f.store);
    ck_assert(text_starts(text, "postgresql "));
    ck_assert_ptr_nonnull(strstr(text, "synchronous_commit=on fsync="));
    ck_assert(store_is_shared(f.store));
}
END_TEST

START_TEST(a_backup_names_the_tool)
{
    POSTGRES(f);
    must_be(RC_INVALID, store_backup(f.store, "/tmp/copy", &f.err));
    ck_assert_str_eq(f.err.code, "BACKUP_BY_PG_DUMP");
    ck_assert_ptr_nonnull(strstr(f.err.text, "pg_dump --format=custom --file=/tmp/copy --host="));
}
END_TEST

static void *open_and_close(void *arg)
{
    struct store *store;
    struct err err;
    struct store_options options = {.url = arg};
    if (store_open(&options, &store, &err) != RC_OK)
        return arg;
    store_close(store);
    return NULL;
}

START_TEST(servers_that_start_together_bring_the_schema_forward_once)
{
    POSTGRES(f);
    store_close(f.store);
    postgres_run(
        arena_printf(&f.arena, "DROP SCHEMA %s CASCADE; CREATE SCHEMA %s", f.schema, f.schema));
    pthread_t threads[6];
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, open_and_close, f.url), 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        ck_assert_ptr_null(failed);
    }
    struct store_options options = {.url = f.url, .artifact_dir = f.artifact_dir};
    must(store_open(&options, &f.store, &f.err));
}
END_TEST

/* ---- statements that are only sent ---- */

START_TEST(a_failure_shows_at_the_next_result_under_its_own_name)
{
    POSTGRES(f);
    struct tx tx;
    must(tx_begin(f.db, &tx, &f.err));
    must(put(f.db, "k", "1", &f.err));
    must(put(f.db, "k", "2", &f.err));
    must(put(f.db, "l", "3", &f.err));
    struct rows rows = {0};
    must_be(RC_IO, db_query(f.db, &sql_get, P_LIST(P_TEXT("k")), &rows, &f.err));
    ck_assert_str_eq(f.err.code, "STORE_CONSTRAINT");
    ck_assert_ptr_nonnull(strstr(f.err.text, "test_insert"));
    must_be(RC_IO, tx_commit(&tx, &f.err));
    ck_assert_ptr_null(value_of(&f, "k"));

    must(tx_begin(f.db, &tx, &f.err));
    must(put(f.db, "k", "1", &f.err));
    must(put(f.db, "k", "2", &f.err));
    must_be(RC_IO, tx_commit(&tx, &f.err));
    ck_assert_str_eq(f.err.code, "STORE_CONSTRAINT");
    ck_assert_ptr_null(value_of(&f, "k"));
}
END_TEST

START_TEST(a_row_that_must_be_there_is_not_committed_over)
{
    POSTGRES(f);
    must(put(f.db, "k", "1", &f.err));
    struct tx tx;
    must(tx_begin(f.db, &tx, &f.err));
    must(exec_one(f.db, &sql_set, P_LIST(P_TEXT("k"), P_TEXT("2")), "setting", &f.err));
    must(exec_one(f.db, &sql_set, P_LIST(P_TEXT("gone"), P_TEXT("2")), "setting", &f.err));
    must_be(RC_IO, tx_commit(&tx, &f.err));
    ck_assert_str_eq(f.err.code, "ROW_MISSING");
    ck_assert_str_eq(value_of(&f, "k"), "1");
    must_be(RC_NOT_FOUND,
            exec_one(f.db, &sql_set, P_LIST(P_TEXT("gone"), P_TEXT("2")), "setting", &f.err));
    must(tx_begin(f.db, &tx, &f.err));
    must(exec_one(f.db, &sql_set, P_LIST(P_TEXT("k"), P_TEXT("2")), "setting", &f.err));
    must(tx_commit(&tx, &f.err));
    ck_assert_str_eq(value_of(&f, "k"), "2");
}
END_TEST

START_TEST(changes_of_statements_that_were_only_sent_never_shrink)
{
    POSTGRES(f);
    static const struct sql all = {
        "test_all", "UPDATE settings SET value = $1 WHERE key IN ('a', 'b', 'c')", "t"};
    struct tx tx;
    must(tx_begin(f.db, &tx, &f.err));
    must(put(f.db, "a", "1", &f.err));
    must(put(f.db, "b", "1", &f.err));
    must(put(f.db, "c", "1", &f.err));
    must(db_exec(f.db, &all, P_LIST(P_TEXT("2")), NULL, &f.err));
    ck_assert_int_eq(db_changes(f.db), 4);
    int64_t changed;
    must(db_exec(f.db, &sql_set, P_LIST(P_TEXT("a"), P_TEXT("3")), &changed, &f.err));
    ck_assert_int_eq(changed, 1);
    ck_assert_int_eq(db_changes(f.db), 7);
    must(db_exec(f.db, &sql_set, P_LIST(P_TEXT("none"), P_TEXT("3")), NULL, &f.err));
    ck_assert_int_eq(db_changes(f.db), 8);
    query_number(&f, f.db, &sql_pid);
    ck_assert_int_eq(db_changes(f.db), 8);
    tx_abort(&tx);
}
END_TEST

START_TEST(more_than_the_pipeline_holds_goes_through)
{
    POSTGRES(f);
    enum { ROWS = 3000, BIG_BYTES = 300000, BIG_ROWS = 30 };
    struct tx tx;
    must(tx_begin(f.db, &tx, &f.err));
    for (int i = 0; i < ROWS; i++) {
        char *key = arena_printf(&f.arena, "%d", i);
        must(put(f.db, key, "x", &f.err));
    }
    char *big = arena_alloc(&f.arena, BIG_BYTES + 1);
    memset(big, 'b', BIG_BYTES);
    for (int i = 0; i < BIG_ROWS; i++) {
        char *key = arena_printf(&f.arena, "big %d", i);
        must(put(f.db, key, big, &f.err));
    }
    must(tx_commit(&tx, &f.err));
    static const struct sql count = {
        "test_count", "SELECT count(*) FROM settings WHERE value IN ('x') OR key LIKE 'big %'", ""};
    ck_assert_int_eq(query_number(&f, f.db, &count), ROWS + BIG_ROWS);
}
END_TEST

START_TEST(text_that_is_none_is_refused_and_json_keeps_its_bytes)
{
    POSTGRES(f);
    must_be(RC_INVALID, put(f.db, "k", "\xff\xfe", &f.err));
    ck_assert_str_eq(f.err.code, "INVALID_TEXT");
    struct job_row job = fixture_job(&f, "q");
    job.payload = (struct str){"{\"a\":\"\0\"}", 9};
    must_be(RC_INVALID, jobs_insert(f.db, &job, &f.err));
    job.payload = STR("not json");
    must_be(RC_INVALID, jobs_insert(f.db, &job, &f.err));
    ck_assert_str_eq(f.err.code, "INVALID_DATA");
    job.payload = STR("{ \"a\" : \"\\u0000\",  \"a\":1.10 }");
    must(jobs_insert(f.db, &job, &f.err));
    struct job_row got;
    must(jobs_get(f.db, &job.id, &f.arena, &got, &f.err));
    ck_assert_bytes_eq(got.payload, "{ \"a\" : \"\\u0000\",  \"a\":1.10 }");
}
END_TEST

/* ---- locks among transactions ---- */

struct rival {
    struct fixture *f;
    struct db *db;
    enum rc rc;
    struct err err;
};

static enum rc lock_in_turn(struct db *db, const char *first, const char *second,
                            pthread_barrier_t *barrier, struct err *err)
{
    CLEANUP(tx_abort) struct tx tx = {0};
    int64_t changed;
    enum rc rc = tx_begin(db, &tx, err);
    if (rc == RC_OK)
        rc = db_exec(db, &sql_set, P_LIST(P_TEXT(first), P_TEXT("x")), &changed, err);
    pthread_barrier_wait(barrier);
    if (rc == RC_OK)
        rc = db_exec(db, &sql_set, P_LIST(P_TEXT(second), P_TEXT("x")), NULL, err);
    return rc == RC_OK ? tx_commit(&tx, err) : rc;
}

static pthread_barrier_t both_hold_one;

static void *rival_main(void *arg)
{
    struct rival *rival = arg;
    rival->rc = lock_in_turn(rival->db, "b", "a", &both_hold_one, &rival->err);
    return NULL;
}

START_TEST(a_deadlock_is_busy_for_one_of_them)
{
    POSTGRES(f);
    must(put(f.db, "a", "1", &f.err));
    must(put(f.db, "b", "1", &f.err));
    struct rival rival = {.f = &f};
    must(store_writer_open(f.store, &rival.db, &f.err));
    pthread_barrier_init(&both_hold_one, NULL, 2);
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, rival_main, &rival), 0);
    enum rc rc = lock_in_turn(f.db, "a", "b", &both_hold_one, &f.err);
    pthread_join(thread, NULL);
    ck_assert_msg((rc == RC_OK) != (rival.rc == RC_OK), "%s %s", rc_name(rc), rc_name(rival.rc));
    ck_assert_int_eq(rc == RC_OK ? rival.rc : rc, RC_BUSY);
    ck_assert_str_eq(rc == RC_OK ? rival.err.code : f.err.code, "STORE_BUSY");
    must(put(f.db, "c", "1", &f.err));
    must(put(rival.db, "d", "1", &f.err));
    store_writer_close(f.store, rival.db);
}
END_TEST

START_TEST(claims_skip_what_another_writer_holds)
{
    POSTGRES(f);
    for (int i = 0; i < 4; i++) {
        struct job_row job = fixture_job(&f, "q");
        must(jobs_insert(f.db, &job, &f.err));
    }
    struct db *other;
    must(store_writer_open(f.store, &other, &f.err));
    struct tx tx, other_tx;
    struct job_row *rows, *other_rows;
    size_t count;
    must(tx_begin(f.db, &tx, &f.err));
    must(jobs_claimable(f.db, "q", f.now_us, 2, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    must(tx_begin(other, &other_tx, &f.err));
    must(jobs_claimable(other, "q", f.now_us, 9, &f.arena, &other_rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_int_gt(other_rows[0].seq, rows[1].seq);
    must(tx_commit(&other_tx, &f.err));
    must(tx_commit(&tx, &f.err));
    store_writer_close(f.store, other);
}
END_TEST

/* ---- a line that breaks ---- */

/* Until it works again, at most some seconds. */
static void await_put(struct fixture *f, struct db *db, const char *key)
{
    int64_t until_us = clock_mono_us() + 10 * US_PER_SECOND;
    enum rc rc;
    while ((rc = put(db, key, "1", &f->err)) == RC_UNREACHABLE && clock_mono_us() < until_us)
        pause_ms(20);
    ck_assert_msg(rc == RC_OK, "%s", f->err.text);
}

/* The fixture's address sets the first one. */
START_TEST(a_session_has_limits_unless_the_address_sets_them)
{
    static const struct {
        struct sql sql;
        int64_t ms;
    } limits[] = {
#define LIMIT_OF(name) {name, "SELECT setting::bigint FROM pg_settings WHERE name = '" name "'", ""}
        {LIMIT_OF("idle_in_transaction_session_timeout"), 600 * 1000},
        {LIMIT_OF("statement_timeout"), 30 * 1000},
        {LIMIT_OF("lock_timeout"), 10 * 1000},
#undef LIMIT_OF
    };
    POSTGRES(f);
    for (size_t i = 0; i < COUNT_OF(limits); i++)
        ck_assert_int_eq(query_number(&f, f.db, &limits[i].sql), limits[i].ms);
}
END_TEST

START_TEST(an_idle_connection_that_was_ended_is_opened_again_unseen)
{
    POSTGRES(f);
    must(put(f.db, "k", "1", &f.err));
    kill_backend(&f, f.db);
    ck_assert_str_eq(value_of(&f, "k"), "1");
    kill_backend(&f, f.db);
    struct tx tx;
    must(tx_begin(f.db, &tx, &f.err));
    must(put(f.db, "l", "2", &f.err));
    must(tx_commit(&tx, &f.err));
    struct db *reader;
    must(store_reader_open(f.store, &reader, &f.err));
    kill_backend(&f, reader);
    ck_assert_int_gt(query_number(&f, reader, &sql_pid), 0);
    must_be(RC_IO, put(reader, "m", "3", &f.err)); /* Still one that only reads. */
    store_reader_close(f.store, reader);
}
END_TEST

START_TEST(a_connection_lost_in_a_transaction_ends_it)
{
    POSTGRES(f);
    struct tx tx;
    must(tx_begin(f.db, &tx, &f.err));
    must(put(f.db, "k", "1", &f.err));
    kill_backend(&f, f.db);
    must(put(f.db, "l", "1", &f.err)); /* Only sent. */
    must_be(RC_UNREACHABLE, tx_commit(&tx, &f.err));
    ck_assert_str_eq(f.err.code, "STORE_UNREACHABLE");
    ck_assert_ptr_null(value_of(&f, "k"));

    must(tx_begin(f.db, &tx, &f.err));
    must(put(f.db, "k", "1", &f.err));
    kill_backend(&f, f.db);
    struct rows rows = {0};
    must_be(RC_UNREACHABLE, db_query(f.db, &sql_get, P_LIST(P_TEXT("k")), &rows, &f.err));
    must_be(RC_IO, db_query(f.db, &sql_get, P_LIST(P_TEXT("k")), &rows, &f.err));
    tx_abort(&tx);
    must(put(f.db, "k", "2", &f.err));
}
END_TEST

struct through {
    struct fixture *f;
    struct proxy proxy;
    struct store *store;
    struct db *db; /* Fresh: its COMMIT was not prepared yet. */
};

static void through_open(struct fixture *f, struct through *through)
{
    through->f = f;
    proxy_start(&through->proxy, postgres_url());
    char *url = postgres_url_in(&f->arena, proxy_url(&through->proxy, &f->arena), f->schema);
    struct store_options options = {.url = url};
    enum rc rc = store_open(&options, &through->store, &f->err);
    ck_assert_msg(rc == RC_OK, "%s", f->err.text);
    rc = store_writer_open(through->store, &through->db, &f->err);
    ck_assert_msg(rc == RC_OK, "%s", f->err.text);
}

static void through_close(struct through *through)
{
    store_writer_close(through->store, through->db);
    store_close(through->store);
    proxy_stop(&through->proxy);
}

static void forget_marks(void *ctx)
{
    struct through *through = ctx;
    postgres_run(arena_printf(&through->f->arena, "UPDATE %s.commit_marks SET number = number - 1",
                              through->f->schema));
}

START_TEST(a_commit_whose_answer_was_lost_is_asked_for)
{
    static const struct {
        enum proxy_cut cut;
        bool reused; /* The id of the transaction belongs to another one by now. */
        bool shut;   /* There is no way back to the server. */
        enum rc want;
        const char *code;
    } cases[] = {
        {CUT_AFTER, false, false, RC_OK, ""},
        {CUT_BEFORE, false, false, RC_UNREACHABLE, "STORE_UNREACHABLE"},
        {CUT_HOLD, false, false, RC_UNREACHABLE, "STORE_UNREACHABLE"},
        {CUT_AFTER, true, false, RC_UNREACHABLE, "STORE_UNREACHABLE"},
        {CUT_AFTER, false, true, RC_UNREACHABLE, "COMMIT_UNKNOWN"},
    };
    POSTGRES(f);
    struct through through = {0};
    through_open(&f, &through);
    through.proxy.before_cut = cases[_i].reused ? forget_marks : NULL;
    through.proxy.ctx = &through;
    through.proxy.shuts = cases[_i].shut;
    atomic_store(&through.proxy.cut, cases[_i].cut);
    struct tx tx;
    must(tx_begin(through.db, &tx, &f.err));
    must(put(through.db, "k", "1", &f.err));
    must_be(cases[_i].want, tx_commit(&tx, &f.err));
    ck_assert_int_eq(atomic_load(&through.proxy.cuts), 1);
    ck_assert_ptr_null(tx.db);
    if (cases[_i].want == RC_OK)
        ck_assert_str_eq(value_of(&f, "k"), "1");
    else
        ck_assert_str_eq(f.err.code, cases[_i].code);
    through.proxy.shuts = false;
    await_put(&f, through.db, "l"); /* It goes on. */
    through_close(&through);
}
END_TEST

/* ---- a server that goes away: a cluster of the test's own ---- */

static char *cluster_do(struct fixture *f, const char *dir, const char *action, const char *option)
{
    const char *const argv[] = {"tools/postgres", action, dir, option, NULL};
    struct proc_spec spec = {.argv = argv};
    struct proc_limits limits = {.timeout_ms = 60000};
    struct proc_result result;
    CLEANUP(buf_release) struct buf said, url;
    buf_init(&said, 10000);
    buf_init(&url, 1000);
    enum rc rc = proc_run(&spec, STR(""), &url, &said, &limits, &result, &f->err);
    ck_assert_msg(rc == RC_OK && result.exit.code == 0, "%s: %s", action, buf_text(&said));
    return arena_strndup(&f->arena, buf_text(&url), strcspn(buf_text(&url), "\n"));
}

static void check_fails_fast(struct fixture *f, struct db *db)
{
    int64_t begin_us = clock_mono_us();
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(put(db, "k", "1", &f->err), RC_UNREACHABLE);
        ck_assert_str_eq(f->err.code, "STORE_UNREACHABLE");
    }
    ck_assert_int_lt(clock_mono_us() - begin_us, 15 * US_PER_SECOND); /* Not a second each. */
}

/* Until its pauses are far longer than those of a connection that has just noticed. */
static void check_pauses_long(struct fixture *f, struct db *db)
{
    const struct timespec pause = {.tv_nsec = 10 * 1000000L};
    for (int i = 0; i < 200; i++) {
        ck_assert_int_eq(put(db, "k", "1", &f->err), RC_UNREACHABLE);
        (void)nanosleep(&pause, NULL);
    }
}

static void live_through_outages(struct fixture *fixture, const char *dir, const char *url)
{
    struct fixture f = *fixture;
    struct store *store;
    struct store_options options = {.url = url};
    must(store_open(&options, &store, &f.err));
    struct db *db = store_writer(store);
    must(put(db, "before", "1", &f.err));
    struct db *other;
    must(store_writer_open(store, &other, &f.err));
    struct notice_listener *listener;
    must(store_listen(store, &listener, &f.err));

    cluster_do(&f, dir, "stop", "fast");
    check_fails_fast(&f, db);
    check_pauses_long(&f, other);
    cluster_do(&f, dir, "start", NULL);
    await_put(&f, db, "after");
    must(put(other, "too", "1", &f.err)); /* Whatever pause it was in. */
    store_writer_close(store, other);

    struct wakeup wakeup = {0};
    for (int i = 0; i < 10 && !wakeup.channels[STORE_EVENTS].woken; i++)
        notice_listener_wait(listener, 1000, &wakeup);
    ck_assert(wakeup.channels[STORE_EVENTS].woken && wakeup.channels[STORE_EVENTS].all);

    cluster_do(&f, dir, "restart", "immediate");
    await_put(&f, db, "crash");
    must_be(RC_IO, put(db, "before", "2", &f.err));
    ck_assert_str_eq(f.err.code, "STORE_CONSTRAINT");
    notice_listener_close(listener);
    store_close(store);
    fixture->arena = f.arena;
}

START_TEST(a_server_that_was_away_is_found_again)
{
    POSTGRES(f);
    char *dir = arena_printf(&f.arena, "%s/pg", f.dir);
    ck_assert_int_eq(chmod(f.dir, 0755), 0); /* The server may run as another user. */
    char *url = cluster_do(&f, dir, "start", "--fast");
    live_through_outages(&f, dir, url);
    cluster_do(&f, dir, "stop", "immediate");
}
END_TEST

static void add_server_tests(Suite *suite)
{
    TCase *tc = tcase_create("postgres");
    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, durability_is_what_the_server_says);
    tcase_add_test(tc, a_backup_names_the_tool);
    tcase_add_test(tc, servers_that_start_together_bring_the_schema_forward_once);
    tcase_add_test(tc, a_failure_shows_at_the_next_result_under_its_own_name);
    tcase_add_test(tc, a_row_that_must_be_there_is_not_committed_over);
    tcase_add_test(tc, changes_of_statements_that_were_only_sent_never_shrink);
    tcase_add_test(tc, more_than_the_pipeline_holds_goes_through);
    tcase_add_test(tc, text_that_is_none_is_refused_and_json_keeps_its_bytes);
    tcase_add_test(tc, a_deadlock_is_busy_for_one_of_them);
    tcase_add_test(tc, claims_skip_what_another_writer_holds);
    tcase_add_test(tc, a_session_has_limits_unless_the_address_sets_them);
    tcase_add_test(tc, an_idle_connection_that_was_ended_is_opened_again_unseen);
    tcase_add_test(tc, a_connection_lost_in_a_transaction_ends_it);
    tcase_add_loop_test(tc, a_commit_whose_answer_was_lost_is_asked_for, 0, 5);
    tcase_add_test(tc, a_server_that_was_away_is_found_again);
    suite_add_tcase(suite, tc);
}

Suite *store_postgres_suite(void)
{
    Suite *suite = suite_create("store_postgres");
    TCase *tc = tcase_create("anywhere");
    tcase_add_test(tc, a_url_that_leads_nowhere_is_told_with_a_next_step);
    suite_add_tcase(suite, tc);
    if (postgres_url() != NULL)
        add_server_tests(suite);
    return suite;
}
