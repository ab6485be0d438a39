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
#include <assert.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* One thread and one world at a time. */
static struct {
    struct arena arena;
    struct sighting *list;
    size_t count, committed, room;
    int64_t refuse; /* Commits. */
} book;

static struct sighting *add(enum sighting_kind kind)
{
    if (book.count == book.room) {
        book.room = book.room > 0 ? 2 * book.room : 256;
        book.list = mem_grow(book.list, book.room * sizeof(*book.list));
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

static int on_commit(void *ctx)
{
    (void)ctx;
    if (book.refuse > 0) {
        book.refuse--;
        return 1;
    }
    book.committed = book.count;
    return 0;
}

static void on_rollback(void *ctx)
{
    (void)ctx;
    book.count = book.committed;
}

static int on_open(sqlite3 *handle, char **ret_error, const void *api)
{
    (void)ret_error;
    (void)api;
    sqlite3_create_function(handle, "see_job", -1, SQLITE_UTF8, NULL, see_job, NULL, NULL);
    sqlite3_create_function(handle, "see_attempt", -1, SQLITE_UTF8, NULL, see_attempt, NULL, NULL);
    sqlite3_create_function(handle, "see_rules", -1, SQLITE_UTF8, NULL, see_rules, NULL, NULL);
    sqlite3_commit_hook(handle, on_commit, NULL);
    sqlite3_rollback_hook(handle, on_rollback, NULL);
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

#define SEE_JOB(kind, row) " BEGIN SELECT see_job(" kind ", " JOB_VALUES(row) "); END;"
#define SEE_RULES          " BEGIN SELECT see_rules(new.name, new.config, new.paused); END;"

static const char triggers[] = "CREATE TEMP TRIGGER see_insert AFTER INSERT ON main.jobs" SEE_JOB(
    "0", "new") "CREATE TEMP TRIGGER see_update AFTER UPDATE OF queue, ordering_key, state, epoch, "
                "due_us,"
                " expires_us, attempt, attempt_max, lost, dead_reason, lease_owner ON "
                "main.jobs" SEE_JOB("1", "new") "CREATE TEMP TRIGGER see_delete AFTER DELETE ON "
                                                "main.jobs" SEE_JOB(
                                                    "2",
                                                    "old") "CREATE TEMP TRIGGER see_attempt AFTER "
                                                           "INSERT ON main.job_attempts BEGIN"
                                                           " SELECT see_attempt(new.job_id, "
                                                           "new.epoch, new.attempt, new.outcome); "
                                                           "END;"
                                                           "CREATE TEMP TRIGGER see_rules_insert "
                                                           "AFTER INSERT ON main.queues" SEE_RULES
                                                           "CREATE TEMP TRIGGER see_rules_update "
                                                           "AFTER UPDATE OF config, paused ON "
                                                           "main.queues" SEE_RULES;

void witness_watch(struct db *db)
{
    struct err err = {0};
    enum rc rc = db_script(db, "witness", triggers, &err);
    assert(rc == RC_OK);
    witness_forget();
}

const struct sighting *witness_seen(size_t *ret_count)
{
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
