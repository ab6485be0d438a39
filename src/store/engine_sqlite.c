/*
 * engine_sqlite.c - everything that is SQLite.
 *
 *   PATH         the database, 0600, WAL (beside it PATH-wal and PATH-shm); free pages can be given
 *                back while it is in use (auto_vacuum = INCREMENTAL) if it was made so
 *   PATH.lock    held by flock for the life of the site: one server per file
 *   :memory:     one connection that writer and readers share, for one thread
 *
 * The writer itself checkpoints, every CHECKPOINT_PAGES of the log, and waits a moment for the
 * readers: if they are never idle all at once, the log would otherwise never start over.
 * Connections are opened without SQLite's mutexes: each belongs to one thread at a time.
 */
#include "base/fd.h"
#include "base/mem.h"
#include "store/engine.h"
#include "store/wal_room.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BUSY_TIMEOUT_MS = 5000,
    CHECKPOINT_PAGES = 10000,
    CHECKPOINT_TRIES = 10,
    CHECKPOINT_WAIT_MS = 10, /* Per try. */
    LOCK_WAIT_MS = 2000,
    PARAMS_MAX = 64,
    AUTO_VACUUM_INCREMENTAL = 2,
};

struct engine_site {
    char path[PATH_MAX]; /* "" in memory. */
    int lock_fd;         /* -1 in memory. */
};

struct engine_conn {
    sqlite3 *handle;
    enum engine_role role;
    int checkpoint_pages; /* Writer: the length of the log at which to checkpoint next. */
    struct wal_room room; /* Writer: in the log, ahead of its end. */
};

struct engine_stmt {
    sqlite3_stmt *handle;
    const char *name;
    size_t count;
    int64_t changes_at_start;
    int index[PARAMS_MAX]; /* Where SQLite put $1, $2 ...: it numbers by first appearance. */
};

static const char *const schemes[] = {"sqlite:", NULL};

static const struct engine_word words[] = {
    {"for_update", ""},
    {"skip_locked", ""},
    {"lock_schema", ""}, /* A writer's transaction has the whole file. */
    {"seq_key", "INTEGER PRIMARY KEY"},
    {"text", "TEXT"},
    {"int", "INTEGER"},
    {"json", "TEXT"},
    {"bytes", "BLOB"},
    {"plain_table", "STRICT"},
    {"keyed_table", "STRICT, WITHOUT ROWID"}, /* Stored in the order of its primary key. */
    /* Of the view events (migration_events_view.c): SQLite has neither UUIDs nor times, and no
       JSON function in an index or a view while the schema is not trusted. */
    {"json_items", "json_each(doc.items) AS item"},
    {"event_functions", ""},
    {"event_data", "data"},
    {"event_data_index", ""},
    {"event_correlation", "coalesce(correlation_id, 'issue/' || issue_id, id)"},
    {"event_id", "id"},
    {"event_parent", "causation_id"},
    {"event_time", "strftime('%Y-%m-%d %H:%M:', time_us / 1000000, 'unixepoch')"
                   " || printf('%09.6f', (time_us % 60000000) / 1000000.0)"},
    {"iso_time_us", "strftime('%Y-%m-%dT%H:%M:%fZ', time_us / 1000000.0, 'unixepoch')"},
    {NULL, NULL},
};

static enum rc fail(sqlite3 *handle, const char *what, int code, struct err *err)
{
    const char *text = handle == NULL ? sqlite3_errstr(code) : sqlite3_errmsg(handle);
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return err_set(err, RC_BUSY, "STORE_BUSY", "%s: %s (SQLite %d)", what, text, code);
    case SQLITE_FULL:
        return err_set(err, RC_IO, "STORE_FULL",
                       "%s: the disk is full: make room, nothing was written (SQLite %d)", what,
                       code);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
        return err_set(err, RC_IO, "STORE_IO", "%s: %s (SQLite %d)", what, text, code);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return err_set(err, RC_CORRUPT, "STORE_CORRUPT",
                       "%s: %s: restore the database from a backup (SQLite %d)", what, text, code);
    case SQLITE_CONSTRAINT:
        return err_set(err, RC_IO, "STORE_CONSTRAINT", "%s: %s (SQLite %d)", what, text, code);
    default:
        return err_set(err, RC_IO, "STORE_ERROR", "%s: %s (SQLite %d)", what, text, code);
    }
}

