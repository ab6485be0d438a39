/*
 * engine.h - the port that a database engine implements: SQLite now, PostgreSQL next.
 *
 *   site        what a URL names, for the life of the store (a file and its lock)
 *   connection  one session with it, used by one thread at a time
 *   statement   one prepared text of a connection
 *
 * db.c asks nothing else of an engine.  Every failure is told with the name of the statement:
 * RC_BUSY somebody else holds a lock, RC_CORRUPT the data are damaged, RC_IO everything else
 * (code STORE_FULL, STORE_IO, STORE_CONSTRAINT or STORE_ERROR).
 */
#ifndef STORE_ENGINE_H
#define STORE_ENGINE_H
#include "base/rc.h"
#include "store/db.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct engine_site;
struct engine_conn;
struct engine_stmt;

enum engine_role { ENGINE_WRITER, ENGINE_READER };

/* What {name} stands for in this engine's dialect. */
struct engine_word {
    const char *name;
    const char *text;
};

/* Does the engine have to copy parameters, or do they outlive the execution? */
enum engine_hold { ENGINE_BORROW, ENGINE_COPY };

struct engine_ops {
    const char *scheme;              /* "sqlite:"; what follows it in a URL is `where`. */
    const struct engine_word *words; /* Up to one with a NULL name. */

    /* RC_CONFLICT: another server has it. */
    enum rc (*attach)(const char *where, struct engine_site **ret_site, struct err *err);
    void (*detach)(struct engine_site *site);          /* After its connections; NULL is fine. */
    bool (*is_single)(const struct engine_site *site); /* One connection must serve all. */

    const char *(*durability)(const struct engine_site *site); /* For people: "... FULL". */

    enum rc (*connect)(struct engine_site *site, enum engine_role role,
                       struct engine_conn **ret_conn, struct err *err);
    void (*disconnect)(struct engine_conn *conn); /* After its statements; NULL is fine. */

    enum rc (*begin)(struct engine_conn *conn, struct err *err);
    enum rc (*commit)(struct engine_conn *conn, struct err *err);
    void (*rollback)(struct engine_conn *conn); /* Also when nothing is open. */
    /* Rows changed since connecting, by statements that have ended. */
    int64_t (*changes)(const struct engine_conn *conn);
    /* Statements without parameters and rows, for migrations. */
    enum rc (*script)(struct engine_conn *conn, const char *name, const char *text,
                      struct err *err);
    enum rc (*backup)(struct engine_conn *conn, const char *to_path, struct err *err);

    /* sql outlives the statement; text is sql->text in this engine's dialect. */
    enum rc (*prepare)(struct engine_conn *conn, const struct sql *sql, const char *text,
                       struct engine_stmt **ret_stmt, struct err *err);
    void (*finalize)(struct engine_stmt *stmt);
    enum rc (*bind)(struct engine_stmt *stmt, const struct param *params, enum engine_hold hold,
                    struct err *err);
    enum rc (*step)(struct engine_stmt *stmt, struct err *err); /* RC_NOT_FOUND: no more rows. */
    void (*reset)(struct engine_stmt *stmt); /* Ends the execution; parameters are let go. */

    /* Columns of the row that the statement is on; valid until the next step or reset. */
    bool (*column_is_null)(struct engine_stmt *stmt, int column);
    int64_t (*column_int)(struct engine_stmt *stmt, int column);
    double (*column_real)(struct engine_stmt *stmt, int column);
    const char *(*column_text)(struct engine_stmt *stmt, int column, size_t *ret_len);
};

extern const struct engine_ops engine_sqlite;

/* Below: db.c, for store.c and migrate.c. */
MUST_USE enum rc db_open(const struct engine_ops *ops, struct engine_site *site,
                         enum engine_role role, struct db **ret_db, struct err *err);
void db_close(struct db *db); /* NULL is fine. */
MUST_USE enum rc db_script(struct db *db, const char *name, const char *text, struct err *err);
MUST_USE enum rc db_backup(struct db *db, const char *to_path, struct err *err);
#endif
