/*
 * timers.c - what must happen later.
 */
#include "store/timers.h"
#include "store/query.h"
#include <assert.h>

static const struct sql sql_set = {
    "timer_set",
    "INSERT INTO timers (kind, subject, due_us) VALUES ($1, $2, $3)"
    " ON CONFLICT (subject, kind) DO UPDATE SET due_us = excluded.due_us",
    "tti",
};
static const struct sql sql_clear = {
    "timer_clear",
    "DELETE FROM timers WHERE subject = $1 AND kind = $2",
    "tt",
};
static const struct sql sql_done = {
    "timer_done",
    "DELETE FROM timers WHERE subject = $1 AND kind = $2 AND due_us = $3",
    "tti",
};
static const struct sql sql_clear_subject = {
    "timer_clear_subject",
    "DELETE FROM timers WHERE subject = $1",
    "t",
};
static const struct sql sql_move = {
    "timer_move",
    "UPDATE timers SET due_us = due_us + $3 WHERE subject = $1 AND kind = $2"
    " AND due_us >= $4 AND due_us < $5",
    "ttiii",
};
static const struct sql sql_put_off = {
    "timer_put_off",
    "UPDATE timers SET due_us = $2 WHERE kind = $1 AND due_us < $2",
    "ti",
};
static const struct sql sql_due = {
    "timer_due",
    "SELECT kind, subject, due_us FROM timers WHERE due_us <= $1"
    " ORDER BY due_us, subject, kind LIMIT $2",
    "ii",
};
static const struct sql sql_next_due = {
    "timer_next_due",
    "SELECT due_us FROM timers ORDER BY due_us LIMIT 1",
    "",
};
static const struct sql sql_of = {
    "timer_of",
    "SELECT kind, subject, due_us FROM timers WHERE subject = $1 ORDER BY kind",
    "t",
};

static enum rc timer_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct timer_row *row = to;
    row->kind = read_text(reader);
    row->subject = read_id(reader);
    row->due_us = read_int(reader);
    return RC_OK;
}
static const struct shape timer_shape = SHAPE_OF_RESULT("timer", struct timer_row, timer_decode);

enum rc timers_set(struct db *db, const struct timer_row *row, struct err *err)
{
    return db_exec(db, &sql_set, P_LIST(P_TEXT(row->kind), P_ID(&row->subject), P_INT(row->due_us)),
                   NULL, err);
}

enum rc timers_clear(struct db *db, const char *kind, const struct id *subject, struct err *err)
{
    return db_exec(db, &sql_clear, P_LIST(P_ID(subject), P_TEXT(kind)), NULL, err);
}

enum rc timers_done(struct db *db, const struct timer_row *row, struct err *err)
{
    return db_exec(db, &sql_done,
                   P_LIST(P_ID(&row->subject), P_TEXT(row->kind), P_INT(row->due_us)), NULL, err);
}

enum rc timers_clear_subject(struct db *db, const struct id *subject, struct err *err)
{
    return db_exec(db, &sql_clear_subject, P_LIST(P_ID(subject)), NULL, err);
}

/* What was left may be less than nothing: the timer was due and had not fired yet. */
static const int64_t still_from_us = TIMER_STILL_US / 2;

bool timer_stands(const struct timer_row *timer)
{
    return timer->due_us >= still_from_us;
}

enum rc timers_stand(struct db *db, const char *kind, const struct id *subject, int64_t now_us,
                     struct err *err)
{
    return db_exec(db, &sql_move,
                   P_LIST(P_ID(subject), P_TEXT(kind), P_INT(TIMER_STILL_US - now_us),
                          P_INT(INT64_MIN), P_INT(still_from_us)),
                   NULL, err);
}

enum rc timers_go(struct db *db, const char *kind, const struct id *subject, int64_t now_us,
                  struct err *err)
{
    return db_exec(db, &sql_move,
                   P_LIST(P_ID(subject), P_TEXT(kind), P_INT(now_us - TIMER_STILL_US),
                          P_INT(still_from_us), P_INT(INT64_MAX)),
                   NULL, err);
}

enum rc timers_put_off(struct db *db, const char *kind, int64_t until_us, struct err *err)
{
    return db_exec(db, &sql_put_off, P_LIST(P_TEXT(kind), P_INT(until_us)), NULL, err);
}

enum rc timers_due(struct db *db, const struct due_ask *ask, struct arena *arena,
                   struct timer_row **ret_rows, size_t *ret_count, struct err *err)
{
    assert(ask->proof->db == db);
    return query_all(db, &sql_due, P_LIST(P_INT(ask->now_us), P_LIMIT(ask->limit)), &timer_shape,
                     arena, ret_rows, ret_count, err);
}

enum rc timers_next_due(struct db *db, int64_t *ret_due_us, struct err *err)
{
    return query_int(db, &sql_next_due, NULL, 0, ret_due_us, err);
}

enum rc timers_of(struct db *db, const struct id *subject, struct arena *arena,
                  struct timer_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_of, P_LIST(P_ID(subject)), &timer_shape, arena, ret_rows, ret_count,
                     err);
}
