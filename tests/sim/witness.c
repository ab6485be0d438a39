/*
 * witness.c - see witness.h.
 *
 *   trigger --> see_job(...) --> open --commit--> seen --witness_forget--> gone
 *                                 |
 *                                 +--rollback--> gone
 */
#include "tests/sim/witness.h"
#include "base/arena.h"
#include "base/mem.h"
#include "store/engine.h"
#include "tests/store/store_fault.h"
#include <assert.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One thread and one world at a time. */
static struct {
    struct arena arena;
    struct sighting *list;
    size_t count, committed, room;
    int64_t refuse; /* Commits. */
    struct db *db;
    bool news;       /* PostgreSQL: something was committed since the notes were read, */
    int64_t read_to; /* up to this one. */
} book;

enum rc __real_tx_commit(struct tx *tx, struct err *err);
enum rc __wrap_tx_commit(struct tx *tx, struct err *err);

enum rc __wrap_tx_commit(struct tx *tx, struct err *err)
{
    if (book.refuse > 0) {
        book.refuse--;
        tx_abort(tx);
        return err_set(err, RC_IO, "STORE_IO", "the commit was refused");
    }
    bool wrote = db_changes(tx->db) > 0;
    enum rc rc = __real_tx_commit(tx, err);
    book.news |= wrote && rc == RC_OK;
    return rc;
}

static struct sighting *add(enum sighting_kind kind)
{
    if (book.count == book.room) {
        book.room = book.room > 0 ? 2 * book.room : 256;
        book.list = mem_grow(book.list, book.room * sizeof *book.list);
    }
    struct sighting *sighting = &book.list[book.count++];
    *sighting = (struct sighting){.kind = kind};
    return sighting;
}

static const char *text_of(sqlite3_value *value)
{
    const unsigned char *text = sqlite3_value_text(value);
    return text == NULL ? NULL : arena_strdup(&book.arena, (const char *)text);
}

/* In the order of JOB_VALUES. */
static void see_job(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)context;
    assert(count == 19);
    struct sighting *job = add((enum sighting_kind)sqlite3_value_int(values[0]));
    job->id = id_of((const char *)sqlite3_value_text(values[1]));
    job->queue = text_of(values[2]);
    job->key = text_of(values[3]);
    job->dedup = text_of(values[4]);
    job->owner = text_of(values[5]);
    job->seq = sqlite3_value_int64(values[6]);
    job->priority = sqlite3_value_int64(values[7]);
    job->rank = sqlite3_value_int64(values[8]);
    bool known = job_state_parse((const char *)sqlite3_value_text(values[9]), &job->life.state);
    assert(known);
    job->life.epoch = sqlite3_value_int64(values[10]);
    job->life.due_us = sqlite3_value_int64(values[11]);
    job->life.expires_us = sqlite3_value_int64(values[12]);
    job->life.attempt = sqlite3_value_int64(values[13]);
    job->life.attempt_max = sqlite3_value_int64(values[14]);
    job->life.lost = sqlite3_value_int64(values[15]);
    job->life.dead_reason = dead_reason_parse((const char *)sqlite3_value_text(values[16]));
    job->created_us = sqlite3_value_int64(values[17]);
    job->updated_us = sqlite3_value_int64(values[18]);
}

static void see_attempt(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)context;
    assert(count == 4);
    struct sighting *attempt = add(SEEN_ATTEMPT);
    attempt->id = id_of((const char *)sqlite3_value_text(values[0]));
    attempt->life.epoch = sqlite3_value_int64(values[1]);
    attempt->life.attempt = sqlite3_value_int64(values[2]);
    attempt->word = text_of(values[3]);
}

static void see_rules(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)context;
    assert(count == 3);
    struct sighting *rules = add(SEEN_RULES);
    rules->queue = text_of(values[0]);
    rules->word = text_of(values[1]);
    rules->paused = sqlite3_value_int(values[2]) != 0;
}

static int on_commit(void *handle)
{
    if (store_fault_refuses(handle))
        return 1;
    book.committed = book.count;
    return 0;
}

