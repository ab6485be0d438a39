/*
 * query.h - one row or all rows of a statement as structs, and a reader that walks the columns
 * of a row from left to right.
 *
 * A row of a table is read by the table of its columns (columns.h); other results have a decode
 * function that takes their columns in the order of the statement.
 */
#ifndef STORE_QUERY_H
#define STORE_QUERY_H
#include "store/columns.h"
#include "store/db.h"
#include "store/scan.h"

struct row_reader {
    struct rows *rows;
    struct arena *arena;
    int column; /* The next one. */
};
struct id read_id(struct row_reader *reader);
int64_t read_int(struct row_reader *reader);
const char *read_text(struct row_reader *reader); /* In the arena; NULL for SQL NULL. */
struct str read_bytes(struct row_reader *reader);

const char *read_word(struct row_reader *reader); /* Not copied, never NULL: to be parsed. */
/* For a stored word that core cannot parse. */
enum rc row_corrupt(const char *noun, struct err *err);
/* All columns of the shape, into a zeroed struct.  RC_CORRUPT: a word that is not known. */
MUST_USE enum rc read_columns(const struct shape *shape, struct row_reader *reader, void *to,
                              struct err *err);

/* RC_NOT_FOUND (code NOT_FOUND) without a row; *ret_row is untouched then. */
MUST_USE enum rc query_one(struct db *db, const struct sql *sql, const struct param *params,
                           size_t count, const struct shape *shape, struct arena *arena,
                           void *ret_row, struct err *err);

/* ret_rows is the address of the caller's `struct thing_row *`; NULL without rows. */
MUST_USE enum rc query_all(struct db *db, const struct sql *sql, const struct param *params,
                           size_t count, const struct shape *shape, struct arena *arena,
                           void *ret_rows, size_t *ret_count, struct err *err);

/*
 * A listing by id, newest first, and the walk that finds the window of a scan.
 *   list   its last parameters are `id < $n`, `id >= $n` and `LIMIT $n`
 *   walk   $1 the value of the leading condition, `id < $2`, `OFFSET $3`
 */
struct list_sql {
    struct sql list, walk;
};
#define LIST_WALK(name, table, lead)                                                       \
    {                                                                                      \
        name "_walk",                                                                      \
            "SELECT id FROM " table " WHERE " lead " AND id < $2 ORDER BY id DESC LIMIT 1" \
            " OFFSET $3",                                                                  \
            "tti",                                                                         \
    }
#define LIST_WALK_ALL "$1 IS NULL" /* Without a leading condition. */
struct list_ask {
    const struct list_sql *sql;
    struct param *params; /* Of the list; the one before the last is set by query_list. */
    size_t count;
    const char *lead;  /* NULL: none */
    struct scan *scan; /* NULL: no window */
    bool filtered;     /* Are there conditions beside the leading one? */
};
MUST_USE enum rc query_list(struct db *db, const struct list_ask *ask, const struct shape *shape,
                            struct arena *arena, void *ret_rows, size_t *ret_count,
                            struct err *err);

/* An array that grows in the arena; zeroed it is empty. */
struct row_list {
    void *rows;
    size_t count;
};
void *row_list_add(struct row_list *list, size_t row_bytes, struct arena *arena); /* Zeroed. */

/* One number; RC_NOT_FOUND when there is no row or it is NULL. */
MUST_USE enum rc query_int(struct db *db, const struct sql *sql, const struct param *params,
                           size_t count, int64_t *ret_value, struct err *err);
/* One id; RC_NOT_FOUND when there is no row. */
MUST_USE enum rc query_id(struct db *db, const struct sql *sql, const struct param *params,
                          size_t count, struct id *ret_id, struct err *err);

/* For `LIMIT $n`: a negative one would mean none to some engines. */
#define P_LIMIT(v) P_INT(limit_checked(v))
int64_t limit_checked(int64_t limit);

/* For `id < $n`: the cursor, or a text behind every id. */
const char *cursor_or_end(const struct id *before);
#endif
