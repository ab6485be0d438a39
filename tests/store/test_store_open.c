/*
 * test_store_open.c - opening, migrations, backup.
 */
#include "base/fd.h"
#include "store/engine.h"
#include "store/migrate.h"
#include "store/settings.h"
#include "tests/store/fixture.h"

START_TEST(data_outlive_the_process)
{
    if (!engine_reopens(_i))
        return;
    FIXTURE(f);
    struct job_row job = fixture_job(&f, "q");
    must(jobs_insert(f.db, &job, &f.err));
    fixture_reopen(&f);
    struct job_row got;
    must(jobs_get(f.db, &job.id, &f.arena, &got, &f.err));
    ck_assert_bytes_eq(got.payload, "{\"n\":1}");
}
END_TEST

START_TEST(a_url_without_an_engine_is_refused)
{
    static const char *const urls[] = {"", "drover.db", "mysql://x", "sqlite", "sqlite:"};
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        struct store *store = NULL;
        struct err err;
        struct store_options options = {.url = urls[i]};
        ck_assert_int_eq(store_open(&options, &store, &err), RC_INVALID);
        ck_assert_str_eq(err.code, "INVALID_STORE_URL");
        ck_assert_ptr_null(store);
    }
    store_close(NULL);
}
END_TEST

START_TEST(durability_is_told)
{
    FIXTURE(f);
    ck_assert_ptr_nonnull(store_durability(f.store));
    ck_assert_str_eq(store_artifact_dir(f.store), f.artifact_dir);
    ck_assert_int_ge(store_schema_version(), 1);
}
END_TEST

static const char *const add_note[] = {
    "CREATE TABLE note (id {int} NOT NULL PRIMARY KEY, body {text}) {plain_table}",
    "INSERT INTO note (id, body) VALUES (1, 'added')",
    NULL,
};
static const char *const break_halfway[] = {
    "INSERT INTO note (id, body) VALUES (2, 'gone')",
    "INSERT INTO no_such_table (id) VALUES (1)",
    NULL,
};
static const struct sql sql_versions = {
    "test_versions",
    "SELECT version, name FROM schema_migrations ORDER BY version",
    "",
};
static const struct sql sql_notes = {
    "test_notes",
    "SELECT count(*) FROM note",
    "",
};

static int64_t first_int(struct fixture *f, const struct sql *sql)
{
    CLEANUP(rows_end) struct rows rows = {0};
    ck_assert_int_eq(db_query(f->db, sql, NULL, 0, &rows, &f->err), RC_OK);
    ck_assert_int_eq(rows_next(&rows, &f->err), RC_OK);
    return row_int(&rows, 0);
}

/* This binary's migrations and more behind them. */
static struct migration *list_with(struct fixture *f, const char *const *const more[],
                                   size_t more_count)
{
    struct migration *list = arena_array(&f->arena, migration_count + more_count, sizeof *list);
    memcpy(list, migrations, migration_count * sizeof *list);
    for (size_t i = 0; i < more_count; i++)
        list[migration_count + i] = (struct migration){(int64_t)(migration_count + i + 1), "more",
                                                       more[i]};
    return list;
}

START_TEST(an_older_schema_is_brought_forward_with_its_data)
{
    FIXTURE(f);
    must(settings_put(f.db, "node", "n1", &f.err));
    const char *const *const more[] = {add_note};
    must(migrate(f.db, list_with(&f, more, 1), migration_count + 1, &f.err));
    ck_assert_int_eq(first_int(&f, &sql_notes), 1);
    const char *value;
    must(settings_get(f.db, "node", &f.arena, &value, &f.err));
    ck_assert_str_eq(value, "n1");
    /* Again: nothing to do. */
    must(migrate(f.db, list_with(&f, more, 1), migration_count + 1, &f.err));
    ck_assert_int_eq(first_int(&f, &sql_notes), 1);
    CLEANUP(rows_end) struct rows rows = {0};
    must(db_query(f.db, &sql_versions, NULL, 0, &rows, &f.err));
    for (size_t i = 0; i <= migration_count; i++) {
        must(rows_next(&rows, &f.err));
        ck_assert_int_eq(row_int(&rows, 0), (int64_t)i + 1);
    }
    ck_assert_str_eq(row_text(&rows, 1), "more");
    must_be(RC_NOT_FOUND, rows_next(&rows, &f.err));
}
END_TEST

START_TEST(a_migration_is_applied_whole_or_not_at_all)
{
    FIXTURE(f);
    const char *const *const more[] = {add_note, break_halfway};
    must_be(RC_IO, migrate(f.db, list_with(&f, more, 2), migration_count + 2, &f.err));
    ck_assert_int_eq(first_int(&f, &sql_notes), 1);
    const char *const *const mended[] = {add_note, add_note + 1};
    struct migration *list = list_with(&f, mended, 2);
    list[migration_count + 1].statements = (const char *const[]){
        "INSERT INTO note (id, body) VALUES (2, 'mended')", NULL};
    must(migrate(f.db, list, migration_count + 2, &f.err));
    ck_assert_int_eq(first_int(&f, &sql_notes), 2);
}
END_TEST

