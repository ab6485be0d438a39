#include "store/consumers.h"
#include "store/query.h"
#include "store/shapes.h"

enum { CONSUMER_STATE = COLUMN_GROUP(0) }; /* consumers_save */
static const struct column consumer_columns[] = {
    COLUMN(struct consumer_row, name, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct consumer_row, types, COLUMN_NEW | CONSUMER_STATE),
    COLUMN(struct consumer_row, cursor_seq, COLUMN_NEW | CONSUMER_STATE),
    COLUMN(struct consumer_row, epoch, COLUMN_NEW | CONSUMER_STATE),
    COLUMN(struct consumer_row, acked_us, COLUMN_NEW | CONSUMER_STATE),
    COLUMN(struct consumer_row, created_us, COLUMN_NEW),
    COLUMN(struct consumer_row, updated_us, COLUMN_NEW | CONSUMER_STATE),
};
const struct shape consumer_shape = SHAPE("consumer", struct consumer_row, consumer_columns);

static const struct row_sql sql_make = {
    "consumer_make",
    "INSERT INTO consumers {values} ON CONFLICT (name) DO NOTHING",
    &consumer_shape,
    COLUMN_NEW,
};
static const struct sql sql_get = {
    "consumer_get",
    "SELECT {columns} FROM consumers WHERE name = $1 {for_update}",
    "t",
};
static const struct row_sql sql_save = {
    "consumer_save",
    "UPDATE consumers SET {set} WHERE {key}",
    &consumer_shape,
    COLUMN_KEY | CONSUMER_STATE,
};
static const struct sql sql_remove = {
    "consumer_remove",
    "DELETE FROM consumers WHERE name = $1",
    "t",
};
static const struct sql sql_list = {
    "consumer_list",
    "SELECT {columns} FROM consumers WHERE name > $1 ORDER BY name LIMIT $2",
    "ti",
};
static const struct sql sql_count = {
    "consumer_count",
    "SELECT count(*) FROM consumers",
    "",
};

enum rc consumers_make(struct db *db, const struct consumer_row *row, bool *ret_made,
                       struct err *err)
{
    int64_t changed = 0;
    enum rc rc = row_exec(db, &sql_make, row, &changed, err);
    if (rc == RC_OK)
        *ret_made = changed > 0;
    return rc;
}

enum rc consumers_get(struct db *db, const char *name, struct arena *arena,
                      struct consumer_row *ret_row, struct err *err)
{
    enum rc rc = query_one(db, &sql_get, P_LIST(P_TEXT(name)), &consumer_shape, arena, ret_row,
                           err);
    if (rc == RC_NOT_FOUND)
        return err_set(err, rc, "CONSUMER_NOT_FOUND",
                       "there is no consumer %s; a PUT, a seek or its first next makes it", name);
    return rc;
}

enum rc consumers_save(struct db *db, const struct consumer_row *row, struct err *err)
{
    return row_exec_one(db, &sql_save, row, err);
}

enum rc consumers_remove(struct db *db, const char *name, struct err *err)
{
    return exec_one(db, &sql_remove, P_LIST(P_TEXT(name)), consumer_shape.noun, err);
}

enum rc consumers_list(struct db *db, const char *after, int64_t limit, struct arena *arena,
                       struct consumer_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_list, P_LIST(P_TEXT(after == NULL ? "" : after), P_LIMIT(limit)),
                     &consumer_shape, arena, ret_rows, ret_count, err);
}

enum rc consumers_count(struct db *db, int64_t *ret_count, struct err *err)
{
    return query_int(db, &sql_count, NULL, 0, ret_count, err);
}
