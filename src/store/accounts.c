/*
 * accounts.c - see accounts.h.
 */
#include "store/accounts.h"
#include "store/query.h"

#define ACCOUNT_COLUMNS                                                                   \
    "id, workspace_id, name, parked_until_us, reason, parked_us, hits, probe_us, probes," \
    " probe_run_id, updated_us"

static const struct sql sql_make = {
    "account_make",
    "INSERT INTO accounts (id, workspace_id, name, parked_until_us, parked_us, hits, probe_us,"
    " probes, updated_us) VALUES ($1, $2, $3, 0, 0, 0, 0, 0, $4)"
    " ON CONFLICT (workspace_id, name) DO NOTHING",
    "ttti",
};
static const struct sql sql_by_name = {
    "account_by_name",
    "SELECT " ACCOUNT_COLUMNS " FROM accounts WHERE workspace_id = $1 AND name = $2 {for_update}",
    "tt",
};
static const struct sql sql_get = {
    "account_get",
    "SELECT " ACCOUNT_COLUMNS " FROM accounts WHERE id = $1 {for_update}",
    "t",
};
static const struct sql sql_save = {
    "account_save",
    "UPDATE accounts SET parked_until_us = $2, reason = $3, parked_us = $4, hits = $5,"
    " probe_us = $6, probes = $7, probe_run_id = $8, updated_us = $9 WHERE id = $1",
    "titiiiiti",
};
static const struct sql sql_list = {
    "account_list",
    "SELECT " ACCOUNT_COLUMNS " FROM accounts WHERE name > $1 ORDER BY name LIMIT $2",
    "ti",
};
static const struct sql sql_parked = {
    "account_parked",
    "SELECT " ACCOUNT_COLUMNS
    " FROM accounts WHERE parked_until_us > $1 ORDER BY parked_until_us LIMIT $2",
    "ii",
};

static enum rc account_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct account_row *row = to;
    row->id = read_id(reader);
    row->workspace_id = read_id(reader);
    row->name = read_text(reader);
    row->parked_until_us = read_int(reader);
    row->reason = read_text(reader);
    row->parked_us = read_int(reader);
    row->hits = read_int(reader);
    row->probe_us = read_int(reader);
    row->probes = read_int(reader);
    row->probe_run_id = read_id(reader);
    row->updated_us = read_int(reader);
    return RC_OK;
}
static const struct shape account_shape = {"account", sizeof(struct account_row), account_decode};

enum rc accounts_take(struct db *db, const struct account_key *key, struct arena *arena,
                      struct account_row *ret_row, struct err *err)
{
    enum rc rc = db_exec(
        db, &sql_make,
        P_LIST(P_ID(&key->id), P_ID(&key->workspace_id), P_TEXT(key->name), P_INT(key->now_us)),
        NULL, err);
    if (rc != RC_OK)
        return rc;
    return accounts_by_name(db, &key->workspace_id, key->name, arena, ret_row, err);
}

enum rc accounts_by_name(struct db *db, const struct id *workspace_id, const char *name,
                         struct arena *arena, struct account_row *ret_row, struct err *err)
{
    return query_one(db, &sql_by_name, P_LIST(P_ID(workspace_id), P_TEXT(name)), &account_shape,
                     arena, ret_row, err);
}

enum rc accounts_get(struct db *db, const struct id *id, struct arena *arena,
                     struct account_row *ret_row, struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_ID(id)), &account_shape, arena, ret_row, err);
}

enum rc accounts_save(struct db *db, const struct account_row *row, struct err *err)
{
    return exec_one(db, &sql_save,
                    P_LIST(P_ID(&row->id), P_INT(row->parked_until_us), P_TEXT(row->reason),
                           P_INT(row->parked_us), P_INT(row->hits), P_INT(row->probe_us),
                           P_INT(row->probes), P_ID(&row->probe_run_id), P_INT(row->updated_us)),
                    account_shape.noun, err);
}

enum rc accounts_list(struct db *db, const char *after_name, int64_t limit, struct arena *arena,
                      struct account_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_list,
                     P_LIST(P_TEXT(after_name == NULL ? "" : after_name), P_LIMIT(limit)),
                     &account_shape, arena, ret_rows, ret_count, err);
}

enum rc accounts_parked_list(struct db *db, int64_t now_us, int64_t limit, struct arena *arena,
                             struct account_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_parked, P_LIST(P_INT(now_us), P_LIMIT(limit)), &account_shape, arena,
                     ret_rows, ret_count, err);
}
