/*
 * engine_postgres_conn.c - connections, transactions and statements of PostgreSQL.
 *
 * Round trips are what costs, so statements travel in a pipeline:
 *
 *   begin                        nothing is sent yet
 *   defer (a write)         ──►  BEGIN, mark, UPDATE ...          only sent
 *   start (a query)         ──►  SELECT, Sync     ──►  results of all that was sent so far
 *   commit                  ──►  COMMIT, Sync     ──►  one round trip with the writes before it
 *   ahead (a query)         ──►  SELECT               only sent; a later start finds its result
 *
 * A statement that fails makes the server skip what stands behind it up to the Sync; the commit
 * with it.  Two things have to be known before a COMMIT may be sent, and cost a round trip of
 * their own when no result has been read since: that writes which must change one row did so, and
 * the id of the transaction.
 *
 * A connection that is lost in COMMIT leaves its outcome open.  The first write of a transaction
 * is therefore a mark: its writer's row in commit_marks takes the number of the transaction, and
 * gives back the transaction's id.  After reconnecting, pg_xact_status reports whether that id is
 * still in progress, aborted or committed, and the mark whether it is ours: after a crash the
 * server gives ids out again of which nothing had reached the disk.
 *
 * The mark of a server that has enrolled (store.h) is also its fence: it gives no row, and the
 * transaction fails, once another server has claimed its name.
 *
 * The mark has a third use: it gives the transaction its id before any event takes its seq.
 * settled.c builds on that.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "store/engine.h"
#include "store/engine_postgres.h"
#include "store/engine_postgres_args.h"
#include "store/engine_postgres_link.h"
#include "store/engine_postgres_read_ahead.h"
#include "store/pq_lib.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    PENDING_MAX = 512,               /* Statements sent and not read ... */
    PENDING_BYTES_MAX = 1024 * 1024, /* ... and their parameters. */
    PENDING_ROOM = 8,                /* A statement brings BEGIN, the mark and their Parse along. */
    RESULT_BYTES_MAX = 256 * 1024 * 1024,
    OUTCOME_WAIT_MS = 5 * 1000, /* To find out the outcome of a commit. */
    OUTCOME_PAUSE_MS = 50,
    WRITER_BYTES = 17,
    XID_BYTES = 24,
};

enum pending_kind { PENDING_PREPARE, PENDING_RUN, PENDING_DEFERRED, PENDING_AHEAD };

struct pending {
    struct engine_stmt *stmt;
    const char *noun; /* PENDING_DEFERRED that must change one row of that kind; or NULL. */
    enum pending_kind kind;
    uint32_t place; /* PENDING_AHEAD: of its result. */
};

struct engine_stmt {
    struct engine_conn *conn;
    const struct sql *sql;
    char *text;
    uint32_t number;      /* Its name on the server. */
    uint32_t prepared_in; /* The generation of the link; 0: not prepared. */
    bool writes;
    PGresult *result; /* Of the last start; NULL after reset. */
    int row;          /* -1 before the first one. */
    int64_t changed;
    char *bytes; /* The last bytea column that was read. */
};

struct engine_conn {
    struct engine_site *site; /* Not owned. */
    enum engine_role role;
    struct pg_link link;
    uint32_t statement_count;
    int64_t changes;

    bool in_tx;
    bool begun;          /* BEGIN has been sent. */
    bool marked;         /* The mark has been sent: the outcome of the commit can be queried. */
    char xid[XID_BYTES]; /* "" until it is known. */
    char writer[WRITER_BYTES]; /* The key of our row in commit_marks. */
    int64_t tx_number;

    struct engine_stmt *begin, *commit, *rollback, *mark, *mark_fenced;
    struct pending pending[PENDING_MAX];
    size_t pending_count, pending_bytes;
    bool pending_nouns;
    struct pg_read_ahead read_ahead;
};

static const struct sql sql_begin_writer = {
    "begin",
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    "",
};
static const struct sql sql_begin_reader = {
    "begin",
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "",
};
static const struct sql sql_commit = {"commit", "COMMIT", ""};
static const struct sql sql_rollback = {"rollback", "ROLLBACK", ""};
static const struct sql sql_mark = {
    "commit_mark",
    "INSERT INTO commit_marks (writer, number, marked_at) VALUES ($1, $2, now())"
    " ON CONFLICT (writer) DO UPDATE SET number = excluded.number, marked_at = now()"
    " RETURNING pg_current_xact_id()",
    "ti",
};

