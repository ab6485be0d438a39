/*
 * test_store_db.c - statements, rows and transactions, on every engine.
 */
#include "store/engine.h"
#include "tests/store/fixture.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

static const struct sql sql_insert = {
    "probe_insert",
    "INSERT INTO probe (n, x, t, j, b) VALUES ($2, $3, $1, $4, $5)",
    "tirjb",
};
static const struct sql sql_all = {
    "probe_all",
    "SELECT n, x, t, j, b FROM probe ORDER BY n",
    "",
};
static const struct sql sql_set = {
    "probe_set",
    "UPDATE probe SET t = $2 WHERE n >= $1",
    "it",
};
static const struct sql sql_count = {
    "probe_count",
    "SELECT count(*) FROM probe",
    "",
};
static const struct sql sql_wrong = {
    "probe_wrong",
    "SELECT nothing FROM nowhere",
    "",
};
static const struct sql sql_locked = {
    "probe_locked",
    "SELECT '{}', '{not a word}', n FROM probe WHERE n = $1 {for_update}",
    "i",
};

static struct fixture probe_open(int engine)
{
    struct fixture f = fixture_open(engine);
    must(db_script(f.db, "probe",
                   "CREATE TABLE probe (n {int} NOT NULL PRIMARY KEY, x DOUBLE PRECISION,"
                   " t {text}, j {json}, b {bytes}); CREATE INDEX probe_t ON probe (t)",
                   &f.err));
    return f;
}
#define PROBE(f) CLEANUP(fixture_close) struct fixture f = probe_open(_i)

#define PROBE_ROW(n, text) \
    P_LIST(P_TEXT(text), P_INT(n), P_REAL(0.5), P_JSON(STR("{}")), P_BYTES(((struct str){0})))

static enum rc insert(struct db *db, int64_t n, const char *text, struct err *err)
{
    return db_exec(db, &sql_insert, PROBE_ROW(n, text), NULL, err);
}

/* The result is needed: a failure shows at once. */
static enum rc insert_now(struct db *db, int64_t n, const char *text, struct err *err)
{
    int64_t changed;
    return db_exec(db, &sql_insert, PROBE_ROW(n, text), &changed, err);
}

static int64_t count_rows(struct db *db)
{
    struct err err;
    CLEANUP(rows_end) struct rows rows = {0};
    ck_assert_int_eq(db_query(db, &sql_count, NULL, 0, &rows, &err), RC_OK);
    ck_assert_int_eq(rows_next(&rows, &err), RC_OK);
    return row_int(&rows, 0);
}

START_TEST(values_of_every_type_come_back)
{
    PROBE(f);
    static const char bytes[] = {1, 0, (char)0xff, 0};
    struct param full[] = {P_TEXT("t\xc3\xa4xt"),
                           P_INT(INT64_MIN),
                           P_REAL(-0.1),
                           P_JSON(STR("{\"a\": 1.10}")),
                           {.type = 'b', .text = bytes, .len = sizeof bytes}};
    struct param empty[] = {P_TEXT(NULL),
                            P_INT(INT64_MAX),
                            P_REAL(0),
                            P_JSON(((struct str){0})),
                            {.type = 'b', .text = NULL}};
    must(db_exec(f.db, &sql_insert, full, COUNT_OF(full), NULL, &f.err));
    must(db_exec(f.db, &sql_insert, empty, COUNT_OF(empty), NULL, &f.err));
    CLEANUP(rows_end) struct rows rows = {0};
    must(db_query(f.db, &sql_all, NULL, 0, &rows, &f.err));
    must(rows_next(&rows, &f.err));
    ck_assert_int_eq(row_int(&rows, 0), INT64_MIN);
    ck_assert(row_real(&rows, 1) == -0.1);
    ck_assert_str_eq(row_text(&rows, 2), "t\xc3\xa4xt");
    ck_assert_str_eq(row_dup(&rows, 2, &f.arena), "t\xc3\xa4xt");
    ck_assert_str_eq(row_text(&rows, 3), "{\"a\": 1.10}");
    struct str back = row_bytes(&rows, 4, &f.arena);
    ck_assert_uint_eq(back.len, sizeof bytes);
    ck_assert_int_eq(memcmp(back.at, bytes, sizeof bytes), 0);
    must(rows_next(&rows, &f.err));
    ck_assert_int_eq(row_int(&rows, 0), INT64_MAX);
    ck_assert(!row_is_null(&rows, 1));
    for (int column = 2; column <= 4; column++) {
        ck_assert(row_is_null(&rows, column));
        ck_assert_ptr_null(row_text(&rows, column));
        ck_assert_ptr_null(row_dup(&rows, column, &f.arena));
        ck_assert_ptr_null(row_bytes(&rows, column, &f.arena).at);
        ck_assert_int_eq(row_int(&rows, column), 0);
        struct id none = row_id(&rows, column);
        ck_assert(id_is_none(&none));
    }
    must_be(RC_NOT_FOUND, rows_next(&rows, &f.err));
    rows_end(&rows);
    rows_end(&rows);
}
END_TEST

