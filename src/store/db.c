/*
 * db.c - connections over the engine port: statement cache, parameters, rows, transactions.
 *
 * The cache is an open hash table keyed by the address of the statement (struct sql or row_sql);
 * statements are static and few, so it never fills and nothing is evicted.
 *
 * A transaction in which a statement failed is broken: every later statement and the commit are
 * refused until it is aborted.  (SQLite itself rolls back on some errors; later statements would
 * then be committed alone.)
 */
#include "store/db.h"
#include "base/buf.h"
#include "base/fault.h"
#include "base/mem.h"
#include "store/columns.h"
#include "store/engine.h"
#include <assert.h>
#include <string.h>

enum { STATEMENTS_MAX = 640, SQL_BYTES_MAX = 32 * 1024 };

/* What is prepared: a struct sql, or a row_sql (without types: they are those of its columns). */
struct source {
    const void *key;
    struct sql sql;
    const struct shape *shape; /* or NULL */
    unsigned group;
};

struct statement {
    const void *key; /* NULL: the slot is free. */
    struct sql sql;  /* As the engine knows it. */
    char *types;     /* Of a row_sql; else NULL. */
    struct engine_stmt *handle;
    bool running; /* Rows are being read from it ... */
    bool ended;   /* ... and the last one has been. */
};

struct db {
    const struct engine_ops *ops;
    struct engine_conn *conn;
    enum engine_role role;
    bool in_tx;
    bool broken;              /* in_tx: a statement failed. */
    int64_t changes_at_begin; /* in_tx */
    const atomic_int *stop;   /* Not 0: no query is begun; or NULL. */
    size_t open_rows;
    size_t statement_count;
    struct statement statements[STATEMENTS_MAX];
};

enum rc db_open(const struct engine_ops *ops, struct engine_site *site, enum engine_role role,
                struct db **ret_db, struct err *err)
{
    struct engine_conn *conn;
    enum rc rc = ops->connect(site, role, &conn, err);
    if (rc != RC_OK)
        return rc;
    struct db *db = mem_alloc(sizeof *db);
    db->ops = ops;
    db->conn = conn;
    db->role = role;
    *ret_db = db;
    return RC_OK;
}

void db_close(struct db *db)
{
    if (db == NULL)
        return;
    assert(!db->in_tx && db->open_rows == 0);
    for (size_t i = 0; i < STATEMENTS_MAX; i++) {
        if (db->statements[i].key != NULL) {
            db->ops->finalize(db->statements[i].handle);
            mem_free(db->statements[i].types);
        }
    }
    db->ops->disconnect(db->conn);
    mem_free(db);
}

void db_enroll(struct db *writer, struct engine_site *site, const struct store_fence *fence)
{
    assert(!writer->in_tx && writer->open_rows == 0);
    writer->ops->enroll(site, writer->conn, fence);
}

static const char *word_text(const struct db *db, const char *name, size_t len)
{
    static const char for_update[] = "for_update";
    if (db->role == ENGINE_READER && len == strlen(for_update) &&
        memcmp(name, for_update, len) == 0)
        return ""; /* A connection for reading locks nothing. */
    const struct engine_word *word = db->ops->words;
    while (word->name != NULL && (strlen(word->name) != len || memcmp(word->name, name, len) != 0))
        word++;
    assert(word->name != NULL);
    return word->text;
}

/* {name} -> columns, or the engine's words.  Braces round anything else ('{}') are left alone. */
static void dialect_expand(const struct db *db, const struct source *source, struct buf *to)
{
    const char *text = source->sql.text;
    while (*text != '\0') {
        size_t plain = strcspn(text, "{");
        buf_add(to, text, plain);
        text += plain;
        size_t len = *text == '{' ? strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_") : 0;
        if (len > 0 && text[len + 1] == '}') {
            if (source->shape == NULL ||
                !columns_expand(source->shape, source->group, (struct str){text + 1, len}, to))
                buf_adds(to, word_text(db, text + 1, len));
            text += len + 2;
        } else if (*text == '{') {
            buf_addc(to, *text++);
        }
    }
    assert(!to->overflow);
}

