#include "store/log_lines.h"
#include "store/query.h"
#include "store/shapes.h"
#include <assert.h>

static const struct column log_line_columns[] = {
    COLUMN(struct log_line_row, seq, COLUMN_KEY),
    COLUMN(struct log_line_row, time_us, COLUMN_NEW),
    COLUMN(struct log_line_row, level, COLUMN_NEW),
    COLUMN(struct log_line_row, node, COLUMN_NEW),
    COLUMN(struct log_line_row, run_id, COLUMN_NEW),
    COLUMN(struct log_line_row, message, COLUMN_NEW),
    COLUMN(struct log_line_row, fields, COLUMN_NEW),
};
const struct shape log_line_shape = SHAPE("log line", struct log_line_row, log_line_columns);

static const struct row_sql sql_insert = {
    "log_line_insert",
    "INSERT INTO log_lines {values}",
    &log_line_shape,
    COLUMN_NEW,
};

/* $1 after, $2 since, $3 until, $4 level, $5 the run, $6 rows. */
#define LINES(where)                                                                    \
    "SELECT {columns} FROM log_lines WHERE seq > $1 AND time_us >= $2 AND time_us < $3" \
    " AND level >= $4 AND " where " ORDER BY seq LIMIT $6"
static const struct sql sql_list = {"log_line_list", LINES("$5 IS NULL"), "iiiiti"};
static const struct sql sql_list_run = {"log_line_list_run", LINES("run_id = $5"), "iiiiti"};

static const struct sql sql_prune_old = {
    "log_line_prune_old",
    "DELETE FROM log_lines WHERE seq IN"
    " (SELECT seq FROM log_lines WHERE time_us < $1 ORDER BY time_us, seq LIMIT $2)",
    "ii",
};
static const struct sql sql_prune_many = {
    "log_line_prune_many",
    "DELETE FROM log_lines WHERE seq IN (SELECT seq FROM log_lines WHERE seq <="
    " (SELECT seq FROM log_lines ORDER BY seq DESC LIMIT 1 OFFSET $1) ORDER BY seq LIMIT $2)",
    "ii",
};

enum rc log_lines_insert(struct db *db, const struct log_line_row *row, struct err *err)
{
    return row_exec(db, &sql_insert, row, NULL, err);
}

enum rc log_lines_list(struct db *db, const struct log_line_filter *filter, struct arena *arena,
                       struct log_line_row **ret_rows, size_t *ret_count, struct err *err)
{
    bool of_run = !id_is_none(&filter->run_id);
    int64_t until_us = filter->until_us == 0 ? INT64_MAX : filter->until_us;
    assert(filter->limit > 0);
    return query_all(db, of_run ? &sql_list_run : &sql_list,
                     P_LIST(P_INT(filter->after_seq), P_INT(filter->since_us), P_INT(until_us),
                            P_INT(filter->level), P_ID(&filter->run_id), P_INT(filter->limit)),
                     &log_line_shape, arena, ret_rows, ret_count, err);
}

enum rc log_lines_prune(struct db *db, const struct log_line_limits *limits, int64_t *ret_removed,
                        struct err *err)
{
    int64_t old = 0, many = 0;
    enum rc rc = db_exec(db, &sql_prune_old, P_LIST(P_INT(limits->before_us), P_INT(limits->limit)),
                         &old, err);
    if (rc == RC_OK)
        rc = db_exec(db, &sql_prune_many, P_LIST(P_INT(limits->rows_max), P_INT(limits->limit)),
                     &many, err);
    if (rc == RC_OK)
        *ret_removed = old > many ? old : many;
    return rc;
}
