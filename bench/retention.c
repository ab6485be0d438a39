/*
 * retention.c - what it costs the job protocol that old runs are deleted beside it, and what is
 * given back.
 *
 *   A database has many finished runs, each with a task, ten events and four jobs.  All but the
 *   newest tenth are past their time.  W1 runs through a control plane on it, with retention and
 *   without, in turns: what disturbs the machine disturbs both.  At the end retention has the
 *   database to itself until it is done.
 *
 * 10^5 runs; 2,000 with --quick; 10^6 with BENCH_LONG=1, for which 15 GB have to be free.
 */
#include "bench/plant.h"
#include "bench/report.h"
#include "bench/w1.h"
#include "control/admit/repositories.h"
#include "core/event_types.h"
#include "store/retention_sums.h"
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { KEPT_SHARE = 10, EVENTS_EACH = 10, JOBS_EACH = 4, WAIT_MS = 100, RUN_SECONDS = 60 };
#define GROUP     "retention"
#define RATIO_AIM 0.9

/* clang-format off */
#define COUNTED "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?1 - 1) "
/* UUIDs of version 7, one run a second: ids and times have the same order. */
#define FIRST_MS "1700000000000"
#define AT(i)    "((" FIRST_MS " + (" i ") * 1000) * 1000)"
#define MS(i)    "printf('%012x', " FIRST_MS " + (" i ") * 1000)"
#define ID(kind, k) "substr(" MS("i") ", 1, 8) || '-' || substr(" MS("i") ", 9) ||" \
    " printf('-7" kind "-8000-%012x', i * 16 + " k ")"
#define TASK  ID("000", "0")
#define RUN   ID("001", "0")
#define REPO  "(SELECT id FROM repositories LIMIT 1)"
#define SPACE "(SELECT id FROM workspaces LIMIT 1)"

static const char sql_tasks[] = COUNTED
    "INSERT INTO tasks (id, workspace_id, repository_id, description, issue_number, task_type,"
    " risk, mode, target_branch, scope, priority, max_turns, max_budget_microusd, labels, channel,"
    " depends_on, config, requested_by, status, latest_run_id, run_count, last_event_id,"
    " created_us, updated_us, ended_us, max_tokens, best_of, candidate_no)"
    " SELECT " TASK ", " SPACE ", " REPO ", 'Something that was done long ago', 0, 'general',"
    " 'medium', 'supervised_pr', 'main', '[]', 100, 0, 0, '[]', '{}', '[]',"
    " '{\"url\":\"/srv/git/x.git\"}', 'bench', 'failed', " RUN ", 1, " RUN ", " AT("i") ", "
    AT("i") ", " AT("i + 60") ", 0, 0, 0 FROM n";

static const char sql_runs[] = COUNTED
    "INSERT INTO runs (id, task_id, workspace_id, repository_id, run_no, status, attempt,"
    " branch, turns, tokens_in, tokens_out, cost_microusd, stop, stop_us, used_agent, used_tool,"
    " used_verifier, used_pr, lost, rank, requested_by, task_type, event_seq, last_event_id,"
    " queued_us, started_us, ended_us, deadline_us, updated_us, max_turns, budget_microusd,"
    " events_left, event_bytes_left, max_tokens, work_us)"
    " SELECT " RUN ", " TASK ", " SPACE ", " REPO ", 1, 'failed', 1, 'drover/x', 12, 1000, 100,"
    " 500000, 'none', 0, 1, 0, 0, 0, 0, i, 'bench', 'general', 10, " ID("002", "10") ", " AT("i")
    ", " AT("i + 2") ", " AT("i + 60") ", 0, " AT("i + 60") ", 100, 0, 20000, 33554432, 0,"
    " 60000000 FROM n";

static const char sql_events[] = COUNTED
    ", e (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM e WHERE k < ?2)"
    " INSERT INTO event_log (id, type, version, workspace_id, task_id, run_id, subject, time_us,"
    " run_seq, correlation_id, actor_type, actor_id, data) SELECT " ID("002", "k")
    ", CASE k WHEN 1 THEN '" "agent.run.queued" "' WHEN ?2 THEN 'agent.run.failed'"
    " ELSE 'agent.run.status.changed' END, 1, " SPACE ", " TASK ", " RUN ", 'run/x', " AT("i + k")
    ", k, " TASK ", 'system', 'drover', '{\"runId\":\"' || " RUN " || '\",\"toStatus\":"
    "\"running\",\"attempt\":1,\"reason\":\"one of the events of a run that is over\"}'"
    " FROM n CROSS JOIN e";

static const char sql_jobs[] = COUNTED
    ", e (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM e WHERE k < ?2)"
    " INSERT INTO jobs (id, queue, type, workspace_id, run_id, payload, priority, rank, state,"
    " epoch, due_us, expires_us, attempt, attempt_max, lost, dead_reason, leased_us, created_us,"
    " updated_us) SELECT " ID("003", "k") ", 'drover.agent', 'agent', " SPACE ", " RUN
    ", '{\"note\":\"' || substr(hex(zeroblob(200)), 1, 400) || '\"}', 100, i, 'succeeded', 1, "
    AT("i") ", 0, 1, 3, 0, 'none', " AT("i") ", " AT("i") ", " AT("i + 60")
    " FROM n CROSS JOIN e";
