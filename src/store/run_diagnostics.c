#include "store/run_diagnostics.h"
#include "store/query.h"

#define COLUMNS "run_id, through_seq, removed, sums, updated_us"

static const struct sql sql_get = {
    "run_diagnostics_get",
    "SELECT " COLUMNS " FROM run_diagnostics WHERE run_id = $1",
    "t",
};
static const struct sql sql_put = {
    "run_diagnostics_put",
    "INSERT INTO run_diagnostics (" COLUMNS ") VALUES ($1, $2, $3, $4, $5)"
    " ON CONFLICT (run_id) DO UPDATE SET through_seq = excluded.through_seq,"
    " removed = excluded.removed, sums = excluded.sums, updated_us = excluded.updated_us",
    "tiiji",
};
static const struct sql sql_removed = {
    "run_diagnostics_removed",
    "SELECT removed FROM run_diagnostics WHERE run_id = $1",
    "t",
};
static const struct sql sql_events = {
    "run_diagnostics_events",
    "SELECT seq, type, time_us, run_seq, data, source,"
    " CASE WHEN issue_id IS NULL THEN 0 ELSE 1 END"
    " FROM event_log WHERE run_id = $1 AND run_seq > $2 ORDER BY run_seq LIMIT $3",
    "tii",
};
static const struct sql sql_usage = {
    "run_diagnostics_usage",
    "SELECT run_seq FROM event_log WHERE run_id = $1 AND source IS NULL"
    " AND CAST(data AS text) LIKE '%\"runUsage\"%' ORDER BY run_seq DESC LIMIT 1",
    "t",
};
static const struct sql sql_delete = {
    "run_diagnostics_delete",
    "DELETE FROM event_log WHERE seq = $1",
    "i",
};

static enum rc row_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct run_diagnostics_row *row = to;
    row->run_id = read_id(reader);
    row->through_seq = read_int(reader);
    row->removed = read_int(reader);
    row->sums = read_bytes(reader);
    row->updated_us = read_int(reader);
    return RC_OK;
}
static const struct shape row_shape = SHAPE_OF_RESULT("deleted diagnostics",
                                                      struct run_diagnostics_row, row_decode);

enum rc run_diagnostics_get(struct db *db, const struct id *run_id, struct arena *arena,
                            struct run_diagnostics_row *ret_row, struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_ID(run_id)), &row_shape, arena, ret_row, err);
}

enum rc run_diagnostics_put(struct db *db, const struct run_diagnostics_row *row, struct err *err)
{
    return db_exec(db, &sql_put,
                   P_LIST(P_ID(&row->run_id), P_INT(row->through_seq), P_INT(row->removed),
                          P_JSON(row->sums), P_INT(row->updated_us)),
                   NULL, err);
}

enum rc run_diagnostics_removed(struct db *db, const struct id *run_id, int64_t *ret_removed,
                                struct err *err)
{
    int64_t removed = 0;
    enum rc rc = query_int(db, &sql_removed, P_LIST(P_ID(run_id)), &removed, err);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    *ret_removed = removed;
    return RC_OK;
}

static enum rc event_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct diagnostic_event *row = to;
    row->event.seq = read_int(reader);
    row->event.type = read_text(reader);
    row->event.time_us = read_int(reader);
    row->event.run_seq = read_int(reader);
    row->event.data = read_bytes(reader);
    row->event.source = read_text(reader);
    row->about_issue = read_int(reader) != 0;
    return RC_OK;
}
static const struct shape event_shape_small = SHAPE_OF_RESULT("event", struct diagnostic_event,
                                                              event_decode);

enum rc run_diagnostics_events(struct db *db, const struct diagnostic_page *page,
                               struct arena *arena, struct diagnostic_event **ret_rows,
                               size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_events,
                     P_LIST(P_ID(&page->run_id), P_INT(page->after_seq), P_LIMIT(page->limit)),
                     &event_shape_small, arena, ret_rows, ret_count, err);
}

enum rc run_diagnostics_usage(struct db *db, const struct id *run_id, int64_t *ret_seq,
                              struct err *err)
{
    int64_t seq = 0;
    enum rc rc = query_int(db, &sql_usage, P_LIST(P_ID(run_id)), &seq, err);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    *ret_seq = seq;
    return RC_OK;
}

enum rc run_diagnostics_delete(struct db *db, int64_t seq, struct err *err)
{
    return db_exec(db, &sql_delete, P_LIST(P_INT(seq)), NULL, err);
}
