/*
 * history.c - how long it takes to look back: folding events to runs, with and without snapshots,
 * and the history of 10^5 runs under other limits.
 *
 *   fold      events of one run of 20,000, from its first event; and a replay of its end from a
 *             snapshot
 *   doctor    runs that are folded and compared with their rows
 *   whatif    the history is read, and simulated under the limits in force and under half the slots
 *
 * Each old run has ten events, one begins every second and works for a minute; every tenth had two
 * attempts, so that its events are read as well.
 */
#include "bench/plant.h"
#include "bench/report.h"
#include "control/admit/repositories.h"
#include "control/watch/doctor_log.h"
#include "control/watch/replay.h"
#include "control/watch/whatif_read.h"
#include "core/event_types.h"
#include "store/store.h"
#include "store/workspaces.h"
#include <sqlite3.h>
#include <stdio.h>

enum { LONG_EVENTS = 20000 };

/* clang-format off */
#define COUNTED "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?1 - 1) "
#define ID(kind, at) \
    "printf('%08x-%04x-7000-8" kind "-%012x', (" at ") / 65536, (" at ") % 65536, " at ")"
#define TASK    ID("000", "i")
#define RUN     ID("001", "i")
#define REPO    "(SELECT id FROM repositories LIMIT 1)"
#define SPACE   "(SELECT id FROM workspaces LIMIT 1)"
#define AT(i)   "(1700000000000000 + (" i ") * 1000000)"
#define LONG_ID "00000000-0000-7000-8001-000000000000"

static const char sql_tasks[] = COUNTED
    "INSERT INTO tasks (id, workspace_id, repository_id, description, issue_number, task_type,"
    " risk, mode, target_branch, scope, priority, max_turns, max_budget_microusd, labels, channel,"
    " depends_on, config, requested_by, status, latest_run_id, run_count, last_event_id,"
    " created_us, updated_us, ended_us, max_tokens, best_of, candidate_no)"
    " SELECT " TASK ", " SPACE ", " REPO ", 'Something', 0, 'general', 'medium', 'supervised_pr',"
    " 'main', '[]', 100, 0, 0, '[]', '{}', '[]', '{\"url\":\"/srv/git/x.git\"}', 'bench',"
    " 'completed', " RUN ", 1, " RUN ", " AT("i") ", " AT("i") ", " AT("i") ", 0, 0, 0 FROM n";

static const char sql_runs[] = COUNTED
    "INSERT INTO runs (id, task_id, workspace_id, repository_id, run_no, status, attempt,"
    " branch, turns, tokens_in, tokens_out, cost_microusd, stop, stop_us, used_agent, used_tool,"
    " used_verifier, used_pr, lost, rank, requested_by, task_type, event_seq, last_event_id,"
    " queued_us, started_us, ended_us, deadline_us, updated_us, max_turns, budget_microusd,"
    " events_left, event_bytes_left, max_tokens, work_us)"
    " SELECT " RUN ", " TASK ", " SPACE ", " REPO ", 1, 'completed', 1 + (i % 10 = 0), 'drover/x',"
    " 12, 1000, 100, 500000, 'none', 0, 1 + (i % 10 = 0), 0, 0, 0, 0, i, 'bench', 'general', 10,"
    " " ID("002", "i * 16 + 10") ", " AT("i") ", " AT("i + 2") ", " AT("i + 60") ", 0,"
    " " AT("i + 60") ", 100, 0, 20000, 33554432, 0, 60000000 FROM n";

/* ?2 its number in the run, ?3 the second after the run was queued. */
#define EVENT_COLUMNS "(id, type, version, workspace_id, task_id, run_id, subject, time_us," \
    " run_seq, correlation_id, actor_type, actor_id, data)"
static const char sql_event[] = COUNTED
    "INSERT INTO event_log " EVENT_COLUMNS
    " SELECT " ID("002", "i * 16 + ?2") ", ?4, 1, " SPACE ", " TASK ", " RUN ", 'run/x',"
    " " AT("i + ?3") ", ?2, " TASK ", 'system', 'drover', ?5 FROM n";

#define USAGE "\"runUsage\":{\"turns\":12,\"inputTokens\":1000,\"outputTokens\":100," \
    "\"costUsd\":0.5,\"model\":\"m-1\"}"
