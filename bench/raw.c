/*
 * raw.c - see raw.h.
 *
 * The words of raw_text.h, without their loads.
 */
#include "bench/raw.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/mem.h"
#include "bench/port.h"
#include "bench/raw_text.h"
#include "store/store.h"
#include <assert.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

struct raw {
    sqlite3 *db;
    sqlite3_stmt *statements[RAW_LETTERS];
    struct random random;
    int64_t now_us;
    int64_t last_seq;               /* Of the jobs that were inserted. */
    int64_t claimed_seq, saved_seq; /* W1 takes and settles them in order. */
};

/* What the parameters stand for. */
struct subject {
    struct id own, run, task;
    int64_t number, seq;
    const char *payload;
};

static void must(const struct raw *raw, int code)
{
    if (code != SQLITE_OK && code != SQLITE_DONE)
        bench_die("raw SQLite: %s", sqlite3_errmsg(raw->db));
}

static void run_text(struct raw *raw, const char *text)
{
    must(raw, sqlite3_exec(raw->db, text, NULL, NULL, NULL));
}

static void make_schema(const char *dir)
{
    char url[BENCH_URL_BYTES];
    bench_sqlite_url(dir, url);
    struct store *store;
    struct err err = {0};
    bench_must(store_open(&(struct store_options){.url = url}, &store, &err), &err, url);
    store_close(store);
}

/* The settings are those of the store's writer. */
struct raw *raw_open(const struct bench *bench, const char *name)
{
    char dir[BENCH_PATH_BYTES], path[BENCH_PATH_BYTES + 16];
    bench_dir(bench, name, dir);
    make_schema(dir);
    (void)snprintf(path, sizeof path, "%s/drover.db", dir);
    struct raw *raw = mem_alloc(sizeof *raw);
    raw->random = random_seeded(1);
    struct clock clock = clock_real();
    raw->now_us = clock_now_us(&clock);
    must(raw, sqlite3_open_v2(path, &raw->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL));
    run_text(raw, "PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0;"
                  "PRAGMA cache_size = -8192; PRAGMA synchronous = FULL;"
                  "PRAGMA journal_size_limit = 67108864; PRAGMA wal_autocheckpoint = 10000;");
    run_text(raw, raw_repository);
    for (size_t i = 0; i < RAW_LETTERS; i++)
        if (raw_texts[i] != NULL)
            must(raw, sqlite3_prepare_v3(raw->db, raw_texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                                         &raw->statements[i], NULL));
    return raw;
}

void raw_close(struct raw *raw)
{
    if (raw == NULL)
        return;
    for (size_t i = 0; i < RAW_LETTERS; i++)
        (void)sqlite3_finalize(raw->statements[i]);
    must(raw, sqlite3_close(raw->db));
    mem_free(raw);
}

/* ---- statements ---- */

static struct id new_id(struct raw *raw)
{
    return id_new(++raw->now_us, &raw->random);
}

static void bind_id(const struct raw *raw, sqlite3_stmt *statement, int index, const struct id *id)
{
    if (index <= sqlite3_bind_parameter_count(statement))
        must(raw, sqlite3_bind_text(statement, index, id_or_null(id), -1, SQLITE_STATIC));
}

static void bind_int(const struct raw *raw, sqlite3_stmt *statement, int index, int64_t value)
{
    if (index <= sqlite3_bind_parameter_count(statement))
        must(raw, sqlite3_bind_int64(statement, index, value));
}

static void write_one(struct raw *raw, char letter, const struct subject *subject)
{
    sqlite3_stmt *statement = raw->statements[(unsigned char)letter];
    assert(statement != NULL);
    bind_id(raw, statement, 1, &subject->own);
    bind_id(raw, statement, 2, &subject->run);
    bind_id(raw, statement, 3, &subject->task);
    bind_int(raw, statement, 4, raw->now_us);
    bind_int(raw, statement, 5, subject->number);
    if (sqlite3_bind_parameter_count(statement) >= 6)
        must(raw, sqlite3_bind_text(statement, 6, subject->payload, -1, SQLITE_STATIC));
    bind_int(raw, statement, 7, subject->seq);
    must(raw, sqlite3_step(statement));
    must(raw, sqlite3_reset(statement));
}

/* ---- jobs ---- */