static void on_rollback(void *handle)
{
    store_fault_rolled_back(handle);
    book.count = book.committed;
}

static int on_open(sqlite3 *handle, char **ret_error, const void *api)
{
    (void)ret_error;
    (void)api;
    sqlite3_create_function(handle, "see_job", -1, SQLITE_UTF8, NULL, see_job, NULL, NULL);
    sqlite3_create_function(handle, "see_attempt", -1, SQLITE_UTF8, NULL, see_attempt, NULL, NULL);
    sqlite3_create_function(handle, "see_rules", -1, SQLITE_UTF8, NULL, see_rules, NULL, NULL);
    sqlite3_commit_hook(handle, on_commit, handle);
    sqlite3_rollback_hook(handle, on_rollback, handle);
    return SQLITE_OK;
}

void witness_install(void)
{
    int code = sqlite3_auto_extension((void (*)(void))on_open);
    assert(code == SQLITE_OK);
}

#define JOB_VALUES(row)                                                                            \
    row ".id, " row ".queue, " row ".ordering_key, " row ".dedup_key, " row ".lease_owner, " row   \
        ".seq, " row ".priority, " row ".rank, " row ".state, " row ".epoch, " row ".due_us, " row \
        ".expires_us, " row ".attempt, " row ".attempt_max, " row ".lost, " row                    \
        ".dead_reason, " row ".created_us, " row ".updated_us"
#define JOB_CHANGES                                                                      \
    "queue, ordering_key, state, epoch, due_us, expires_us, attempt, attempt_max, lost," \
    " dead_reason, lease_owner"

/* ---- SQLite ---- */

#define SEE_JOB(kind, row) " BEGIN SELECT see_job(" kind ", " JOB_VALUES(row) "); END;"
#define SEE_RULES          " BEGIN SELECT see_rules(new.name, new.config, new.paused); END;"

/* clang-format off */
static const char *const sqlite_triggers[] = {
    "CREATE TEMP TRIGGER see_insert AFTER INSERT ON main.jobs" SEE_JOB("0", "new"),
    "CREATE TEMP TRIGGER see_update AFTER UPDATE OF " JOB_CHANGES " ON main.jobs"
    SEE_JOB("1", "new"),
    "CREATE TEMP TRIGGER see_delete AFTER DELETE ON main.jobs" SEE_JOB("2", "old"),
    "CREATE TEMP TRIGGER see_attempt AFTER INSERT ON main.job_attempts BEGIN"
    " SELECT see_attempt(new.job_id, new.epoch, new.attempt, new.outcome); END;",
    "CREATE TEMP TRIGGER see_rules_insert AFTER INSERT ON main.queues" SEE_RULES,
    "CREATE TEMP TRIGGER see_rules_update AFTER UPDATE OF config, paused ON main.queues" SEE_RULES,
    NULL,
};

/* ---- PostgreSQL ---- */

#define TRIGGER(name, function, body)                                                           \
    "CREATE FUNCTION " function "() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " body         \
    " RETURN NULL; END $$",                                                                     \
    "CREATE TRIGGER " name " FOR EACH ROW EXECUTE FUNCTION " function "()"
#define NOTE_JOB(kind, row) "INSERT INTO seen VALUES (DEFAULT, " kind ", " JOB_VALUES(row) ");"
#define NOTE_RULES                                                                       \
    "INSERT INTO seen (kind, queue, word, epoch) VALUES (4, new.name, new.config::text," \
    " new.paused);"