static enum rc fail_errno(const char *what, const char *path, struct err *err)
{
    const char *code = errno == ENOSPC ? "STORE_FULL" : "STORE_IO";
    return err_set(err, RC_IO, code, "cannot %s %s: %s", what, path, strerror(errno));
}

/* ---- site ---- */

static void configure_library(void)
{
    /* Counting every allocation takes a global mutex, and the count is never read. */
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/* The file must not be readable by others from its first moment on. */
static enum rc create_file(const char *path, struct err *err)
{
    CLEANUP(fd_closep) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    return fd < 0 ? fail_errno("open the database", path, err) : RC_OK;
}

static enum rc take_lock(const char *path, int *ret_fd, struct err *err)
{
    char lock_path[PATH_MAX + sizeof ".lock"];
    snprintf(lock_path, sizeof lock_path, "%s.lock", path);
    enum rc rc = file_lock(lock_path, LOCK_WAIT_MS, ret_fd, err);
    if (rc != RC_CONFLICT)
        return rc;
    return err_set(err, rc, "STORE_IN_USE",
                   "another drover server has %s open: stop it first, or give this one a "
                   "data directory of its own",
                   path);
}

static enum rc sqlite_attach(const char *url, struct engine_site **ret_site, struct err *err)
{
    const char *where = url + strlen(schemes[0]);
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, configure_library);

    CLEANUP(mem_freep) struct engine_site *site = mem_alloc(sizeof *site);
    site->lock_fd = -1;
    if (strcmp(where, ":memory:") != 0) {
        if (*where == '\0')
            return err_set(err, RC_INVALID, "INVALID_STORE_URL",
                           "the database URL names no file: write sqlite:PATH");
        enum rc rc = create_file(where, err);
        if (rc != RC_OK)
            return rc;
        if (realpath(where, site->path) == NULL)
            return fail_errno("resolve", where, err);
        rc = take_lock(site->path, &site->lock_fd, err);
        if (rc != RC_OK)
            return rc;
    }
    *ret_site = site;
    site = NULL;
    return RC_OK;
}

static void sqlite_detach(struct engine_site *site)
{
    if (site == NULL)
        return;
    fd_close(site->lock_fd);
    mem_free(site);
}

static bool sqlite_is_single(const struct engine_site *site)
{
    return site->path[0] == '\0';
}

static const char *sqlite_durability(const struct engine_site *site)
{
    return sqlite_is_single(site) ? "sqlite in memory, nothing is kept"
                                  : "sqlite WAL synchronous=FULL";
}

static const char *sqlite_path(const struct engine_site *site)
{
    return site->path;
}

/* ---- connections ---- */

static enum rc run_text(sqlite3 *handle, const char *name, const char *text, struct err *err)
{
    int code = sqlite3_exec(handle, text, NULL, NULL, NULL);
    return code == SQLITE_OK ? RC_OK : fail(handle, name, code, err);
}

static int wal_mode_seen(void *seen, int count, char **values, char **names)
{
    (void)names;
    *(bool *)seen = count == 1 && values[0] != NULL && strcmp(values[0], "wal") == 0;
    return 0;
}

static enum rc set_wal(sqlite3 *handle, const char *path, struct err *err)
{
    bool wal = false;
    int code = sqlite3_exec(handle, "PRAGMA journal_mode = WAL", wal_mode_seen, &wal, NULL);
    if (code != SQLITE_OK)
        return fail(handle, "open", code, err);
    return wal ? RC_OK
               : err_set(err, RC_IO, "STORE_IO",
                         "the file system of %s cannot hold a write-ahead log (shared memory is "
                         "missing): put the data directory on a local disk",
                         path);
}

