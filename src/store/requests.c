#include "store/requests.h"
#include "store/query.h"
#include "store/shapes.h"

enum { REQUEST_STATE = COLUMN_GROUP(0) }; /* requests_save */
static const struct column request_columns[] = {
    COLUMN(struct request_row, id, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct request_row, topic, COLUMN_NEW),
    COLUMN(struct request_row, state, COLUMN_NEW | REQUEST_STATE),
    COLUMN(struct request_row, deadline_us, COLUMN_NEW),
    COLUMN(struct request_row, reply, REQUEST_STATE),
    COLUMN(struct request_row, replied_by, REQUEST_STATE),
    COLUMN(struct request_row, created_us, COLUMN_NEW),
    COLUMN(struct request_row, updated_us, COLUMN_NEW | REQUEST_STATE),
};
const struct shape request_shape = SHAPE("request", struct request_row, request_columns);

static const struct row_sql sql_insert = {
    "request_insert",
    "INSERT INTO requests {values} ON CONFLICT (id) DO NOTHING",
    &request_shape,
    COLUMN_NEW,
};
static const struct sql sql_get = {
    "request_get",
    "SELECT {columns} FROM requests WHERE id = $1 {for_update}",
    "t",
};
static const struct row_sql sql_save = {
    "request_save",
    "UPDATE requests SET {set} WHERE {key}",
    &request_shape,
    COLUMN_KEY | REQUEST_STATE,
};
static const struct sql sql_prune = {
    "request_prune",
    "DELETE FROM requests WHERE deadline_us < $1",
    "i",
};

enum rc requests_insert(struct db *db, const struct request_row *row, struct err *err)
{
    int64_t changed = 0;
    enum rc rc = row_exec(db, &sql_insert, row, &changed, err);
    if (rc == RC_OK && changed == 0)
        return err_set(err, RC_CONFLICT, "CONFLICT", "there is a request %s already", row->id.text);
    return rc;
}

enum rc requests_get(struct db *db, const struct id *id, struct arena *arena,
                     struct request_row *ret_row, struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_ID(id)), &request_shape, arena, ret_row, err);
}

enum rc requests_save(struct db *db, const struct request_row *row, struct err *err)
{
    return row_exec_one(db, &sql_save, row, err);
}

enum rc requests_prune(struct db *db, int64_t before_us, struct err *err)
{
    return db_exec(db, &sql_prune, P_LIST(P_INT(before_us)), NULL, err);
}
