/*
 * messages.c - what people say to the agent of a run.
 */
#include "store/messages.h"
#include "store/query.h"
#include "store/shapes.h"

static const struct column message_columns[] = {
    COLUMN(struct message_row, run_id, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct message_row, seq, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct message_row, author, COLUMN_NEW),
    COLUMN(struct message_row, text, COLUMN_NEW),
    COLUMN(struct message_row, created_us, COLUMN_NEW),
    COLUMN(struct message_row, delivered_us, COLUMN_NEW),
    COLUMN(struct message_row, job_id, COLUMN_NEW),
};
const struct shape message_shape = SHAPE("message", struct message_row, message_columns);

static const struct row_sql sql_insert = {
    "message_insert",
    "INSERT INTO run_messages {values}",
    &message_shape,
    COLUMN_NEW,
};
static const struct sql sql_list = {
    "message_list",
    "SELECT {columns} FROM run_messages WHERE run_id = $1 AND seq > $2 ORDER BY seq LIMIT $3",
    "tii",
};
static const struct sql sql_unread = {
    "message_unread",
    "SELECT {columns} FROM run_messages WHERE run_id = $1 AND delivered_us = 0 AND seq > $2"
    " ORDER BY seq LIMIT $3",
    "tii",
};
static const struct sql sql_deliver = {
    "message_deliver",
    "UPDATE run_messages SET delivered_us = $4, job_id = $2"
    " WHERE run_id = $1 AND delivered_us = 0 AND seq <= $3",
    "ttii",
};
static const struct sql sql_take_back = {
    "message_take_back",
    "UPDATE run_messages SET delivered_us = 0, job_id = NULL WHERE run_id = $1 AND job_id = $2",
    "tt",
};

enum rc messages_insert(struct db *db, const struct message_row *row, struct err *err)
{
    return row_exec(db, &sql_insert, row, NULL, err);
}

enum rc messages_list(struct db *db, const struct message_filter *filter, struct arena *arena,
                      struct message_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(
        db, filter->unread ? &sql_unread : &sql_list,
        P_LIST(P_ID(&filter->run_id), P_INT(filter->after_seq), P_LIMIT(filter->limit)),
        &message_shape, arena, ret_rows, ret_count, err);
}

enum rc messages_deliver(struct db *db, const struct message_delivery *delivery, struct err *err)
{
    return db_exec(db, &sql_deliver,
                   P_LIST(P_ID(&delivery->run_id), P_ID(&delivery->job_id), P_INT(delivery->seq),
                          P_INT(delivery->now_us)),
                   NULL, err);
}

enum rc messages_take_back(struct db *db, const struct id *run_id, const struct id *job_id,
                           struct err *err)
{
    return db_exec(db, &sql_take_back, P_LIST(P_ID(run_id), P_ID(job_id)), NULL, err);
}