static enum rc statement_prepare(struct db *db, struct statement *slot, const struct source *source,
                                 struct err *err)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, SQL_BYTES_MAX);
    dialect_expand(db, source, &text);
    slot->sql = source->sql;
    if (source->sql.types == NULL) {
        char types[COLUMNS_MAX + 1];
        columns_types(source->shape, source->group, types);
        slot->sql.types = slot->types = mem_strdup(types);
    }
    enum rc rc = db->ops->prepare(db->conn, &slot->sql, buf_text(&text), &slot->handle, err);
    if (rc != RC_OK) {
        mem_free(slot->types);
        slot->types = NULL;
        return rc;
    }
    slot->key = source->key;
    db->statement_count++;
    assert(db->statement_count < STATEMENTS_MAX);
    return RC_OK;
}

static enum rc statement_get(struct db *db, const struct source *source,
                             struct statement **ret_statement, struct err *err)
{
    size_t at = ((uintptr_t)source->key / sizeof(struct sql)) % STATEMENTS_MAX;
    while (db->statements[at].key != NULL && db->statements[at].key != source->key)
        at = (at + 1) % STATEMENTS_MAX;
    struct statement *slot = &db->statements[at];
    if (slot->key == NULL) {
        enum rc rc = statement_prepare(db, slot, source, err);
        if (rc != RC_OK)
            return rc;
    }
    *ret_statement = slot;
    return RC_OK;
}

static void params_check(const struct sql *sql, const struct param *params, size_t count)
{
    assert(strlen(sql->types) == count);
    for (size_t i = 0; i < count; i++)
        assert(params[i].type == sql->types[i]);
}

/* The outcome of a statement; a failure breaks the transaction that it stands in. */
static enum rc db_outcome(struct db *db, enum rc rc)
{
    if (rc != RC_OK && rc != RC_NOT_FOUND && db->in_tx)
        db->broken = true;
    return rc;
}

static enum rc broken(const struct source *source, struct err *err)
{
    return err_set(err, RC_IO, "STORE_ERROR", "%s: an earlier statement of the transaction failed",
                   source->sql.name);
}

static enum rc db_start(struct db *db, const struct source *source, const struct param *params,
                        enum engine_hold hold, struct statement **ret_statement, struct err *err)
{
    if (db->broken)
        return broken(source, err);
    struct statement *statement;
    enum rc rc = statement_get(db, source, &statement, err);
    if (rc != RC_OK)
        return db_outcome(db, rc);
    assert(!statement->running);
    rc = db->ops->start(statement->handle, params, hold, err);
    if (rc != RC_OK) {
        db->ops->reset(statement->handle);
        return db_outcome(db, rc);
    }
    *ret_statement = statement;
    return RC_OK;
}

static bool can_defer(const struct db *db)
{
    return db->in_tx && db->ops->defer != NULL;
}

static enum rc exec_later(struct db *db, const struct source *source, const struct param *params,
                          const char *noun, struct err *err)
{
    if (db->broken)
        return broken(source, err);
    struct statement *statement;
    enum rc rc = statement_get(db, source, &statement, err);
    if (rc == RC_OK)
        rc = db->ops->defer(statement->handle, params, noun, err);
    return db_outcome(db, rc);
}

static enum rc exec_now(struct db *db, const struct source *source, const struct param *params,
                        int64_t *ret_changed, struct err *err)
{
    struct statement *statement;
    enum rc rc = db_start(db, source, params, ENGINE_BORROW, &statement, err);
    if (rc != RC_OK)
        return rc;
    rc = db->ops->step(statement->handle, err);
    if (rc == RC_NOT_FOUND && ret_changed != NULL)
        *ret_changed = db->ops->changed(statement->handle);
    db->ops->reset(statement->handle);
    assert(rc != RC_OK); /* A statement that gives rows belongs into db_query. */
    return rc == RC_NOT_FOUND ? RC_OK : db_outcome(db, rc);
}

