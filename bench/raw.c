/*
 * raw.c - see raw.h.
 *
 * A command is a word: each letter is one statement that the real command writes with.
 *
 *   T task  R run  E event of the task  e event of the run  t save task  r save run  h touch run
 *   j job  c claim  s save job  m set timer  M clear timer
 *   p patch  P save patch  v verification  q pull request
 */
#include "bench/raw.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/mem.h"
#include "bench/port.h"
#include "store/store.h"
#include <assert.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

enum { LETTERS = 128 };

#define WORKSPACE  "'00000000-0000-7000-8000-000000000001'"
#define REPOSITORY "'00000000-0000-7000-8000-000000000002'"
#define SHA256     "'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'"
#define COMMIT     "'da39a3ee5e6b4b0d3255bfef95601890afd80709'"
#define CONFIG                                                                       \
    "'{\"url\":\"/srv/git/x.git\",\"agent\":{\"command\":[\"./agent\"]},\"limits\":" \
    "{\"maxActiveRuns\":1000}}'"
/* About as long as the data of events are. */
#define DATA                                                                             \
    "'{\"runId\":\"01990000-0000-7000-8000-000000000000\",\"fromStatus\":\"preparing\"," \
    "\"toStatus\":\"context_loading\",\"reason\":\"Worktree ready\"}'"

/* ?1 own id  ?2 run  ?3 task  ?4 now  ?5 number  ?6 payload  ?7 seq of a job */
static const char *const texts[LETTERS] = {
    ['T'] = "INSERT INTO tasks (id, workspace_id, repository_id, description, issue_number,"
            " task_type, risk, mode, target_branch, scope, priority, max_turns,"
            " max_budget_microusd, labels, channel, depends_on, config, requested_by, status,"
            " latest_run_id, run_count, created_us, updated_us, ended_us) VALUES (?3, " WORKSPACE
            ", " REPOSITORY ", 'Make the clock run on time', 0, 'general', 'medium',"
            " 'supervised_pr', 'main', '[]', 100, 0, 0, '[]', '{}', '[]', " CONFIG ", 'bench',"
            " 'submitted', ?2, 1, ?4, ?4, 0)",
    ['R'] = "INSERT INTO runs (id, task_id, workspace_id, repository_id, run_no, status, attempt,"
            " branch, turns, tokens_in, tokens_out, cost_microusd, stop, stop_us, used_agent,"
            " used_tool, used_verifier, used_pr, lost, rank, requested_by, task_type, event_seq,"
            " queued_us, started_us, ended_us, deadline_us, updated_us) VALUES (?2, ?3, " WORKSPACE
            ", " REPOSITORY ", 1, 'queued', 0, 'drover/' || ?3 || '/1-make-the-clock', 0, 0, 0, 0,"
            " 'none', 0, 0, 0, 0, 0, 0, ?4, 'bench', 'general', 0, ?4, 0, 0, 0, ?4)",
    ['E'] = "INSERT INTO event_log (id, type, version, workspace_id, task_id, subject, time_us,"
            " run_seq, correlation_id, causation_id, actor_type, actor_id, data) VALUES (?1,"
            " 'agent.task.accepted', 1, " WORKSPACE ", ?3, 'task/' || ?3, ?4, 0, ?3, ?2, 'system',"
            " 'drover', " DATA ")",
    ['e'] = "INSERT INTO event_log (id, type, version, workspace_id, task_id, run_id, subject,"
            " time_us, run_seq, correlation_id, causation_id, actor_type, actor_id, data) VALUES"
            " (?1, 'agent.run.status.changed', 1, " WORKSPACE ", ?3, ?2, 'run/' || ?2, ?4, ?5, ?3,"
            " ?2, 'system', 'drover', " DATA ")",
    ['t'] = "UPDATE tasks SET status = CASE ?5 % 2 WHEN 0 THEN 'hydrating' ELSE 'running' END,"
            " last_event_id = ?2, updated_us = ?4 WHERE id = ?3",
    ['r'] = "UPDATE runs SET status = CASE ?5 % 2 WHEN 0 THEN 'running' ELSE 'verifying' END,"
            " base_commit = " COMMIT ", prompt_sha256 = " SHA256 ", patch_sha256 = " SHA256
            ", certificate_sha256 = " SHA256 ", job_id = ?2, event_seq = ?5, last_event_id = ?2,"
            " updated_us = ?4 WHERE id = ?2",
    ['h'] = "UPDATE runs SET event_seq = ?5, last_event_id = ?2, updated_us = ?4 WHERE id = ?2",
    ['j'] = "INSERT INTO jobs (id, queue, type, workspace_id, run_id, payload, priority, rank,"
            " state, epoch, due_us, expires_us, attempt, attempt_max, lost, dead_reason, leased_us,"
            " created_us, updated_us) VALUES (?1, 'bench', 'note', " WORKSPACE ", ?2, ?6, 100, ?4,"
            " 'queued', 0, ?4, 0, 0, 3, 0, 'none', 0, ?4, ?4)",
    ['c'] = "UPDATE jobs SET state = 'leased', worker = 'bench', leased_us = ?4, due_us = ?4,"
            " epoch = epoch + 1, updated_us = ?4 WHERE seq = ?7",
    ['s'] = "UPDATE jobs SET state = 'succeeded', attempt = 1, updated_us = ?4 WHERE seq = ?7",
    ['m'] = "INSERT INTO timers (subject, kind, due_us) VALUES (?2, 'run_deadline', ?4)",
    ['M'] = "DELETE FROM timers WHERE subject = ?2",
    ['p'] = "INSERT INTO patches (id, run_id, attempt_no, sha256, base_commit, tree_hash, files,"
            " lines_added, lines_deleted, summary, status, created_us) VALUES (?2, ?2, 1, " SHA256
            ", " COMMIT ", " COMMIT ", 1, 2, 1, 'done', 'created', ?4)",
    ['P'] = "UPDATE patches SET status = 'published' WHERE id = ?2",
    ['v'] =
        "INSERT INTO verifications (id, run_id, patch_id, name, command, status, exit_code,"
        " duration_ms, created_us) VALUES (?2, ?2, ?2, 'unit', 'make test', 'passed', 0, 0, ?4)",
    ['q'] = "INSERT INTO pull_requests (id, number, repository_id, task_id, run_id, branch,"
            " target_branch, url, title, status, draft, head_commit, created_us, updated_us,"
            " merged_us) VALUES (?2, 1, " REPOSITORY ", ?3, ?2, 'drover/' || ?3, 'main',"
            " '/srv/git/x.git#1', 'Make the clock run on time', 'open', 1, " COMMIT ", ?4, ?4, 0)",
};