START_TEST(a_newer_schema_is_refused)
{
    FIXTURE(f);
    const char *const *const more[] = {add_note};
    must(migrate(f.db, list_with(&f, more, 1), migration_count + 1, &f.err));
    must_be(RC_CONFLICT, migrate(f.db, migrations, migration_count, &f.err));
    ck_assert_str_eq(f.err.code, "SCHEMA_TOO_NEW");
    ck_assert_ptr_nonnull(strstr(f.err.text, "newer drover"));
    if (!engine_reopens(_i))
        return;
    store_close(f.store);
    f.store = NULL;
    struct store_options options = {.url = f.url};
    must_be(RC_CONFLICT, store_open(&options, &f.store, &f.err));
    ck_assert_str_eq(f.err.code, "SCHEMA_TOO_NEW");
}
END_TEST

START_TEST(a_schema_of_another_build_is_refused)
{
    FIXTURE(f);
    const char *const *const more[] = {add_note}, *const *const edited[] = {break_halfway};
    must(migrate(f.db, list_with(&f, more, 1), migration_count + 1, &f.err));
    must_be(RC_CONFLICT, migrate(f.db, list_with(&f, edited, 1), migration_count + 1, &f.err));
    ck_assert_str_eq(f.err.code, "SCHEMA_DIFFERS");
    ck_assert_ptr_nonnull(strstr(f.err.text, "new data directory"));
}
END_TEST

START_TEST(a_backup_opens_and_matches)
{
    if (!engine_has_files(_i))
        return;
    FIXTURE(f);
    struct job_row job = fixture_job(&f, "q");
    must(jobs_insert(f.db, &job, &f.err));
    char *path = arena_printf(&f.arena, "%s/copy.db", f.dir);
    must(store_backup(f.store, path, &f.err));
    struct job_row later = fixture_job(&f, "q");
    must(jobs_insert(f.db, &later, &f.err));

    struct store *copy;
    struct store_options options = {.url = arena_printf(&f.arena, "sqlite:%s", path)};
    must(store_open(&options, &copy, &f.err));
    struct job_row got;
    must(jobs_get(store_writer(copy), &job.id, &f.arena, &got, &f.err));
    ck_assert_bytes_eq(got.payload, "{\"n\":1}");
    must_be(RC_NOT_FOUND, jobs_get(store_writer(copy), &later.id, &f.arena, &got, &f.err));
    store_close(copy);
}
END_TEST

START_TEST(a_backup_holds_only_what_was_committed)
{
    if (!engine_reopens(_i) || !engine_has_files(_i))
        return; /* Its one connection sees what it has not committed yet. */
    FIXTURE(f);
    CLEANUP(tx_abort) struct tx tx = {0};
    must(tx_begin(f.db, &tx, &f.err));
    must(settings_put(f.db, "half", "done", &f.err));
    char *path = arena_printf(&f.arena, "%s/copy.db", f.dir);
    must(store_backup(f.store, path, &f.err));
    tx_abort(&tx);
    struct store *copy;
    struct store_options options = {.url = arena_printf(&f.arena, "sqlite:%s", path)};
    must(store_open(&options, &copy, &f.err));
    const char *value;
    must_be(RC_NOT_FOUND, settings_get(store_writer(copy), "half", &f.arena, &value, &f.err));
    store_close(copy);
}
END_TEST

START_TEST(a_backup_overwrites_nothing)
{
    if (!engine_has_files(_i))
        return;
    FIXTURE(f);
    char *path = arena_printf(&f.arena, "%s/precious", f.dir);
    must(file_write_durable(path, "keep", 4, 0600, &f.err));
    must_be(RC_CONFLICT, store_backup(f.store, path, &f.err));
    ck_assert_str_eq(f.err.code, "BACKUP_EXISTS");
    CLEANUP(buf_release) struct buf content;
    buf_init(&content, 100);
    must(file_read(path, &content, &f.err));
    ck_assert_str_eq(buf_text(&content), "keep");
    must_be(RC_IO, store_backup(f.store, "/nonexistent/dir/copy.db", &f.err));
    ck_assert_str_eq(f.err.code, "STORE_IO");
}
END_TEST

Suite *store_open_suite(void)
{
    Suite *suite = suite_create("store_open");
    TCase *tc = tcase_create("open");
    case_add(tc, data_outlive_the_process);
    tcase_add_test(tc, a_url_without_an_engine_is_refused);
    case_add(tc, durability_is_told);
    case_add(tc, an_older_schema_is_brought_forward_with_its_data);
    case_add(tc, a_migration_is_applied_whole_or_not_at_all);
    case_add(tc, a_newer_schema_is_refused);
    case_add(tc, a_schema_of_another_build_is_refused);
    case_add(tc, a_backup_opens_and_matches);
    case_add(tc, a_backup_holds_only_what_was_committed);
    case_add(tc, a_backup_overwrites_nothing);
    suite_add_tcase(suite, tc);
    return suite;
}
