/*
 * tokens.c - bearer tokens.
 */
#include "store/tokens.h"
#include "store/query.h"
#include "store/shapes.h"

WORDS(role_words, enum role, role_name, role_parse);

static const struct column token_columns[] = {
    COLUMN(struct token_row, id, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct token_row, name, COLUMN_NEW),
    COLUMN_WORD(struct token_row, role, "role", role_words, COLUMN_NEW),
    COLUMN(struct token_row, queues, COLUMN_NEW),
    COLUMN(struct token_row, agent, COLUMN_NEW),
    COLUMN(struct token_row, writes, COLUMN_NEW),
    COLUMN(struct token_row, sha256, COLUMN_NEW),
    COLUMN(struct token_row, created_us, COLUMN_NEW),
    COLUMN(struct token_row, last_used_us, COLUMN_NEW),
    COLUMN(struct token_row, expires_us, COLUMN_NEW),
    COLUMN(struct token_row, revoked_us, COLUMN_NEW),
};
const struct shape token_shape = SHAPE("token", struct token_row, token_columns);

static const struct row_sql sql_insert = {
    "token_insert",
    "INSERT INTO tokens {values}",
    &token_shape,
    COLUMN_NEW,
};
static const struct sql sql_get = {
    "token_get",
    "SELECT {columns} FROM tokens WHERE id = $1",
    "t",
};
static const struct sql sql_live = {
    "token_live",
    "SELECT {columns} FROM tokens WHERE revoked_us = 0 AND (expires_us = 0 OR expires_us > $1)"
    " ORDER BY id LIMIT $2",
    "ii",
};
static const struct sql sql_count = {
    "token_count",
    "SELECT count(*) FROM tokens WHERE revoked_us = 0 AND (expires_us = 0 OR expires_us > $1)",
    "i",
};
static const struct sql sql_list = {
    "token_list",
    "SELECT {columns} FROM tokens WHERE id < $1 ORDER BY id DESC LIMIT $2",
    "ti",
};
static const struct sql sql_revoke = {
    "token_revoke",
    "UPDATE tokens SET revoked_us = CASE WHEN revoked_us = 0 THEN $2 ELSE revoked_us END"
    " WHERE id = $1",
    "ti",
};
static const struct sql sql_remove = {
    "token_remove",
    "DELETE FROM tokens WHERE id = $1",
    "t",
};
static const struct sql sql_first_used = {
    "token_first_used",
    "UPDATE tokens SET last_used_us = $2 WHERE id = $1 AND last_used_us < $3 AND $2 >= $3",
    "tii",
};
static const struct sql sql_used = {
    "token_used",
    "UPDATE tokens SET last_used_us = $2 WHERE id = $1 AND last_used_us < $2",
    "ti",
};

enum rc tokens_insert(struct db *db, const struct token_row *row, struct err *err)
{
    return row_exec(db, &sql_insert, row, NULL, err);
}

enum rc tokens_get(struct db *db, const struct id *id, struct arena *arena,
                   struct token_row *ret_row, struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_ID(id)), &token_shape, arena, ret_row, err);
}

enum rc tokens_live(struct db *db, int64_t now_us, struct arena *arena, struct token_row **ret_rows,
                    size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_live, P_LIST(P_INT(now_us), P_INT(TOKENS_LIVE_MAX)), &token_shape,
                     arena, ret_rows, ret_count, err);
}

enum rc tokens_check_room(struct db *db, int64_t now_us, struct err *err)
{
    int64_t count;
    enum rc rc = query_int(db, &sql_count, P_LIST(P_INT(now_us)), &count, err);
    if (rc == RC_OK && count >= TOKENS_LIVE_MAX)
        return err_set(err, RC_CONFLICT, "TOO_MANY_TOKENS",
                       "there are %d tokens already; revoke some first", TOKENS_LIVE_MAX);
    return rc;
}

enum rc tokens_list(struct db *db, const struct id *before, int64_t limit, struct arena *arena,
                    struct token_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_list, P_LIST(P_TEXT(cursor_or_end(before)), P_LIMIT(limit)),
                     &token_shape, arena, ret_rows, ret_count, err);
}

enum rc tokens_revoke(struct db *db, const struct id *id, int64_t now_us, struct err *err)
{
    int64_t changed;
    enum rc rc = db_exec(db, &sql_revoke, P_LIST(P_ID(id), P_INT(now_us)), &changed, err);
    if (rc == RC_OK && changed == 0)
        return err_set(err, RC_NOT_FOUND, "NOT_FOUND", "there is no such %s", token_shape.noun);
    return rc;
}

enum rc tokens_remove(struct db *db, const struct id *id, struct err *err)
{
    return db_exec(db, &sql_remove, P_LIST(P_ID(id)), NULL, err);
}

enum rc tokens_used(struct db *db, const struct id *id, int64_t used_us, int64_t since_us,
                    bool *ret_first, struct err *err)
{
    int64_t changed = 0;
    enum rc rc = db_exec(db, &sql_first_used, P_LIST(P_ID(id), P_INT(used_us), P_INT(since_us)),
                         &changed, err);
    if (rc != RC_OK)
        return rc;
    *ret_first = changed > 0;
    return changed > 0 ? RC_OK
                       : db_exec(db, &sql_used, P_LIST(P_ID(id), P_INT(used_us)), NULL, err);
}