/* More events for the first run, behind its end: a fold takes them all the same. */
static const char sql_long[] = COUNTED
    "INSERT INTO event_log " EVENT_COLUMNS
    " SELECT " ID("003", "i") ", CASE i % 4 WHEN 0 THEN 'agent.model.turn.completed'"
    " ELSE 'agent.tool.call.completed' END, 1, " SPACE ", " ID("000", "0") ", '" LONG_ID "',"
    " 'run/x', " AT("i + 100") ", i + 11, " ID("000", "0") ", 'worker', 'w',"
    " '{\"turns\":1,\"name\":\"bash\",\"summary\":\"make test\"," USAGE "}' FROM n";
/* clang-format on */

#define STATUS(to) "{\"toStatus\":\"" to "\",\"attempt\":1,\"reason\":\"as it goes\"}"
static const struct {
    int second;
    const char *type, *data;
} events[] = {
    {0, EV_RUN_QUEUED,
     "{\"runNo\":1,\"branch\":\"drover/x\",\"requestedBy\":\"bench\",\"taskType\":\"general\"}"},
    {0, EV_RUN_STATUS_CHANGED, STATUS("preparing")},
    {0, EV_RUN_ACQUIRED, "{}"},
    {2, EV_RUN_STARTED, "{\"baseCommit\":\"11\"}"},
    {3, EV_RUN_STATUS_CHANGED, STATUS("running")},
    {40, EV_STEP_COMPLETED, "{\"step\":\"agent\"," USAGE "}"},
    {41, EV_RUN_STATUS_CHANGED, STATUS("verifying")},
    {45, EV_RUN_STATUS_CHANGED, STATUS("creating_pr")},
    {60, EV_RUN_STATUS_CHANGED, STATUS("completed")},
    {60, EV_RUN_COMPLETED, "{\"attempts\":1," USAGE "}"},
};

/* at: of `events`; -1: the statement has no event. */
static void fill(sqlite3 *db, const char *sql, int64_t count, int at)
{
    sqlite3_stmt *insert = NULL;
    bool ok = sqlite3_prepare_v2(db, sql, -1, &insert, NULL) == SQLITE_OK &&
              sqlite3_bind_int64(insert, 1, count) == SQLITE_OK;
    if (ok && at >= 0)
        ok = sqlite3_bind_int(insert, 2, at + 1) == SQLITE_OK &&
             sqlite3_bind_int(insert, 3, events[at].second) == SQLITE_OK &&
             sqlite3_bind_text(insert, 4, events[at].type, -1, SQLITE_STATIC) == SQLITE_OK &&
             sqlite3_bind_text(insert, 5, events[at].data, -1, SQLITE_STATIC) == SQLITE_OK;
    if (!ok || sqlite3_step(insert) != SQLITE_DONE || sqlite3_finalize(insert) != SQLITE_OK)
        bench_die("history: %s", sqlite3_errmsg(db));
}

static void insert_history(const char *dir, int64_t runs)
{
    char path[BENCH_PATH_BYTES + 16];
    sqlite3 *db = NULL;
    (void)snprintf(path, sizeof path, "%s/drover.db", dir);
    if (sqlite3_open(path, &db) != SQLITE_OK ||
        sqlite3_exec(db,
                     "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                     "PRAGMA cache_size = -200000; BEGIN",
                     NULL, NULL, NULL) != SQLITE_OK)
        bench_die("history: %s", sqlite3_errmsg(db));
    fill(db, sql_tasks, runs, -1);
    fill(db, sql_runs, runs, -1);
    for (size_t i = 0; i < COUNT_OF(events); i++)
        fill(db, sql_event, runs, (int)i);
    fill(db, sql_long, LONG_EVENTS, -1);
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK || sqlite3_close(db) != SQLITE_OK)
        bench_die("history: the rows cannot be committed");
}

static void add_repository(struct plant *plant)
{
    struct cmd_repository_put *put = cmd_repository_put_new();
    put->name = "bench/history";
    put->config = STR("{\"url\":\"/srv/git/x.git\",\"agent\":{\"command\":[\"./agent\"]}}");
    plant_call(plant, &put->base);
    command_free(&put->base);
}

/* ---- what is measured ---- */

struct past {
    struct plant plant;
    struct db *db;
    int64_t runs;
};