START_TEST(an_empty_text_is_not_null)
{
    PROBE(f);
    static const struct sql texts = {"probe_texts", "SELECT t FROM probe ORDER BY n", ""};
    must(insert(f.db, 1, "", &f.err));
    must(insert(f.db, 2, "c232ab00-9414-11ec-b3c8-9f6bdeced846", &f.err));
    CLEANUP(rows_end) struct rows rows = {0};
    must(db_query(f.db, &texts, NULL, 0, &rows, &f.err));
    must(rows_next(&rows, &f.err));
    ck_assert(!row_is_null(&rows, 0));
    ck_assert_str_eq(row_text(&rows, 0), "");
    ck_assert_str_eq(row_dup(&rows, 0, &f.arena), "");
    ck_assert_ptr_nonnull(row_bytes(&rows, 0, &f.arena).at);
    struct id id = row_id(&rows, 0);
    ck_assert(id_is_none(&id));
    must(rows_next(&rows, &f.err));
    ck_assert_str_eq(row_dup(&rows, 0, &f.arena), "c232ab00-9414-11ec-b3c8-9f6bdeced846");
    id = row_id(&rows, 0);
    ck_assert_str_eq(id.text, row_text(&rows, 0));
}
END_TEST

START_TEST(a_transaction_rolls_back_unless_committed)
{
    PROBE(f);
    {
        CLEANUP(tx_abort) struct tx tx = {0};
        must(tx_begin(f.db, &tx, &f.err));
        must(insert(f.db, 1, "lost", &f.err));
        ck_assert_int_eq(count_rows(f.db), 1);
    }
    ck_assert_int_eq(count_rows(f.db), 0);
    {
        CLEANUP(tx_abort) struct tx tx = {0};
        must(tx_begin(f.db, &tx, &f.err));
        must(insert(f.db, 1, "kept", &f.err));
        must(tx_commit(&tx, &f.err));
        ck_assert_ptr_null(tx.db);
    }
    ck_assert_int_eq(count_rows(f.db), 1);
    must(insert(f.db, 2, "on its own", &f.err));
    ck_assert_int_eq(count_rows(f.db), 2);
}
END_TEST

START_TEST(a_long_reading_ends_when_the_server_stops)
{
    PROBE(f);
    CLEANUP(rows_end) struct rows rows = {0};
    CLEANUP(tx_abort) struct tx tx = {0};
    atomic_int stop = 0;
    must(insert(f.db, 1, "a", &f.err));
    db_stop_on(f.db, &stop);
    must(tx_begin(f.db, &tx, &f.err));
    ck_assert_int_eq(count_rows(f.db), 1);
    atomic_store(&stop, 1);
    ck_assert_int_eq(db_query(f.db, &sql_count, NULL, 0, &rows, &f.err), RC_BUSY);
    ck_assert_str_eq(f.err.code, "STOPPING");
    tx_abort(&tx);
    db_stop_on(f.db, NULL);
    ck_assert_int_eq(count_rows(f.db), 1);
}
END_TEST