/*
 * After a commit, which is durable even if the checkpoint fails.  Several short tries: each checks
 * the positions of the readers again, which have advanced by then.
 */
static int checkpoint(void *arg, sqlite3 *handle, const char *name, int pages)
{
    struct engine_conn *conn = arg;
    wal_room_note(&conn->room, pages);
    if (pages < CHECKPOINT_PAGES)
        conn->checkpoint_pages = CHECKPOINT_PAGES;
    if (pages < conn->checkpoint_pages)
        return SQLITE_OK;
    conn->checkpoint_pages = pages + CHECKPOINT_PAGES;
    sqlite3_busy_timeout(handle, CHECKPOINT_WAIT_MS);
    int code = SQLITE_BUSY;
    for (int i = 0; code == SQLITE_BUSY && i < CHECKPOINT_TRIES; i++)
        code = sqlite3_wal_checkpoint_v2(handle, name, SQLITE_CHECKPOINT_RESTART, NULL, NULL);
    sqlite3_busy_timeout(handle, BUSY_TIMEOUT_MS);
    return SQLITE_OK;
}

static enum rc set_up(const struct engine_site *site, struct engine_conn *conn, struct err *err)
{
    static const char common[] = "PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;"
                                 "PRAGMA mmap_size = 0; PRAGMA trusted_schema = OFF;";
    static const char reader[] = "PRAGMA cache_size = -2048; PRAGMA query_only = ON;";
    /* Of a page that is freed as a whole Debian's SQLite would write zeroes to the log; FAST clears
       what is deleted within pages only. */
    static const char writer[] = "PRAGMA cache_size = -8192; PRAGMA synchronous = FULL;"
                                 "PRAGMA journal_size_limit = 67108864;"
                                 "PRAGMA secure_delete = FAST;";
    /* Of a new file only: see sqlite_compact. */
    static const char new_file[] = "PRAGMA auto_vacuum = INCREMENTAL";
    sqlite3_extended_result_codes(conn->handle, 1);
    sqlite3_busy_timeout(conn->handle, BUSY_TIMEOUT_MS);
    enum rc rc = run_text(conn->handle, "open", common, err);
    if (rc != RC_OK)
        return rc;
    if (conn->role == ENGINE_READER)
        return run_text(conn->handle, "open", reader, err);
    rc = run_text(conn->handle, "open", new_file, err);
    if (rc != RC_OK)
        return rc;
    if (!sqlite_is_single(site)) {
        rc = set_wal(conn->handle, site->path, err);
        if (rc != RC_OK)
            return rc;
    }
    conn->checkpoint_pages = CHECKPOINT_PAGES;
    sqlite3_wal_hook(conn->handle, checkpoint, conn);
    return run_text(conn->handle, "open", writer, err);
}

static void sqlite_disconnect(struct engine_conn *conn)
{
    if (conn == NULL)
        return;
    int code = sqlite3_close(conn->handle);
    assert(code == SQLITE_OK); /* Otherwise a statement was left. */
    wal_room_close(&conn->room);
    mem_free(conn);
}

static enum rc sqlite_connect(struct engine_site *site, enum engine_role role,
                              struct engine_conn **ret_conn, struct err *err)
{
    assert(role == ENGINE_WRITER || !sqlite_is_single(site));
    const char *path = sqlite_is_single(site) ? ":memory:" : site->path;
    int flags = role == ENGINE_READER ? SQLITE_OPEN_READONLY
                                      : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    struct engine_conn *conn = mem_alloc(sizeof *conn);
    conn->role = role;
    conn->room = wal_room_of(role == ENGINE_WRITER ? site->path : NULL);
    int code = sqlite3_open_v2(path, &conn->handle, flags | SQLITE_OPEN_NOMUTEX, NULL);
    enum rc rc = code == SQLITE_OK ? set_up(site, conn, err) : fail(conn->handle, path, code, err);
    if (rc != RC_OK) {
        sqlite_disconnect(conn);
        return rc;
    }
    *ret_conn = conn;
    return RC_OK;
}