static double fold_once(struct past *past, bool from_start, int64_t *ret_events)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct replay *replay = arena_alloc(&arena, sizeof *replay);
    struct err err = {0};
    struct id id = id_of(LONG_ID);
    const struct replay_options options = {.from_start = from_start};
    double begin = bench_seconds();
    bench_must(replay_run(past->db, &id, &options, &arena, replay, &err), &err, "replay");
    double took = bench_seconds() - begin;
    for (size_t i = 0; i < replay->made_count; i++)
        bench_must(run_snapshots_put(store_writer(past->plant.store), &replay->made[i], &err), &err,
                   "snapshots");
    *ret_events = replay->fold.events;
    return took;
}

static double doctor_once(struct past *past)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct doctor_check check;
    struct err err = {0};
    double begin = bench_seconds();
    bench_must(doctor_history(past->db, &arena, &check, &err), &err, "doctor");
    return bench_seconds() - begin;
}

static double whatif_once(struct past *past, int64_t *ret_changed)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct err err = {0};
    struct committer_limits none = {.max_active_runs = 0};
    struct workspace_row workspace;
    bench_must(workspaces_by_name(past->db, WORKSPACE_DEFAULT, &arena, &workspace, &err), &err,
               "workspace");
    const struct whatif_question question = {
        .limits = &none,
        .workspace_id = workspace.id,
        .other = {.limits = {.max_active_runs = 30}},
        .now_us = INT64_C(1800000000000000),
    };
    struct whatif_worlds worlds;
    struct whatif_difference difference;
    double begin = bench_seconds();
    bench_must(whatif_read(past->db, &question, &arena, &worlds, &err), &err, "whatif");
    struct whatif_outcome *before = whatif_simulate(&worlds.history, &worlds.now, &worlds.now,
                                                    &arena);
    struct whatif_outcome *after = whatif_simulate(&worlds.history, &worlds.now, &worlds.other,
                                                   &arena);
    whatif_compare(&worlds.history, before, after, &difference);
    *ret_changed = difference.deferred.runs;
    return bench_seconds() - begin;
}

static struct figure figure_of(const char *what, const char *unit, enum better better, double aim)
{
    struct figure figure = {.group = "history", .better = better, .aim = aim};
    (void)snprintf(figure.what, sizeof figure.what, "%s", what);
    (void)snprintf(figure.how, sizeof figure.how, "in process, SQLite");
    (void)snprintf(figure.unit, sizeof figure.unit, "%s", unit);
    return figure;
}

void history_run(const struct bench *bench)
{
    struct past past = {.runs = bench->quick ? 500 : 100000};
    char dir[BENCH_PATH_BYTES], what[64];
    struct err err = {0};
    int64_t folded = 0, changed = 0;
    bench_dir(bench, "history", dir);
    plant_open_dir(&past.plant, dir);
    add_repository(&past.plant);
    plant_close(&past.plant);
    insert_history(dir, past.runs);
    plant_open_dir(&past.plant, dir);
    bench_must(store_reader_open(past.plant.store, &past.db, &err), &err, "reader");
    report_group(bench->report, "History  folding, comparing and simulating what was recorded");
    struct figure fold = figure_of("fold, from the first event", "events/s", MORE_IS_BETTER, 0);
    struct figure jump = figure_of("replay of the end of 20,000, snapshots", "ms", LESS_IS_BETTER,
                                   0);
    struct figure whole = figure_of("replay of the end of 20,000, none", "ms", LESS_IS_BETTER, 0);
    struct figure doctor = figure_of("doctor, runs folded", "runs/s", MORE_IS_BETTER, 0);
    (void)snprintf(what, sizeof what, "whatif over %lld runs", (long long)past.runs);
    struct figure whatif = figure_of(what, "s", LESS_IS_BETTER, 10);
    for (int r = 0; r < bench->repeat; r++) {
        double took = fold_once(&past, true, &folded);
        fold.values[fold.count++] = (double)folded / took;
        whole.values[whole.count++] = took * 1000;
        (void)fold_once(&past, false, &folded); /* Leaves the last snapshots. */
        jump.values[jump.count++] = fold_once(&past, false, &folded) * 1000;
        doctor.values[doctor.count++] = (double)past.runs / doctor_once(&past);
        whatif.values[whatif.count++] = whatif_once(&past, &changed);
    }
    report_add(bench->report, &fold);
    report_add(bench->report, &whole);
    report_add(bench->report, &jump);
    report_add(bench->report, &doctor);
    report_add(bench->report, &whatif);
    report_note(bench->report, "whatif: %lld runs would have been deferred", (long long)changed);
    store_reader_close(past.plant.store, past.db);
    plant_close(&past.plant);
}
