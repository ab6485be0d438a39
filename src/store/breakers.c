/*
 * breakers.c - see breakers.h.  Times are arrays of integers, the oldest first.
 */
#include "store/breakers.h"
#include "base/js.h"
#include "base/jw.h"
#include "store/query.h"
#include "store/shapes.h"

enum { TIMES_BYTES_MAX = BREAKER_FAILURES_MAX * 24 };

WORDS(breaker_state_words, enum breaker_state, breaker_state_name, breaker_state_parse);

/* A row as it is stored: times as JSON. */
struct stored {
    struct breaker_row row;
    struct str failures, lent;
};
enum { BREAKER_ALL = COLUMN_GROUP(0) }; /* breakers_save */
static const struct column stored_columns[] = {
    COLUMN_AS(struct stored, row.name, "name", COLUMN_KEY),
    COLUMN_AS(struct stored, row.config, "config", BREAKER_ALL),
    COLUMN_WORD(struct stored, row.life.state, "state", breaker_state_words, BREAKER_ALL),
    COLUMN(struct stored, failures, BREAKER_ALL),
    COLUMN(struct stored, lent, BREAKER_ALL),
    COLUMN_AS(struct stored, row.life.successes, "successes", BREAKER_ALL),
    COLUMN_AS(struct stored, row.life.changed_us, "changed_us", BREAKER_ALL),
    COLUMN_AS(struct stored, row.life.open_until_us, "open_until_us", BREAKER_ALL),
    COLUMN_AS(struct stored, row.life.trips, "trips", BREAKER_ALL),
    COLUMN_AS(struct stored, row.last_error, "last_error", BREAKER_ALL),
    COLUMN_AS(struct stored, row.updated_us, "updated_us", BREAKER_ALL),
};
const struct shape breaker_stored_shape = SHAPE("breaker", struct stored, stored_columns);

static const struct sql sql_get = {
    "breaker_get",
    "SELECT {columns} FROM breakers WHERE name = $1",
    "t",
};
static const struct sql sql_lock = {
    "breaker_lock",
    "SELECT {columns} FROM breakers WHERE name = $1 {for_update}",
    "t",
};
static const struct sql sql_make = {
    "breaker_make",
    "INSERT INTO breakers (name, config, state, failures, lent, successes, changed_us,"
    " open_until_us, trips, updated_us) VALUES ($1, '{}', 'closed', '[]', '[]', 0, 0, 0, 0, $2)"
    " ON CONFLICT (name) DO NOTHING",
    "ti",
};
static const struct row_sql sql_save = {
    "breaker_save",
    "UPDATE breakers SET {set} WHERE {key}",
    &breaker_stored_shape,
    COLUMN_KEY | BREAKER_ALL,
};
static const struct sql sql_list = {
    "breaker_list",
    "SELECT {columns} FROM breakers WHERE name > $1 ORDER BY name LIMIT $2",
    "ti",
};

static enum rc parse_times(struct str text, struct breaker_times *ret_times, struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    if (js_parse(text.at, text.len, &tree, err) != RC_OK || js_count(tree) > BREAKER_FAILURES_MAX)
        return row_corrupt("breaker", err);
    for (size_t i = 0; i < js_count(tree); i++)
        ret_times->at_us[ret_times->count++] = js_int(js_at(tree, i), 0);
    return RC_OK;
}

static enum rc breaker_decode(struct row_reader *reader, void *to, struct err *err)
{
    struct stored stored = {0};
    enum rc rc = read_columns(&breaker_stored_shape, reader, &stored, err);
    if (rc == RC_OK)
        rc = parse_times(stored.failures, &stored.row.life.failures, err);
    if (rc == RC_OK)
        rc = parse_times(stored.lent, &stored.row.life.lent, err);
    if (rc == RC_OK)
        *(struct breaker_row *)to = stored.row;
    return rc;
}
static const struct shape breaker_shape = {
    .noun = "breaker",
    .bytes = sizeof(struct breaker_row),
    .decode = breaker_decode,
    .base = &breaker_stored_shape,
};

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
    CLEANUP(buf_release) struct buf failures, lent;
    buf_init(&failures, TIMES_BYTES_MAX);
    buf_init(&lent, TIMES_BYTES_MAX);
    write_times(&failures, &row->life.failures);
    write_times(&lent, &row->life.lent);
    const struct stored stored = {*row, buf_str(&failures), buf_str(&lent)};
    return row_exec_one(db, &sql_save, &stored, err);
}

enum rc breakers_list(struct db *db, const char *after_name, int64_t limit, struct arena *arena,
                      struct breaker_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_list,
                     P_LIST(P_TEXT(after_name == NULL ? "" : after_name), P_LIMIT(limit)),
                     &breaker_shape, arena, ret_rows, ret_count, err);
}
