/*
 * sinks.c - see sinks.h.
 */
#include "store/sinks.h"
#include "store/query.h"
#include <assert.h>

static const struct sql sql_make = {
    "sink_make",
    "INSERT INTO sinks (name, cursor_seq, created_us, updated_us)"
    " VALUES ($1, $2, $3, $4) ON CONFLICT (name) DO NOTHING",
    "tiii",
};
static const struct sql sql_get = {
    "sink_get",
    "SELECT name, cursor_seq, (SELECT count(*) FROM sink_dead_letters WHERE sink = $1),"
    " last_error, created_us, updated_us FROM sinks WHERE name = $1",
    "t",
};
static const struct sql sql_save = {
    "sink_save",
    "UPDATE sinks SET cursor_seq = $2, last_error = $3, updated_us = $4"
    " WHERE name = $1 AND cursor_seq <= $2",
    "titi",
};
static const struct sql sql_refuse = {
    "sink_refuse",
    "INSERT INTO sink_dead_letters"
    " (sink, seq, event_id, event_type, error_code, error_message, created_us)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (sink, seq) DO NOTHING",
    "titttti",
};
static const struct sql sql_last_dead_letter = {
    "sink_last_dead_letter",
    "SELECT seq, event_id, event_type, error_code, error_message, created_us"
    " FROM sink_dead_letters WHERE sink = $1 ORDER BY seq DESC LIMIT 1",
    "t",
};

static enum rc sink_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct sink_row *row = to;
    row->name = read_text(reader);
    row->cursor_seq = read_int(reader);
    row->dead_letters = read_int(reader);
    row->last_error = read_text(reader);
    row->created_us = read_int(reader);
    row->updated_us = read_int(reader);
    return RC_OK;
}
static const struct shape sink_shape = {"sink", sizeof(struct sink_row), sink_decode};

static enum rc dead_letter_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct sink_dead_letter *letter = to;
    letter->seq = read_int(reader);
    letter->event_id = read_id(reader);
    letter->event_type = read_text(reader);
    letter->code = read_text(reader);
    letter->message = read_text(reader);
    letter->created_us = read_int(reader);
    return RC_OK;
}
static const struct shape dead_letter_shape = {"dead letter", sizeof(struct sink_dead_letter),
                                               dead_letter_decode};

enum rc sinks_make(struct db *db, const struct lease_proof *proof, const struct sink_row *row,
                   struct err *err)
{
    assert(proof->db == db);
    return db_exec(db, &sql_make,
                   P_LIST(P_TEXT(row->name), P_INT(row->cursor_seq), P_INT(row->created_us),
                          P_INT(row->updated_us)),
                   NULL, err);
}

enum rc sinks_get(struct db *db, const char *name, struct arena *arena, struct sink_row *ret_row,
                  struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_TEXT(name)), &sink_shape, arena, ret_row, err);
}

enum rc sinks_save(struct db *db, const struct lease_proof *proof, const struct sink_change *change,
                   struct err *err)
{
    assert(proof->db == db);
    const struct sink_dead_letter *refused = change->refused;
    int64_t changed = 0;
    enum rc rc = db_exec(db, &sql_save,
                         P_LIST(P_TEXT(change->name), P_INT(change->cursor_seq),
                                P_TEXT(change->last_error), P_INT(change->now_us)),
                         &changed, err);
    if (rc == RC_OK && changed == 0)
        rc = err_set(err, RC_CONFLICT, "CURSOR_BEHIND",
                     "the cursor of the sink %s is not before %lld", change->name,
                     (long long)change->cursor_seq);
    if (rc != RC_OK || refused == NULL)
        return rc;
    return db_exec(db, &sql_refuse,
                   P_LIST(P_TEXT(change->name), P_INT(refused->seq), P_ID(&refused->event_id),
                          P_TEXT(refused->event_type), P_TEXT(refused->code),
                          P_TEXT(refused->message), P_INT(change->now_us)),
                   NULL, err);
}

enum rc sinks_last_dead_letter(struct db *db, const char *name, struct arena *arena,
                               struct sink_dead_letter *ret_letter, struct err *err)
{
    return query_one(db, &sql_last_dead_letter, P_LIST(P_TEXT(name)), &dead_letter_shape, arena,
                     ret_letter, err);
}