/* A writer takes its lock at once, so that no later statement can fail because it is taken. */
static enum rc sqlite_begin(struct engine_conn *conn, struct err *err)
{
    const char *text = conn->role == ENGINE_WRITER ? "BEGIN IMMEDIATE" : "BEGIN";
    return run_text(conn->handle, "begin", text, err);
}

static enum rc sqlite_commit(struct engine_conn *conn, struct err *err)
{
    wal_room_make(&conn->room);
    return run_text(conn->handle, "commit", "COMMIT", err);
}

static void sqlite_rollback(struct engine_conn *conn)
{
    if (!sqlite3_get_autocommit(conn->handle))
        (void)sqlite3_exec(conn->handle, "ROLLBACK", NULL, NULL, NULL);
}

static bool sqlite_upkeep_due(const struct engine_conn *conn)
{
    return wal_room_wanted(&conn->room);
}

static void sqlite_upkeep(struct engine_conn *conn)
{
    struct err err;
    sqlite3_busy_timeout(conn->handle, 0); /* Another program may write: then it is left. */
    if (sqlite_begin(conn, &err) == RC_OK)
        wal_room_ahead(&conn->room);
    sqlite_rollback(conn);
    sqlite3_busy_timeout(conn->handle, BUSY_TIMEOUT_MS);
}

/* After some errors (a full disk, no memory) SQLite has rolled back itself: then there is none. */
static enum rc sqlite_savepoint(struct engine_conn *conn, enum engine_savepoint what,
                                struct err *err)
{
    return run_text(conn->handle, "savepoint", savepoint_texts[what], err);
}

static int64_t sqlite_changes(const struct engine_conn *conn)
{
    return sqlite3_total_changes64(conn->handle);
}

static enum rc sqlite_script(struct engine_conn *conn, const char *name, const char *text,
                             struct err *err)
{
    return run_text(conn->handle, name, text, err);
}

/* ---- space ---- */

static int number_seen(void *number, int count, char **values, char **names)
{
    (void)names;
    if (count != 1 || values[0] == NULL || !text_to_i64(values[0], number))
        return 1;
    return 0;
}

static enum rc read_pragma(sqlite3 *handle, const char *text, int64_t *ret_value, struct err *err)
{
    int code = sqlite3_exec(handle, text, number_seen, ret_value, NULL);
    return code == SQLITE_OK ? RC_OK : fail(handle, text, code, err);
}

static enum rc sqlite_space(struct engine_conn *conn, struct db_space *ret_space, struct err *err)
{
    struct db_space space = {0};
    int64_t mode = 0;
    enum rc rc = read_pragma(conn->handle, "PRAGMA page_size", &space.page_bytes, err);
    if (rc == RC_OK)
        rc = read_pragma(conn->handle, "PRAGMA page_count", &space.pages, err);
    if (rc == RC_OK)
        rc = read_pragma(conn->handle, "PRAGMA freelist_count", &space.free_pages, err);
    if (rc == RC_OK)
        rc = read_pragma(conn->handle, "PRAGMA auto_vacuum", &mode, err);
    space.gives_back = mode == AUTO_VACUUM_INCREMENTAL;
    if (rc == RC_OK)
        *ret_space = space;
    return rc;
}

static enum rc sqlite_give_back(struct engine_conn *conn, int64_t pages, struct err *err)
{
    char text[64];
    snprintf(text, sizeof text, "PRAGMA incremental_vacuum(%lld)", (long long)pages);
    return run_text(conn->handle, "give_back", text, err);
}

