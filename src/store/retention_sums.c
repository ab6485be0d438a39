#include "store/retention_sums.h"
#include "store/query.h"

enum { SUMS_MAX = 1000 };

static const struct sql sql_list = {
    "retention_list",
    "SELECT name, value, note FROM retention_sums WHERE substr(name, 1, length($1)) = $1"
    " ORDER BY name LIMIT $2",
    "ti",
};
static const struct sql sql_get = {
    "retention_get",
    "SELECT value FROM retention_sums WHERE name = $1",
    "t",
};
static const struct sql sql_add = {
    "retention_add",
    "INSERT INTO retention_sums (name, value) VALUES ($1, $2)"
    " ON CONFLICT (name) DO UPDATE SET value = retention_sums.value + excluded.value",
    "ti",
};
static const struct sql sql_set = {
    "retention_set",
    "INSERT INTO retention_sums (name, value, note) VALUES ($1, $2, $3)"
    " ON CONFLICT (name) DO UPDATE SET value = excluded.value, note = excluded.note",
    "tit",
};
static const struct sql sql_raise = {
    "retention_raise",
    "INSERT INTO retention_sums (name, value) VALUES ($1, $2)"
    " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
    " WHERE retention_sums.value < excluded.value",
    "ti",
};

static enum rc sum_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct retention_sum *sum = to;
    sum->name = read_text(reader);
    sum->value = read_int(reader);
    sum->note = read_text(reader);
    return RC_OK;
}
static const struct shape sum_shape = SHAPE_OF_RESULT("retention sum", struct retention_sum,
                                                      sum_decode);

enum rc retention_sums_list(struct db *db, const char *prefix, struct arena *arena,
                            struct retention_sum **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_list, P_LIST(P_TEXT(prefix), P_LIMIT(SUMS_MAX)), &sum_shape, arena,
                     ret_rows, ret_count, err);
}

enum rc retention_sums_get(struct db *db, const char *name, int64_t *ret_value, struct err *err)
{
    int64_t value = 0;
    enum rc rc = query_int(db, &sql_get, P_LIST(P_TEXT(name)), &value, err);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    *ret_value = value;
    return RC_OK;
}

enum rc retention_sums_add(struct db *db, const char *name, int64_t more, struct err *err)
{
    return more == 0 ? RC_OK : db_exec(db, &sql_add, P_LIST(P_TEXT(name), P_INT(more)), NULL, err);
}

enum rc retention_sums_set(struct db *db, const struct retention_sum *row, struct err *err)
{
    return db_exec(db, &sql_set, P_LIST(P_TEXT(row->name), P_INT(row->value), P_TEXT(row->note)),
                   NULL, err);
}

enum rc retention_sums_raise(struct db *db, const char *name, int64_t value, struct err *err)
{
    return db_exec(db, &sql_raise, P_LIST(P_TEXT(name), P_INT(value)), NULL, err);
}
