/*
 * postgres.c - PostgreSQL beside SQLite, in process, in one run.
 *
 *   complete a step   nothing but completions that move a run on: load job, run and task, save
 *                     them, append events, enqueue the next job
 *   whole runs        W2: 15 commands of several kinds a run
 *   jobs              W1: enqueue, drain, combined
 *   claims            8 claimers on two nodes that share a database, and how many leases came back
 *                     empty though work was queued
 *   wake-up           enqueue on one node, the lease waits on the other
 *
 * The limit is raw_postgres.h: the same statements in batches of the same size, as many connections
 * as there are lanes.  The aim is half of it.
 */
#include "bench/claims.h"
#include "bench/cluster.h"
#include "bench/raw_postgres.h"
#include "bench/runs.h"
#include "bench/w1.h"
#include "bench/w3.h"
#include <stdio.h>

enum { CLAIMERS = 8, NODES = 2, DEFAULT_LANES = 4 };
#define GROUP        "PG"
#define SHARE_AIM    0.5
#define EMPTY_AIM_PC 5.0

static const size_t lane_counts[] = {1, 4, 16};
static const int64_t at_once[] = {64, 256};
enum { REPO_LOADS = COUNT_OF(at_once) };

struct place_of { /* Where the figures of one engine come from. */
    const struct bench *bench;
    const struct cluster *cluster; /* NULL: SQLite. */
    size_t lanes;
};

static const char *engine_of(const struct place_of *place, char to[32])
{
    if (place->cluster == NULL)
        (void)snprintf(to, 32, "sqlite");
    else
        (void)snprintf(to, 32, "pg, %zu lane%s", place->lanes, place->lanes > 1 ? "s" : "");
    return to;
}

/* An empty store; one of the same name goes. */
static void new_url(const struct place_of *place, const char *name, char to[BENCH_URL_BYTES])
{
    if (place->cluster != NULL) {
        cluster_schema(place->cluster, name, to);
        return;
    }
    char dir[BENCH_PATH_BYTES];
    bench_dir(place->bench, name, dir);
    bench_sqlite_url(dir, to);
}

/* ---- runs ---- */

static void note_raw(struct figure *figure, double rate, int64_t each)
{
    if (rate <= figure->raw)
        return;
    figure->raw = rate;
    figure->raw_batch = (double)each;
}

static int64_t whole(double batch)
{
    return batch < 1 ? 1 : (int64_t)(batch + 0.5);
}

static void measure_runs(const struct place_of *place, struct runs *runs, struct raw_pg *raw,
                         struct figure figures[REPO_LOADS][2])
{
    for (size_t i = 0; i < (place->bench->quick ? 1 : REPO_LOADS); i++) {
        int64_t total = place->bench->quick ? 32 : at_once[i] > 64 ? 512 : 256;
        struct figure *moves = &figures[i][0], *runs_figure = &figures[i][1];
        struct runs_wish wish = {.total = total, .at_once = at_once[i]};
        runs_moves(runs, &wish, moves);
        runs_whole(runs, &wish, runs_figure);
        if (raw == NULL)
            continue;
        struct raw_pg_runs limit = {
            .runs = total, .at_once = at_once[i], .payload = runs_payload()};
        limit.each = whole(moves->batch);
        note_raw(moves, raw_pg_moves(raw, &limit), limit.each);
        limit.each = whole(runs_figure->batch);
        note_raw(runs_figure, raw_pg_whole(raw, &limit), limit.each);
    }
}

static void add_runs(const struct place_of *place, struct figure figures[REPO_LOADS][2],
                     size_t which)
{
    static const char *const what[] = {"complete a step", "whole runs of 8 steps"};
    static const char *const unit[] = {"cmds/s", "runs/s"};
    char engine[32];
    for (size_t i = 0; i < REPO_LOADS; i++) {
        struct figure *figure = &figures[i][which];
        if (figure->count == 0)
            continue;
        (void)snprintf(figure->group, sizeof figure->group, GROUP);
        (void)snprintf(figure->what, sizeof figure->what, "%s", what[which]);
        (void)snprintf(figure->unit, sizeof figure->unit, "%s", unit[which]);
        (void)snprintf(figure->how, sizeof figure->how, "%s, %lld at once",
                       engine_of(place, engine), (long long)at_once[i]);
        figure->aim = SHARE_AIM * figure->raw;
        report_add(place->bench->report, figure);
    }
}

static void run_runs(const struct place_of *place)
{
    char url[BENCH_URL_BYTES], raw_url[BENCH_URL_BYTES];
    struct figure figures[REPO_LOADS][2] = {0};
    struct raw_pg *raw = NULL;
    new_url(place, "runs", url);
    struct runs *runs = runs_open(&(struct plant_setup){.url = url, .lanes = place->lanes});
    if (place->cluster != NULL) {
        new_url(place, "runs_raw", raw_url);
        raw = raw_pg_open(raw_url, place->lanes);
    }
    for (int r = 0; r < place->bench->repeat; r++)
        measure_runs(place, runs, raw, figures);
    int64_t retried = runs_retried(runs);
    raw_pg_close(raw);
    runs_close(runs);
    add_runs(place, figures, 0);
    add_runs(place, figures, 1);
    if (retried > 0)
        report_note(place->bench->report, "%lld batches were rolled back and tried again",
                    (long long)retried);
}

/* ---- jobs ---- */