/* clang-format on */

struct past {
    const struct bench *bench;
    char dir[BENCH_PATH_BYTES], url[BENCH_URL_BYTES];
    int64_t runs;
    struct expiry_rules rules;
};

static void fill(sqlite3 *db, const char *sql, int64_t runs, int each)
{
    sqlite3_stmt *insert = NULL;
    bool ok = sqlite3_prepare_v2(db, sql, -1, &insert, NULL) == SQLITE_OK &&
              sqlite3_bind_int64(insert, 1, runs) == SQLITE_OK;
    if (ok && each > 0)
        ok = sqlite3_bind_int(insert, 2, each) == SQLITE_OK;
    if (!ok || sqlite3_step(insert) != SQLITE_DONE || sqlite3_finalize(insert) != SQLITE_OK)
        bench_die("old runs: %s", sqlite3_errmsg(db));
}

/* Without a log: nothing else has the file, and it is thrown away when this fails. */
static void insert_past(const struct past *past)
{
    char path[BENCH_PATH_BYTES + 16];
    sqlite3 *db = NULL;
    (void)snprintf(path, sizeof path, "%s/drover.db", past->dir);
    if (sqlite3_open(path, &db) != SQLITE_OK ||
        sqlite3_exec(db,
                     "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                     "PRAGMA cache_size = -400000; BEGIN",
                     NULL, NULL, NULL) != SQLITE_OK)
        bench_die("old runs: %s", sqlite3_errmsg(db));
    fill(db, sql_tasks, past->runs, 0);
    fill(db, sql_runs, past->runs, 0);
    fill(db, sql_events, past->runs, EVENTS_EACH);
    fill(db, sql_jobs, past->runs, JOBS_EACH);
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK || sqlite3_close(db) != SQLITE_OK)
        bench_die("old runs: they cannot be committed");
}

static void add_repository(struct plant *plant)
{
    struct cmd_repository_put *put = cmd_repository_put_new();
    put->name = "bench/retention";
    put->config = STR("{\"url\":\"/srv/git/x.git\",\"agent\":{\"command\":[\"./agent\"]}}");
    plant_call(plant, &put->base);
    command_free(&put->base);
}

/* Of the database, with its log. */
static double file_mb(const struct past *past)
{
    static const char *const names[] = {"drover.db", "drover.db-wal"};
    double bytes = 0;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char path[BENCH_PATH_BYTES + 16];
        struct stat info;
        (void)snprintf(path, sizeof path, "%s/%s", past->dir, names[i]);
        if (stat(path, &info) == 0)
            bytes += (double)info.st_size;
    }
    return bytes / 1e6;
}

static void build(struct past *past)
{
    struct plant plant;
    struct clock clock = clock_real();
    plant_open(&plant, &(struct plant_setup){.url = past->url});
    add_repository(&plant);
    plant_close(&plant);
    insert_past(past);
    /* What is younger than the newest tenth of the runs is kept. */
    int64_t first_us = INT64_C(1700000000) * US_PER_SECOND;
    int64_t border_us = first_us +
                        (past->runs - past->runs / KEPT_SHARE + RUN_SECONDS) * US_PER_SECOND;
    past->rules.tasks_us = clock_now_us(&clock) - border_us;
}

/* ---- measuring ---- */

static int64_t sum_of(struct store *store, const char *name)
{
    struct err err = {0};
    struct db *db = NULL;
    int64_t value = 0;
    bench_must(store_reader_open(store, &db, &err), &err, "reader");
    bench_must(retention_sums_get(db, name, &value, &err), &err, name);
    store_reader_close(store, db);
    return value;
}

struct pair {
    double off, on;         /* Jobs a second. */
    double off_max, on_max; /* The longest that a call took, ms. */
};

static const struct {
    const char *what;
    enum jobs_kind kind;
} kinds[] = {
    {"enqueue, 1 a call", ENQUEUE}, {"drain, 10 a call", DRAIN}, {"combined, 1 a call", COMBINED}};
enum { KINDS = COUNT_OF(kinds) };

static void measure(struct past *past, bool with, int64_t jobs, struct pair pairs[KINDS])
{
    struct port *port = port_direct_open(
        &(struct plant_setup){.url = past->url, .retention = with ? &past->rules : NULL});
    for (size_t i = 0; i < KINDS; i++) {
        double rate = w1_rate(port, kinds[i].kind, jobs);
        *(with ? &pairs[i].on : &pairs[i].off) = rate;
    }
    port_close(port);
}

/* Retention alone, until a round is over. */
static void finish(struct past *past, double *ret_seconds, double *ret_cpu_us, int64_t *ret_expired)
{
    struct plant plant;
    struct effort before, after;
    plant_open(&plant, &(struct plant_setup){.url = past->url, .retention = &past->rules});
    int64_t rounds = sum_of(plant.store, MARK_ROUND_US);
    double begin = bench_seconds();
    plant_effort(&plant, &before);
    while (sum_of(plant.store, MARK_ROUND_US) == rounds)
        bench_pause_ms(WAIT_MS);
    *ret_seconds = bench_seconds() - begin;
    plant_effort(&plant, &after);
    *ret_cpu_us = effort_since(&before, &after).cpu_us;
    *ret_expired = sum_of(plant.store, RETENTION_EXPIRED "runs");
    plant_close(&plant);
}

