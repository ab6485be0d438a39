#include "store/run_snapshots.h"
#include "store/query.h"

#define COLUMNS "run_id, sequence_no, log_seq, time_us, version, snapshot, created_us"

static const struct sql sql_put = {
    "run_snapshot_put",
    "INSERT INTO run_snapshots (" COLUMNS ") VALUES ($1, $2, $3, $4, $5, $6, $7)"
    " ON CONFLICT (run_id, sequence_no) DO UPDATE SET log_seq = excluded.log_seq,"
    " time_us = excluded.time_us, version = excluded.version, snapshot = excluded.snapshot,"
    " created_us = excluded.created_us WHERE run_snapshots.version <> excluded.version",
    "tiiiiji",
};
static const struct sql sql_latest = {
    "run_snapshot_latest",
    "SELECT " COLUMNS " FROM run_snapshots WHERE run_id = $1 AND version = $2"
    " AND sequence_no <= $3 AND time_us <= $4 ORDER BY sequence_no DESC LIMIT 1",
    "tiii",
};
static const struct sql sql_of = {
    "run_snapshot_of",
    "SELECT " COLUMNS " FROM run_snapshots WHERE run_id = $1 ORDER BY sequence_no",
    "t",
};

static const struct sql sql_forget = {
    "run_snapshot_forget",
    "DELETE FROM run_snapshots WHERE run_id = $1",
    "t",
};

static enum rc snapshot_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct run_snapshot_row *row = to;
    row->run_id = read_id(reader);
    row->sequence_no = read_int(reader);
    row->log_seq = read_int(reader);
    row->time_us = read_int(reader);
    row->version = read_int(reader);
    row->snapshot = read_bytes(reader);
    row->created_us = read_int(reader);
    return RC_OK;
}
static const struct shape snapshot_shape = SHAPE_OF_RESULT("snapshot", struct run_snapshot_row,
                                                           snapshot_decode);

enum rc run_snapshots_put(struct db *db, const struct run_snapshot_row *row, struct err *err)
{
    return db_exec(db, &sql_put,
                   P_LIST(P_ID(&row->run_id), P_INT(row->sequence_no), P_INT(row->log_seq),
                          P_INT(row->time_us), P_INT(row->version), P_JSON(row->snapshot),
                          P_INT(row->created_us)),
                   NULL, err);
}

enum rc run_snapshots_forget(struct db *db, const struct id *run_id, struct err *err)
{
    return db_exec(db, &sql_forget, P_LIST(P_ID(run_id)), NULL, err);
}

enum rc run_snapshots_latest(struct db *db, const struct id *run_id,
                             const struct run_snapshot_place *place, struct arena *arena,
                             struct run_snapshot_row *ret_row, struct err *err)
{
    return query_one(db, &sql_latest,
                     P_LIST(P_ID(run_id), P_INT(place->version), P_INT(place->sequence_max),
                            P_INT(place->time_max_us)),
                     &snapshot_shape, arena, ret_row, err);
}

enum rc run_snapshots_of(struct db *db, const struct id *run_id, struct arena *arena,
                         struct run_snapshot_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_of, P_LIST(P_ID(run_id)), &snapshot_shape, arena, ret_rows, ret_count,
                     err);
}
