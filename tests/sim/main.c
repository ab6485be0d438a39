/*
 * sim - the production control plane and store under seeded faults, in virtual time.
 *
 *   sim [--seed N] [--runs N] [--batch N]
 *
 * Worlds of `batch` tasks each are simulated, one after the other, until that many runs have
 * ended; world k has the seed N + k.  A failure prints the seed of its world, which replays it
 * exactly: sim --seed THAT --runs 1.  Without --seed a new one is drawn and printed.
 */
#include "base/clock.h"
#include "base/str.h"
#include "tests/sim/model.h"
#include "tests/sim/people.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX_PER_TASK = 20000 };

struct totals {
    struct model_stats model;
    int64_t worlds, steps, crashes, jumps, lost;
};

static const struct faults kinds[] = {
    {0},
    {.lose_request = 20, .lose_answer = 20, .slow = 30},
    {.crash_server = 30, .worker_dies = 50, .worker_deaf = 100},
    {.jump_clock = 30, .slow = 50, .worker_dies = 20},
    {.lose_request = 50,
     .lose_answer = 50,
     .slow = 80,
     .crash_server = 40,
     .jump_clock = 20,
     .worker_dies = 80,
     .worker_deaf = 200},
};

static void add_up(struct totals *totals, const struct world *world)
{
    struct model_stats one;
    model_stats(world->model, &one);
    totals->model.runs += one.runs;
    totals->model.ended += one.ended;
    totals->model.events += one.events;
    totals->model.leases += one.leases;
    totals->model.completions += one.completions;
    totals->model.stale += one.stale;
    totals->model.pull_requests += one.pull_requests;
    for (size_t i = 0; i < COUNT_OF(one.by_end); i++)
        totals->model.by_end[i] += one.by_end[i];
    totals->worlds++;
    totals->steps += world->steps;
    totals->crashes += world->crashes;
    totals->jumps += world->jumps;
    totals->lost += world->lost;
}

/* One world: faults while tasks come in, then calm until everything has come to rest. */
static void simulate(uint64_t seed, int64_t tasks, struct totals *totals)
{
    struct world world;
    world_open(&world, seed, &kinds[seed % COUNT_OF(kinds)]);
    people_start(&world, tasks);
    workers_start(&world);
    int64_t steps_max = tasks * STEPS_MAX_PER_TASK;
    while (people_submitted() < tasks && world_step(&world)) {
    }
    int64_t calm_us = world.mono_us + 3600 * US_PER_SECOND;
    while (world.mono_us < calm_us && world_step(&world))
        if (world.steps % 1000 == 0 && model_open_runs(world.model) == 0)
            break;
    world.faults = (struct faults){0};
    int64_t rest_us = world.mono_us + 200 * US_PER_SECOND;
    while ((model_open_runs(world.model) > 0 || world.mono_us < rest_us) && world_step(&world))
        if (world.steps > steps_max)
            world_broken(&world, "%" PRId64 " runs do not come to an end",
                         model_open_runs(world.model));
    model_look(world.model);
    model_look_at_the_end(world.model);
    add_up(totals, &world);
    world_close(&world);
}

static int64_t option(int argc, char **argv, const char *name, int64_t otherwise)
{
    for (int i = 1; i + 1 < argc; i++) {
        int64_t value;
        if (strcmp(argv[i], name) == 0 && text_to_i64(argv[i + 1], &value))
            return value;
    }
    return otherwise;
}

int main(int argc, char **argv)
{
    struct dice dice = dice_from_os();
    int64_t drawn = (int64_t)(dice_next(&dice) >> 20);
    int64_t seed = option(argc, argv, "--seed", drawn);
    int64_t runs = option(argc, argv, "--runs", 1000);
    int64_t batch = option(argc, argv, "--batch", 200);
    printf("sim: seed %" PRId64 ", %" PRId64 " runs\n", seed, runs);
    fflush(stdout);
    int64_t begin_us = clock_mono_us();
    struct totals t = {0};
    while (t.model.ended < runs)
        simulate((uint64_t)(seed + t.worlds), batch, &t);
    double seconds = (double)(clock_mono_us() - begin_us) / 1e6;
    printf("sim: %" PRId64 " worlds, %" PRId64 " runs ended (%" PRId64 " completed, %" PRId64
           " failed, %" PRId64 " cancelled, %" PRId64 " timed out), %" PRId64 " pull requests\n",
           t.worlds, t.model.ended, t.model.by_end[0], t.model.by_end[1], t.model.by_end[2],
           t.model.by_end[3], t.model.pull_requests);
    printf("sim: %" PRId64 " steps, %" PRId64 " events, %" PRId64 " leases, %" PRId64
           " stale reports refused, %" PRId64 " messages lost, %" PRId64 " crashes, %" PRId64
           " clock jumps, %.1f s\n",
           t.steps, t.model.events, t.model.leases, t.model.stale, t.lost, t.crashes, t.jumps,
           seconds);
    return 0;
}