struct raw {
    sqlite3 *db;
    sqlite3_stmt *statements[LETTERS];
    struct dice dice;
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
    char url[BENCH_PATH_BYTES + 32];
    (void)snprintf(url, sizeof url, "sqlite:%s/drover.db", dir);
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
    raw->dice = dice_seeded(1);
    struct clock clock = clock_real();
    raw->now_us = clock_now_us(&clock);
    must(raw, sqlite3_open_v2(path, &raw->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL));
    run_text(raw, "PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0;"
                  "PRAGMA cache_size = -8192; PRAGMA synchronous = FULL;"
                  "PRAGMA journal_size_limit = 67108864; PRAGMA wal_autocheckpoint = 10000;");
    run_text(raw, "INSERT INTO repositories (id, workspace_id, name, config, version, removed,"
                  " created_us, updated_us) VALUES (" REPOSITORY ", " WORKSPACE ", 'bench', " CONFIG
                  ", 1, 0, 0, 0)");
    for (size_t i = 0; i < LETTERS; i++)
        if (texts[i] != NULL)
            must(raw, sqlite3_prepare_v3(raw->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                                         &raw->statements[i], NULL));
    return raw;
}

void raw_close(struct raw *raw)
{
    if (raw == NULL)
        return;
    for (size_t i = 0; i < LETTERS; i++)
        (void)sqlite3_finalize(raw->statements[i]);
    must(raw, sqlite3_close(raw->db));
    mem_free(raw);
}

/* ---- statements ---- */

static struct id new_id(struct raw *raw)
{
    return id_new(++raw->now_us, &raw->dice);
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

/* The commands of one run, in order: submit with its admission, then a lease and a completion for
   each of prepare, hydrate, agent, verify, judge, publish and clean. */
static const char *const commands[] = {
    "EEeTReejMmrt", "ceh", "seeejr",  "ceh", "seeejrt",      "ceh", "sepeejr", "ceh",
    "sevePeejr",    "ceh", "seeejrt", "ceh", "seqePeeEMjrt", "c",   "s",
};

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
        for (size_t c = 0; c < COUNT_OF(commands); c++)
            for (int64_t i = 0; i < count; i++)
                batch_add(raw, &batch, commands[c], &subjects[i]);
    }
    if (batch.filled > 0)
        run_text(raw, "COMMIT");
    double rate = (double)runs->runs / (bench_seconds() - begin);
    mem_free(subjects);
    return rate;
}