/* Of an enrolled server: gives no row when another one has claimed its name. */
static const struct sql sql_mark_fenced = {
    "commit_mark",
    "INSERT INTO commit_marks (writer, number, marked_at) SELECT $1, $2, now()"
    " WHERE EXISTS (SELECT 1 FROM leases WHERE name = $3 AND epoch = $4)"
    " ON CONFLICT (writer) DO UPDATE SET number = excluded.number, marked_at = now()"
    " RETURNING pg_current_xact_id()",
    "titi",
};

/* ---- statements ---- */

static bool changes_rows(const char *text)
{
    return strstr(text, "INSERT INTO ") != NULL || strstr(text, "DELETE FROM ") != NULL ||
           (strstr(text, "UPDATE ") != NULL && strstr(text, " SET ") != NULL);
}

enum rc pg_prepare(struct engine_conn *conn, const struct sql *sql, const char *text,
                   struct engine_stmt **ret_stmt, struct err *err)
{
    (void)err; /* The server checks it when it is first run. */
    struct engine_stmt *stmt = mem_alloc(sizeof *stmt);
    stmt->conn = conn;
    stmt->sql = sql;
    stmt->text = mem_strdup(text);
    stmt->number = ++conn->statement_count;
    stmt->writes = changes_rows(text);
    assert(strlen(sql->types) <= PG_PARAMS_MAX);
    *ret_stmt = stmt;
    return RC_OK;
}

void pg_finalize(struct engine_stmt *stmt)
{
    if (stmt == NULL)
        return;
    pq->clear(stmt->result);
    mem_free(stmt->bytes);
    mem_free(stmt->text);
    mem_free(stmt);
}

void pg_reset(struct engine_stmt *stmt)
{
    pq->clear(stmt->result);
    stmt->result = NULL;
    stmt->changed = 0;
}

/* ---- the pipeline ---- */

static void statement_name(const struct engine_stmt *stmt, char to[16])
{
    snprintf(to, 16, "d%" PRIu32, stmt->number);
}

static void pending_add(struct engine_conn *conn, struct pending pending)
{
    assert(conn->pending_count < PENDING_MAX);
    conn->pending[conn->pending_count++] = pending;
    conn->pending_nouns |= pending.noun != NULL;
}

static enum rc send_prepare(struct engine_stmt *stmt, struct err *err)
{
    struct engine_conn *conn = stmt->conn;
    Oid types[PG_PARAMS_MAX];
    int count = (int)strlen(stmt->sql->types);
    for (int i = 0; i < count; i++)
        types[i] = pg_type_oid(stmt->sql->types[i]);
    char name[16];
    statement_name(stmt, name);
    if (pq->sendPrepare(conn->link.pg, name, stmt->text, count, types) != 1)
        return pg_link_broken(&conn->link, stmt->sql->name, err);
    stmt->prepared_in = conn->link.generation;
    pending_add(conn, (struct pending){.stmt = stmt, .kind = PENDING_PREPARE});
    return RC_OK;
}

static enum rc send_statement(struct engine_stmt *stmt, const struct pg_args *args,
                              struct pending pending, struct err *err)
{
    struct engine_conn *conn = stmt->conn;
    if (stmt->prepared_in != conn->link.generation) {
        enum rc rc = send_prepare(stmt, err);
        if (rc != RC_OK)
            return rc;
    }
    char name[16];
    statement_name(stmt, name);
    if (pq->sendQueryPrepared(conn->link.pg, name, args->count, args->values, args->lengths,
                              args->formats, 0) != 1)
        return pg_link_broken(&conn->link, stmt->sql->name, err);
    pending.stmt = stmt;
    pending_add(conn, pending);
    conn->pending_bytes += args->bytes;
    return RC_OK;
}

/* Rows that were changed, according to a result. */
static int64_t rows_changed(PGresult *result)
{
    if (text_starts(pq->cmdStatus(result), "SELECT"))
        return 0;
    return strtoll(pq->cmdTuples(result), NULL, 10);
}

