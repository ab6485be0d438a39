/*
 * engine.h - the port that a database engine implements: SQLite and PostgreSQL.
 *
 *   site        what a URL names, for the life of the store (a file and its lock, a database)
 *   connection  one session with it, used by one thread at a time
 *   statement   one prepared text of a connection
 *   listener    receives the notices of the servers that share a site
 *
 * db.c uses nothing else of an engine.  Every failure is reported with the name of the statement:
 * RC_BUSY another transaction holds a lock (also: a deadlock, retry the transaction), RC_CORRUPT
 * the data are damaged, RC_UNREACHABLE the server does not answer, RC_INVALID it cannot hold such
 * data, RC_IO everything else (code STORE_FULL, STORE_IO, STORE_CONSTRAINT, STORE_TIMEOUT or
 * STORE_ERROR).
 */
#ifndef STORE_ENGINE_H
#define STORE_ENGINE_H
#include "base/rc.h"
#include "store/db.h"
#include "store/store.h"
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct engine_site;
struct engine_conn;
struct engine_stmt;
struct engine_listener;

enum engine_role { ENGINE_WRITER, ENGINE_READER };

/* What {name} stands for in this engine's dialect. */
struct engine_word {
    const char *name;
    const char *text;
};

/* Does the engine have to copy parameters, or do they outlive the execution? */
enum engine_hold { ENGINE_BORROW, ENGINE_COPY };

/* They nest: the latest one that is still set is meant. */
enum engine_savepoint { SAVEPOINT_SET, SAVEPOINT_KEEP, SAVEPOINT_UNDO, SAVEPOINT_WHAT_COUNT };

struct engine_ops {
    const char *const *schemes;      /* What a URL begins with: "sqlite:"; up to NULL. */
    const struct engine_word *words; /* Up to one with a NULL name. */
    bool is_shared;                  /* Several servers may use one site at a time. */

    /* RC_CONFLICT: another server has it. */
    enum rc (*attach)(const char *url, struct engine_site **ret_site, struct err *err);
    void (*detach)(struct engine_site *site);          /* After its connections; NULL is fine. */
    bool (*is_single)(const struct engine_site *site); /* One connection must serve all. */

    const char *(*durability)(const struct engine_site *site); /* For people: "... FULL". */
    const char *(*path)(const struct engine_site *site); /* NULL, or: of its file; "": none. */

    enum rc (*connect)(struct engine_site *site, enum engine_role role,
                       struct engine_conn **ret_conn, struct err *err);
    void (*disconnect)(struct engine_conn *conn); /* After its statements; NULL is fine. */

    enum rc (*begin)(struct engine_conn *conn, struct err *err);
    /* Code COMMIT_UNKNOWN: the connection was lost, and whether it was committed is not known. */
    enum rc (*commit)(struct engine_conn *conn, struct err *err);
    void (*rollback)(struct engine_conn *conn); /* Also when nothing is open. */
    /* In a transaction.  KEEP reports what failed since the savepoint was set, also of
       statements that were only sent.  UNDO works after a failure as well, and removes it. */
    enum rc (*savepoint)(struct engine_conn *conn, enum engine_savepoint what, struct err *err);
    /* Rows changed since connecting, by statements that have ended.  A deferred one counts as one
       row until its result has been read, and never as less. */
    int64_t (*changes)(const struct engine_conn *conn);
    /* Both NULL, or: see db_upkeep. */
    bool (*upkeep_due)(const struct engine_conn *conn);
    void (*upkeep)(struct engine_conn *conn);
    /* Statements without parameters and rows, for migrations. */
    enum rc (*script)(struct engine_conn *conn, const char *name, const char *text,
                      struct err *err);
    enum rc (*backup)(struct engine_conn *conn, const char *to_path, struct err *err);
    /* All NULL where the engine looks after that by itself: see db_give_back and db_space. */
    enum rc (*give_back)(struct engine_conn *conn, int64_t pages, struct err *err);
    enum rc (*space)(struct engine_conn *conn, struct db_space *ret_space, struct err *err);
    /* See store_compact.  Nothing else has the site open. */
    enum rc (*compact)(struct engine_conn *conn, struct err *err);

