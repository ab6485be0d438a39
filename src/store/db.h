/*
 * db.h - one connection, for every engine: prepared statements with typed parameters,
 * rows, and transactions that roll back unless committed.
 *
 * A statement is a static const struct sql: its text is the same for every engine but for words
 * in braces, {for_update} and {skip_locked}; $1, $2 ... are its parameters, each with a declared
 * type.  Statements are prepared once per connection and cached by address.  {columns} and other
 * words stand for the columns of a shape (columns.h), which is always the same one for a statement.
 * A connection belongs to one thread at a time.
 */
#ifndef STORE_DB_H
#define STORE_DB_H
#include "base/arena.h"
#include "base/id.h"
#include "base/rc.h"
#include "base/str.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db; /* A connection. */
struct shape;

struct sql {
    const char *name; /* For errors and metrics: "job_claim". */
    const char *text;
    const char *types; /* One letter per parameter: t text, i int64, r double, j JSON, b bytes. */
};

struct param {
    char type; /* As in struct sql; a NULL text is SQL NULL. */
    const char *text;
    size_t len;
    int64_t number;
    double real;
};
/* No text is no JSON: PostgreSQL refuses it, so an empty slice is NULL on both engines. */
static inline struct param param_json(struct str json)
{
    return (struct param){.type = 'j', .text = json.len > 0 ? json.at : NULL, .len = json.len};
}
#define P_TEXT(v)  ((struct param){.type = 't', .text = (v)})
#define P_ID(v)    ((struct param){.type = 't', .text = id_or_null(v)})
#define P_INT(v)   ((struct param){.type = 'i', .number = (int64_t)(v)})
#define P_REAL(v)  ((struct param){.type = 'r', .real = (v)})
#define P_JSON(v)  param_json(v)
#define P_BYTES(v) ((struct param){.type = 'b', .text = (v).at, .len = (v).len})
#define P_LIST(...) \
    ((const struct param[]){__VA_ARGS__}), COUNT_OF(((const struct param[]){__VA_ARGS__}))

/* A statement that writes a group of a row's columns, which are its parameters. */
struct row_sql {
    const char *name;
    const char *text;
    const struct shape *shape;
    unsigned group;
};

struct rows { /* A result being read; at most one per statement and connection at a time. */
    struct db *db;
    void *statement;
};

/*
 * Runs a statement that gives no rows.  ret_changed may be NULL: then, in a transaction, an engine
 * behind a network only sends it.  If it fails, the error is reported, under its own name, by
 * the next statement whose result is needed, or by the commit.
 */
MUST_USE enum rc db_exec(struct db *db, const struct sql *sql, const struct param *params,
                         size_t count, int64_t *ret_changed, struct err *err);
/* The same for one that must change exactly one row: RC_NOT_FOUND (code NOT_FOUND) when it changed
   none.  Where it was only sent, that is a failure of the transaction, RC_IO (code ROW_MISSING). */
MUST_USE enum rc exec_one(struct db *db, const struct sql *sql, const struct param *params,
                          size_t count, const char *noun, struct err *err);
/* The same for a statement whose parameters are columns of `row`. */
MUST_USE enum rc row_exec(struct db *db, const struct row_sql *sql, const void *row,
                          int64_t *ret_changed, struct err *err);
MUST_USE enum rc row_exec_one(struct db *db, const struct row_sql *sql, const void *row,
                              struct err *err);
MUST_USE enum rc db_query(struct db *db, const struct sql *sql, const struct param *params,
                          size_t count, struct rows *ret_rows, struct err *err);
/* The same for a text with {columns} of the shape; without such words it may be any.  Parameters
   are not copied: the caller keeps them until rows_end. */
MUST_USE enum rc db_query_as(struct db *db, const struct sql *sql, const struct shape *shape,
                             const struct param *params, size_t count, struct rows *ret_rows,
                             struct err *err);
/*
 * Reading ahead, in a transaction on an engine behind a network: the statement, whose only
 * parameter is an id, is sent now, and a later db_query of the same statement and id gets its rows.
 * Rows are locked in the order of these calls.  What a write has named is queried again.
 * Elsewhere this does nothing.
 */
MUST_USE enum rc db_read_ahead(struct db *db, const struct sql *sql, const struct shape *shape,
                               const struct id *id, struct err *err);
/* For long readings in many queries: once *stop is not 0, queries are refused with RC_BUSY (code
   STOPPING).  NULL: none is.  stop is not copied. */
void db_stop_on(struct db *db, const atomic_int *stop);
/* RC_OK: on a row.  RC_NOT_FOUND: past the last one. */
MUST_USE enum rc rows_next(struct rows *rows, struct err *err);
void rows_end(struct rows *rows); /* For CLEANUP; safe on a zeroed one and twice. */

/* Columns from 0.  Text lives until the next rows_next; copy with the arena forms. */
const char *row_text(struct rows *rows, int column); /* NULL for SQL NULL. */
int64_t row_int(struct rows *rows, int column);      /* 0 for SQL NULL. */
double row_real(struct rows *rows, int column);
bool row_is_null(struct rows *rows, int column);
struct id row_id(struct rows *rows, int column);
char *row_dup(struct rows *rows, int column, struct arena *arena); /* NULL for SQL NULL. */
struct str row_bytes(struct rows *rows, int column, struct arena *arena);

/* Transactions.  Only one at a time per connection; they do not nest.  A statement that fails in
   the engine breaks its transaction: what follows is refused, the commit too. */
struct tx {
    struct db *db; /* NULL: not open. */
};
MUST_USE enum rc tx_begin(struct db *db, struct tx *ret_tx, struct err *err);
MUST_USE enum rc tx_commit(struct tx *tx, struct err *err); /* Rolled back when it fails. */
void tx_abort(struct tx *tx);                               /* For CLEANUP; safe when not open. */

/*
 * Savepoints: what the open transaction does from here on can be undone alone, and a statement that
 * has broken the transaction is undone with it.  They nest.  Behind a network each one waits for
 * all statements that were only sent, so savepoints belong into the second try of a transaction,
 * not into the first.
 */
struct savepoint {
    struct db *db;
};
MUST_USE enum rc savepoint_set(struct db *db, struct savepoint *ret_savepoint, struct err *err);
/* Fails with the error of a statement since then, under its name; then undo the savepoint. */
MUST_USE enum rc savepoint_keep(struct savepoint *savepoint, struct err *err);
/* Fails when the whole transaction is lost. */
MUST_USE enum rc savepoint_undo(struct savepoint *savepoint, struct err *err);

/* Rows that statements of the open transaction have changed so far; 0 exactly when nothing was
   written.  A statement that was only sent counts as one row, more when its result is read. */
int64_t db_changes(const struct db *db);

/* What the engine may do between transactions so that a later commit need not: it takes as long as
   a slow commit.  For a writer that has nothing else to do. */
bool db_upkeep_due(const struct db *db);
void db_upkeep(struct db *db);

/* What the database takes, and what of that holds nothing. */
struct db_space {
    int64_t page_bytes, pages, free_pages;
    bool gives_back; /* Free pages can be given back while it is in use. */
};
/* Where the engine shows its pages: not on a shared one. */
MUST_USE enum rc db_space(struct db *db, struct db_space *ret_space, struct err *err);
/* In a transaction: gives up to so many free pages back to the file system, which may have to move
   others.  Where the engine does that by itself it does nothing. */
MUST_USE enum rc db_give_back(struct db *db, int64_t pages, struct err *err);

bool db_is_shared(const struct db *db); /* May there be other writers, here or on other nodes? */
#endif
