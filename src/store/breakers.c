/*
 * breakers.c - see breakers.h.  Times are arrays of integers, the oldest first.
 */
#include "store/breakers.h"
#include "base/js.h"
#include "base/jw.h"
#include "store/query.h"

enum { TIMES_BYTES_MAX = BREAKER_FAILURES_MAX * 24 };

#define BREAKER_COLUMNS                                                                 \
    "name, config, state, failures, lent, successes, changed_us, open_until_us, trips," \
    " last_error, updated_us"

static const struct sql sql_get = {
    "breaker_get",
    "SELECT " BREAKER_COLUMNS " FROM breakers WHERE name = $1",
    "t",
};
static const struct sql sql_lock = {
    "breaker_lock",
    "SELECT " BREAKER_COLUMNS " FROM breakers WHERE name = $1 {for_update}",
    "t",
};
static const struct sql sql_make = {
    "breaker_make",
    "INSERT INTO breakers (name, config, state, failures, lent, successes, changed_us,"
    " open_until_us, trips, updated_us) VALUES ($1, '{}', 'closed', '[]', '[]', 0, 0, 0, 0, $2)"
    " ON CONFLICT (name) DO NOTHING",
    "ti",
};
static const struct sql sql_save = {
    "breaker_save",
    "UPDATE breakers SET config = $2, state = $3, failures = $4, lent = $5, successes = $6,"
    " changed_us = $7, open_until_us = $8, trips = $9, last_error = $10, updated_us = $11"
    " WHERE name = $1",
    "tjtjjiiiiti",
};
static const struct sql sql_list = {
    "breaker_list",
    "SELECT " BREAKER_COLUMNS " FROM breakers WHERE name > $1 ORDER BY name LIMIT $2",
    "ti",
};

static enum rc read_times(struct row_reader *reader, struct breaker_times *ret_times,
                          struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    struct str text = read_bytes(reader);
    if (js_parse(text.at, text.len, &tree, err) != RC_OK || js_count(tree) > BREAKER_FAILURES_MAX)
        return row_corrupt("breaker", err);
    for (size_t i = 0; i < js_count(tree); i++)
        ret_times->at_us[ret_times->count++] = js_int(js_at(tree, i), 0);
    return RC_OK;
}

static enum rc breaker_decode(struct row_reader *reader, void *to, struct err *err)
{
    struct breaker_row *row = to;
    row->name = read_text(reader);
    row->config = read_bytes(reader);
    if (!breaker_state_parse(read_word(reader), &row->life.state))
        return row_corrupt("breaker", err);
    enum rc rc = read_times(reader, &row->life.failures, err);
    if (rc == RC_OK)
        rc = read_times(reader, &row->life.lent, err);
    row->life.successes = read_int(reader);
    row->life.changed_us = read_int(reader);
    row->life.open_until_us = read_int(reader);
    row->life.trips = read_int(reader);
    row->last_error = read_text(reader);
    row->updated_us = read_int(reader);
    return rc;
}
static const struct shape breaker_shape = {"breaker", sizeof(struct breaker_row), breaker_decode};

enum rc breakers_get(struct db *db, const char *name, struct arena *arena,
                     struct breaker_row *ret_row, struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_TEXT(name)), &breaker_shape, arena, ret_row, err);
}

enum rc breakers_take(struct db *db, const char *name, int64_t now_us, struct arena *arena,
                      struct breaker_row *ret_row, struct err *err)
{
    enum rc rc = db_exec(db, &sql_make, P_LIST(P_TEXT(name), P_INT(now_us)), NULL, err);
    if (rc != RC_OK)
        return rc;
    return query_one(db, &sql_lock, P_LIST(P_TEXT(name)), &breaker_shape, arena, ret_row, err);
}

static void write_times(struct buf *to, const struct breaker_times *times)
{
    struct jw jw = jw_to(to);
    jw_begin(&jw, '[');
    for (size_t i = 0; i < times->count; i++)
        jw_int(&jw, times->at_us[i]);
    jw_end(&jw, ']');
}

enum rc breakers_save(struct db *db, const struct breaker_row *row, struct err *err)
{
    const struct breaker *life = &row->life;
    CLEANUP(buf_release) struct buf failures, lent;
    buf_init(&failures, TIMES_BYTES_MAX);
    buf_init(&lent, TIMES_BYTES_MAX);
    write_times(&failures, &life->failures);
    write_times(&lent, &life->lent);
    return exec_one(db, &sql_save,
                    P_LIST(P_TEXT(row->name), P_JSON(row->config),
                           P_TEXT(breaker_state_name(life->state)), P_JSON(buf_str(&failures)),
                           P_JSON(buf_str(&lent)), P_INT(life->successes), P_INT(life->changed_us),
                           P_INT(life->open_until_us), P_INT(life->trips), P_TEXT(row->last_error),
                           P_INT(row->updated_us)),
                    breaker_shape.noun, err);
}

enum rc breakers_list(struct db *db, const char *after_name, int64_t limit, struct arena *arena,
                      struct breaker_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_list,
                     P_LIST(P_TEXT(after_name == NULL ? "" : after_name), P_LIMIT(limit)),
                     &breaker_shape, arena, ret_rows, ret_count, err);
}
