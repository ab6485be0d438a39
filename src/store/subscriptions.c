/*
 * subscriptions.c - see subscriptions.h.
 */
#include "store/subscriptions.h"
#include "store/query.h"

#define SUBSCRIPTION_SELECT "SELECT name, pattern, queue, created_us, updated_us FROM subscriptions"

static const struct sql sql_put = {
    "subscription_put",
    "INSERT INTO subscriptions (name, pattern, queue, created_us, updated_us)"
    " VALUES ($1, $2, $3, $4, $5)"
    " ON CONFLICT (name) DO UPDATE SET pattern = excluded.pattern, queue = excluded.queue,"
    " updated_us = excluded.updated_us",
    "tttii",
};
static const struct sql sql_get = {
    "subscription_get",
    SUBSCRIPTION_SELECT " WHERE name = $1",
    "t",
};
static const struct sql sql_remove = {
    "subscription_remove",
    "DELETE FROM subscriptions WHERE name = $1",
    "t",
};
static const struct sql sql_list = {
    "subscription_list",
    SUBSCRIPTION_SELECT " WHERE name > $1 ORDER BY name LIMIT $2",
    "ti",
};
static const struct sql sql_count = {
    "subscription_count",
    "SELECT count(*) FROM subscriptions",
    "",
};

static enum rc subscription_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct subscription_row *row = to;
    row->name = read_text(reader);
    row->pattern = read_text(reader);
    row->queue = read_text(reader);
    row->created_us = read_int(reader);
    row->updated_us = read_int(reader);
    return RC_OK;
}
static const struct shape subscription_shape = {"subscription", sizeof(struct subscription_row),
                                                subscription_decode};

enum rc subscriptions_put(struct db *db, const struct subscription_row *row, struct err *err)
{
    return db_exec(db, &sql_put,
                   P_LIST(P_TEXT(row->name), P_TEXT(row->pattern), P_TEXT(row->queue),
                          P_INT(row->created_us), P_INT(row->updated_us)),
                   NULL, err);
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