static enum rc exec_any(struct db *db, const struct source *source, const struct param *params,
                        int64_t *ret_changed, struct err *err)
{
    if (ret_changed == NULL && can_defer(db))
        return exec_later(db, source, params, NULL, err);
    return exec_now(db, source, params, ret_changed, err);
}

static enum rc exec_exactly_one(struct db *db, const struct source *source,
                                const struct param *params, const char *noun, struct err *err)
{
    if (can_defer(db))
        return exec_later(db, source, params, noun, err);
    int64_t changed;
    enum rc rc = exec_now(db, source, params, &changed, err);
    if (rc != RC_OK)
        return rc;
    assert(changed <= 1);
    return changed == 1 ? RC_OK
                        : err_set(err, RC_NOT_FOUND, "NOT_FOUND", "there is no such %s", noun);
}

static struct source source_of(const struct sql *sql, const struct shape *shape)
{
    return (struct source){.key = sql, .sql = *sql, .shape = shape};
}

static struct source source_of_row(const struct row_sql *sql)
{
    return (struct source){.key = sql,
                           .sql = {.name = sql->name, .text = sql->text},
                           .shape = sql->shape,
                           .group = sql->group};
}

enum rc db_exec(struct db *db, const struct sql *sql, const struct param *params, size_t count,
                int64_t *ret_changed, struct err *err)
{
    params_check(sql, params, count);
    const struct source source = source_of(sql, NULL);
    return exec_any(db, &source, params, ret_changed, err);
}

enum rc exec_one(struct db *db, const struct sql *sql, const struct param *params, size_t count,
                 const char *noun, struct err *err)
{
    params_check(sql, params, count);
    const struct source source = source_of(sql, NULL);
    return exec_exactly_one(db, &source, params, noun, err);
}

static struct param param_of(const struct column *column, const void *at)
{
    switch (column->kind) {
    case KIND_ID:
        return P_ID((const struct id *)at);
    case KIND_TEXT:
        return P_TEXT(*(const char *const *)at);
    case KIND_INT:
        return P_INT(*(const int64_t *)at);
    case KIND_BOOL:
        return P_INT(*(const bool *)at);
    case KIND_JSON:
        return P_JSON(*(const struct str *)at);
    case KIND_WORD:
        break;
    }
    return P_TEXT(column->words->name(at));
}

static void bind_row(const struct row_sql *sql, const void *row, struct param to[COLUMNS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < sql->shape->count; i++) {
        const struct column *column = &sql->shape->columns[i];
        if ((column->groups & sql->group) == 0)
            continue;
        assert(count < COLUMNS_MAX);
        to[count++] = param_of(column, (const char *)row + column->offset);
    }
}

enum rc row_exec(struct db *db, const struct row_sql *sql, const void *row, int64_t *ret_changed,
                 struct err *err)
{
    struct param params[COLUMNS_MAX];
    bind_row(sql, row, params);
    const struct source source = source_of_row(sql);
    return exec_any(db, &source, params, ret_changed, err);
}

enum rc row_exec_one(struct db *db, const struct row_sql *sql, const void *row, struct err *err)
{
    struct param params[COLUMNS_MAX];
    bind_row(sql, row, params);
    const struct source source = source_of_row(sql);
    return exec_exactly_one(db, &source, params, sql->shape->noun, err);
}

enum rc db_read_ahead(struct db *db, const struct sql *sql, const struct shape *shape,
                      const struct id *id, struct err *err)
{
    if (db->ops->read_ahead == NULL || db->broken)
        return RC_OK; /* Broken: the later db_query reports it. */
    assert(db->in_tx);
    const struct source source = source_of(sql, shape);
    struct statement *statement;
    enum rc rc = statement_get(db, &source, &statement, err);
    if (rc == RC_OK)
        rc = db->ops->read_ahead(statement->handle, &P_ID(id), err);
    return db_outcome(db, rc);
}

