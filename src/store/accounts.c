#include "store/accounts.h"
#include "store/query.h"
#include "store/shapes.h"

enum { ACCOUNT_STATE = COLUMN_GROUP(0) }; /* accounts_save */
static const struct column account_columns[] = {
    COLUMN(struct account_row, id, COLUMN_KEY),
    COLUMN(struct account_row, workspace_id, 0),
    COLUMN(struct account_row, name, 0),
    COLUMN(struct account_row, parked_until_us, ACCOUNT_STATE),
    COLUMN(struct account_row, reason, ACCOUNT_STATE),
    COLUMN(struct account_row, parked_us, ACCOUNT_STATE),
    COLUMN(struct account_row, hits, ACCOUNT_STATE),
    COLUMN(struct account_row, probe_us, ACCOUNT_STATE),
    COLUMN(struct account_row, probes, ACCOUNT_STATE),
    COLUMN(struct account_row, probe_run_id, ACCOUNT_STATE),
    COLUMN(struct account_row, windows, ACCOUNT_STATE),
    COLUMN(struct account_row, used_us, ACCOUNT_STATE),
    COLUMN(struct account_row, used_run_id, ACCOUNT_STATE),
    COLUMN(struct account_row, day_us, ACCOUNT_STATE),
    COLUMN(struct account_row, day_microusd, ACCOUNT_STATE),
    COLUMN(struct account_row, total_microusd, ACCOUNT_STATE),
    COLUMN(struct account_row, updated_us, ACCOUNT_STATE),
};
const struct shape account_shape = SHAPE("account", struct account_row, account_columns);

static const struct sql sql_make = {
    "account_make",
    "INSERT INTO accounts (id, workspace_id, name, parked_until_us, parked_us, hits, probe_us,"
    " probes, used_us, day_us, day_microusd, total_microusd, updated_us)"
    " VALUES ($1, $2, $3, 0, 0, 0, 0, 0, 0, 0, 0, 0, $4)"
    " ON CONFLICT (workspace_id, name) DO NOTHING",
    "ttti",
};
static const struct sql sql_by_name = {
    "account_by_name",
    "SELECT {columns} FROM accounts WHERE workspace_id = $1 AND name = $2 {for_update}",
    "tt",
};
static const struct sql sql_get = {
    "account_get",
    "SELECT {columns} FROM accounts WHERE id = $1 {for_update}",
    "t",
};
static const struct row_sql sql_save = {
    "account_save",
    "UPDATE accounts SET {set} WHERE {key}",
    &account_shape,
    COLUMN_KEY | ACCOUNT_STATE,
};
static const struct sql sql_list = {
    "account_list",
    "SELECT {columns} FROM accounts WHERE name > $1 ORDER BY name LIMIT $2",
    "ti",
};
static const struct sql sql_state = {
    "account_state",
    "SELECT {columns} FROM accounts"
    " WHERE parked_until_us > $1 OR used_us > 0 OR windows IS NOT NULL"
    " ORDER BY parked_until_us DESC, used_us DESC LIMIT $2",
    "ii",
};
/* A run has its account until its agent cannot work again: a repair continues in the same home.
   While a person is asked others may have it; advance.c asks for it anew then. */
#define HAS_ACCOUNT \
    "status IN ('preparing', 'context_loading', 'planning', 'running', 'verifying', 'judging')"
static const struct sql sql_load = {
    "account_load",
    "SELECT account, CAST(sum(CASE WHEN " HAS_ACCOUNT " THEN 1 ELSE 0 END) AS bigint),"
    " CAST(sum(cost_microusd - booked_microusd) AS bigint) FROM runs"
    " WHERE account IS NOT NULL AND (" HAS_ACCOUNT
    " OR status IN ('awaiting_approval', 'creating_pr')) GROUP BY account",
    "",
};
static const struct sql sql_runs_but = {
    "account_runs_but",
    "SELECT count(*) FROM runs WHERE account = $1 AND id <> $2 AND " HAS_ACCOUNT,
    "tt",
};

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
    return row_exec_one(db, &sql_save, row, err);
}

enum rc accounts_list(struct db *db, const char *after_name, int64_t limit, struct arena *arena,
                      struct account_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_list,
                     P_LIST(P_TEXT(after_name == NULL ? "" : after_name), P_LIMIT(limit)),
                     &account_shape, arena, ret_rows, ret_count, err);
}

enum rc accounts_state_list(struct db *db, int64_t now_us, int64_t limit, struct arena *arena,
                            struct account_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_state, P_LIST(P_INT(now_us), P_LIMIT(limit)), &account_shape, arena,
                     ret_rows, ret_count, err);
}

static enum rc load_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct account_load_row *row = to;
    row->name = read_text(reader);
    row->runs = read_int(reader);
    row->unbooked_microusd = read_int(reader);
    return RC_OK;
}
static const struct shape load_shape = SHAPE_OF_RESULT("account", struct account_load_row,
                                                       load_decode);

enum rc accounts_load(struct db *db, struct arena *arena, struct account_load_row **ret_rows,
                      size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_load, NULL, 0, &load_shape, arena, ret_rows, ret_count, err);
}

enum rc accounts_runs_but(struct db *db, const char *name, const struct id *run_id,
                          int64_t *ret_runs, struct err *err)
{
    return query_int(db, &sql_runs_but, P_LIST(P_TEXT(name), P_ID(run_id)), ret_runs, err);
}
