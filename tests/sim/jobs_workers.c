/*
 * jobs_workers.c - consumers that lease jobs, many at a time, and report; or die, or come too late,
 * or say everything twice.  Some know the leases of others, and try to report them.
 *
 *   idle --lease--> waiting --jobs--> working --reports--> idle
 *
 * A report is sent up to four times until it is answered, in one call for all jobs that it holds
 * for.  `life` counts a consumer's lives, so that what was meant for an earlier one is ignored.
 */
#include "control/commit/principal.h"
#include "control/queue/complete.h"
#include "control/queue/lease.h"
#include "tests/sim/jobs_people.h"
#include <stdio.h>
#include <string.h>

#define LEASE_US   (6 * US_PER_SECOND)
#define BEAT_US    (2 * US_PER_SECOND)
#define GIVE_UP_US (3 * US_PER_SECOND)
enum { REPORT_TRIES = 4, HELD_MAX = 100, GHOSTS = 64, THEFTS = 64 };

enum fate { FATE_DONE, FATE_TRANSIENT, FATE_PERMANENT, FATE_POLICY, FATE_RELEASE, FATE_COUNT };

struct consumer {
    char name[32];
    struct principal principal; /* Those inside share one. */
    int64_t life;
    struct held {
        struct job_ref ref;
        bool poison;
        enum fate fate;
    } held[HELD_MAX];
    size_t count;
    int64_t ends_us; /* On the monotonic clock. */
    bool beats;
    int tries;
    int unanswered; /* Reports. */
};

static struct consumer consumers[CONSUMERS];

static void send_as(struct world *world, const struct consumer *consumer, struct command *command,
                    answered *on_answer, int64_t life)
{
    command->principal = consumer->principal.text;
    world_send(world, command, on_answer, (void *)(uintptr_t)consumer, life);
}

static void look_for_jobs(struct world *world, void *who, int64_t life);

static void go_idle(struct world *world, struct consumer *consumer)
{
    consumer->life++;
    consumer->count = 0;
    world_after(world, world_between(world, 0, 300 * US_PER_MS), look_for_jobs, consumer,
                consumer->life);
}

/* ---- reporting ---- */

static struct command *completion(const struct consumer *consumer)
{
    struct cmd_complete *cmd = cmd_complete_new();
    struct job_done *jobs = arena_array(&cmd->base.arena, HELD_MAX, sizeof *jobs);
    for (size_t i = 0; i < consumer->count; i++)
        if (consumer->held[i].fate == FATE_DONE)
            jobs[cmd->count++] = (struct job_done){.ref = consumer->held[i].ref,
                                                   .result = STR("{}")};
    cmd->jobs = jobs;
    return &cmd->base;
}

static struct command *failure(const struct consumer *consumer)
{
    struct cmd_fail *cmd = cmd_fail_new();
    struct job_failed *jobs = arena_array(&cmd->base.arena, HELD_MAX, sizeof *jobs);
    for (size_t i = 0; i < consumer->count; i++) {
        enum fate fate = consumer->held[i].fate;
        if (fate == FATE_DONE || fate == FATE_RELEASE)
            continue;
        jobs[cmd->count++] = (struct job_failed){.ref = consumer->held[i].ref,
                                                 .code = "sim_failure",
                                                 .message = "as fate would have it",
                                                 .retryable = fate == FATE_TRANSIENT,
                                                 .policy = fate == FATE_POLICY};
    }
    cmd->jobs = jobs;
    return &cmd->base;
}

static struct command *release(const struct consumer *consumer)
{
    struct cmd_release *cmd = cmd_release_new();
    struct job_ref *jobs = arena_array(&cmd->base.arena, HELD_MAX, sizeof *jobs);
    for (size_t i = 0; i < consumer->count; i++)
        if (consumer->held[i].fate == FATE_RELEASE)
            jobs[cmd->count++] = consumer->held[i].ref;
    cmd->leases = jobs;
    return &cmd->base;
}

static const struct {
    struct command *(*make)(const struct consumer *consumer);
    unsigned fates; /* Whose jobs it is for. */
} reports[] = {
    {completion, 1u << FATE_DONE},
    {failure, 1u << FATE_TRANSIENT | 1u << FATE_PERMANENT | 1u << FATE_POLICY},
    {release, 1u << FATE_RELEASE},
};

static void on_reported(struct world *world, void *who, int64_t life, struct command *command)
{
    struct consumer *consumer = who;
    if (command->rc == RC_IO)
        return; /* It is sent again. */
    if (consumer->life == life && --consumer->unanswered <= 0)
        go_idle(world, consumer);
}

static void ignore(struct world *world, void *who, int64_t what, struct command *command)
{
    (void)world;
    (void)who;
    (void)what;
    (void)command;
}