    /* sql outlives the statement; text is sql->text in this engine's dialect. */
    enum rc (*prepare)(struct engine_conn *conn, const struct sql *sql, const char *text,
                       struct engine_stmt **ret_stmt, struct err *err);
    void (*finalize)(struct engine_stmt *stmt);
    /* Binds the parameters; it may run already, and fail for that. */
    enum rc (*start)(struct engine_stmt *stmt, const struct param *params, enum engine_hold hold,
                     struct err *err);
    /* NULL where statements cost no round trip.  In a transaction: sends the statement and reads
       its result with that of a later one, which then fails in its place.  noun: it must change
       one row of that kind, or the transaction fails; NULL: any number. */
    enum rc (*defer)(struct engine_stmt *stmt, const struct param *params, const char *noun,
                     struct err *err);
    /* NULL, or: sends a query whose only parameter is an id; the start with the same id finds its
       result, unless a write has named the id meanwhile. */
    enum rc (*read_ahead)(struct engine_stmt *stmt, const struct param *params, struct err *err);
    int64_t (*changed)(struct engine_stmt *stmt);               /* Rows, since it was started. */
    enum rc (*step)(struct engine_stmt *stmt, struct err *err); /* RC_NOT_FOUND: no more rows. */
    void (*reset)(struct engine_stmt *stmt); /* Ends the execution; parameters are released. */

    /* Columns of the row that the statement is on; valid until the next step or reset. */
    bool (*column_is_null)(struct engine_stmt *stmt, int column);
    int64_t (*column_int)(struct engine_stmt *stmt, int column);
    double (*column_real)(struct engine_stmt *stmt, int column);
    const char *(*column_text)(struct engine_stmt *stmt, int column); /* Ends with NUL. */
    /* Need not end with NUL, which spares SQLite an allocation and a copy for each text. */
    const char *(*column_bytes)(struct engine_stmt *stmt, int column, size_t *ret_len);

    /* Shared engines only. */
    /* See store_enroll; writer: the connection that is open already. */
    void (*enroll)(struct engine_site *site, struct engine_conn *writer,
                   const struct store_fence *fence);
    enum rc (*listen)(struct engine_site *site, struct engine_listener **ret_listener,
                      struct err *err);
    void (*unlisten)(struct engine_listener *listener); /* NULL is fine. */
    /* Notes the notices received since; opens a lost connection again, unless it was tried a
       moment ago.  Notices sent meanwhile are lost with it: then every channel is noted.  Returns
       the socket to wait on, or -1 without a connection. */
    int (*receive)(struct engine_listener *listener, struct wakeup *wakeup);
};

extern const struct engine_ops engine_sqlite;
extern const struct engine_ops engine_postgres;

/* store_shared.c: "drover_jobs", "drover_events". */
const char *store_channel_name(enum store_channel channel);

/* store.c: a connection that is kept for one purpose and lent to one thread at a time; opened when
   it is first used. */
struct lent_db {
    pthread_mutex_t lock;
    struct db *db;
};
enum store_purpose { STORE_FOR_NOTICES, STORE_FOR_CONTENTS, STORE_PURPOSE_COUNT };
MUST_USE enum rc store_borrow(struct store *store, enum store_purpose purpose, struct db **ret_db,
                              struct err *err);
void store_give_back(struct store *store, enum store_purpose purpose);
const struct engine_ops *store_engine(const struct store *store);
struct engine_site *store_site(struct store *store);

/* The statements, the same for both engines. */
extern const char *const savepoint_texts[SAVEPOINT_WHAT_COUNT];

/* Below: db.c, for store.c and migrate.c. */
MUST_USE enum rc db_open(const struct engine_ops *ops, struct engine_site *site,
                         enum engine_role role, struct db **ret_db, struct err *err);
void db_close(struct db *db); /* NULL is fine. */
void db_enroll(struct db *writer, struct engine_site *site, const struct store_fence *fence);
MUST_USE enum rc db_script(struct db *db, const char *name, const char *text, struct err *err);
MUST_USE enum rc db_backup(struct db *db, const char *to_path, struct err *err);
MUST_USE enum rc db_compact(struct db *db, struct err *err);
#endif