START_TEST(changes_are_counted)
{
    PROBE(f);
    ck_assert_int_eq(db_changes(f.db), 0);
    struct tx tx;
    must(tx_begin(f.db, &tx, &f.err));
    ck_assert_int_eq(db_changes(f.db), 0);
    for (int i = 0; i < 4; i++)
        must(insert(f.db, i, "x", &f.err));
    ck_assert_int_eq(db_changes(f.db), 4);
    int64_t changed;
    must(db_exec(f.db, &sql_set, P_LIST(P_INT(1), P_TEXT("y")), &changed, &f.err));
    ck_assert_int_eq(changed, 3);
    must(db_exec(f.db, &sql_set, P_LIST(P_INT(9), P_TEXT("y")), &changed, &f.err));
    ck_assert_int_eq(changed, 0);
    count_rows(f.db);
    ck_assert_int_eq(db_changes(f.db), 7);
    struct job_row job = fixture_job(&f, "q"); /* A statement that writes and returns. */
    must(jobs_insert(f.db, &job, &f.err));
    ck_assert_int_eq(db_changes(f.db), 8);
    must(tx_commit(&tx, &f.err));
    ck_assert_int_eq(db_changes(f.db), 0);
    must(tx_begin(f.db, &tx, &f.err));
    ck_assert_int_eq(db_changes(f.db), 0);
    tx_abort(&tx);
    tx_abort(&tx);
}
END_TEST

START_TEST(a_failed_statement_breaks_its_transaction)
{
    PROBE(f);
    struct tx tx;
    must(tx_begin(f.db, &tx, &f.err));
    must(insert(f.db, 1, "a", &f.err));
    must_be(RC_IO, insert_now(f.db, 1, "b", &f.err));
    ck_assert_str_eq(f.err.code, "STORE_CONSTRAINT");
    ck_assert_ptr_nonnull(strstr(f.err.text, "probe_insert"));
    must_be(RC_IO, insert(f.db, 2, "c", &f.err));
    ck_assert_str_eq(f.err.code, "STORE_ERROR");
    must_be(RC_IO, tx_commit(&tx, &f.err));
    ck_assert_ptr_null(tx.db);
    ck_assert_int_eq(count_rows(f.db), 0);
    must(tx_begin(f.db, &tx, &f.err));
    must(insert(f.db, 1, "a", &f.err));
    must(tx_commit(&tx, &f.err));
    ck_assert_int_eq(count_rows(f.db), 1);
}
END_TEST

START_TEST(a_savepoint_is_undone_alone)
{
    PROBE(f);
    struct tx tx;
    struct savepoint savepoint;
    must(tx_begin(f.db, &tx, &f.err));
    must(savepoint_set(f.db, &savepoint, &f.err)); /* Before the first write. */
    must(insert(f.db, 1, "undone", &f.err));
    must(savepoint_undo(&savepoint, &f.err));
    must(insert(f.db, 2, "kept", &f.err));
    must(savepoint_set(f.db, &savepoint, &f.err));
    must(insert(f.db, 3, "kept", &f.err));
    must(savepoint_keep(&savepoint, &f.err));
    must(savepoint_set(f.db, &savepoint, &f.err));
    must(insert(f.db, 4, "undone", &f.err));
    ck_assert_int_eq(count_rows(f.db), 3);
    must(savepoint_undo(&savepoint, &f.err));
    ck_assert_int_eq(count_rows(f.db), 2);
    must(tx_commit(&tx, &f.err));
    ck_assert_int_eq(count_rows(f.db), 2);
}
END_TEST

START_TEST(a_savepoint_mends_a_broken_transaction)
{
    PROBE(f);
    struct tx tx;
    struct savepoint savepoint;
    must(tx_begin(f.db, &tx, &f.err));
    must(insert(f.db, 1, "a", &f.err));
    must(savepoint_set(f.db, &savepoint, &f.err));
    must(insert(f.db, 2, "b", &f.err));
    must_be(RC_IO, insert_now(f.db, 1, "c", &f.err));
    ck_assert_str_eq(f.err.code, "STORE_CONSTRAINT");
    must_be(RC_IO, insert(f.db, 3, "d", &f.err));
    must_be(RC_IO, savepoint_keep(&savepoint, &f.err));
    must(savepoint_undo(&savepoint, &f.err));
    must(insert(f.db, 4, "e", &f.err));
    ck_assert_int_eq(count_rows(f.db), 2);
    must(tx_commit(&tx, &f.err));
    ck_assert_int_eq(count_rows(f.db), 2);
}
END_TEST

