#include "store/sinks.h"
#include "store/query.h"
#include "store/shapes.h"
#include <assert.h>

enum {
    SINK_PROGRESS = COLUMN_GROUP(0), /* sinks_save */
    SINK_CONFIG = COLUMN_GROUP(1),   /* sinks_configure */
};
static const struct column sink_columns[] = {
    COLUMN(struct sink_row, name, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct sink_row, cursor_seq, COLUMN_NEW | SINK_PROGRESS),
    COLUMN_AS(struct sink_row, dead_letters,
              "(SELECT count(*) FROM sink_dead_letters WHERE sink = sinks.name)", COLUMN_COMPUTED),
    COLUMN(struct sink_row, last_error, COLUMN_NEW | SINK_PROGRESS),
    COLUMN(struct sink_row, breaker_open, COLUMN_NEW | SINK_PROGRESS),
    COLUMN(struct sink_row, delivered, COLUMN_NEW | SINK_PROGRESS),
    COLUMN(struct sink_row, refused, COLUMN_NEW | SINK_PROGRESS),
    COLUMN(struct sink_row, retries, COLUMN_NEW | SINK_PROGRESS),
    COLUMN(struct sink_row, config, COLUMN_NEW | SINK_CONFIG),
    COLUMN(struct sink_row, paused, COLUMN_NEW | SINK_CONFIG),
    COLUMN(struct sink_row, revision, COLUMN_NEW | SINK_CONFIG),
    COLUMN(struct sink_row, created_us, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct sink_row, updated_us, COLUMN_NEW | SINK_PROGRESS),
};
const struct shape sink_shape = SHAPE("sink", struct sink_row, sink_columns);

enum { LETTER_REASON = COLUMN_GROUP(0) }; /* sink_letters_keep */
static const struct column dead_letter_columns[] = {
    COLUMN(struct sink_dead_letter, sink, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct sink_dead_letter, seq, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct sink_dead_letter, event_id, COLUMN_NEW),
    COLUMN(struct sink_dead_letter, event_type, COLUMN_NEW),
    COLUMN_AS(struct sink_dead_letter, code, "error_code", COLUMN_NEW | LETTER_REASON),
    COLUMN_AS(struct sink_dead_letter, message, "error_message", COLUMN_NEW | LETTER_REASON),
    COLUMN(struct sink_dead_letter, replay, COLUMN_NEW | LETTER_REASON),
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
static const struct sql sql_list = {
    "sink_list",
    "SELECT {columns} FROM sinks ORDER BY name LIMIT $1",
    "i",
};
static const struct sql sql_revision = {
    "sink_revision",
    "SELECT revision FROM sinks WHERE name = $1 AND created_us = $2",
    "ti",
};
static const struct sql sql_count_made = {
    "sink_count_made",
    "SELECT count(*) FROM sinks WHERE config IS NOT NULL",
    "",
};
/* $2 is the new cursor, the second column of the table. */
static const struct row_sql sql_save = {
    "sink_save",
    "UPDATE sinks SET {set} WHERE {key} AND cursor_seq <= $2",
    &sink_shape,
    COLUMN_KEY | SINK_PROGRESS,
};
static const struct row_sql sql_configure = {
    "sink_configure",
    "UPDATE sinks SET {set} WHERE {key}",
    &sink_shape,
    COLUMN_KEY | SINK_CONFIG,
};
static const struct sql sql_remove = {
    "sink_remove",
    "DELETE FROM sinks WHERE name = $1",
    "t",
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
static const struct sql sql_letters = {
    "sink_letter_list",
    "SELECT {columns} FROM sink_dead_letters WHERE sink = $1 AND seq > $2 AND replay >= $3"
    " ORDER BY seq LIMIT $4",
    "tiii",
};
static const struct row_sql sql_letter_keep = {
    "sink_letter_keep",
    "UPDATE sink_dead_letters SET {set} WHERE {key}",
    &sink_dead_letter_shape,
    COLUMN_KEY | LETTER_REASON,
};
static const struct sql sql_letter_discard = {
    "sink_letter_discard",
    "DELETE FROM sink_dead_letters WHERE sink = $1 AND (seq = $2 OR $2 = 0)",
    "ti",
};
static const struct sql sql_letter_replay = {
    "sink_letter_replay",
    "UPDATE sink_dead_letters SET replay = 1 WHERE sink = $1 AND (seq = $2 OR $2 = 0)",
    "ti",
};

/* ---- for all ---- */

enum rc sinks_get(struct db *db, const char *name, struct arena *arena, struct sink_row *ret_row,
                  struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_TEXT(name)), &sink_shape, arena, ret_row, err);
}

