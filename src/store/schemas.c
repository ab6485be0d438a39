#include "store/schemas.h"
#include "store/query.h"
#include "store/shapes.h"

static const struct column schema_columns[] = {
    COLUMN(struct schema_row, name, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct schema_row, version, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct schema_row, document, COLUMN_NEW | COLUMN_LARGE),
    COLUMN(struct schema_row, created_by, COLUMN_NEW),
    COLUMN(struct schema_row, created_us, COLUMN_NEW),
    COLUMN(struct schema_row, removed_us, COLUMN_NEW),
};
const struct shape schema_shape = SHAPE("schema", struct schema_row, schema_columns);

static const struct row_sql sql_insert = {
    "schema_insert",
    "INSERT INTO schemas {values}",
    &schema_shape,
    COLUMN_NEW,
};
static const struct sql sql_get = {
    "schema_get",
    "SELECT {columns} FROM schemas WHERE name = $1 AND ($2 = 0 OR version = $2) AND removed_us = 0"
    " ORDER BY version DESC LIMIT 1",
    "ti",
};
static const struct sql sql_last_version = {
    "schema_last_version",
    "SELECT coalesce(max(version), 0) FROM schemas WHERE name = $1",
    "t",
};
/* What stays is a number, that no version is given it again. */
static const struct sql sql_remove = {
    "schema_remove",
    "UPDATE schemas SET removed_us = $2, document = '{}' WHERE name = $1 AND removed_us = 0",
    "ti",
};
static const struct sql sql_forget = {
    "schema_forget",
    "DELETE FROM schemas WHERE name = $1 AND version <"
    " (SELECT max(o.version) FROM schemas o WHERE o.name = $1)",
    "t",
};
static const struct sql sql_list = {
    "schema_list",
    "SELECT {small} FROM schemas WHERE name > $1 AND removed_us = 0 AND version ="
    " (SELECT max(o.version) FROM schemas o WHERE o.name = schemas.name)"
    " ORDER BY name LIMIT $2",
    "ti",
};
static const struct sql sql_versions = {
    "schema_versions",
    "SELECT {small} FROM schemas WHERE name = $1 AND removed_us = 0 ORDER BY version DESC LIMIT $2",
    "ti",
};
static const struct sql sql_count = {
    "schema_count",
    "SELECT count(DISTINCT name) FROM schemas WHERE removed_us = 0",
    "",
};

enum rc schemas_insert(struct db *db, const struct schema_row *row, struct err *err)
{
    return row_exec(db, &sql_insert, row, NULL, err);
}

enum rc schemas_get(struct db *db, const char *name, int64_t version, struct arena *arena,
                    struct schema_row *ret_row, struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_TEXT(name), P_INT(version)), &schema_shape, arena,
                     ret_row, err);
}

enum rc schemas_last_version(struct db *db, const char *name, int64_t *ret_version, struct err *err)
{
    return query_int(db, &sql_last_version, P_LIST(P_TEXT(name)), ret_version, err);
}

enum rc schemas_remove(struct db *db, const char *name, int64_t now_us, struct err *err)
{
    int64_t changed = 0;
    enum rc rc = db_exec(db, &sql_remove, P_LIST(P_TEXT(name), P_INT(now_us)), &changed, err);
    if (rc == RC_OK && changed == 0)
        return err_set(err, RC_NOT_FOUND, "NOT_FOUND", "there is no such schema");
    return rc == RC_OK ? db_exec(db, &sql_forget, P_LIST(P_TEXT(name)), NULL, err) : rc;
}

enum rc schemas_list(struct db *db, const char *after, int64_t limit, struct arena *arena,
                     struct schema_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_list, P_LIST(P_TEXT(after == NULL ? "" : after), P_LIMIT(limit)),
                     &schema_shape, arena, ret_rows, ret_count, err);
}

enum rc schemas_versions(struct db *db, const char *name, int64_t limit, struct arena *arena,
                         struct schema_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_versions, P_LIST(P_TEXT(name), P_LIMIT(limit)), &schema_shape, arena,
                     ret_rows, ret_count, err);
}

enum rc schemas_count(struct db *db, int64_t *ret_count, struct err *err)
{
    return query_int(db, &sql_count, NULL, 0, ret_count, err);
}