/* Behind a network a write is only sent: the savepoint waits for it. */
START_TEST(a_savepoint_tells_what_failed_since)
{
    PROBE(f);
    struct tx tx;
    struct savepoint savepoint;
    must(tx_begin(f.db, &tx, &f.err));
    must(insert(f.db, 1, "a", &f.err));
    must(savepoint_set(f.db, &savepoint, &f.err));
    enum rc rc = insert(f.db, 1, "b", &f.err);
    if (rc == RC_OK)
        rc = savepoint_keep(&savepoint, &f.err);
    ck_assert_int_eq(rc, RC_IO);
    ck_assert_str_eq(f.err.code, "STORE_CONSTRAINT");
    ck_assert_ptr_nonnull(strstr(f.err.text, "probe_insert"));
    must(savepoint_undo(&savepoint, &f.err));
    must(savepoint_set(f.db, &savepoint, &f.err)); /* Nested. */
    struct savepoint inner;
    must(savepoint_set(f.db, &inner, &f.err));
    must(insert(f.db, 5, "undone", &f.err));
    must(savepoint_undo(&inner, &f.err));
    must(insert(f.db, 6, "kept", &f.err));
    must(savepoint_keep(&savepoint, &f.err));
    must(tx_commit(&tx, &f.err));
    ck_assert_int_eq(count_rows(f.db), 2);
}
END_TEST

START_TEST(an_error_names_the_statement)
{
    PROBE(f);
    struct rows rows = {0};
    must_be(RC_IO, db_query(f.db, &sql_wrong, NULL, 0, &rows, &f.err));
    ck_assert_str_eq(f.err.code, "STORE_ERROR");
    ck_assert_ptr_nonnull(strstr(f.err.text, "probe_wrong"));
    ck_assert_ptr_null(rows.db);
    must_be(RC_IO, db_exec(f.db, &sql_wrong, NULL, 0, NULL, &f.err));
}
END_TEST

START_TEST(only_words_of_the_dialect_are_replaced)
{
    PROBE(f);
    must(insert(f.db, 5, "x", &f.err));
    CLEANUP(rows_end) struct rows rows = {0};
    must(db_query(f.db, &sql_locked, P_LIST(P_INT(5)), &rows, &f.err));
    must(rows_next(&rows, &f.err));
    ck_assert_str_eq(row_text(&rows, 0), "{}");
    ck_assert_str_eq(row_text(&rows, 1), "{not a word}");
    ck_assert_int_eq(row_int(&rows, 2), 5);
}
END_TEST

START_TEST(parameters_of_a_query_may_change_while_rows_are_read)
{
    PROBE(f);
    for (int i = 0; i < 3; i++)
        must(insert(f.db, i, i == 1 ? "other" : "same", &f.err));
    static const struct sql by_text = {"probe_by_text",
                                       "SELECT n FROM probe WHERE t = $1 ORDER BY n DESC", "t"};
    char text[] = "same";
    CLEANUP(rows_end) struct rows rows = {0};
    must(db_query(f.db, &by_text, P_LIST(P_TEXT(text)), &rows, &f.err));
    memcpy(text, "gone", sizeof text);
    must(rows_next(&rows, &f.err));
    must(rows_next(&rows, &f.err));
    must_be(RC_NOT_FOUND, rows_next(&rows, &f.err));
}
END_TEST

START_TEST(a_reader_sees_what_was_committed)
{
    PROBE(f);
    struct db *reader;
    must(store_reader_open(f.store, &reader, &f.err));
    must(insert(f.db, 1, "a", &f.err));
    ck_assert_int_eq(count_rows(reader), 1);
    if (reader != f.db) {
        struct tx tx;
        must(tx_begin(f.db, &tx, &f.err));
        must(insert(f.db, 2, "b", &f.err));
        ck_assert_int_eq(count_rows(reader), 1);
        struct tx snapshot;
        must(tx_begin(reader, &snapshot, &f.err));
        ck_assert_int_eq(count_rows(reader), 1);
        must(tx_commit(&tx, &f.err));
        ck_assert_int_eq(count_rows(reader), 1);
        must(tx_commit(&snapshot, &f.err));
        ck_assert_int_eq(count_rows(reader), 2);
        must_be(RC_IO, insert(reader, 3, "c", &f.err));
        ck_assert_int_eq(count_rows(f.db), 2);
    }
    store_reader_close(f.store, reader);
    store_reader_close(f.store, NULL);
}
END_TEST

