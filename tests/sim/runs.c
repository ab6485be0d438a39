/*
 * runs.c - the fleet at its work: tasks that become runs, their cancels, retries and approvals, and
 * workers that take their steps.  See main.c.
 */
#include "base/clock.h"
#include "tests/sim/expiry.h"
#include "tests/sim/model.h"
#include "tests/sim/people.h"
#include "tests/sim/sims.h"
#include <inttypes.h>
#include <stdio.h>

/* Worlds of 200 tasks took 160 to 400 for each. */
enum { STEPS_MAX_PER_TASK = 4000 };

struct totals {
    struct model_stats model;
    int64_t worlds, steps, crashes, jumps, lost;
    int64_t expired; /* Tasks. */
};

static void add_up(struct totals *totals, const struct world *world, const struct model *model)
{
    struct model_stats one;
    model_stats(model, &one);
    totals->model.runs += one.runs;
    totals->model.ended += one.ended;
    totals->model.events += one.events;
    totals->model.leases += one.leases;
    totals->model.completions += one.completions;
    totals->model.stale += one.stale;
    totals->model.pull_requests += one.pull_requests;
    totals->model.parked += one.parked;
    totals->model.probed += one.probed;
    totals->model.deferred += one.deferred;
    totals->model.chosen += one.chosen;
    totals->model.pauses += one.pauses;
    totals->model.questions += one.questions;
    totals->model.told += one.told;
    for (size_t i = 0; i < COUNT_OF(one.by_end); i++)
        totals->model.by_end[i] += one.by_end[i];
    totals->worlds++;
    totals->steps += world->steps;
    totals->crashes += world->crashes;
    totals->jumps += world->jumps;
    totals->lost += world->lost;
}

/* Between two members of a batch no run may be open. */
static bool is_at_work(struct world *world, const struct model *model)
{
    return model_open_runs(model) > 0 || batches_left(world) > 0;
}

/* One world: faults while tasks come in, then calm until everything has come to rest. */
static void simulate(uint64_t seed, int64_t tasks, struct totals *totals)
{
    struct world world;
    world_open(&world, seed, NULL);
    world.admits = true;
    world.faults.trouble = 0; /* Its people take it for granted that commands do not fail. */
    struct model *model = model_new(&world);
    people_start(&world, tasks);
    batches_start(&world);
    workers_start(&world);
    int64_t steps_max = tasks * STEPS_MAX_PER_TASK;
    while (people_submitted() < tasks && world_step(&world)) {
    }
    int64_t calm_us = world.mono_us + 3600 * US_PER_SECOND;
    while (world.mono_us < calm_us && world_step(&world))
        if (world.steps % 1000 == 0 && model_open_runs(model) == 0 && batches_left(&world) == 0)
            break;
    world.faults = (struct faults){0};
    while (is_at_work(&world, model) && world_step(&world))
        if (world.steps > steps_max)
            world_broken(&world, "%" PRId64 " runs and %" PRId64 " batches do not come to an end",
                         model_open_runs(model), batches_left(&world));
    /* What the last of them left to do, and to try again. */
    int64_t rest_us = world.mono_us + 200 * US_PER_SECOND;
    while (world.mono_us < rest_us && world_step(&world)) {
    }
    model_look(model);
    model_look_at_the_end(model);
    if (batches_left(&world) > 0)
        world_broken(&world, "a batch has not ended");
    add_up(totals, &world, model);
    totals->expired += world_expire(&world);
    world_close(&world);
    model_free(model);
}

void sim_runs(const struct sim_options *options)
{
    int64_t begin_us = clock_mono_us();
    struct totals t = {0};
    while (t.model.ended < options->runs)
        simulate((uint64_t)(options->seed + t.worlds), options->batch, &t);
    double seconds = (double)(clock_mono_us() - begin_us) / 1e6;
    printf("sim: %" PRId64 " worlds, %" PRId64 " runs ended (%" PRId64 " completed, %" PRId64
           " failed, %" PRId64 " cancelled, %" PRId64 " timed out), %" PRId64 " pull requests\n",
           t.worlds, t.model.ended, t.model.by_end[0], t.model.by_end[1], t.model.by_end[2],
           t.model.by_end[3], t.model.pull_requests);
    printf("sim: %" PRId64 " steps, %" PRId64 " events, %" PRId64 " leases, %" PRId64
           " stale reports refused, %" PRId64 " messages lost, %" PRId64 " crashes, %" PRId64
           " clock jumps, %" PRId64 " accounts parked, %" PRId64 " probes, %" PRId64
           " runs deferred, %" PRId64 " accounts chosen, %" PRId64 " pauses, %" PRId64
           " questions, %" PRId64 " times told, %" PRId64 " tasks expired, %.1f s\n",
           t.steps, t.model.events, t.model.leases, t.model.stale, t.lost, t.crashes, t.jumps,
           t.model.parked, t.model.probed, t.model.deferred, t.model.chosen, t.model.pauses,
           t.model.questions, t.model.told, t.expired, seconds);
}