static enum rc query_start(struct db *db, const struct source *source, const struct param *params,
                           enum engine_hold hold, struct rows *ret_rows, struct err *err)
{
    struct statement *statement;
    if (db->stop != NULL && atomic_load(db->stop) != 0)
        return err_set(err, RC_BUSY, "STOPPING", "the server is stopping");
    enum rc rc = db_start(db, source, params, hold, &statement, err);
    if (rc != RC_OK)
        return rc;
    statement->running = true;
    statement->ended = false;
    db->open_rows++;
    *ret_rows = (struct rows){.db = db, .statement = statement};
    return RC_OK;
}

enum rc db_query_as(struct db *db, const struct sql *sql, const struct shape *shape,
                    const struct param *params, size_t count, struct rows *ret_rows,
                    struct err *err)
{
    params_check(sql, params, count);
    const struct source source = source_of(sql, shape);
    return query_start(db, &source, params, ENGINE_BORROW, ret_rows, err);
}

enum rc db_query(struct db *db, const struct sql *sql, const struct param *params, size_t count,
                 struct rows *ret_rows, struct err *err)
{
    params_check(sql, params, count);
    const struct source source = source_of(sql, NULL);
    return query_start(db, &source, params, ENGINE_COPY, ret_rows, err);
}

void db_stop_on(struct db *db, const atomic_int *stop)
{
    db->stop = stop;
}

static struct engine_stmt *rows_handle(struct rows *rows)
{
    struct statement *statement = rows->statement;
    assert(statement->running);
    return statement->handle;
}

enum rc rows_next(struct rows *rows, struct err *err)
{
    struct statement *statement = rows->statement;
    if (statement->ended) /* Another step would run it again. */
        return RC_NOT_FOUND;
    enum rc rc = rows->db->ops->step(rows_handle(rows), err);
    statement->ended = rc != RC_OK;
    return db_outcome(rows->db, rc);
}

void rows_end(struct rows *rows)
{
    if (rows->statement == NULL)
        return;
    struct statement *statement = rows->statement;
    rows->db->ops->reset(statement->handle);
    statement->running = false;
    rows->db->open_rows--;
    *rows = (struct rows){0};
}

const char *row_text(struct rows *rows, int column)
{
    return rows->db->ops->column_text(rows_handle(rows), column);
}

int64_t row_int(struct rows *rows, int column)
{
    return rows->db->ops->column_int(rows_handle(rows), column);
}

double row_real(struct rows *rows, int column)
{
    return rows->db->ops->column_real(rows_handle(rows), column);
}

bool row_is_null(struct rows *rows, int column)
{
    return rows->db->ops->column_is_null(rows_handle(rows), column);
}

struct id row_id(struct rows *rows, int column)
{
    size_t len;
    const char *text = rows->db->ops->column_bytes(rows_handle(rows), column, &len);
    return id_of_stored((struct str){text, len});
}

char *row_dup(struct rows *rows, int column, struct arena *arena)
{
    size_t len;
    const char *text = rows->db->ops->column_bytes(rows_handle(rows), column, &len);
    return text == NULL ? NULL : arena_strndup(arena, text, len);
}

struct str row_bytes(struct rows *rows, int column, struct arena *arena)
{
    size_t len;
    const char *bytes = rows->db->ops->column_bytes(rows_handle(rows), column, &len);
    if (bytes == NULL)
        return (struct str){0};
    return (struct str){arena_strndup(arena, bytes, len), len};
}

enum rc tx_begin(struct db *db, struct tx *ret_tx, struct err *err)
{
    assert(!db->in_tx && db->open_rows == 0);
    enum rc rc = db->ops->begin(db->conn, err);
    if (rc != RC_OK)
        return rc;
    db->in_tx = true;
    db->broken = false;
    db->changes_at_begin = db->ops->changes(db->conn);
    ret_tx->db = db;
    return RC_OK;
}

static enum rc commit(struct db *db, struct err *err)
{
    if (db->broken)
        return err_set(err, RC_IO, "STORE_ERROR", "commit: a statement of the transaction failed");
    enum rc rc = fault_point("commit.before", err);
    return rc == RC_OK ? db->ops->commit(db->conn, err) : rc;
}

