/*
 * sim - the production control plane and store under seeded faults, in virtual time.
 *
 *   sim [--seed N] [--runs N] [--batch N]                 tasks and their runs
 *   sim jobs [--seed N] [--transitions N] [--steps N] [--batch N] [--engine postgres]
 *                                                         jobs in queues of all kinds
 *   sim issues [--seed N] [--issues N] [--batch N]        issues and the Conductor
 *   sim nodes [--seed N] [--steps N] [--batch N]          nodes that stand still, on PostgreSQL
 *
 * Worlds of `batch` tasks or jobs each are simulated, one after the other, until that many runs
 * have ended, or jobs have gone from one state to another so often and so much has happened; world
 * k has the seed N + k.  PostgreSQL is the one that DROVER_TEST_POSTGRES names.  A
 * failure prints the seed of its world, which replays it exactly: sim --seed THAT --runs 1.
 * Without --seed a new one is drawn and printed.
 */
#include "base/log.h"
#include "base/random.h"
#include "base/str.h"
#include "tests/sim/nodes.h"
#include "tests/sim/sims.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int64_t option(int argc, char **argv, const char *name, int64_t otherwise)
{
    for (int i = 1; i + 1 < argc; i++) {
        int64_t value;
        if (strcmp(argv[i], name) == 0 && text_to_i64(argv[i + 1], &value))
            return value;
    }
    return otherwise;
}

/* NULL: SQLite. */
static const char *postgres(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], "--engine") == 0 && strcmp(argv[i + 1], "postgres") == 0)
            return getenv("DROVER_TEST_POSTGRES");
    return NULL;
}

static int nodes_main(int argc, char **argv, int64_t drawn)
{
    struct sim_nodes_options options = {
        .seed = option(argc, argv, "--seed", drawn),
        .steps = option(argc, argv, "--steps", 4000),
        .batch = option(argc, argv, "--batch", 2000),
        .postgres = getenv("DROVER_TEST_POSTGRES"),
    };
    if (options.postgres == NULL) {
        fprintf(stderr, "sim nodes: DROVER_TEST_POSTGRES names no PostgreSQL\n");
        return 2;
    }
    printf("sim: seed %" PRId64 ", %" PRId64 " steps of nodes\n", options.seed, options.steps);
    fflush(stdout);
    sim_nodes(&options);
    return 0;
}

static int issues_main(int argc, char **argv, int64_t drawn)
{
    struct sim_options options = {
        .seed = option(argc, argv, "--seed", drawn),
        .batch = option(argc, argv, "--batch", 100),
        .issues = option(argc, argv, "--issues", 1000),
    };
    printf("sim: seed %" PRId64 ", %" PRId64 " issues\n", options.seed, options.issues);
    fflush(stdout);
    sim_issues(&options);
    return 0;
}

int main(int argc, char **argv)
{
    bool jobs = argc > 1 && strcmp(argv[1], "jobs") == 0;
    /* Workers of the simulation report nonsense on purpose. */
    log_configure(&(struct log_options){.fd = STDERR_FILENO, .level = LOG_ERROR});
    struct random random = random_from_os();
    int64_t drawn = (int64_t)(random_next(&random) >> 20);
    if (argc > 1 && strcmp(argv[1], "nodes") == 0)
        return nodes_main(argc, argv, drawn);
    if (argc > 1 && strcmp(argv[1], "issues") == 0)
        return issues_main(argc, argv, drawn);
    struct sim_options options = {
        .seed = option(argc, argv, "--seed", drawn),
        .batch = option(argc, argv, "--batch", jobs ? 1500 : 200),
        .runs = option(argc, argv, "--runs", 1000),
        .transitions = option(argc, argv, "--transitions", 20000),
        .steps = option(argc, argv, "--steps", 0),
        .postgres = postgres(argc, argv),
    };
    printf("sim: seed %" PRId64 ", %" PRId64 " %s\n", options.seed,
           jobs ? options.transitions : options.runs, jobs ? "job transitions" : "runs");
    fflush(stdout);
    (jobs ? sim_jobs : sim_runs)(&options);
    return 0;
}
