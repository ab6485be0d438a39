/*
 * migrate.c - applies what is missing, in order.
 */
#include "store/migrate.h"
#include "base/buf.h"
#include "base/hash.h"
#include "store/engine.h"
#include <assert.h>

static const char create_table[] = "CREATE TABLE IF NOT EXISTS schema_migrations ("
                                   " version {int} NOT NULL PRIMARY KEY,"
                                   " name {text} NOT NULL,"
                                   " sha256 {text} NOT NULL) {keyed_table}";

static const struct sql sql_version = {
    "schema_version",
    "SELECT coalesce(max(version), 0) FROM schema_migrations",
    "",
};

static const struct sql sql_record = {
    "schema_record",
    "INSERT INTO schema_migrations (version, name, sha256) VALUES ($1, $2, $3)",
    "itt",
};

/* Counts those that were applied with other statements. */
static const struct sql sql_differs = {
    "schema_differs",
    "SELECT count(*) FROM schema_migrations WHERE version = $1 AND sha256 <> $2",
    "it",
};

static enum rc query_number(struct db *db, const struct sql *sql, const struct param *params,
                            size_t count, int64_t *ret_number, struct err *err)
{
    CLEANUP(rows_end) struct rows rows = {0};
    enum rc rc = db_query(db, sql, params, count, &rows, err);
    if (rc == RC_OK)
        rc = rows_next(&rows, err);
    if (rc == RC_OK)
        *ret_number = row_int(&rows, 0);
    return rc;
}

static void hash_statements(const struct migration *migration, char to[SHA256_TEXT_BYTES])
{
    enum { STATEMENTS_BYTES_MAX = 1024 * 1024 };
    CLEANUP(buf_release) struct buf all;
    buf_init(&all, STATEMENTS_BYTES_MAX);
    for (size_t i = 0; migration->statements[i] != NULL; i++)
        buf_addf(&all, "%s;", migration->statements[i]);
    sha256_hex(buf_text(&all), all.len, to);
}

/* A migration is edited until it is released: a database of an earlier build has other columns,
   and statements would fail one by one. */
static enum rc check_applied(struct db *db, const struct migration *list, int64_t from, int64_t to,
                             struct err *err)
{
    for (int64_t i = from; i < to; i++) {
        char sha256[SHA256_TEXT_BYTES];
        int64_t differs = 1;
        hash_statements(&list[i], sha256);
        enum rc rc = query_number(db, &sql_differs, P_LIST(P_INT(list[i].version), P_TEXT(sha256)),
                                  &differs, err);
        if (rc == RC_BUSY || rc == RC_UNREACHABLE)
            return rc;
        if (rc != RC_OK || differs > 0) /* The oldest ones have no such column. */
            return err_set(err, RC_CONFLICT, "SCHEMA_DIFFERS",
                           "the database was made by a build of drover that was not released and "
                           "has another schema: start that build, or give this one a new data "
                           "directory or database");
    }
    return RC_OK;
}

/* Under the lock that every server takes at its start. */
static enum rc version_locked(struct db *db, int64_t *ret_version, struct err *err)
{
    enum rc rc = db_script(db, "schema_lock", "{lock_schema}", err);
    if (rc == RC_OK)
        rc = db_script(db, "schema_migrations", create_table, err);
    return rc == RC_OK ? query_number(db, &sql_version, NULL, 0, ret_version, err) : rc;
}

static enum rc apply(struct db *db, const struct migration *migration, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && migration->statements[i] != NULL; i++)
        rc = db_script(db, migration->name, migration->statements[i], err);
    char sha256[SHA256_TEXT_BYTES];
    hash_statements(migration, sha256);
    if (rc == RC_OK)
        rc = db_exec(db, &sql_record,
                     P_LIST(P_INT(migration->version), P_TEXT(migration->name), P_TEXT(sha256)),
                     NULL, err);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "migration");
}

/* One transaction: reads the version of the schema and applies the next migration, if any.  *known
   of the list are applied as they are there; others may apply more at the same time. */
static enum rc advance(struct db *db, const struct migration *list, size_t count, int64_t *known,
                       bool *ret_done, struct err *err)
{
    CLEANUP(tx_abort) struct tx tx = {0};
    enum rc rc = tx_begin(db, &tx, err);
    int64_t version;
    if (rc == RC_OK)
        rc = version_locked(db, &version, err);
    if (rc != RC_OK)
        return rc;
    if (version > (int64_t)count)
        return err_set(err, RC_CONFLICT, "SCHEMA_TOO_NEW",
                       "the database has schema version %lld, this drover knows up to %lld: start "
                       "the newer drover that wrote it, or restore a backup made by this one",
                       (long long)version, (long long)count);
    rc = check_applied(db, list, *known, version, err);
    *ret_done = version == (int64_t)count;
    if (rc != RC_OK || *ret_done)
        return rc;
    assert(list[version].version == version + 1);
    rc = apply(db, &list[version], err);
    if (rc == RC_OK)
        rc = tx_commit(&tx, err);
    if (rc == RC_OK)
        *known = version + 1;
    return rc;
}

enum rc migrate(struct db *db, const struct migration *list, size_t count, struct err *err)
{
    bool done = false;
    int64_t known = 0;
    enum rc rc = RC_OK;
    while (rc == RC_OK && !done)
        rc = advance(db, list, count, &known, &done, err);
    return rc;
}
