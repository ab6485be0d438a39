/*
 * migrate.c - applies what is missing, in order.
 */
#include "store/migrate.h"
#include "store/engine.h"
#include <assert.h>

static const char create_table[] = "CREATE TABLE IF NOT EXISTS schema_migrations ("
                                   " version {int} NOT NULL PRIMARY KEY,"
                                   " name {text} NOT NULL) {keyed_table}";

static const struct sql sql_version = {
    "schema_version",
    "SELECT coalesce(max(version), 0) FROM schema_migrations",
    "",
};

static const struct sql sql_record = {
    "schema_record",
    "INSERT INTO schema_migrations (version, name) VALUES ($1, $2)",
    "it",
};

static enum rc current_version(struct db *db, int64_t *ret_version, struct err *err)
{
    CLEANUP(rows_end) struct rows rows = {0};
    enum rc rc = db_query(db, &sql_version, NULL, 0, &rows, err);
    if (rc == RC_OK)
        rc = rows_next(&rows, err);
    if (rc == RC_OK)
        *ret_version = row_int(&rows, 0);
    return rc;
}

/* Under the lock that every server takes at its start. */
static enum rc version_locked(struct db *db, int64_t *ret_version, struct err *err)
{
    enum rc rc = db_script(db, "schema_lock", "{lock_schema}", err);
    if (rc == RC_OK)
        rc = db_script(db, "schema_migrations", create_table, err);
    return rc == RC_OK ? current_version(db, ret_version, err) : rc;
}

static enum rc apply(struct db *db, const struct migration *migration, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && migration->statements[i] != NULL; i++)
        rc = db_script(db, migration->name, migration->statements[i], err);
    if (rc == RC_OK)
        rc = db_exec(db, &sql_record, P_LIST(P_INT(migration->version), P_TEXT(migration->name)),
                     NULL, err);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "migration");
}

/* One transaction: reads the version of the schema and applies the next migration, if any. */
static enum rc advance(struct db *db, const struct migration *list, size_t count, bool *ret_done,
                       struct err *err)
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
    *ret_done = version == (int64_t)count;
    if (*ret_done)
        return RC_OK;
    assert(list[version].version == version + 1);
    rc = apply(db, &list[version], err);
    return rc == RC_OK ? tx_commit(&tx, err) : rc;
}

enum rc migrate(struct db *db, const struct migration *list, size_t count, struct err *err)
{
    bool done = false;
    enum rc rc = RC_OK;
    while (rc == RC_OK && !done)
        rc = advance(db, list, count, &done, err);
    return rc;
}