static enum rc take_deferred(struct engine_conn *conn, const struct pending *pending,
                             PGresult *result, struct err *err)
{
    const char *name = pending->stmt->sql->name;
    if (pending->stmt == conn->mark_fenced && pq->ntuples(result) == 0)
        return err_set(err, RC_UNREACHABLE, "NODE_LOST",
                       "this server may not write any more: another one has claimed its node name "
                       "%s; ask another node",
                       conn->site->fence_lease);
    if (pending->stmt == conn->mark || pending->stmt == conn->mark_fenced) {
        text_copy(conn->xid, sizeof conn->xid, pq->getvalue(result, 0, 0));
        return RC_OK;
    }
    assert(pq->ntuples(result) == 0); /* A statement that gives rows belongs into db_query. */
    int64_t changed = rows_changed(result);
    if (changed > 1)
        conn->changes += changed - 1; /* One was counted when it was sent. */
    if (pending->noun == NULL || changed == 1)
        return RC_OK;
    return err_set(err, RC_IO, "ROW_MISSING", "%s: there is no such %s", name, pending->noun);
}

/* A result that is no failure. */
static enum rc take_result(struct engine_conn *conn, const struct pending *pending,
                           PGresult **result, struct err *err)
{
    struct engine_stmt *stmt = pending->stmt;
    if (pending->kind == PENDING_PREPARE)
        return RC_OK;
    if (pending->kind == PENDING_DEFERRED)
        return take_deferred(conn, pending, *result, err);
    if (pending->kind == PENDING_AHEAD) {
        pg_read_ahead_put(&conn->read_ahead, pending->place, *result);
        *result = NULL;
        return RC_OK;
    }
    if (pq->resultMemorySize(*result) > RESULT_BYTES_MAX)
        return err_set(err, RC_TOO_LARGE, "STORE_TOO_LARGE", "%s: the result is too large",
                       stmt->sql->name);
    stmt->result = *result;
    *result = NULL;
    stmt->row = -1;
    stmt->changed = rows_changed(stmt->result);
    conn->changes += stmt->changed;
    return RC_OK;
}

/* RC_OK: the results of this one have been read; *outcome: that of the statement, if nothing
   failed before. */
static enum rc read_pending(struct engine_conn *conn, const struct pending *pending,
                            enum rc *outcome, struct err *err)
{
    const char *name = pending->stmt->sql->name;
    PGresult *result;
    enum rc rc;
    while ((rc = pg_link_result(&conn->link, name, &result, *outcome == RC_OK ? err : NULL)) ==
               RC_OK &&
           result != NULL) {
        ExecStatusType status = pq->resultStatus(result);
        bool failed = status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK;
        if (failed && pending->kind == PENDING_PREPARE)
            pending->stmt->prepared_in = 0;
        if (*outcome == RC_OK)
            *outcome = failed ? pg_result_fail(result, name, err)
                              : take_result(conn, pending, &result, err);
        pq->clear(result);
    }
    return rc;
}

/* Reads the results of all that was sent.  The first failure counts; the rest was skipped. */
static enum rc drain(struct engine_conn *conn, struct err *err)
{
    struct pg_link *link = &conn->link;
    if (conn->pending_count == 0)
        return RC_OK;
    const char *name = conn->pending[conn->pending_count - 1].stmt->sql->name;
    enum rc outcome = RC_OK;
    enum rc rc = pq->pipelineSync(link->pg) == 1 ? pg_link_flush(link, name, err)
                                                 : pg_link_broken(link, name, err);
    for (size_t i = 0; rc == RC_OK && i < conn->pending_count; i++)
        rc = read_pending(conn, &conn->pending[i], &outcome, err);
    PGresult *sync = NULL;
    if (rc == RC_OK)
        rc = pg_link_result(link, name, &sync, outcome == RC_OK ? err : NULL);
    assert(rc != RC_OK || pq->resultStatus(sync) == PGRES_PIPELINE_SYNC);
    pq->clear(sync);
    conn->pending_count = 0;
    conn->pending_bytes = 0;
    conn->pending_nouns = false;
    return outcome != RC_OK ? outcome : rc;
}