struct watch {
    struct store *store;
    atomic_bool done;
    int64_t looks, odd;
};

static void *watch_pairs(void *arg)
{
    struct watch *watch = arg;
    struct err err;
    struct db *reader;
    if (store_reader_open(watch->store, &reader, &err) != RC_OK)
        return NULL;
    bool last;
    do {
        last = atomic_load(&watch->done);
        watch->odd += count_rows(reader) % 2;
        watch->looks++;
    } while (!last);
    store_reader_close(watch->store, reader);
    return NULL;
}

START_TEST(readers_in_threads_see_whole_transactions)
{
    if (!engine_reopens(_i))
        return; /* One connection serves all, for one thread. */
    PROBE(f);
    struct watch watches[2] = {{.store = f.store}, {.store = f.store}};
    pthread_t threads[COUNT_OF(watches)];
    for (size_t i = 0; i < COUNT_OF(watches); i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, watch_pairs, &watches[i]), 0);
    for (int i = 0; i < 200; i += 2) {
        struct tx tx;
        must(tx_begin(f.db, &tx, &f.err));
        must(insert(f.db, i, "left", &f.err));
        must(insert(f.db, i + 1, "right", &f.err));
        must(tx_commit(&tx, &f.err));
    }
    for (size_t i = 0; i < COUNT_OF(watches); i++) {
        atomic_store(&watches[i].done, true);
        pthread_join(threads[i], NULL);
        ck_assert_int_gt(watches[i].looks, 0);
        ck_assert_int_eq(watches[i].odd, 0);
    }
}
END_TEST

/* A fixture would leave its directory behind when the process ends in an assertion. */
static struct db *db_in_memory(void)
{
    struct store *store;
    struct err err;
    struct store_options options = {.url = "sqlite::memory:"};
    ck_assert_int_eq(store_open(&options, &store, &err), RC_OK);
    return store_writer(store);
}

START_TEST(a_parameter_of_the_wrong_type_is_a_bug)
{
    (void)!db_exec(db_in_memory(), &sql_set, P_LIST(P_TEXT("1"), P_TEXT("y")), NULL, NULL);
}
END_TEST

START_TEST(a_missing_parameter_is_a_bug)
{
    (void)!db_exec(db_in_memory(), &sql_set, P_LIST(P_INT(1)), NULL, NULL);
}
END_TEST

START_TEST(a_transaction_within_a_transaction_is_a_bug)
{
    struct db *db = db_in_memory();
    struct tx outer, inner;
    (void)!tx_begin(db, &outer, NULL);
    (void)!tx_begin(db, &inner, NULL);
}
END_TEST

Suite *store_db_suite(void)
{
    Suite *suite = suite_create("store_db");
    TCase *tc = tcase_create("db");
    case_add(tc, values_of_every_type_come_back);
    case_add(tc, an_empty_text_is_not_null);
    case_add(tc, a_transaction_rolls_back_unless_committed);
    case_add(tc, a_long_reading_ends_when_the_server_stops);
    case_add(tc, changes_are_counted);
    case_add(tc, a_failed_statement_breaks_its_transaction);
    case_add(tc, a_savepoint_is_undone_alone);
    case_add(tc, a_savepoint_mends_a_broken_transaction);
    case_add(tc, a_savepoint_tells_what_failed_since);
    case_add(tc, an_error_names_the_statement);
    case_add(tc, only_words_of_the_dialect_are_replaced);
    case_add(tc, parameters_of_a_query_may_change_while_rows_are_read);
    case_add(tc, a_reader_sees_what_was_committed);
    case_add(tc, readers_in_threads_see_whole_transactions);
    suite_add_tcase(suite, tc);
    TCase *bugs = tcase_create("bugs");
    tcase_add_test_raise_signal(bugs, a_parameter_of_the_wrong_type_is_a_bug, SIGABRT);
    tcase_add_test_raise_signal(bugs, a_missing_parameter_is_a_bug, SIGABRT);
    tcase_add_test_raise_signal(bugs, a_transaction_within_a_transaction_is_a_bug, SIGABRT);
    suite_add_tcase(suite, bugs);
    return suite;
}
