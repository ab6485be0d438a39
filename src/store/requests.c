/*
 * requests.c - see requests.h.
 */
#include "store/requests.h"
#include "store/query.h"

static const struct sql sql_insert = {
    "request_insert",
    "INSERT INTO requests (id, topic, state, deadline_us, created_us, updated_us)"
    " VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO NOTHING",
    "tttiii",
};
static const struct sql sql_get = {
    "request_get",
    "SELECT id, topic, state, deadline_us, reply, replied_by, created_us, updated_us"
    " FROM requests WHERE id = $1 {for_update}",
    "t",
};
static const struct sql sql_save = {
    "request_save",
    "UPDATE requests SET state = $2, reply = $3, replied_by = $4, updated_us = $5 WHERE id = $1",
    "ttjti",
};
static const struct sql sql_prune = {
    "request_prune",
    "DELETE FROM requests WHERE deadline_us < $1",
    "i",
};

static enum rc request_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct request_row *row = to;
    row->id = read_id(reader);
    row->topic = read_text(reader);
    row->state = read_text(reader);
    row->deadline_us = read_int(reader);
    row->reply = read_bytes(reader);
    row->replied_by = read_text(reader);
    row->created_us = read_int(reader);
    row->updated_us = read_int(reader);
    return RC_OK;
}
static const struct shape request_shape = {"request", sizeof(struct request_row), request_decode};

enum rc requests_insert(struct db *db, const struct request_row *row, struct err *err)
{
    int64_t changed = 0;
    enum rc rc = db_exec(db, &sql_insert,
                         P_LIST(P_ID(&row->id), P_TEXT(row->topic), P_TEXT(row->state),
                                P_INT(row->deadline_us), P_INT(row->created_us),
                                P_INT(row->updated_us)),
                         &changed, err);
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
    return exec_one(db, &sql_save,
                    P_LIST(P_ID(&row->id), P_TEXT(row->state), P_JSON(row->reply),
                           P_TEXT(row->replied_by), P_INT(row->updated_us)),
                    request_shape.noun, err);
}

enum rc requests_prune(struct db *db, int64_t before_us, struct err *err)
{
    return db_exec(db, &sql_prune, P_LIST(P_INT(before_us)), NULL, err);
}