static enum rc send_plain(struct engine_stmt *stmt, enum pending_kind kind, struct err *err)
{
    return send_statement(stmt, &(struct pg_args){0}, (struct pending){.kind = kind}, err);
}

static enum rc send_mark(struct engine_conn *conn, struct err *err)
{
    conn->tx_number++;
    conn->marked = true;
    conn->xid[0] = '\0';
    const struct engine_site *site = conn->site;
    const struct param params[] = {P_TEXT(conn->writer), P_INT(conn->tx_number),
                                   P_TEXT(site->fence_lease), P_INT(site->fence_epoch)};
    struct engine_stmt *mark = site->fence_lease[0] != '\0' ? conn->mark_fenced : conn->mark;
    struct pg_args args;
    enum rc rc = pg_args_fill(mark->sql, params, &args, err);
    if (rc == RC_OK)
        rc = send_statement(mark, &args, (struct pending){.kind = PENDING_DEFERRED}, err);
    return rc;
}

/* Sends BEGIN, and the mark before the first write, once in a transaction. */
static enum rc open_tx(struct engine_conn *conn, bool writes, struct err *err)
{
    enum rc rc = RC_OK;
    if (!conn->begun) {
        rc = send_plain(conn->begin, PENDING_DEFERRED, err);
        conn->begun = rc == RC_OK;
    }
    if (rc == RC_OK && writes && !conn->marked && conn->role == ENGINE_WRITER)
        rc = send_mark(conn, err);
    return rc;
}

/* Makes room, opens the transaction if one is wanted, marks it before its first write. */
static enum rc enter(struct engine_stmt *stmt, struct err *err)
{
    struct engine_conn *conn = stmt->conn;
    enum rc rc = RC_OK;
    if (!conn->in_tx)
        rc = pg_link_ready(&conn->link, err);
    else if (conn->link.pg == NULL)
        rc = pg_link_broken(&conn->link, stmt->sql->name, err);
    else if (conn->pending_count + PENDING_ROOM > PENDING_MAX ||
             conn->pending_bytes > PENDING_BYTES_MAX)
        rc = drain(conn, err);
    return rc == RC_OK && conn->in_tx ? open_tx(conn, stmt->writes, err) : rc;
}

/* Results that were read ahead are outdated for an id that a write names. */
static void forget_read_ahead(struct engine_stmt *stmt, const struct param *params)
{
    for (size_t i = 0; stmt->writes && stmt->sql->types[i] != '\0'; i++)
        if (params[i].type == 't')
            pg_read_ahead_drop(&stmt->conn->read_ahead, params[i].text);
}

enum rc pg_read_ahead(struct engine_stmt *stmt, const struct param *params, struct err *err)
{
    struct engine_conn *conn = stmt->conn;
    assert(conn->in_tx && strcmp(stmt->sql->types, "t") == 0);
    struct pg_args args;
    enum rc rc = pg_args_fill(stmt->sql, params, &args, err);
    if (rc == RC_OK)
        rc = enter(stmt, err);
    if (rc != RC_OK)
        return rc;
    struct pending pending = {.kind = PENDING_AHEAD,
                              .place = pg_read_ahead_add(&conn->read_ahead, stmt, params[0].text)};
    return pending.place < PG_READ_AHEAD_MAX ? send_statement(stmt, &args, pending, err) : RC_OK;
}

/* RC_NOT_FOUND: it was not sent ahead. */
static enum rc start_from_read_ahead(struct engine_stmt *stmt, const struct param *params,
                                     struct err *err)
{
    struct engine_conn *conn = stmt->conn;
    struct pg_read_ahead_entry *entry = NULL;
    if (strcmp(stmt->sql->types, "t") == 0)
        entry = pg_read_ahead_find(&conn->read_ahead, stmt, params[0].text);
    if (entry == NULL)
        return RC_NOT_FOUND;
    enum rc rc = entry->result == NULL ? drain(conn, err) : RC_OK;
    if (rc != RC_OK)
        return rc;
    stmt->result = pg_read_ahead_take(entry);
    stmt->row = -1;
    return RC_OK;
}