static int64_t expired_so_far(const struct past *past)
{
    struct plant plant;
    plant_open(&plant, &(struct plant_setup){.url = past->url});
    int64_t expired = sum_of(plant.store, RETENTION_EXPIRED "runs");
    plant_close(&plant);
    return expired;
}

static struct figure figure_of(const char *what, const char *unit, enum better better, double aim)
{
    struct figure figure = {.group = GROUP, .better = better, .aim = aim};
    (void)snprintf(figure.what, sizeof figure.what, "%s", what);
    (void)snprintf(figure.how, sizeof figure.how, "in process, SQLite");
    (void)snprintf(figure.unit, sizeof figure.unit, "%s", unit);
    return figure;
}

static void add_value(const struct bench *bench, const char *what, const char *unit, double value)
{
    struct figure figure = figure_of(what, unit, LESS_IS_BETTER, 0);
    figure.values[figure.count++] = value;
    report_add(bench->report, &figure);
}

/* Pairs take turns in both orders; the ratio is that of all of them together. */
static void compare(struct past *past, int64_t jobs, int turns)
{
    struct figure off[KINDS], on[KINDS], ratio[KINDS];
    double off_time[KINDS] = {0}, on_time[KINDS] = {0};
    char what[64];
    for (size_t i = 0; i < KINDS; i++) {
        (void)snprintf(what, sizeof what, "%s, without", kinds[i].what);
        off[i] = figure_of(what, "jobs/s", MORE_IS_BETTER, 0);
        (void)snprintf(what, sizeof what, "%s, with retention", kinds[i].what);
        on[i] = figure_of(what, "jobs/s", MORE_IS_BETTER, 0);
        (void)snprintf(what, sizeof what, "%s, share that is left", kinds[i].what);
        ratio[i] = figure_of(what, "x", MORE_IS_BETTER, RATIO_AIM);
    }
    for (int turn = 0; turn < turns; turn++) {
        struct pair pairs[KINDS] = {0};
        measure(past, turn % 2 == 1, jobs, pairs);
        measure(past, turn % 2 == 0, jobs, pairs);
        for (size_t i = 0; i < KINDS; i++) {
            off[i].values[off[i].count++] = pairs[i].off;
            on[i].values[on[i].count++] = pairs[i].on;
            off_time[i] += 1 / pairs[i].off;
            on_time[i] += 1 / pairs[i].on;
        }
    }
    for (size_t i = 0; i < KINDS; i++) {
        ratio[i].values[ratio[i].count++] = off_time[i] / on_time[i];
        report_add(past->bench->report, &off[i]);
        report_add(past->bench->report, &on[i]);
        report_add(past->bench->report, &ratio[i]);
    }
}

static int64_t runs_wanted(const struct bench *bench)
{
    const char *is_long = getenv("BENCH_LONG");
    if (bench->quick)
        return 2000;
    return is_long != NULL && strcmp(is_long, "1") == 0 ? 1000000 : 100000;
}

void retention_run(const struct bench *bench)
{
    struct past past = {.bench = bench, .runs = runs_wanted(bench)};
    double begin = bench_seconds(), seconds = 0, cpu_us = 0;
    int64_t expired = 0;
    report_group(bench->report, "Retention  W1 beside the deletion of old runs");
    bench_dir(bench, "retention", past.dir);
    bench_sqlite_url(past.dir, past.url);
    build(&past);
    double before_mb = file_mb(&past);
    report_note(bench->report, "%lld finished runs of %d events and %d jobs, made in %.0f s",
                (long long)past.runs, EVENTS_EACH, JOBS_EACH, bench_seconds() - begin);
    compare(&past, bench->quick ? 800 : 20000, bench->quick ? 1 : 2 * bench->repeat);
    int64_t beside = expired_so_far(&past);
    finish(&past, &seconds, &cpu_us, &expired);
    report_note(bench->report,
                "runs that expired: %lld beside W1, %lld after it in %.1f s; %lld are left",
                (long long)beside, (long long)(expired - beside), seconds,
                (long long)(past.runs - expired));
    /* The border moves on while this takes its time: one run is a second. */
    int64_t least = past.runs - past.runs / KEPT_SHARE;
    if (expired < least || expired > least + (int64_t)(bench_seconds() - begin) + 1)
        bench_die("retention: %lld runs expired", (long long)expired);
    add_value(bench, "database before", "MB", before_mb);
    add_value(bench, "database after", "MB", file_mb(&past));
    struct figure rate = figure_of("runs expired, alone", "runs/s", MORE_IS_BETTER, 0);
    rate.values[rate.count++] = (double)(expired - beside) / seconds;
    rate.cpu_us = cpu_us / (double)(expired - beside);
    report_add(bench->report, &rate);
}