enum rc tx_commit(struct tx *tx, struct err *err)
{
    struct db *db = tx->db;
    assert(db != NULL && db->in_tx && db->open_rows == 0);
    enum rc rc = commit(db, err);
    if (rc != RC_OK) {
        tx_abort(tx);
        return rc;
    }
    rc = fault_point("commit.after", err);
    assert(rc == RC_OK);
    db->in_tx = false;
    tx->db = NULL;
    return RC_OK;
}

void tx_abort(struct tx *tx)
{
    struct db *db = tx->db;
    if (db == NULL)
        return;
    assert(db->in_tx && db->open_rows == 0);
    db->ops->rollback(db->conn);
    db->in_tx = false;
    db->broken = false;
    tx->db = NULL;
}

const char *const savepoint_texts[SAVEPOINT_WHAT_COUNT] = {
    [SAVEPOINT_SET] = "SAVEPOINT part",
    [SAVEPOINT_KEEP] = "RELEASE SAVEPOINT part",
    [SAVEPOINT_UNDO] = "ROLLBACK TO SAVEPOINT part; RELEASE SAVEPOINT part",
};

enum rc savepoint_set(struct db *db, struct savepoint *ret_savepoint, struct err *err)
{
    assert(db->in_tx && db->open_rows == 0);
    if (db->broken)
        return err_set(err, RC_IO, "STORE_ERROR",
                       "savepoint: an earlier statement of the transaction failed");
    enum rc rc = db_outcome(db, db->ops->savepoint(db->conn, SAVEPOINT_SET, err));
    if (rc == RC_OK)
        ret_savepoint->db = db;
    return rc;
}

enum rc savepoint_keep(struct savepoint *savepoint, struct err *err)
{
    struct db *db = savepoint->db;
    assert(db->in_tx && db->open_rows == 0);
    if (db->broken)
        return err_set(err, RC_IO, "STORE_ERROR", "savepoint: a statement since it was set failed");
    return db_outcome(db, db->ops->savepoint(db->conn, SAVEPOINT_KEEP, err));
}

enum rc savepoint_undo(struct savepoint *savepoint, struct err *err)
{
    struct db *db = savepoint->db;
    assert(db->in_tx && db->open_rows == 0);
    enum rc rc = db->ops->savepoint(db->conn, SAVEPOINT_UNDO, err);
    db->broken = rc != RC_OK;
    return rc;
}

int64_t db_changes(const struct db *db)
{
    return db->in_tx ? db->ops->changes(db->conn) - db->changes_at_begin : 0;
}

bool db_upkeep_due(const struct db *db)
{
    return db->ops->upkeep_due != NULL && db->ops->upkeep_due(db->conn);
}

void db_upkeep(struct db *db)
{
    assert(!db->in_tx && db->open_rows == 0);
    if (db->ops->upkeep != NULL)
        db->ops->upkeep(db->conn);
}

enum rc db_space(struct db *db, struct db_space *ret_space, struct err *err)
{
    return db->ops->space(db->conn, ret_space, err);
}

enum rc db_give_back(struct db *db, int64_t pages, struct err *err)
{
    return db->ops->give_back == NULL ? RC_OK : db->ops->give_back(db->conn, pages, err);
}

enum rc db_compact(struct db *db, struct err *err)
{
    return db->ops->compact(db->conn, err);
}

bool db_is_shared(const struct db *db)
{
    return db->ops->is_shared;
}

enum rc db_script(struct db *db, const char *name, const char *text, struct err *err)
{
    CLEANUP(buf_release) struct buf expanded;
    buf_init(&expanded, SQL_BYTES_MAX);
    const struct source source = {.sql = {.name = name, .text = text}};
    dialect_expand(db, &source, &expanded);
    return db_outcome(db, db->ops->script(db->conn, name, buf_text(&expanded), err));
}

enum rc db_backup(struct db *db, const char *to_path, struct err *err)
{
    return db->ops->backup(db->conn, to_path, err);
}