enum rc pg_start(struct engine_stmt *stmt, const struct param *params, enum engine_hold hold,
                 struct err *err)
{
    (void)hold; /* It has been run when this returns. */
    assert(stmt->result == NULL);
    enum rc known = start_from_read_ahead(stmt, params, err);
    if (known != RC_NOT_FOUND)
        return known;
    forget_read_ahead(stmt, params);
    struct pg_args args;
    enum rc rc = pg_args_fill(stmt->sql, params, &args, err);
    if (rc == RC_OK)
        rc = enter(stmt, err);
    if (rc == RC_OK)
        rc = send_statement(stmt, &args, (struct pending){.kind = PENDING_RUN}, err);
    return rc == RC_OK ? drain(stmt->conn, err) : rc;
}

enum rc pg_defer(struct engine_stmt *stmt, const struct param *params, const char *noun,
                 struct err *err)
{
    assert(stmt->conn->in_tx);
    forget_read_ahead(stmt, params);
    struct pg_args args;
    enum rc rc = pg_args_fill(stmt->sql, params, &args, err);
    if (rc == RC_OK)
        rc = enter(stmt, err);
    if (rc == RC_OK)
        rc = send_statement(stmt, &args, (struct pending){.kind = PENDING_DEFERRED, .noun = noun},
                            err);
    if (rc == RC_OK)
        stmt->conn->changes++;
    return rc;
}

int64_t pg_changed(struct engine_stmt *stmt)
{
    return stmt->changed;
}

enum rc pg_step(struct engine_stmt *stmt, struct err *err)
{
    (void)err;
    if (stmt->row + 1 >= pq->ntuples(stmt->result))
        return RC_NOT_FOUND;
    stmt->row++;
    return RC_OK;
}

/* ---- columns: results come as text ---- */

bool pg_column_is_null(struct engine_stmt *stmt, int column)
{
    return pq->getisnull(stmt->result, stmt->row, column);
}

int64_t pg_column_int(struct engine_stmt *stmt, int column)
{
    return strtoll(pq->getvalue(stmt->result, stmt->row, column), NULL, 10);
}

double pg_column_real(struct engine_stmt *stmt, int column)
{
    return strtod(pq->getvalue(stmt->result, stmt->row, column), NULL);
}