static void run_jobs(const struct place_of *place)
{
    char url[BENCH_URL_BYTES], engine[32];
    struct raw *raw = NULL;
    struct raw_pg *raw_pg = NULL;
    new_url(place, "jobs", url);
    struct jobs_trial trial = {
        .group = GROUP,
        .how = engine_of(place, engine),
        .port = port_direct_open(&(struct plant_setup){.url = url, .lanes = place->lanes}),
        .total = place->bench->quick ? 200 : 4000,
        .loads = true,
    };
    if (place->cluster != NULL) {
        new_url(place, "jobs_raw", url);
        raw_pg = raw_pg_open(url, place->lanes);
        trial.limit = jobs_limit_pg(raw_pg);
        trial.share_aim = SHARE_AIM;
    } else {
        raw = raw_open(place->bench, "jobs-raw");
        trial.limit = jobs_limit_sqlite(raw);
    }
    w1_measure(place->bench, &trial);
    raw_close(raw);
    raw_pg_close(raw_pg);
    port_close(trial.port);
}

/* ---- several nodes ---- */

static void open_nodes(const struct place_of *place, const char *url, struct claim_trial *trial)
{
    static const char *const names[NODES] = {"bench-a", "bench-b"};
    trial->node_count = place->cluster != NULL ? NODES : 1;
    for (size_t i = 0; i < trial->node_count; i++)
        trial->nodes[i] = port_direct_open(
            &(struct plant_setup){.url = url, .node = names[i], .lanes = place->lanes});
}

static void measure_claims(const struct place_of *place, struct claim_trial *trial,
                           struct raw_pg *raw)
{
    struct figure rate = {.group = GROUP, .unit = "jobs/s"};
    struct figure empty = {
        .group = GROUP, .unit = "%", .better = LESS_IS_BETTER, .aim = EMPTY_AIM_PC};
    for (int r = 0; r < place->bench->repeat; r++) {
        struct claim_outcome outcome;
        claims_run(trial, &outcome);
        if (rate.count == 0 || outcome.rate > figure_best(&rate))
            rate.batch = outcome.batch;
        rate.values[rate.count++] = outcome.rate;
        empty.values[empty.count++] = outcome.empty;
        if (raw == NULL)
            continue;
        int64_t each = whole(rate.batch * trial->max);
        struct jobs_limit limit = jobs_limit_pg(raw);
        (void)limit.rate(limit.ctx, ENQUEUE, trial->total + 2 * each * CLAIMERS, each);
        note_raw(&rate, raw_pg_claim(raw, trial->total, each), each);
    }
    rate.aim = SHARE_AIM * rate.raw;
    (void)snprintf(rate.what, sizeof rate.what, "claims, %d a lease", trial->max);
    (void)snprintf(empty.what, sizeof empty.what, "leases that came back empty");
    (void)snprintf(rate.how, sizeof rate.how, "%s, 8 claimers, %zu node%s",
                   place->cluster != NULL ? "pg" : "sqlite", trial->node_count,
                   trial->node_count > 1 ? "s" : "");
    (void)snprintf(empty.how, sizeof empty.how, "%s", rate.how);
    report_add(place->bench->report, &rate);
    report_add(place->bench->report, &empty);
}

static void run_nodes(const struct place_of *place)
{
    char url[BENCH_URL_BYTES], raw_url[BENCH_URL_BYTES];
    struct raw_pg *raw = NULL;
    new_url(place, "nodes", url);
    struct claim_trial trial = {.claimers = CLAIMERS,
                                .total = place->bench->quick ? 200 : 4000,
                                .reserve = place->bench->quick ? 400 : 2000};
    open_nodes(place, url, &trial);
    if (place->cluster != NULL) {
        new_url(place, "nodes_raw", raw_url);
        raw = raw_pg_open(raw_url, CLAIMERS);
    }
    for (trial.max = 1; trial.max <= 10; trial.max *= 10)
        measure_claims(place, &trial, raw);
    raw_pg_close(raw);
    for (size_t i = 0; i < trial.node_count; i++)
        port_close(trial.nodes[i]);
}

static void run_wakes(const struct place_of *place)
{
    char url[BENCH_URL_BYTES];
    new_url(place, "wakes", url);
    struct claim_trial nodes = {0};
    open_nodes(place, url, &nodes);
    struct wake_trial trial = {
        .group = GROUP,
        .what = "wake-up, ",
        .how = place->cluster != NULL ? "pg, other node" : "sqlite",
        .producer = nodes.nodes[0],
        .waiter = nodes.nodes[nodes.node_count - 1],
    };
    w3_measure(place->bench, &trial);
    for (size_t i = 0; i < nodes.node_count; i++)
        port_close(nodes.nodes[i]);
}

void postgres_run(const struct bench *bench)
{
    report_group(bench->report, "PG  PostgreSQL beside SQLite, in process");
    struct cluster cluster;
    struct err err = {0};
    if (!cluster_start(bench, &cluster, &err)) {
        report_note(bench->report, "Left out: %s", err.text);
        return;
    }
    report_note(bench->report, "%s", cluster.durability);
    report_note(bench->report, "raw limit: the same statements by bare libpq loops, one connection "
                               "a lane, two round trips a batch of the same size.");
    report_note(bench->report, "cpu: without PostgreSQL's own.  The aim is half of the raw limit.");
    struct place_of sqlite = {.bench = bench};
    run_runs(&sqlite);
    for (size_t i = 0; i < COUNT_OF(lane_counts); i++)
        run_runs(&(struct place_of){bench, &cluster, lane_counts[i]});
    struct place_of postgres = {bench, &cluster, DEFAULT_LANES};
    run_jobs(&sqlite);
    run_jobs(&postgres);
    run_nodes(&sqlite);
    run_nodes(&postgres);
    run_wakes(&sqlite);
    run_wakes(&postgres);
    cluster_stop(&cluster);
}
