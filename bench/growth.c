/*
 * growth.c - does it get slower when much has been kept?  Submit, claim and append with 10^3, 10^5
 * and 10^6 rows in the tables before, in process, 64 at a time.
 *
 *   submit   a task, its run, its events, its admission and its first job
 *   claim    one job of a queue in which half of the old jobs still wait
 *   append   one event of a run that a worker reports, with the state of run and task
 *
 * The old rows are a completed task, its run and one event of it each; of the jobs every other one
 * has succeeded, the rest waits.
 */
#include "base/js.h"
#include "bench/plant.h"
#include "bench/report.h"
#include "control/admit/repositories.h"
#include "control/admit/submit.h"
#include "control/queue/enqueue.h"
#include "control/queue/lease.h"
#include "control/run/progress.h"
#include "core/event_types.h"
#include "core/queue/rank.h"
#include <assert.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

enum { AT_ONCE = 64, ENQUEUE_EACH = 500 };
#define REPOSITORY "bench/growth"
#define DEEP_QUEUE "deep"

/* ---- old rows ---- */

#define ROWS "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) "
/* Grows with i and is older than every id that is made now. */
#define ID(kind) "printf('%08x-%04x-7000-8" kind "-%012x', i / 65536, i % 65536, i)"
#define REPO     "(SELECT id FROM repositories LIMIT 1)"
#define SPACE    "(SELECT id FROM workspaces LIMIT 1)"

static const char *const old_rows[] = {
    ROWS "INSERT INTO tasks (id, workspace_id, repository_id, description, issue_number, task_type,"
         " risk, mode, target_branch, scope, priority, max_turns, max_budget_microusd, labels,"
         " channel, depends_on, config, requested_by, status, latest_run_id, run_count,"
         " last_event_id, created_us, updated_us, ended_us, max_tokens, best_of, candidate_no)"
         " SELECT " ID(
             "000") ", " SPACE ", " REPO ", 'Something that was done long ago', 0, 'general', "
                    "'medium', 'supervised_pr', 'main',"
                    " '[]', 100, 0, 0, '[]', '{}', '[]', '{\"url\":\"/srv/git/x.git\"}', 'bench', "
                    "'completed',"
                    " " ID("001") ", 1, " ID("002") ", i, i, i, 0, 0, 0 FROM n",
    ROWS "INSERT INTO runs (id, task_id, workspace_id, repository_id, run_no, status, attempt,"
         " branch, turns, tokens_in, tokens_out, cost_microusd, stop, stop_us, used_agent,"
         " used_tool, used_verifier, used_pr, lost, rank, requested_by, task_type, event_seq,"
         " last_event_id, queued_us, started_us, ended_us, deadline_us, updated_us,"
         " max_turns, budget_microusd, events_left, event_bytes_left, max_tokens)"
         " SELECT " ID("001") ", " ID(
             "000") ", " SPACE ", " REPO ", 1, 'completed', 1, 'drover/x',"
                    " 0, 0, 0, 0, 'none', 0, 1, 0, 0, 0, 0, i, 'bench', 'general', 1, " ID(
                        "002") ", i, i, i, i, i, 0, 0, 20000, 33554432, 0 FROM n",
    ROWS
    "INSERT INTO event_log (id, type, version, workspace_id, task_id, run_id, subject, time_us,"
    " run_seq, correlation_id, actor_type, actor_id, data) SELECT " ID(
        "002") ", 'agent.run.completed', 1, " SPACE
               ", " ID("000") ", " ID("001") ", 'run/x', i, 1, " ID(
                   "000") ", 'system', 'drover', '{\"attempts\":1,\"costUsd\":0.5,\"runNo\":1}' "
                          "FROM n",
    ROWS "INSERT INTO jobs (id, queue, type, workspace_id, payload, priority, rank, state, epoch,"
         " due_us, expires_us, attempt, attempt_max, lost, dead_reason, leased_us, created_us,"
         " updated_us) SELECT " ID("003") ", '" DEEP_QUEUE "', 'note', " SPACE
                                          ", '{\"note\":\"an old one\"}', 100, i, CASE WHEN i % 2 "
                                          "= 0 THEN 'queued' ELSE 'succeeded'"
                                          " END, 0, i, 0, 0, 3, 0, 'none', 0, i, i FROM n",
};

static void must(sqlite3 *db, int code)
{
    if (code != SQLITE_OK && code != SQLITE_DONE)
        bench_die("old rows: %s", sqlite3_errmsg(db));
}