static unsigned hex_value(char digit)
{
    return (unsigned)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

/* Bytes are written as \x and two digits each. */
static const char *bytes_of(struct engine_stmt *stmt, const char *text, size_t len, size_t *ret_len)
{
    assert(len >= 2 && text[0] == '\\' && text[1] == 'x');
    size_t count = (len - 2) / 2;
    stmt->bytes = mem_grow(stmt->bytes, count + 1);
    for (size_t i = 0; i < count; i++)
        stmt->bytes[i] = (char)(hex_value(text[2 + 2 * i]) << 4 | hex_value(text[3 + 2 * i]));
    stmt->bytes[count] = '\0';
    *ret_len = count;
    return stmt->bytes;
}

const char *pg_column_bytes(struct engine_stmt *stmt, int column, size_t *ret_len)
{
    *ret_len = 0;
    if (pq->getisnull(stmt->result, stmt->row, column))
        return NULL;
    const char *text = pq->getvalue(stmt->result, stmt->row, column);
    size_t len = (size_t)pq->getlength(stmt->result, stmt->row, column);
    if (pq->ftype(stmt->result, column) == pg_type_oid('b'))
        return bytes_of(stmt, text, len, ret_len);
    *ret_len = len;
    return text;
}

const char *pg_column_text(struct engine_stmt *stmt, int column)
{
    size_t len;
    return pg_column_bytes(stmt, column, &len);
}

/* ---- transactions ---- */

enum rc pg_begin(struct engine_conn *conn, struct err *err)
{
    enum rc rc = pg_link_ready(&conn->link, err);
    conn->in_tx = rc == RC_OK;
    return rc;
}

static void tx_end(struct engine_conn *conn)
{
    conn->in_tx = false;
    conn->begun = false;
    conn->marked = false;
    pg_read_ahead_clear(&conn->read_ahead);
}

enum outcome { OUTCOME_UNKNOWN, OUTCOME_COMMITTED, OUTCOME_ABORTED };

static enum outcome outcome_of(const struct engine_conn *conn, PGresult *answer)
{
    const char *status = pq->getvalue(answer, 0, 0);
    if (strcmp(status, "committed") == 0) {
        int64_t number = strtoll(pq->getvalue(answer, 0, 1), NULL, 10);
        return number == conn->tx_number ? OUTCOME_COMMITTED : OUTCOME_ABORTED;
    }
    return strcmp(status, "aborted") == 0 ? OUTCOME_ABORTED : OUTCOME_UNKNOWN;
}

static enum outcome outcome_ask(struct engine_conn *conn)
{
    struct err err = {0};
    if (conn->link.pg == NULL && pg_link_open(&conn->link, &err) != RC_OK)
        return OUTCOME_UNKNOWN;
    char text[256];
    snprintf(text, sizeof text,
             "SELECT pg_xact_status('%s'), (SELECT number FROM commit_marks WHERE writer = '%s')",
             conn->xid, conn->writer);
    PGresult *answer = NULL;
    enum rc rc = pg_link_script(&conn->link, "commit_outcome", text, &answer, &err);
    if (rc == RC_INVALID)
        return OUTCOME_ABORTED; /* After a crash: the server has not assigned this id. */
    if (rc != RC_OK)
        return OUTCOME_UNKNOWN;
    enum outcome outcome = outcome_of(conn, answer);
    pq->clear(answer);
    return outcome;
}

static enum rc outcome_find(struct engine_conn *conn, struct err *err)
{
    int64_t until_us = clock_mono_us() + OUTCOME_WAIT_MS * US_PER_MS;
    enum outcome outcome;
    while ((outcome = outcome_ask(conn)) == OUTCOME_UNKNOWN && clock_mono_us() < until_us) {
        struct timespec pause = {.tv_nsec = OUTCOME_PAUSE_MS * 1000000L};
        (void)nanosleep(&pause, NULL);
    }
    if (outcome == OUTCOME_COMMITTED)
        return RC_OK;
    if (outcome == OUTCOME_ABORTED)
        return err_set(err, RC_UNREACHABLE, "STORE_UNREACHABLE",
                       "commit: the connection to PostgreSQL was lost and the transaction with it: "
                       "try again");
    return err_set(err, RC_UNREACHABLE, "COMMIT_UNKNOWN",
                   "commit: the connection to PostgreSQL was lost, and whether the transaction was "
                   "committed could not be found out: look before you try again");
}

static enum rc commit_send(struct engine_conn *conn, struct err *err)
{
    enum rc rc = send_plain(conn->commit, PENDING_RUN, err);
    if (rc == RC_OK)
        rc = drain(conn, err);
    /* The server answers the COMMIT of a failed transaction by rolling it back. */
    if (rc == RC_OK && strcmp(pq->cmdStatus(conn->commit->result), "COMMIT") != 0)
        rc = err_set(err, RC_IO, "STORE_ERROR", "commit: the transaction was rolled back");
    pg_reset(conn->commit);
    return rc;
}

enum rc pg_commit(struct engine_conn *conn, struct err *err)
{
    enum rc rc = RC_OK;
    if (conn->begun && conn->link.pg == NULL)
        return pg_link_broken(&conn->link, "commit", err);
    if (conn->pending_nouns || (conn->marked && conn->xid[0] == '\0'))
        rc = drain(conn, err);
    if (rc == RC_OK && conn->begun) {
        rc = commit_send(conn, err);
        if (rc != RC_OK && conn->link.pg == NULL && conn->marked)
            rc = outcome_find(conn, err);
    }
    if (rc == RC_OK)
        tx_end(conn);
    return rc;
}

void pg_rollback(struct engine_conn *conn)
{
    struct err ignored;
    if (conn->begun && conn->link.pg != NULL)
        (void)!drain(conn, &ignored); /* After a failure the server would skip the ROLLBACK. */
    if (conn->begun && conn->link.pg != NULL) {
        enum rc rc = send_plain(conn->rollback, PENDING_RUN, &ignored);
        if (rc == RC_OK)
            rc = drain(conn, &ignored);
        pg_reset(conn->rollback);
        if (rc != RC_OK || pq->transactionStatus(conn->link.pg) != PQTRANS_IDLE)
            pg_link_lose(&conn->link);
    }
    conn->pending_count = 0;
    conn->pending_bytes = 0;
    conn->pending_nouns = false;
    tx_end(conn);
}

int64_t pg_changes(const struct engine_conn *conn)
{
    return conn->changes;
}

enum rc pg_script(struct engine_conn *conn, const char *name, const char *text, struct err *err)
{
    enum rc rc = RC_OK;
    if (!conn->in_tx)
        rc = pg_link_ready(&conn->link, err);
    else if (conn->link.pg == NULL)
        rc = pg_link_broken(&conn->link, name, err);
    else
        rc = open_tx(conn, false, err);
    if (rc == RC_OK)
        rc = drain(conn, err);
    if (rc == RC_OK)
        rc = pg_link_script(&conn->link, name, text, NULL, err);
    return rc;
}

/* The mark comes before the first savepoint: undone with it, the mark would report a committed
   transaction as not committed. */
enum rc pg_savepoint(struct engine_conn *conn, enum engine_savepoint what, struct err *err)
{
    static const char name[] = "savepoint";
    struct err ignored;
    if (conn->link.pg == NULL)
        return pg_link_broken(&conn->link, name, err);
    enum rc rc = what == SAVEPOINT_SET ? open_tx(conn, true, err) : RC_OK;
    if (rc == RC_OK && what == SAVEPOINT_UNDO)
        (void)!drain(conn, &ignored); /* Reported already, or undone now. */
    else if (rc == RC_OK)
        rc = drain(conn, err);
    if (rc == RC_OK && conn->link.pg == NULL)
        return pg_link_broken(&conn->link, name, err);
    return rc == RC_OK ? pg_link_script(&conn->link, name, savepoint_texts[what], NULL, err) : rc;
}

/* ---- connections ---- */

struct pg_link *pg_conn_link(struct engine_conn *conn)
{
    return &conn->link;
}

/* The writer is opened again when it is next used, and then carries the mark. */
void pg_enroll(struct engine_site *site, struct engine_conn *writer,
               const struct store_fence *fence)
{
    assert(!writer->in_tx && strlen(fence->lease) < sizeof site->fence_lease);
    assert(strlen(fence->session) < sizeof site->place.session &&
           strspn(fence->session, "0123456789abcdef") == strlen(fence->session));
    text_copy(site->fence_lease, sizeof site->fence_lease, fence->lease);
    site->fence_epoch = fence->epoch;
    text_copy(site->place.session, sizeof site->place.session, fence->session);
    pg_link_lose(&writer->link);
}

void pg_disconnect(struct engine_conn *conn)
{
    if (conn == NULL)
        return;
    pg_finalize(conn->begin);
    pg_finalize(conn->commit);
    pg_finalize(conn->rollback);
    pg_finalize(conn->mark);
    pg_finalize(conn->mark_fenced);
    pg_link_lose(&conn->link);
    pg_read_ahead_free(&conn->read_ahead);
    mem_free(conn);
}

enum rc pg_connect(struct engine_site *site, enum engine_role role, struct engine_conn **ret_conn,
                   struct err *err)
{
    struct engine_conn *conn = mem_alloc(sizeof *conn);
    conn->site = site;
    conn->role = role;
    pg_link_init(&conn->link, &site->place, role == ENGINE_READER ? PG_READS : PG_WRITES);
    enum rc rc = pg_link_open(&conn->link, err);
    if (rc != RC_OK) {
        pg_disconnect(conn);
        return rc;
    }
    unsigned char random[(WRITER_BYTES - 1) / 2];
    secret_bytes(random, sizeof random);
    hex_encode(conn->writer, random, sizeof random);
    const struct sql *begin = role == ENGINE_READER ? &sql_begin_reader : &sql_begin_writer;
    (void)!pg_prepare(conn, begin, begin->text, &conn->begin, err);
    (void)!pg_prepare(conn, &sql_commit, sql_commit.text, &conn->commit, err);
    (void)!pg_prepare(conn, &sql_rollback, sql_rollback.text, &conn->rollback, err);
    (void)!pg_prepare(conn, &sql_mark, sql_mark.text, &conn->mark, err);
    (void)!pg_prepare(conn, &sql_mark_fenced, sql_mark_fenced.text, &conn->mark_fenced, err);
    *ret_conn = conn;
    return RC_OK;
}