static const char *const postgres_triggers[] = {
    "CREATE TABLE seen (n bigserial PRIMARY KEY, kind int NOT NULL, id text, queue text,"
    " ordering_key text, dedup_key text, lease_owner text, seq bigint, priority bigint,"
    " rank bigint, state text, epoch bigint, due_us bigint, expires_us bigint, attempt bigint,"
    " attempt_max bigint, lost bigint, dead_reason text, created_us bigint, updated_us bigint,"
    " word text)",
    TRIGGER("see_insert AFTER INSERT ON jobs", "note_insert", NOTE_JOB("0", "new")),
    TRIGGER("see_update AFTER UPDATE OF " JOB_CHANGES " ON jobs", "note_update",
            NOTE_JOB("1", "new")),
    TRIGGER("see_delete AFTER DELETE ON jobs", "note_delete", NOTE_JOB("2", "old")),
    TRIGGER("see_attempt AFTER INSERT ON job_attempts", "note_attempt",
            "INSERT INTO seen (kind, id, epoch, attempt, word)"
            " VALUES (3, new.job_id, new.epoch, new.attempt, new.outcome);"),
    TRIGGER("see_rules AFTER INSERT OR UPDATE OF config, paused ON queues", "note_rules",
            NOTE_RULES),
    NULL,
};
/* clang-format on */

static const struct sql sql_seen = {
    "seen",
    "SELECT n, kind, id, queue, ordering_key, dedup_key, lease_owner, seq, priority, rank, state,"
    " epoch, due_us, expires_us, attempt, attempt_max, lost, dead_reason, created_us, updated_us,"
    " word FROM seen WHERE n > $1 ORDER BY n",
    "i",
};

static void read_row(struct rows *rows)
{
    struct arena *arena = &book.arena;
    book.read_to = row_int(rows, 0);
    struct sighting *seen = add((enum sighting_kind)row_int(rows, 1));
    seen->id = row_id(rows, 2);
    seen->queue = row_dup(rows, 3, arena);
    seen->key = row_dup(rows, 4, arena);
    seen->dedup = row_dup(rows, 5, arena);
    seen->owner = row_dup(rows, 6, arena);
    seen->seq = row_int(rows, 7);
    seen->priority = row_int(rows, 8);
    seen->rank = row_int(rows, 9);
    bool known = row_is_null(rows, 10) || job_state_parse(row_text(rows, 10), &seen->life.state);
    assert(known);
    seen->life.epoch = row_int(rows, 11);
    seen->life.due_us = row_int(rows, 12);
    seen->life.expires_us = row_int(rows, 13);
    seen->life.attempt = row_int(rows, 14);
    seen->life.attempt_max = row_int(rows, 15);
    seen->life.lost = row_int(rows, 16);
    if (!row_is_null(rows, 17))
        seen->life.dead_reason = dead_reason_parse(row_text(rows, 17));
    seen->created_us = row_int(rows, 18);
    seen->updated_us = row_int(rows, 19);
    seen->word = row_dup(rows, 20, arena);
    seen->paused = seen->kind == SEEN_RULES && seen->life.epoch != 0;
}

static void read_notes(void)
{
    struct err err = {0};
    CLEANUP(rows_end) struct rows rows = {0};
    enum rc rc = db_query(book.db, &sql_seen, P_LIST(P_INT(book.read_to)), &rows, &err);
    while (rc == RC_OK && (rc = rows_next(&rows, &err)) == RC_OK)
        read_row(&rows);
    assert(rc == RC_NOT_FOUND);
    book.committed = book.count;
    book.news = false;
}

/* ---- both ---- */

void witness_watch(struct db *db)
{
    const char *const *triggers = db_is_shared(db) ? postgres_triggers : sqlite_triggers;
    for (; *triggers != NULL; triggers++) {
        struct err err = {0};
        enum rc rc = db_script(db, "witness", *triggers, &err);
        if (rc != RC_OK)
            fprintf(stderr, "%s: %s\n", *triggers, err.text);
        assert(rc == RC_OK);
    }
    book.db = db;
    book.read_to = 0;
    book.news = false;
    witness_forget();
}

const struct sighting *witness_seen(size_t *ret_count)
{
    if (book.news && db_is_shared(book.db))
        read_notes();
    *ret_count = book.committed;
    return book.list;
}

void witness_refuse(int64_t commits)
{
    book.refuse = commits;
}

void witness_forget(void)
{
    assert(book.count == book.committed); /* Not in the middle of a transaction. */
    book.count = book.committed = 0;
    arena_reset(&book.arena);
}