/* Without a log: nobody else has the file, and it is thrown away when this fails. */
static void insert_old_rows(const char *dir, int64_t count)
{
    char path[BENCH_PATH_BYTES + 16];
    (void)snprintf(path, sizeof path, "%s/drover.db", dir);
    sqlite3 *db = NULL;
    must(db, sqlite3_open(path, &db));
    must(db, sqlite3_exec(db,
                          "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                          "PRAGMA cache_size = -200000; BEGIN",
                          NULL, NULL, NULL));
    for (size_t i = 0; i < COUNT_OF(old_rows); i++) {
        sqlite3_stmt *insert = NULL;
        must(db, sqlite3_prepare_v2(db, old_rows[i], -1, &insert, NULL));
        must(db, sqlite3_bind_int64(insert, 1, count));
        must(db, sqlite3_step(insert));
        must(db, sqlite3_finalize(insert));
    }
    must(db, sqlite3_exec(db, "COMMIT", NULL, NULL, NULL));
    must(db, sqlite3_close(db));
}

static void add_repository(struct plant *plant)
{
    struct cmd_repository_put *put = cmd_repository_put_new();
    put->name = REPOSITORY;
    put->config = STR("{\"url\":\"/srv/git/x.git\",\"agent\":{\"command\":[\"./agent\"]},"
                      "\"limits\":{\"maxActiveRuns\":10000}}");
    plant_call(plant, &put->base);
    command_free(&put->base);
}

static void grow(struct plant *plant, const char *dir, int64_t rows)
{
    plant_open_dir(plant, dir);
    add_repository(plant);
    plant_close(plant);
    insert_old_rows(dir, rows);
    plant_open_dir(plant, dir);
}

/* ---- the three operations ---- */

struct hand {
    struct plant_slot slot; /* First: see plant.h. */
    struct job_ref job;     /* append: whose events. */
};

struct load {
    struct plant plant;
    struct hand hands[AT_ONCE];
};

static struct command *make_submit(const struct hand *hand)
{
    (void)hand;
    struct cmd_submit *cmd = cmd_submit_new();
    cmd->task.repository = REPOSITORY;
    cmd->task.description = "Something new";
    cmd->base.actor = (struct actor){"user", "bench"};
    return &cmd->base;
}

static struct cmd_lease *make_lease(const char *const *queues)
{
    struct cmd_lease *cmd = cmd_lease_new();
    cmd->base.principal = BENCH_PRINCIPAL;
    cmd->queues = queues;
    cmd->worker = "bench";
    cmd->max = 1;
    cmd->lease_us = US_PER_HOUR;
    return cmd;
}

static struct command *make_claim(const struct hand *hand)
{
    (void)hand;
    static const char *const queues[] = {DEEP_QUEUE, NULL};
    return &make_lease(queues)->base;
}

static struct command *make_append(const struct hand *hand)
{
    static const char events[] = "[{\"type\":\"agent.step.recorded\",\"data\":{\"text\":"
                                 "\"Reading the code before changing it\"}}]";
    struct cmd_progress *cmd = cmd_progress_new();
    cmd->base.principal = BENCH_PRINCIPAL;
    struct err err = {0};
    bench_must(js_parse(events, strlen(events), &cmd->base.tree, &err), &err, "progress");
    struct job_progress *progress = arena_array(&cmd->base.arena, 1, sizeof *progress);
    *progress = (struct job_progress){.ref = hand->job, .events = cmd->base.tree};
    cmd->jobs = progress;
    cmd->count = 1;
    return &cmd->base;
}

/* Jobs to claim, beside the old ones. */
static void enqueue_some(struct load *load, int count)
{
    for (int left = count; left > 0; left -= ENQUEUE_EACH) {
        struct cmd_enqueue *cmd = cmd_enqueue_new();
        struct job_spec *jobs = arena_array(&cmd->base.arena, ENQUEUE_EACH, sizeof *jobs);
        for (size_t i = 0; i < ENQUEUE_EACH; i++)
            jobs[i] = (struct job_spec){.queue = DEEP_QUEUE,
                                        .type = "note",
                                        .payload = STR("{\"note\":\"a new one\"}"),
                                        .priority = PRIORITY_NORMAL,
                                        .max_attempts = 3};
        cmd->jobs = jobs;
        cmd->count = ENQUEUE_EACH;
        plant_call(&load->plant, &cmd->base);
        command_free(&cmd->base);
    }
}