/* In the log first: it takes as much room again while it runs. */
static enum rc sqlite_compact(struct engine_conn *conn, struct err *err)
{
    enum rc rc = run_text(conn->handle, "compact", "PRAGMA auto_vacuum = INCREMENTAL; VACUUM", err);
    if (rc == RC_OK)
        rc = run_text(conn->handle, "compact", "PRAGMA wal_checkpoint(TRUNCATE)", err);
    return rc;
}

static enum rc copy_pages(sqlite3 *from, sqlite3 *to, struct err *err)
{
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");
    if (backup == NULL)
        return fail(to, "backup", sqlite3_extended_errcode(to), err);
    int code = sqlite3_backup_step(backup, -1);
    int end = sqlite3_backup_finish(backup);
    if (code == SQLITE_DONE && end == SQLITE_OK)
        return RC_OK;
    return fail(NULL, "backup", code == SQLITE_DONE ? end : code, err);
}

static enum rc sqlite_backup(struct engine_conn *conn, const char *to_path, struct err *err)
{
    CLEANUP(fd_closep) int fd = open(to_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST)
        return err_set(err, RC_CONFLICT, "BACKUP_EXISTS",
                       "%s is there already: name a new file for the backup", to_path);
    if (fd < 0)
        return fail_errno("create", to_path, err);
    sqlite3 *to = NULL;
    int code = sqlite3_open_v2(to_path, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    enum rc rc = code == SQLITE_OK ? copy_pages(conn->handle, to, err)
                                   : fail(to, to_path, code, err);
    sqlite3_close(to);
    if (rc == RC_OK && fsync(fd) != 0)
        rc = fail_errno("write", to_path, err);
    if (rc != RC_OK)
        (void)unlink(to_path);
    return rc;
}

/* ---- statements ---- */

static enum rc sqlite_prepare(struct engine_conn *conn, const struct sql *sql, const char *text,
                              struct engine_stmt **ret_stmt, struct err *err)
{
    sqlite3_stmt *handle;
    int code = sqlite3_prepare_v3(conn->handle, text, -1, SQLITE_PREPARE_PERSISTENT, &handle, NULL);
    if (code != SQLITE_OK)
        return fail(conn->handle, sql->name, code, err);
    struct engine_stmt *stmt = mem_alloc(sizeof *stmt);
    stmt->handle = handle;
    stmt->name = sql->name;
    stmt->count = strlen(sql->types);
    assert(stmt->count <= PARAMS_MAX);
    assert(stmt->count == (size_t)sqlite3_bind_parameter_count(handle));
    for (size_t i = 0; i < stmt->count; i++) {
        char name[24];
        snprintf(name, sizeof name, "$%zu", i + 1);
        stmt->index[i] = sqlite3_bind_parameter_index(handle, name);
        assert(stmt->index[i] > 0);
    }
    *ret_stmt = stmt;
    return RC_OK;
}

static void sqlite_finalize(struct engine_stmt *stmt)
{
    (void)sqlite3_finalize(stmt->handle); /* Its code repeats that of the last step. */
    mem_free(stmt);
}

static int bind_one(sqlite3_stmt *handle, int index, const struct param *param,
                    sqlite3_destructor_type hold)
{
    switch (param->type) {
    case 'i':
        return sqlite3_bind_int64(handle, index, param->number);
    case 'r':
        return sqlite3_bind_double(handle, index, param->real);
    case 'b':
        return param->text == NULL
                   ? sqlite3_bind_null(handle, index)
                   : sqlite3_bind_blob64(handle, index, param->text, param->len, hold);
    case 'j':
        return sqlite3_bind_text64(handle, index, param->text, param->len, hold, SQLITE_UTF8);
    default:
        assert(param->type == 't');
        return sqlite3_bind_text(handle, index, param->text, -1, hold);
    }
}

static enum rc sqlite_start(struct engine_stmt *stmt, const struct param *params,
                            enum engine_hold hold, struct err *err)
{
    sqlite3_destructor_type how = hold == ENGINE_COPY ? SQLITE_TRANSIENT : SQLITE_STATIC;
    stmt->changes_at_start = sqlite3_total_changes64(sqlite3_db_handle(stmt->handle));
    for (size_t i = 0; i < stmt->count; i++) {
        int code = bind_one(stmt->handle, stmt->index[i], &params[i], how);
        if (code == SQLITE_TOOBIG)
            return err_set(err, RC_TOO_LARGE, "STORE_TOO_LARGE", "%s: parameter %zu is too large",
                           stmt->name, i + 1);
        if (code != SQLITE_OK)
            return fail(sqlite3_db_handle(stmt->handle), stmt->name, code, err);
    }
    return RC_OK;
}

static int64_t sqlite_changed(struct engine_stmt *stmt)
{
    return sqlite3_total_changes64(sqlite3_db_handle(stmt->handle)) - stmt->changes_at_start;
}

static enum rc sqlite_step(struct engine_stmt *stmt, struct err *err)
{
    int code = sqlite3_step(stmt->handle);
    if (code == SQLITE_ROW)
        return RC_OK;
    if (code == SQLITE_DONE)
        return RC_NOT_FOUND;
    return fail(sqlite3_db_handle(stmt->handle), stmt->name, code, err);
}

static void sqlite_reset(struct engine_stmt *stmt)
{
    (void)sqlite3_reset(stmt->handle); /* Its code repeats that of the last step. */
    (void)sqlite3_clear_bindings(stmt->handle);
}

static bool sqlite_column_is_null(struct engine_stmt *stmt, int column)
{
    return sqlite3_column_type(stmt->handle, column) == SQLITE_NULL;
}

static int64_t sqlite_column_int(struct engine_stmt *stmt, int column)
{
    return sqlite3_column_int64(stmt->handle, column);
}

static double sqlite_column_real(struct engine_stmt *stmt, int column)
{
    return sqlite3_column_double(stmt->handle, column);
}

static const char *sqlite_column_text(struct engine_stmt *stmt, int column)
{
    return (const char *)sqlite3_column_text(stmt->handle, column);
}

/* Of an empty value SQLite returns NULL as well. */
static const char *sqlite_column_bytes(struct engine_stmt *stmt, int column, size_t *ret_len)
{
    *ret_len = 0;
    if (sqlite3_column_type(stmt->handle, column) == SQLITE_NULL)
        return NULL;
    const char *bytes = sqlite3_column_blob(stmt->handle, column);
    *ret_len = (size_t)sqlite3_column_bytes(stmt->handle, column);
    return bytes != NULL ? bytes : "";
}

const struct engine_ops engine_sqlite = {
    .schemes = schemes,
    .words = words,
    .attach = sqlite_attach,
    .detach = sqlite_detach,
    .is_single = sqlite_is_single,
    .durability = sqlite_durability,
    .path = sqlite_path,
    .connect = sqlite_connect,
    .disconnect = sqlite_disconnect,
    .begin = sqlite_begin,
    .commit = sqlite_commit,
    .rollback = sqlite_rollback,
    .savepoint = sqlite_savepoint,
    .upkeep_due = sqlite_upkeep_due,
    .upkeep = sqlite_upkeep,
    .changes = sqlite_changes,
    .script = sqlite_script,
    .backup = sqlite_backup,
    .give_back = sqlite_give_back,
    .space = sqlite_space,
    .compact = sqlite_compact,
    .prepare = sqlite_prepare,
    .finalize = sqlite_finalize,
    .start = sqlite_start,
    .changed = sqlite_changed,
    .step = sqlite_step,
    .reset = sqlite_reset,
    .column_is_null = sqlite_column_is_null,
    .column_int = sqlite_column_int,
    .column_real = sqlite_column_real,
    .column_text = sqlite_column_text,
    .column_bytes = sqlite_column_bytes,
};
