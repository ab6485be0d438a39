/*
 * engine_postgres.c - PostgreSQL behind the port of engine.h: what a URL names, the dialect, and
 * the table of operations.
 *
 * The site is a schema of a database: the first one of the search path, public unless the URL names
 * another (?options=-csearch_path%3Dname).  Locks and channels carry its name, so that several
 * schemas of a database do not interfere.
 */
#include "store/engine_postgres.h"
#include "base/mem.h"
#include "store/engine_postgres_link.h"
#include "store/pq_lib.h"
#include <stdio.h>
#include <string.h>

enum { SERVER_VERSION_MIN = 130000 }; /* The first with pg_xact_status over 64 bits. */

static const char *const schemes[] = {"postgres://", "postgresql://", NULL};

#define LOCK_SCHEMA \
    "SELECT pg_advisory_xact_lock(hashtextextended('drover.schema.' || current_schema(), 0))"

/* Of the view events (migration_events_view.c).  A function, since the cast is not IMMUTABLE and an
   index needs that; data that JSONB cannot hold (a NUL in a string) is one JSON text there. */
#define EVENT_FUNCTIONS                                                       \
    "CREATE FUNCTION drover_jsonb(given JSON) RETURNS JSONB LANGUAGE plpgsql" \
    " IMMUTABLE STRICT AS 'BEGIN RETURN given::jsonb;"                        \
    " EXCEPTION WHEN others THEN RETURN to_jsonb(given::text); END'"
#define EVENT_DATA "drover_jsonb(data)"
#define EVENT_CORRELATION \
    "coalesce(correlation_id::uuid, md5('issue/' || issue_id)::uuid, id::uuid)"
#define EVENT_DATA_ISSUE "(" EVENT_DATA " ->> 'issueId')"

/*
 * NO KEY UPDATE: a row that is locked to be changed may still be referred to, so that a
 * transaction that inserts a task does not wait for one that admits runs of its workspace.
 * Collation C: texts are in the order of their bytes, as with SQLite.
 */