/* Sends the reports, again when not all are answered: the server must take each once. */
static void report(struct world *world, void *who, int64_t life)
{
    struct consumer *consumer = who;
    if (consumer->life != life)
        return;
    if (consumer->tries++ == REPORT_TRIES) {
        go_idle(world, consumer);
        return;
    }
    unsigned fates = 0;
    for (size_t i = 0; i < consumer->count; i++)
        fates |= 1u << consumer->held[i].fate;
    consumer->unanswered = 0;
    for (size_t i = 0; i < COUNT_OF(reports); i++) {
        if ((reports[i].fates & fates) == 0)
            continue;
        consumer->unanswered++;
        send_as(world, consumer, reports[i].make(consumer), on_reported, life);
        if (world_chance(world, 50))
            send_as(world, consumer, reports[i].make(consumer), ignore, 0);
    }
    world_after(world, GIVE_UP_US, report, consumer, life);
}

/* ---- ghosts ---- */

/* The last leases that their owners may report long after, whatever has happened since. */
static struct job_ref ghosts[GHOSTS];
static int64_t ghost_count;

static void haunt(struct world *world, void *who, int64_t ghost)
{
    struct cmd_complete *cmd = cmd_complete_new();
    struct job_done *done = arena_alloc(&cmd->base.arena, sizeof *done);
    *done = (struct job_done){.ref = ghosts[ghost], .result = STR("{}")};
    cmd->jobs = done;
    cmd->count = 1;
    send_as(world, who, &cmd->base, ignore, 0);
}

static void leave_ghost(struct world *world, struct consumer *consumer, const struct job_ref *ref)
{
    int64_t ghost = ghost_count++ % GHOSTS;
    ghosts[ghost] = *ref;
    world_after(world, world_between(world, 0, 40 * US_PER_SECOND), haunt, consumer, ghost);
}

/* ---- thieves ---- */

/* Leases whose id and epoch a consumer with another principal has learned.  It tries to renew and
   to end them while their owner works: nothing of it may be taken. */
static struct job_ref thefts[THEFTS];
static int64_t theft_count;

static struct command *theft_heartbeat(const struct consumer *thief, const struct job_ref *ref)
{
    struct cmd_heartbeat *cmd = cmd_heartbeat_new();
    struct job_ref *copy = arena_alloc(&cmd->base.arena, sizeof *copy);
    *copy = *ref;
    cmd->worker = thief->name;
    cmd->leases = copy;
    cmd->count = 1;
    cmd->extend_us = 100 * LEASE_US;
    return &cmd->base;
}

static struct command *theft_report(const struct job_ref *ref, enum fate fate)
{
    struct consumer loot = {.count = 1, .held = {{.ref = *ref, .fate = fate}}};
    for (size_t i = 0; i < COUNT_OF(reports); i++)
        if (reports[i].fates & (1u << fate))
            return reports[i].make(&loot);
    return NULL;
}

static void steal(struct world *world, void *who, int64_t theft)
{
    const struct consumer *thief = who;
    int64_t fate = world_between(world, 0, FATE_COUNT);
    send_as(world, thief,
            fate == FATE_COUNT ? theft_heartbeat(thief, &thefts[theft])
                               : theft_report(&thefts[theft], (enum fate)fate),
            ignore, 0);
}

static void tell_thief(struct world *world, const struct consumer *owner, const struct job_ref *ref)
{
    struct consumer *thief = &consumers[world_between(world, 0, CONSUMERS - 1)];
    if (strcmp(thief->principal.text, owner->principal.text) == 0)
        return;
    int64_t theft = theft_count++ % THEFTS;
    thefts[theft] = *ref;
    world_after(world, world_between(world, 0, US_PER_SECOND), steal, thief, theft);
}

/* ---- working ---- */

/* One in five fails; four in five of these for a while only. */
static enum fate draw_fate(struct world *world)
{
    int64_t drawn = world_between(world, 0, 999);
    return drawn < 770   ? FATE_DONE
           : drawn < 800 ? FATE_RELEASE
           : drawn < 960 ? FATE_TRANSIENT
           : drawn < 980 ? FATE_PERMANENT
                         : FATE_POLICY;
}

static void end_work(struct world *world, struct consumer *consumer)
{
    consumer->life++;
    consumer->tries = 0;
    for (size_t i = 0; i < consumer->count; i++)
        consumer->held[i].fate = draw_fate(world);
    report(world, consumer, consumer->life);
}

static void on_beat(struct world *world, void *who, int64_t life, struct command *command)
{
    struct consumer *consumer = who;
    const struct cmd_heartbeat *beat = (const struct cmd_heartbeat *)command;
    if (consumer->life != life || command->rc != RC_OK)
        return;
    size_t kept = 0; /* LEASE_LOST: hands off. */
    for (size_t i = 0; i < beat->count; i++)
        if (beat->answers[i].ok)
            consumer->held[kept++] = consumer->held[i];
    consumer->count = kept;
    if (kept == 0)
        go_idle(world, consumer);
}

