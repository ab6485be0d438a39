/*
 * tokens.c - bearer tokens.
 */
#include "store/tokens.h"
#include "store/query.h"

#define TOKEN_SELECT                                                                          \
    "SELECT id, name, role, queues, sha256, created_us, last_used_us, expires_us, revoked_us" \
    " FROM tokens"

static const struct sql sql_insert = {
    "token_insert",
    "INSERT INTO tokens"
    " (id, name, role, queues, sha256, created_us, last_used_us, expires_us, revoked_us)"
    " VALUES ($1, $2, $3, $4, $5, $6, 0, $7, 0)",
    "tttttii",
};
static const struct sql sql_get = {
    "token_get",
    TOKEN_SELECT " WHERE id = $1",
    "t",
};
static const struct sql sql_live = {
    "token_live",
    TOKEN_SELECT " WHERE revoked_us = 0 AND (expires_us = 0 OR expires_us > $1)"
                 " ORDER BY id LIMIT $2",
    "ii",
};
static const struct sql sql_list = {
    "token_list",
    TOKEN_SELECT " WHERE id < $1 ORDER BY id DESC LIMIT $2",
    "ti",
};
static const struct sql sql_revoke = {
    "token_revoke",
    "UPDATE tokens SET revoked_us = CASE WHEN revoked_us = 0 THEN $2 ELSE revoked_us END"
    " WHERE id = $1",
    "ti",
};
static const struct sql sql_used = {
    "token_used",
    "UPDATE tokens SET last_used_us = $2 WHERE id = $1 AND last_used_us < $2",
    "ti",
};

static enum rc token_decode(struct row_reader *reader, void *to, struct err *err)
{
    struct token_row *row = to;
    row->id = read_id(reader);
    row->name = read_text(reader);
    bool known = role_parse(read_word(reader), &row->role);
    row->queues = read_text(reader);
    row->sha256 = read_text(reader);
    row->created_us = read_int(reader);
    row->last_used_us = read_int(reader);
    row->expires_us = read_int(reader);
    row->revoked_us = read_int(reader);
    return known ? RC_OK : row_corrupt("token", err);
}
static const struct shape token_shape = {"token", sizeof(struct token_row), token_decode};

enum rc tokens_insert(struct db *db, const struct token_row *row, struct err *err)
{
    return db_exec(db, &sql_insert,
                   P_LIST(P_ID(&row->id), P_TEXT(row->name), P_TEXT(role_name(row->role)),
                          P_TEXT(row->queues), P_TEXT(row->sha256), P_INT(row->created_us),
                          P_INT(row->expires_us)),
                   NULL, err);
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

enum rc tokens_used(struct db *db, const struct id *id, int64_t used_us, struct err *err)
{
    return db_exec(db, &sql_used, P_LIST(P_ID(id), P_INT(used_us)), NULL, err);
}