enum rc sinks_list(struct db *db, struct arena *arena, struct sink_row **ret_rows,
                   size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_list, P_LIST(P_INT(SINK_ROWS_MAX)), &sink_shape, arena, ret_rows,
                     ret_count, err);
}

enum rc sinks_revision(struct db *db, const char *name, int64_t created_us, int64_t *ret_revision,
                       struct err *err)
{
    return query_int(db, &sql_revision, P_LIST(P_TEXT(name), P_INT(created_us)), ret_revision, err);
}

enum rc sinks_last_dead_letter(struct db *db, const char *name, struct arena *arena,
                               struct sink_dead_letter *ret_letter, struct err *err)
{
    return query_one(db, &sql_last_dead_letter, P_LIST(P_TEXT(name)), &sink_dead_letter_shape,
                     arena, ret_letter, err);
}

enum rc sink_letters_list(struct db *db, const struct sink_letter_filter *filter,
                          struct arena *arena, struct sink_dead_letter **ret_letters,
                          size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_letters,
                     P_LIST(P_TEXT(filter->sink), P_INT(filter->after_seq),
                            P_INT(filter->replay_only), P_LIMIT(filter->limit)),
                     &sink_dead_letter_shape, arena, ret_letters, ret_count, err);
}

/* ---- the relay's ---- */

enum rc sinks_make(struct db *db, const struct lease_proof *proof, const struct sink_row *row,
                   struct err *err)
{
    assert(proof->db == db);
    return row_exec(db, &sql_make, row, NULL, err);
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

enum rc sink_letters_remove(struct db *db, const struct lease_proof *proof,
                            const struct sink_dead_letter *letter, struct err *err)
{
    assert(proof->db == db);
    return db_exec(db, &sql_letter_discard, P_LIST(P_TEXT(letter->sink), P_INT(letter->seq)), NULL,
                   err);
}

enum rc sink_letters_keep(struct db *db, const struct lease_proof *proof,
                          const struct sink_dead_letter *letter, struct err *err)
{
    assert(proof->db == db);
    return row_exec(db, &sql_letter_keep, letter, NULL, err);
}

/* ---- the API's ---- */

enum rc sinks_insert(struct db *db, const struct sink_row *row, struct err *err)
{
    int64_t changed = 0;
    enum rc rc = row_exec(db, &sql_make, row, &changed, err);
    if (rc == RC_OK && changed == 0)
        rc = err_set(err, RC_CONFLICT, "SINK_EXISTS", "there is a sink %s already", row->name);
    return rc;
}

enum rc sinks_configure(struct db *db, const struct sink_row *row, struct err *err)
{
    return row_exec_one(db, &sql_configure, row, err);
}

enum rc sinks_remove(struct db *db, const char *name, struct err *err)
{
    enum rc rc = db_exec(db, &sql_letter_discard, P_LIST(P_TEXT(name), P_INT(0)), NULL, err);
    return rc == RC_OK ? exec_one(db, &sql_remove, P_LIST(P_TEXT(name)), sink_shape.noun, err) : rc;
}

enum rc sinks_count_made(struct db *db, int64_t *ret_count, struct err *err)
{
    return query_int(db, &sql_count_made, NULL, 0, ret_count, err);
}

enum rc sink_letters_replay(struct db *db, const struct sink_letter_key *key, int64_t *ret_count,
                            struct err *err)
{
    return db_exec(db, &sql_letter_replay, P_LIST(P_TEXT(key->sink), P_INT(key->seq)), ret_count,
                   err);
}

enum rc sink_letters_discard(struct db *db, const struct sink_letter_key *key, int64_t *ret_count,
                             struct err *err)
{
    return db_exec(db, &sql_letter_discard, P_LIST(P_TEXT(key->sink), P_INT(key->seq)), ret_count,
                   err);
}