static void beat(struct world *world, struct consumer *consumer)
{
    struct cmd_heartbeat *cmd = cmd_heartbeat_new();
    struct job_ref *refs = arena_array(&cmd->base.arena, consumer->count, sizeof *refs);
    for (size_t i = 0; i < consumer->count; i++)
        refs[i] = consumer->held[i].ref;
    cmd->worker = consumer->name;
    cmd->leases = refs;
    cmd->count = consumer->count;
    cmd->extend_us = LEASE_US;
    send_as(world, consumer, &cmd->base, on_beat, consumer->life);
}

static void work_on(struct world *world, void *who, int64_t life)
{
    struct consumer *consumer = who;
    if (consumer->life != life)
        return;
    int64_t left_us = consumer->ends_us - world->mono_us;
    if (left_us <= 0) {
        end_work(world, consumer);
        return;
    }
    if (consumer->beats && left_us > BEAT_US)
        beat(world, consumer);
    world_after(world, left_us < BEAT_US ? left_us : BEAT_US, work_on, consumer, life);
}

static void revive(struct world *world, void *who, int64_t life)
{
    struct consumer *consumer = who;
    if (consumer->life == life)
        go_idle(world, consumer);
}

static void hold(struct world *world, struct consumer *consumer, const struct cmd_lease *lease)
{
    consumer->count = lease->job_count;
    for (size_t i = 0; i < lease->job_count; i++) {
        const struct job_row *job = &lease->jobs[i];
        struct held *held = &consumer->held[i];
        *held = (struct held){.ref = {job->id, job->life.epoch},
                              .poison = strcmp(job->type, "poison") == 0};
        if (world_chance(world, 15))
            leave_ghost(world, consumer, &held->ref);
        if (world_chance(world, 50))
            tell_thief(world, consumer, &held->ref);
    }
}

static void on_leased(struct world *world, void *who, int64_t life, struct command *command)
{
    struct consumer *consumer = who;
    const struct cmd_lease *lease = (const struct cmd_lease *)command;
    if (consumer->life != life)
        return; /* Too late: the leases run out by themselves. */
    if (command->rc != RC_OK || lease->job_count == 0) {
        go_idle(world, consumer);
        return;
    }
    consumer->life++;
    hold(world, consumer, lease);
    bool dies = world_chance(world, world->faults.worker_dies);
    for (size_t i = 0; i < consumer->count; i++)
        dies |= consumer->held[i].poison;
    if (dies) {
        world_after(world, world_between(world, 0, 20 * US_PER_SECOND), revive, consumer,
                    consumer->life);
        return;
    }
    bool slow = world_chance(world, 30);
    consumer->beats = world_chance(world, 700);
    consumer->ends_us = world->mono_us +
                        world_between(world, 1000, slow ? 3 * LEASE_US : US_PER_SECOND);
    work_on(world, consumer, consumer->life);
}

/* Some look into every queue, some into a few. */
static void look_for_jobs(struct world *world, void *who, int64_t life)
{
    struct consumer *consumer = who;
    if (consumer->life != life)
        return;
    consumer->life++;
    struct cmd_lease *lease = cmd_lease_new();
    const char **queues = arena_array(&lease->base.arena, LEASE_QUEUES_MAX, sizeof *queues);
    int64_t all = 0, count = 0;
    while (sim_queues[all] != NULL)
        all++;
    /* A queue costs two round trips, if there are any. */
    int64_t most = store_is_shared(world->store) ? 2 : all;
    int64_t from = world_between(world, 0, all - 1), some = world_between(world, 1, most);
    while (count < some) {
        queues[count] = sim_queues[(from + count) % all];
        count++;
    }
    lease->queues = queues;
    lease->worker = consumer->name;
    int64_t many = world_between(world, 0, 99);
    lease->max = many < 60 ? 1 : many < 95 ? world_between(world, 2, 10) : HELD_MAX;
    lease->wait_us = world_between(world, 0, 2 * US_PER_SECOND);
    lease->lease_us = world_chance(world, 900) ? LEASE_US : 0;
    send_as(world, consumer, &lease->base, on_leased, consumer->life);
    world_after(world, 10 * US_PER_SECOND, revive, consumer, consumer->life);
}

/* ---- lives ---- */

static void die_with_the_server(struct world *world)
{
    for (size_t i = 0; i < CONSUMERS_INSIDE; i++)
        go_idle(world, &consumers[i]);
}

void consumers_start(struct world *world)
{
    world->on_crash = die_with_the_server;
    ghost_count = theft_count = 0;
    for (size_t i = 0; i < CONSUMERS; i++) {
        consumers[i] = (struct consumer){0};
        snprintf(consumers[i].name, sizeof consumers[i].name, "%s/%zu",
                 i < CONSUMERS_INSIDE ? SIM_NODE : "far", i);
        if (i < CONSUMERS_INSIDE)
            consumers[i].principal = principal_of_node(SIM_NODE);
        else
            snprintf(consumers[i].principal.text, PRINCIPAL_BYTES, "token-%zu", i);
        go_idle(world, &consumers[i]);
    }
}
