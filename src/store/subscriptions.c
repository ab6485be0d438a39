#include "store/subscriptions.h"
#include "store/query.h"
#include "store/shapes.h"

static const struct column subscription_columns[] = {
    COLUMN(struct subscription_row, name, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct subscription_row, pattern, COLUMN_NEW),
    COLUMN(struct subscription_row, queue, COLUMN_NEW),
    COLUMN(struct subscription_row, created_us, COLUMN_NEW | COLUMN_ONCE),
    COLUMN(struct subscription_row, updated_us, COLUMN_NEW),
};
const struct shape subscription_shape = SHAPE("subscription", struct subscription_row,
                                              subscription_columns);

static const struct row_sql sql_put = {
    "subscription_put",
    "INSERT INTO subscriptions {values}"
    " ON CONFLICT (name) DO UPDATE SET {replaced}",
    &subscription_shape,
    COLUMN_NEW,
};
static const struct sql sql_get = {
    "subscription_get",
    "SELECT {columns} FROM subscriptions WHERE name = $1",
    "t",
};
static const struct sql sql_remove = {
    "subscription_remove",
    "DELETE FROM subscriptions WHERE name = $1",
    "t",
};
static const struct sql sql_list = {
    "subscription_list",
    "SELECT {columns} FROM subscriptions WHERE name > $1 ORDER BY name LIMIT $2",
    "ti",
};
static const struct sql sql_count = {
    "subscription_count",
    "SELECT count(*) FROM subscriptions",
    "",
};

enum rc subscriptions_put(struct db *db, const struct subscription_row *row, struct err *err)
{
    return row_exec(db, &sql_put, row, NULL, err);
}

enum rc subscriptions_get(struct db *db, const char *name, struct arena *arena,
                          struct subscription_row *ret_row, struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_TEXT(name)), &subscription_shape, arena, ret_row, err);
}

enum rc subscriptions_remove(struct db *db, const char *name, struct err *err)
{
    return exec_one(db, &sql_remove, P_LIST(P_TEXT(name)), subscription_shape.noun, err);
}

enum rc subscriptions_list(struct db *db, const char *after, int64_t limit, struct arena *arena,
                           struct subscription_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_list, P_LIST(P_TEXT(after == NULL ? "" : after), P_LIMIT(limit)),
                     &subscription_shape, arena, ret_rows, ret_count, err);
}

enum rc subscriptions_count(struct db *db, int64_t *ret_count, struct err *err)
{
    return query_int(db, &sql_count, NULL, 0, ret_count, err);
}