static void enqueue_one(struct raw *raw)
{
    struct subject subject = {.own = new_id(raw), .payload = port_payload()};
    write_one(raw, 'j', &subject);
    raw->last_seq = sqlite3_last_insert_rowid(raw->db);
}

static void claim_one(struct raw *raw)
{
    write_one(raw, 'c', &(struct subject){.seq = ++raw->claimed_seq});
}

static void settle_one(struct raw *raw)
{
    write_one(raw, 's', &(struct subject){.seq = ++raw->saved_seq});
}

/* How many jobs one commit enqueues, claims and settles. */
struct portion {
    int64_t enqueue, claim, settle;
};

static int64_t at_most(int64_t wanted, int64_t left)
{
    return wanted < left ? wanted : left;
}

/* Until `jobs` more are settled, or enqueued when nothing is to be settled. */
static double run_portions(struct raw *raw, int64_t jobs, const struct portion *portion)
{
    int64_t enqueue_end = portion->enqueue > 0 ? raw->last_seq + jobs : raw->last_seq;
    int64_t settle_end = portion->settle > 0 ? raw->saved_seq + jobs : raw->saved_seq;
    assert(settle_end <= enqueue_end);
    double begin = bench_seconds();
    while (raw->last_seq < enqueue_end || raw->saved_seq < settle_end) {
        int64_t settle = at_most(portion->settle, raw->claimed_seq - raw->saved_seq);
        int64_t enqueue = at_most(portion->enqueue, enqueue_end - raw->last_seq);
        run_text(raw, "BEGIN IMMEDIATE");
        for (int64_t i = 0; i < settle; i++)
            settle_one(raw);
        for (int64_t i = 0; i < enqueue; i++)
            enqueue_one(raw);
        int64_t claim = at_most(portion->claim, settle_end - raw->claimed_seq);
        for (int64_t i = 0; i < claim; i++)
            claim_one(raw);
        run_text(raw, "COMMIT");
    }
    return (double)jobs / (bench_seconds() - begin);
}

double raw_enqueue(struct raw *raw, int64_t jobs, int64_t each)
{
    return run_portions(raw, jobs, &(struct portion){.enqueue = each});
}

double raw_drain(struct raw *raw, int64_t jobs, int64_t each)
{
    return run_portions(raw, jobs, &(struct portion){.claim = each, .settle = each});
}

double raw_combined(struct raw *raw, int64_t jobs, int64_t each)
{
    return run_portions(raw, jobs,
                        &(struct portion){.enqueue = each, .claim = each, .settle = each});
}

/* ---- runs ---- */

static void write_command(struct raw *raw, const char *word, struct subject *subject)
{
    for (const char *letter = word; *letter != '\0'; letter++) {
        subject->own = new_id(raw);
        subject->number += *letter == 'e';
        write_one(raw, *letter, subject);
        if (*letter == 'j')
            subject->seq = sqlite3_last_insert_rowid(raw->db);
    }
}

/* Counts commands, and commits when a batch is full. */
struct batch {
    int64_t each, filled;
};

static void batch_add(struct raw *raw, struct batch *batch, const char *word,
                      struct subject *subject)
{
    if (batch->filled == 0)
        run_text(raw, "BEGIN IMMEDIATE");
    write_command(raw, word, subject);
    if (++batch->filled == batch->each) {
        run_text(raw, "COMMIT");
        batch->filled = 0;
    }
}

double raw_run(struct raw *raw, const struct raw_runs *runs)
{
    struct subject *subjects = mem_array((size_t)runs->at_once, sizeof *subjects);
    struct batch batch = {.each = runs->each};
    double begin = bench_seconds();
    for (int64_t done = 0; done < runs->runs; done += runs->at_once) {
        int64_t count = at_most(runs->at_once, runs->runs - done);
        for (int64_t i = 0; i < count; i++)
            subjects[i] = (struct subject){
                .run = new_id(raw), .task = new_id(raw), .payload = runs->payload};
        for (size_t c = 0; c < RAW_COMMANDS; c++)
            for (int64_t i = 0; i < count; i++)
                batch_add(raw, &batch, raw_commands[c].writes, &subjects[i]);
    }
    if (batch.filled > 0)
        run_text(raw, "COMMIT");
    double rate = (double)runs->runs / (bench_seconds() - begin);
    mem_free(subjects);
    return rate;
}