static const struct engine_word words[] = {
    {"for_update", "FOR NO KEY UPDATE"},
    {"skip_locked", "FOR NO KEY UPDATE SKIP LOCKED"},
    {"lock_schema", LOCK_SCHEMA},
    {"seq_key", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"},
    {"text", "TEXT COLLATE \"C\""},
    {"int", "BIGINT"},
    {"json", "JSON"},
    {"bytes", "BYTEA"},
    {"plain_table", ""},
    {"keyed_table", ""},
    {"iso_time_us", "to_char(timestamp 'epoch' + time_us * interval '1 microsecond',"
                    " 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"},
    {"event_functions", EVENT_FUNCTIONS},
    {"event_data", EVENT_DATA},
    {"event_data_index", "CREATE INDEX event_log_data_issue ON event_log (" EVENT_DATA_ISSUE ")"
                         " WHERE " EVENT_DATA_ISSUE " IS NOT NULL"},
    {"event_correlation", EVENT_CORRELATION},
    {"json_items", "json_array_elements(doc.items) AS item (value)"},
    {"event_id", "id::uuid"},
    {"event_parent", "causation_id::uuid"},
    {"event_time", "to_timestamp(time_us / 1000000.0)"},
    {NULL, NULL},
};

/* The engine's own table: see engine_postgres_conn.c.  It must be there before the first
   transaction, the migrations among them. */
static const char prepare_marks[] =
    "BEGIN; " LOCK_SCHEMA "; CREATE TABLE IF NOT EXISTS commit_marks ("
    " writer TEXT NOT NULL PRIMARY KEY, number BIGINT NOT NULL, marked_at TIMESTAMPTZ NOT NULL);"
    " DELETE FROM commit_marks WHERE marked_at < now() - interval '30 days'; COMMIT";

static const char describe[] = "SELECT current_setting('server_version'),"
                               " current_setting('synchronous_commit'), current_setting('fsync'),"
                               " current_setting('server_encoding'), current_schema()";

static enum rc check_server(struct engine_site *site, PGconn *pg, PGresult *facts, struct err *err)
{
    if (pq->serverVersion(pg) < SERVER_VERSION_MIN)
        return err_set(err, RC_INVALID, "STORE_TOO_OLD",
                       "PostgreSQL %s is too old: drover needs version 13 or later",
                       pq->getvalue(facts, 0, 0));
    if (strcmp(pq->getvalue(facts, 0, 3), "UTF8") != 0)
        return err_set(err, RC_INVALID, "STORE_ENCODING",
                       "the database holds text as %s: make one with ENCODING 'UTF8'",
                       pq->getvalue(facts, 0, 3));
    if (pq->getisnull(facts, 0, 4))
        return err_set(err, RC_INVALID, "STORE_NO_SCHEMA",
                       "no schema of the search path exists: create it, or name another one");
    text_copy(site->schema, sizeof site->schema, pq->getvalue(facts, 0, 4));
    snprintf(site->durability, sizeof site->durability,
             "postgresql %.40s synchronous_commit=%.16s fsync=%.8s", pq->getvalue(facts, 0, 0),
             pq->getvalue(facts, 0, 1), pq->getvalue(facts, 0, 2));
    return RC_OK;
}

static enum rc site_set_up(struct engine_site *site, struct err *err)
{
    struct pg_link link;
    pg_link_init(&link, &site->place, PG_LISTENS);
    PGresult *facts = NULL;
    enum rc rc = pg_link_open(&link, err);
    if (rc == RC_OK)
        rc = pg_link_script(&link, "connect", describe, &facts, err);
    if (rc == RC_OK)
        rc = check_server(site, link.pg, facts, err);
    if (rc == RC_OK)
        rc = pg_link_script(&link, "commit_marks", prepare_marks, NULL, err);
    pq->clear(facts);
    pg_link_lose(&link);
    return rc;
}

static void pg_detach(struct engine_site *site)
{
    if (site == NULL)
        return;
    mem_free(site->place.url);
    mem_free(site);
}

/* The message of libpq would repeat the URL, and its password. */
static enum rc check_url(const char *url, struct err *err)
{
    PQconninfoOption *options = pq->conninfoParse(url, NULL);
    if (options == NULL)
        return err_set(err, RC_INVALID, "INVALID_STORE_URL",
                       "the database URL cannot be read: write "
                       "postgres://USER:PASSWORD@HOST:PORT/DATABASE");
    pq->conninfoFree(options);
    return RC_OK;
}

static enum rc pg_attach(const char *url, struct engine_site **ret_site, struct err *err)
{
    enum rc rc = pq_lib_load(err);
    if (rc == RC_OK)
        rc = check_url(url, err);
    if (rc != RC_OK)
        return rc;
    struct engine_site *site = mem_alloc(sizeof *site);
    site->place.url = mem_strdup(url);
    rc = site_set_up(site, err);
    if (rc != RC_OK) {
        pg_detach(site);
        return rc;
    }
    *ret_site = site;
    return RC_OK;
}

static bool pg_is_single(const struct engine_site *site)
{
    (void)site;
    return false;
}

static const char *pg_durability(const struct engine_site *site)
{
    return site->durability;
}

static enum rc pg_backup(struct engine_conn *conn, const char *to_path, struct err *err)
{
    struct pg_link *link = pg_conn_link(conn);
    enum rc rc = pg_link_ready(link, err);
    if (rc != RC_OK)
        return rc;
    return err_set(err, RC_INVALID, "BACKUP_BY_PG_DUMP",
                   "PostgreSQL is backed up by its own tool: pg_dump --format=custom --file=%s "
                   "--host=%s --port=%s --username=%s %s",
                   to_path, pq->host(link->pg), pq->port(link->pg), pq->user(link->pg),
                   pq->db(link->pg));
}

const struct engine_ops engine_postgres = {
    .schemes = schemes,
    .words = words,
    .is_shared = true,
    .attach = pg_attach,
    .detach = pg_detach,
    .is_single = pg_is_single,
    .durability = pg_durability,
    .connect = pg_connect,
    .disconnect = pg_disconnect,
    .begin = pg_begin,
    .commit = pg_commit,
    .rollback = pg_rollback,
    .savepoint = pg_savepoint,
    .changes = pg_changes,
    .script = pg_script,
    .backup = pg_backup,
    .prepare = pg_prepare,
    .finalize = pg_finalize,
    .start = pg_start,
    .defer = pg_defer,
    .read_ahead = pg_read_ahead,
    .changed = pg_changed,
    .step = pg_step,
    .reset = pg_reset,
    .column_is_null = pg_column_is_null,
    .column_int = pg_column_int,
    .column_real = pg_column_real,
    .column_text = pg_column_text,
    .column_bytes = pg_column_bytes,
    .enroll = pg_enroll,
    .listen = pg_listen,
    .unlisten = pg_unlisten,
    .receive = pg_receive,
};
