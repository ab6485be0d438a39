#include "store/forge_limits.h"
#include "store/query.h"
#include "store/shapes.h"

enum { LIMIT_STATE = COLUMN_GROUP(0) }; /* forge_limits_save */
static const struct column limit_columns[] = {
    COLUMN(struct forge_limit_row, host, COLUMN_KEY),
    COLUMN(struct forge_limit_row, credential, COLUMN_KEY),
    COLUMN(struct forge_limit_row, resource, COLUMN_KEY),
    COLUMN_AS(struct forge_limit_row, quota.limit, "calls", LIMIT_STATE),
    COLUMN_AS(struct forge_limit_row, quota.remaining, "remaining", LIMIT_STATE),
    COLUMN_AS(struct forge_limit_row, quota.reset_us, "reset_us", LIMIT_STATE),
    COLUMN_AS(struct forge_limit_row, quota.granted, "granted", LIMIT_STATE),
    COLUMN_AS(struct forge_limit_row, quota.blocked_us, "blocked_us", LIMIT_STATE),
    COLUMN_AS(struct forge_limit_row, quota.strikes, "strikes", LIMIT_STATE),
    COLUMN(struct forge_limit_row, updated_us, LIMIT_STATE),
};
const struct shape forge_limit_shape = SHAPE("forge limit", struct forge_limit_row, limit_columns);

static const struct column share_columns[] = {
    COLUMN(struct forge_share_row, host, COLUMN_KEY),
    COLUMN(struct forge_share_row, credential, COLUMN_KEY),
    COLUMN(struct forge_share_row, resource, COLUMN_KEY),
    COLUMN(struct forge_share_row, repository, COLUMN_KEY),
    COLUMN(struct forge_share_row, window_us, COLUMN_NEW),
    COLUMN(struct forge_share_row, used, COLUMN_NEW),
};
const struct shape forge_share_shape = SHAPE("forge share", struct forge_share_row, share_columns);

static const struct sql sql_make = {
    "forge_limit_make",
    "INSERT INTO forge_limits (host, credential, resource, calls, remaining, reset_us, granted,"
    " blocked_us, strikes, updated_us) VALUES ($1, $2, $3, -1, -1, 0, 0, 0, 0, $4)"
    " ON CONFLICT (host, credential, resource) DO NOTHING",
    "ttti",
};
static const struct sql sql_lock = {
    "forge_limit_lock",
    "SELECT {columns} FROM forge_limits WHERE host = $1 AND credential = $2 AND resource = $3"
    " {for_update}",
    "ttt",
};
static const struct row_sql sql_save = {
    "forge_limit_save",
    "UPDATE forge_limits SET {set} WHERE {key}",
    &forge_limit_shape,
    COLUMN_KEY | LIMIT_STATE,
};
static const struct sql sql_list = {
    "forge_limit_list",
    "SELECT {columns} FROM forge_limits ORDER BY host, credential, resource LIMIT $1",
    "i",
};
static const struct sql sql_shares = {
    "forge_share_list",
    "SELECT {columns} FROM forge_limit_shares WHERE host = $1 AND credential = $2"
    " AND resource = $3 AND window_us = $4 ORDER BY repository LIMIT $5",
    "tttii",
};
static const struct sql sql_add = {
    "forge_share_add",
    "INSERT INTO forge_limit_shares (host, credential, resource, repository, window_us, used)"
    " VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (host, credential, resource, repository)"
    " DO UPDATE SET used = excluded.used + CASE"
    " WHEN forge_limit_shares.window_us = excluded.window_us THEN forge_limit_shares.used ELSE 0"
    " END, window_us = excluded.window_us",
    "ttttii",
};

enum rc forge_limits_take(struct db *db, const struct forge_limit_key *key, int64_t now_us,
                          struct arena *arena, struct forge_limit_row *ret_row, struct err *err)
{
    enum rc rc = db_exec(
        db, &sql_make,
        P_LIST(P_TEXT(key->host), P_TEXT(key->credential), P_TEXT(key->resource), P_INT(now_us)),
        NULL, err);
    if (rc != RC_OK)
        return rc;
    return query_one(db, &sql_lock,
                     P_LIST(P_TEXT(key->host), P_TEXT(key->credential), P_TEXT(key->resource)),
                     &forge_limit_shape, arena, ret_row, err);
}

enum rc forge_limits_save(struct db *db, const struct forge_limit_row *row, struct err *err)
{
    return row_exec_one(db, &sql_save, row, err);
}

enum rc forge_limits_list(struct db *db, struct arena *arena, struct forge_limit_row **ret_rows,
                          size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_list, P_LIST(P_LIMIT(FORGE_LIMITS_LISTED_MAX)), &forge_limit_shape,
                     arena, ret_rows, ret_count, err);
}

enum rc forge_shares_list(struct db *db, const struct forge_limit_key *key, int64_t window_us,
                          struct arena *arena, struct forge_share_row **ret_rows, size_t *ret_count,
                          struct err *err)
{
    return query_all(db, &sql_shares,
                     P_LIST(P_TEXT(key->host), P_TEXT(key->credential), P_TEXT(key->resource),
                            P_INT(window_us), P_LIMIT(FORGE_SHARES_MAX)),
                     &forge_share_shape, arena, ret_rows, ret_count, err);
}

enum rc forge_shares_add(struct db *db, const struct forge_share_row *row, struct err *err)
{
    return db_exec(db, &sql_add,
                   P_LIST(P_TEXT(row->host), P_TEXT(row->credential), P_TEXT(row->resource),
                          P_TEXT(row->repository), P_INT(row->window_us), P_INT(row->used)),
                   NULL, err);
}