/* Every hand gets a step of a run, to report about. */
static void take_steps(struct load *load, int count)
{
    (void)count;
    static const char *const queues[] = {"drover.prepare", NULL};
    for (size_t i = 0; i < AT_ONCE; i++) {
        struct cmd_lease *cmd = make_lease(queues);
        plant_call(&load->plant, &cmd->base);
        if (cmd->job_count != 1)
            bench_die("no step waits to be taken");
        load->hands[i].job = (struct job_ref){cmd->jobs[0].id, cmd->jobs[0].life.epoch};
        command_free(&cmd->base);
    }
}

typedef struct command *make_command(const struct hand *hand);

/* One repetition; the processor time of the best one is kept. */
static void drive(struct load *load, make_command *make, int count, struct figure *figure)
{
    int sent = 0, done = 0;
    struct effort before, after;
    plant_effort(&load->plant, &before);
    double begin = bench_seconds();
    for (; sent < AT_ONCE; sent++)
        plant_post(&load->plant, &load->hands[sent].slot, make(&load->hands[sent]));
    for (; done < count; done++) {
        struct hand *hand = (struct hand *)plant_take(&load->plant);
        command_free(hand->slot.command);
        if (sent < count) {
            plant_post(&load->plant, &hand->slot, make(hand));
            sent++;
        }
    }
    double rate = count / (bench_seconds() - begin);
    plant_effort(&load->plant, &after);
    if (figure->count == 0 || rate > figure_best(figure))
        figure->cpu_us = effort_since(&before, &after).cpu_us / count;
    figure->values[figure->count++] = rate;
}

/* ---- sizes ---- */

enum operation { SUBMIT, CLAIM, APPEND, OPERATION_COUNT };
static const struct {
    const char *name;
    void (*before)(struct load *load, int count);
    make_command *make;
} operations[OPERATION_COUNT] = {
    [SUBMIT] = {"submit", NULL, make_submit},
    [CLAIM] = {"claim", enqueue_some, make_claim},
    [APPEND] = {"append", take_steps, make_append},
};

static const int64_t sizes[] = {1000, 100000, 1000000}, quick_sizes[] = {1000, 3000, 9000};
enum { SIZES = COUNT_OF(sizes) };

static void open_all(const struct bench *bench, struct load loads[SIZES])
{
    for (size_t i = 0; i < SIZES; i++) {
        char name[32], dir[BENCH_PATH_BYTES];
        (void)snprintf(name, sizeof name, "growth-%zu", i);
        bench_dir(bench, name, dir);
        grow(&loads[i].plant, dir, bench->quick ? quick_sizes[i] : sizes[i]);
    }
}

/* Sizes take turns: what disturbs the machine disturbs them all. */
static void measure_all(const struct bench *bench, struct load loads[SIZES],
                        struct figure figures[OPERATION_COUNT][SIZES])
{
    int count = bench->quick ? 500 : 2000;
    for (int r = 0; r < bench->repeat; r++) {
        for (size_t o = 0; o < OPERATION_COUNT; o++) {
            for (size_t i = 0; i < SIZES; i++) {
                if (operations[o].before != NULL)
                    operations[o].before(&loads[i], count);
                drive(&loads[i], operations[o].make, count, &figures[o][i]);
            }
        }
    }
}

static void report_operation(const struct bench *bench, const char *name,
                             struct figure figures[SIZES])
{
    for (size_t i = 0; i < SIZES; i++) {
        struct figure *figure = &figures[i];
        (void)snprintf(figure->group, sizeof figure->group, "growth");
        (void)snprintf(figure->what, sizeof figure->what, "%s, %lld rows", name,
                       (long long)(bench->quick ? quick_sizes[i] : sizes[i]));
        (void)snprintf(figure->how, sizeof figure->how, "in process, 64 at a time");
        (void)snprintf(figure->unit, sizeof figure->unit, "/s");
        report_add(bench->report, figure);
    }
    struct figure growth = {.group = "growth",
                            .how = "from fewest to most rows",
                            .unit = "x",
                            .better = LESS_IS_BETTER,
                            .aim = 1.3,
                            .count = 1};
    (void)snprintf(growth.what, sizeof growth.what, "%s, times slower", name);
    growth.values[0] = figure_best(&figures[0]) / figure_best(&figures[SIZES - 1]);
    report_add(bench->report, &growth);
}

void growth_run(const struct bench *bench)
{
    struct load loads[SIZES] = {0};
    struct figure figures[OPERATION_COUNT][SIZES] = {0};
    report_group(bench->report, "Growth  with so many rows in each table before");
    open_all(bench, loads);
    measure_all(bench, loads, figures);
    for (size_t o = 0; o < OPERATION_COUNT; o++)
        report_operation(bench, operations[o].name, figures[o]);
    for (size_t i = 0; i < SIZES; i++)
        plant_close(&loads[i].plant);
}
