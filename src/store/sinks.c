#include "store/sinks.h"
#include "store/query.h"
#include "store/shapes.h"
#include <assert.h>

enum { SINK_PROGRESS = COLUMN_GROUP(0) }; /* sinks_save */
static const struct column sink_columns[] = {
    COLUMN(struct sink_row, name, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct sink_row, cursor_seq, COLUMN_NEW | SINK_PROGRESS),
    COLUMN_AS(struct sink_row, dead_letters,
              "(SELECT count(*) FROM sink_dead_letters WHERE sink = sinks.name)", COLUMN_COMPUTED),
    COLUMN(struct sink_row, last_error, COLUMN_NEW | SINK_PROGRESS),
    COLUMN(struct sink_row, created_us, COLUMN_NEW),
    COLUMN(struct sink_row, updated_us, COLUMN_NEW | SINK_PROGRESS),
};
const struct shape sink_shape = SHAPE("sink", struct sink_row, sink_columns);

static const struct column dead_letter_columns[] = {
    COLUMN(struct sink_dead_letter, sink, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct sink_dead_letter, seq, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct sink_dead_letter, event_id, COLUMN_NEW),
    COLUMN(struct sink_dead_letter, event_type, COLUMN_NEW),
    COLUMN_AS(struct sink_dead_letter, code, "error_code", COLUMN_NEW),
    COLUMN_AS(struct sink_dead_letter, message, "error_message", COLUMN_NEW),
    COLUMN(struct sink_dead_letter, created_us, COLUMN_NEW),
};
const struct shape sink_dead_letter_shape = SHAPE("dead letter", struct sink_dead_letter,
                                                  dead_letter_columns);

static const struct row_sql sql_make = {
    "sink_make",
    "INSERT INTO sinks {values} ON CONFLICT (name) DO NOTHING",
    &sink_shape,
    COLUMN_NEW,
};
static const struct sql sql_get = {
    "sink_get",
    "SELECT {columns} FROM sinks WHERE name = $1",
    "t",
};
/* $2 is the new cursor, the second column of the table. */
static const struct row_sql sql_save = {
    "sink_save",
    "UPDATE sinks SET {set} WHERE {key} AND cursor_seq <= $2",
    &sink_shape,
    COLUMN_KEY | SINK_PROGRESS,
};
static const struct row_sql sql_refuse = {
    "sink_refuse",
    "INSERT INTO sink_dead_letters {values} ON CONFLICT (sink, seq) DO NOTHING",
    &sink_dead_letter_shape,
    COLUMN_NEW,
};
static const struct sql sql_last_dead_letter = {
    "sink_last_dead_letter",
    "SELECT {columns} FROM sink_dead_letters WHERE sink = $1 ORDER BY seq DESC LIMIT 1",
    "t",
};

enum rc sinks_make(struct db *db, const struct lease_proof *proof, const struct sink_row *row,
                   struct err *err)
{
    assert(proof->db == db);
    return row_exec(db, &sql_make, row, NULL, err);
}

enum rc sinks_get(struct db *db, const char *name, struct arena *arena, struct sink_row *ret_row,
                  struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_TEXT(name)), &sink_shape, arena, ret_row, err);
}

enum rc sinks_save(struct db *db, const struct lease_proof *proof, const struct sink_row *row,
                   const struct sink_dead_letter *refused, struct err *err)
{
    assert(proof->db == db);
    int64_t changed = 0;
    enum rc rc = row_exec(db, &sql_save, row, &changed, err);
    if (rc == RC_OK && changed == 0)
        rc = err_set(err, RC_CONFLICT, "CURSOR_BEHIND",
                     "the cursor of the sink %s is not before %lld", row->name,
                     (long long)row->cursor_seq);
    return rc == RC_OK && refused != NULL ? row_exec(db, &sql_refuse, refused, NULL, err) : rc;
}

enum rc sinks_last_dead_letter(struct db *db, const char *name, struct arena *arena,
                               struct sink_dead_letter *ret_letter, struct err *err)
{
    return query_one(db, &sql_last_dead_letter, P_LIST(P_TEXT(name)), &sink_dead_letter_shape,
                     arena, ret_letter, err);
}
