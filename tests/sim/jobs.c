/*
 * jobs.c - queues of all kinds, with senders and consumers of all kinds.  See main.c.
 */
#include "base/clock.h"
#include "base/log.h"
#include "tests/sim/jobs_model.h"
#include "tests/sim/jobs_people.h"
#include "tests/sim/jobs_requests.h"
#include "tests/sim/sims.h"
#include "tests/sim/trouble.h"
#include "tests/sim/witness.h"
#include "tests/store/store_fault.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

struct totals {
    struct jobs_stats jobs;
    int64_t worlds, steps, crashes, jumps, lost, troubles, hung_up;
};

static void add_up(struct totals *totals, const struct world *world, const struct jobs_stats *one)
{
    struct jobs_stats *sum = &totals->jobs;
    sum->transitions += one->transitions;
    sum->jobs += one->jobs;
    sum->leases += one->leases;
    sum->stale += one->stale;
    sum->foreign += one->foreign;
    sum->duplicates += one->duplicates;
    sum->turned_away += one->turned_away;
    sum->gathered += one->gathered;
    sum->replayed += one->replayed;
    sum->deleted += one->deleted;
    for (size_t i = 0; i < COUNT_OF(one->by_state); i++)
        sum->by_state[i] += one->by_state[i];
    for (size_t i = 0; i < COUNT_OF(one->by_reason); i++)
        sum->by_reason[i] += one->by_reason[i];
    totals->worlds++;
    totals->steps += world->steps;
    totals->crashes += world->crashes;
    totals->jumps += world->jumps;
    totals->lost += world->lost;
    totals->troubles += world->troubles;
    totals->hung_up += world->hung_up;
}

/* Now and then a whole batch is rolled back, and its commands are tried one by one. */
static void stumble(struct world *world, void *who, int64_t what)
{
    (void)who;
    (void)what;
    if (world->faults.crash_server > 0)
        witness_refuse(1);
    world_after(world, world_between(world, 0, 5 * US_PER_SECOND), stumble, NULL, 0);
}

static void check_timers(struct world *world, void *model, int64_t what)
{
    (void)what;
    jobs_model_check_timers(model);
    world_after(world, US_PER_SECOND, check_timers, model, 0);
}

/* One world: faults while jobs come in, then calm until everything has come to rest. */
static void simulate(const struct sim_options *options, struct totals *totals)
{
    struct world world;
    int64_t jobs = options->batch;
    world_open(&world, (uint64_t)(options->seed + totals->worlds), options->postgres);
    store_fault_arm(store_writer(world.store));
    world.faults.crash_server *= 4; /* Such a world is over sooner than one of runs. */
    world.faults.jump_clock *= 4;
    struct jobs_model *model = jobs_model_new(&world, sim_queues);
    senders_start(&world, jobs);
    consumers_start(&world);
    askers_start(&world);
    world_after(&world, 5 * US_PER_SECOND, stumble, NULL, 0);
    world_after(&world, US_PER_SECOND, check_timers, model, 0);
    while (senders_sent() < jobs && world_step(&world)) {
    }
    int64_t storm_us = world.mono_us + 60 * US_PER_SECOND;
    while (world.mono_us < storm_us && world_step(&world)) {
    }
    world.faults = (struct faults){0};
    trouble_end(&world);
    senders_calm(&world);
    askers_calm();
    /* What was said before the calm has arrived after this time; nobody stays for ever. */
    int64_t rest_us = world.mono_us + 60 * US_PER_SECOND;
    int64_t end_us = world.mono_us + US_PER_HOUR;
    while ((jobs_model_open(model) > 0 || world.mono_us < rest_us) && world_step(&world))
        if (world.mono_us > end_us)
            break;
    jobs_model_look_at_the_end(model);
    add_up(totals, &world, jobs_model_stats(model));
    world_close(&world);
    jobs_model_free(model);
}

static void print(const struct totals *t, double seconds)
{
    const struct jobs_stats *j = &t->jobs;
    printf("sim: %" PRId64 " worlds, %" PRId64 " job transitions; %" PRId64 " jobs: %" PRId64
           " succeeded, %" PRId64 " dead (",
           t->worlds, j->transitions, j->jobs, j->by_state[JOB_SUCCEEDED],
           j->by_state[JOB_DEAD_LETTER]);
    for (int i = DEAD_NONE + 1; i < DEAD_REASON_COUNT; i++)
        if (j->by_reason[i] > 0)
            printf("%s %" PRId64 " ", dead_reason_name((enum dead_reason)i), j->by_reason[i]);
    printf("), %" PRId64 " replayed, %" PRId64 " purged\n", j->replayed, j->deleted);
    printf("sim: %" PRId64 " duplicates, %" PRId64 " turned away, %" PRId64 " gathered, %" PRId64
           " leases, %" PRId64 " stale reports refused, %" PRId64 " about another's lease\n",
           j->duplicates, j->turned_away, j->gathered, j->leases, j->stale, j->foreign);
    printf("sim: %" PRId64 " requests replied, %" PRId64 " timed out, %" PRId64
           " replies refused\n",
           askers_stats()->replied, askers_stats()->timed_out, askers_stats()->refused);
    printf("sim: %" PRId64 " steps, %" PRId64 " messages lost, %" PRId64 " crashes, %" PRId64
           " clock jumps, %" PRId64 " troubles, %" PRId64 " hung up, %.1f s\n",
           t->steps, t->lost, t->crashes, t->jumps, t->troubles, t->hung_up, seconds);
}

void sim_jobs(const struct sim_options *options)
{
    int64_t begin_us = clock_mono_us();
    struct totals totals = {0};
    witness_install();
    struct log_options quiet = {.fd = open("/dev/null", O_WRONLY | O_CLOEXEC)};
    log_configure(&quiet); /* That commands fail is meant to be. */
    while (totals.jobs.transitions < options->transitions || totals.steps < options->steps)
        simulate(options, &totals);
    print(&totals, (double)(clock_mono_us() - begin_us) / 1e6);
}
