/*
 * engine_postgres.h - what the files of the PostgreSQL engine share.
 *
 *   engine_postgres.c         the site, the dialect, the table of operations
 *   engine_postgres_conn.c    connections, transactions, statements
 *   engine_postgres_args.c    parameters
 *   engine_postgres_read_ahead.c   results of statements that were sent ahead
 *   engine_postgres_link.c    one libpq connection, its losses and its errors
 *   engine_postgres_listen.c  notices
 */
#ifndef STORE_ENGINE_POSTGRES_H
#define STORE_ENGINE_POSTGRES_H
#include "store/engine.h"
#include "store/engine_postgres_link.h"

enum { PG_NAME_BYTES = 64 }; /* Identifiers of PostgreSQL, with the NUL. */
enum { PG_FENCE_BYTES = 96 };

struct engine_site {
    struct pg_place place;
    char schema[PG_NAME_BYTES]; /* The one that the URL leads to. */
    char durability[128];
    char fence_lease[PG_FENCE_BYTES]; /* "": not enrolled. */
    int64_t fence_epoch;
};

/* engine_postgres_conn.c; see engine.h. */
enum rc pg_connect(struct engine_site *site, enum engine_role role, struct engine_conn **ret_conn,
                   struct err *err);
void pg_disconnect(struct engine_conn *conn);
enum rc pg_begin(struct engine_conn *conn, struct err *err);
enum rc pg_commit(struct engine_conn *conn, struct err *err);
void pg_rollback(struct engine_conn *conn);
enum rc pg_savepoint(struct engine_conn *conn, enum engine_savepoint what, struct err *err);
int64_t pg_changes(const struct engine_conn *conn);
enum rc pg_script(struct engine_conn *conn, const char *name, const char *text, struct err *err);
enum rc pg_prepare(struct engine_conn *conn, const struct sql *sql, const char *text,
                   struct engine_stmt **ret_stmt, struct err *err);
void pg_finalize(struct engine_stmt *stmt);
enum rc pg_start(struct engine_stmt *stmt, const struct param *params, enum engine_hold hold,
                 struct err *err);
enum rc pg_defer(struct engine_stmt *stmt, const struct param *params, const char *noun,
                 struct err *err);
enum rc pg_read_ahead(struct engine_stmt *stmt, const struct param *params, struct err *err);
int64_t pg_changed(struct engine_stmt *stmt);
enum rc pg_step(struct engine_stmt *stmt, struct err *err);
void pg_reset(struct engine_stmt *stmt);
bool pg_column_is_null(struct engine_stmt *stmt, int column);
int64_t pg_column_int(struct engine_stmt *stmt, int column);
double pg_column_real(struct engine_stmt *stmt, int column);
const char *pg_column_text(struct engine_stmt *stmt, int column);
const char *pg_column_bytes(struct engine_stmt *stmt, int column, size_t *ret_len);
struct pg_link *pg_conn_link(struct engine_conn *conn);
void pg_enroll(struct engine_site *site, struct engine_conn *writer,
               const struct store_fence *fence);

/* engine_postgres_listen.c */
enum rc pg_listen(struct engine_site *site, struct engine_listener **ret_listener, struct err *err);
void pg_unlisten(struct engine_listener *listener);
int pg_receive(struct engine_listener *listener, struct wakeup *wakeup);
#endif
