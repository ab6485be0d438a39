/*
 * workers.c - workers that lease steps, take their time, and report; or die, or do not listen.
 *
 *   idle --lease--> waiting --job--> working --report--> reporting --answer--> idle
 *
 * A worker never waits for ever: every wait has a deadline after which it goes on, as a real one
 * does.  `life` counts its lives, so that what was meant for an earlier one is ignored.
 */
#include "base/clock.h"
#include "control/admit/answer.h"
#include "control/commit/principal.h"
#include "control/queue/complete.h"
#include "control/queue/lease.h"
#include "core/step_kind.h"
#include "tests/sim/model.h"
#include "tests/sim/people.h"
#include "tests/unit/honest.h"
#include "tests/unit/lab.h"
#include <stdio.h>
#include <string.h>

#define LEASE_US   (15 * US_PER_SECOND)
#define BEAT_US    (5 * US_PER_SECOND)
#define GIVE_UP_US (6 * US_PER_SECOND)
enum { REPORT_TRIES = 4 };

struct sim_worker {
    char name[32];
    struct principal principal; /* Those inside share one. */
    int64_t life;
    struct job_ref job; /* none: idle */
    char step[16];
    int64_t ends_us; /* On the monotonic clock. */
    bool cancelled;
    bool deaf; /* Ignores that it should stop. */
    int tries;
    struct arena arena;    /* Of the present job: its payload, and its result. */
    struct job_row leased; /* What an honest result is made of: type, run and payload. */
    const char *verdict;   /* The result that is being reported; NULL: a failure. */
    char quota[240];       /* The result that tells of an account that is used up. */
    bool retryable;
};

static struct sim_worker workers[WORKERS];

static void send_as(struct world *world, struct sim_worker *worker, struct command *command,
                    answered *on_answer, int64_t life)
{
    command->principal = worker->principal.text;
    world_send(world, command, on_answer, worker, life);
}

static const char *const all_queues[] = {"drover.clean",
                                         "drover.publish",
                                         "drover.judge",
                                         "drover.verify",
                                         "drover.agent",
                                         "drover.hydrate",
                                         "drover.prepare",
                                         "drover.unpublish",
                                         "drover.plan",
                                         "drover.custom",
                                         NULL};

static void look_for_work(struct world *world, void *who, int64_t life);

static void go_idle(struct world *world, struct sim_worker *worker)
{
    worker->life++;
    worker->job = (struct job_ref){0};
    world_after(world, world_between(world, 0, US_PER_SECOND), look_for_work, worker, worker->life);
}

/* ---- reporting ---- */

static void report(struct world *world, void *who, int64_t life);

static void on_reported(struct world *world, void *who, int64_t life, struct command *command)
{
    struct sim_worker *worker = who;
    (void)command;
    if (worker->life == life)
        go_idle(world, worker);
}

static struct command *completion(struct sim_worker *worker)
{
    struct cmd_complete *cmd = cmd_complete_new();
    struct job_done *done = arena_alloc(&cmd->base.arena, sizeof *done);
    /* It may arrive when the worker has another job, and another arena, already. */
    const char *result = arena_strdup(&cmd->base.arena, worker->verdict);
    *done = (struct job_done){.ref = worker->job, .result = str_of(result)};
    cmd->jobs = done;
    cmd->count = 1;
    return &cmd->base;
}

static struct command *failure(struct sim_worker *worker)
{
    struct cmd_fail *cmd = cmd_fail_new();
    struct job_failed *failed = arena_alloc(&cmd->base.arena, sizeof *failed);
    *failed = (struct job_failed){.ref = worker->job,
                                  .code = worker->cancelled ? "cancelled" : "sim_failure",
                                  .message = "as fate would have it",
                                  .retryable = worker->retryable};
    cmd->jobs = failed;
    cmd->count = 1;
    return &cmd->base;
}

/* Sends the report, again when no answer comes: the server must take it once. */
static void report(struct world *world, void *who, int64_t life)
{
    struct sim_worker *worker = who;
    if (worker->life != life)
        return;
    if (worker->tries++ == REPORT_TRIES) {
        go_idle(world, worker);
        return;
    }
    struct command *command = worker->verdict != NULL ? completion(worker) : failure(worker);
    send_as(world, worker, command, on_reported, life);
    world_after(world, GIVE_UP_US, report, worker, life);
}

/* ---- working ---- */

static const char quota_met[] = "the account is used up";

static const struct outcome {
    const char *step, *result;
    unsigned weight;
} outcomes[] = {
    {"prepare", RESULT_PREPARE, 1},
    {"hydrate", RESULT_HYDRATE, 1},
    {"agent", RESULT_AGENT, 12},
    {"agent", "{\"outcome\":\"ended\",\"report\":\"error\",\"error\":\"no\"}", 1},
    {"agent", "{\"outcome\":\"idle_timed_out\",\"report\":\"unknown\"}", 1},
    {"agent", "nonsense", 1},
    {"agent", "{\"outcome\":\"overloaded\",\"report\":\"error\",\"costUsd\":0.1}", 1},
    {"agent", quota_met, 1},
    {"agent",
     "{\"outcome\":\"ended\",\"report\":\"success\",\"question\":{\"text\":\"go?\",\"timeoutMs\":"
     "60000}}",
     1},
    {"verify", RESULT_VERIFIED, 6},
    {"verify", RESULT_UNVERIFIED, 3},
    {"verify", "{\"verdict\":\"failed\",\"checks\":[{\"name\":\"u\",\"status\":\"errored\"}]}", 1},
    {"judge", RESULT_JUDGED, 5},
    {"judge", RESULT_REJECTED, 1},
    {"publish", RESULT_PUBLISHED, 1},
    {"plan", RESULT_PLANNED, 8},
    {"plan", "{\"planSha256\":\"\",\"outcome\":\"timed_out\",\"report\":\"unknown\"}", 1},
    {"plan", quota_met, 1},
    {"custom", "{\"status\":\"success\",\"metadata\":{\"n\":1}}", 12},
    {"custom", "{\"status\":\"failed\",\"error\":\"no\"}", 1},
    {"unpublish", "{}", 1},
    {"clean", "{}", 1},
};

static const char *draw_outcome(struct world *world, const char *step)
{
    unsigned total = 0;
    for (size_t i = 0; i < COUNT_OF(outcomes); i++)
        if (strcmp(outcomes[i].step, step) == 0)
            total += outcomes[i].weight;
    int64_t drawn = world_between(world, 1, total);
    for (size_t i = 0; i < COUNT_OF(outcomes); i++) {
        if (strcmp(outcomes[i].step, step) != 0)
            continue;
        drawn -= outcomes[i].weight;
        if (drawn <= 0)
            return outcomes[i].result;
    }
    return NULL;
}

/* Until soon, until a time that has just passed, or for so long that probes come before it; as the
   record of a program that failed, or in words. */
static const char *tell_quota(struct world *world, struct sim_worker *worker)
{
    char resets[TIME_TEXT_BYTES];
    int64_t left_us = world_between(world, -5 * US_PER_SECOND, 30 * US_PER_SECOND);
    if (world_chance(world, 50))
        left_us = world_between(world, 20 * US_PER_MINUTE, 90 * US_PER_MINUTE);
    const char *how = world_chance(world, 700) ? "\"record\":true,\"ended\":true," : "";
    snprintf(worker->quota, sizeof worker->quota,
             "{\"planSha256\":\"\",\"outcome\":\"quota\",\"report\":\"unknown\",\"exited\":true,"
             "\"exitCode\":1,\"quota\":{%s\"resetsAt\":\"%s\"}}",
             how, time_format(resets, world_server_now(world) + left_us));
    return worker->quota;
}

static void end_work(struct world *world, struct sim_worker *worker)
{
    worker->life++;
    worker->tries = 0;
    bool fails = worker->cancelled || world_chance(world, 60);
    worker->verdict = fails ? NULL : draw_outcome(world, worker->step);
    if (worker->verdict == quota_met)
        worker->verdict = tell_quota(world, worker);
    if (worker->verdict != NULL)
        worker->verdict = honest_result(world->store, &worker->leased, worker->verdict,
                                        &worker->arena);
    worker->retryable = !worker->cancelled && world_chance(world, 800);
    report(world, worker, worker->life);
}

static void work_on(struct world *world, void *who, int64_t life);

static void on_beat(struct world *world, void *who, int64_t life, struct command *command)
{
    struct sim_worker *worker = who;
    const struct cmd_heartbeat *beat = (const struct cmd_heartbeat *)command;
    if (worker->life != life || command->rc != RC_OK)
        return;
    if (!beat->answers[0].ok) {
        go_idle(world, worker); /* LEASE_LOST: hands off. */
    } else if (beat->answers[0].cancel && !worker->deaf) {
        worker->cancelled = true;
        end_work(world, worker);
    }
}

static void work_on(struct world *world, void *who, int64_t life)
{
    struct sim_worker *worker = who;
    if (worker->life != life)
        return;
    int64_t left_us = worker->ends_us - world->mono_us;
    if (left_us <= 0) {
        end_work(world, worker);
        return;
    }
    struct cmd_heartbeat *beat = cmd_heartbeat_new();
    struct job_ref *ref = arena_alloc(&beat->base.arena, sizeof *ref);
    *ref = worker->job;
    beat->worker = worker->name;
    beat->leases = ref;
    beat->count = 1;
    beat->extend_us = LEASE_US;
    send_as(world, worker, &beat->base, on_beat, life);
    world_after(world, left_us < BEAT_US ? left_us : BEAT_US, work_on, worker, life);
}

/* Whether the agent asked in vain, or was told, shows in its run. */
static void on_asked(struct world *world, void *who, int64_t life, struct command *command)
{
    (void)who;
    (void)life;
    if (command->rc != RC_OK && command->rc != RC_CONFLICT && command->rc != RC_LIMIT &&
        command->rc != RC_UNAUTHORIZED)
        world_broken(world, "a question: %s", command->err.text);
}

static void ask(struct world *world, struct sim_worker *worker)
{
    struct cmd_ask *cmd = cmd_ask_new();
    cmd->run_id = worker->leased.run_id;
    cmd->spec = (struct question_spec){.text = "may I?", .default_answer = "yes"};
    cmd->spec.timeout_ms = world_between(world, 1000, 90000);
    cmd->base.actor = (struct actor){"agent", "an agent"};
    world_send(world, &cmd->base, on_asked, NULL, 0);
}

static void revive(struct world *world, void *who, int64_t life)
{
    struct sim_worker *worker = who;
    if (worker->life == life)
        go_idle(world, worker);
}

static void on_leased(struct world *world, void *who, int64_t life, struct command *command)
{
    struct sim_worker *worker = who;
    const struct cmd_lease *lease = (const struct cmd_lease *)command;
    if (worker->life != life)
        return; /* Too late: the lease runs out by itself. */
    if (command->rc != RC_OK || lease->job_count == 0) {
        go_idle(world, worker);
        return;
    }
    worker->life++;
    worker->job = (struct job_ref){lease->jobs[0].id, lease->jobs[0].life.epoch};
    snprintf(worker->step, sizeof worker->step, "%s", lease->jobs[0].type);
    arena_release(&worker->arena);
    worker->leased = (struct job_row){
        .type = worker->step,
        .run_id = lease->jobs[0].run_id,
        .payload = str_of(str_dup(&worker->arena, lease->jobs[0].payload)),
    };
    worker->cancelled = false;
    worker->deaf = world_chance(world, world->faults.worker_deaf);
    if (world_chance(world, world->faults.worker_dies)) {
        world_after(world, world_between(world, 0, 60 * US_PER_SECOND), revive, worker,
                    worker->life);
        return;
    }
    worker->ends_us = world->mono_us + world_between(world, 1000, 12 * US_PER_SECOND);
    if (step_runs_agent(worker->step) && world_chance(world, 100))
        ask(world, worker);
    work_on(world, worker, worker->life);
}

static void look_for_work(struct world *world, void *who, int64_t life)
{
    struct sim_worker *worker = who;
    if (worker->life != life)
        return;
    worker->life++;
    struct cmd_lease *lease = cmd_lease_new();
    lease->queues = all_queues;
    lease->worker = worker->name;
    lease->max = 1;
    lease->wait_us = world_between(world, 0, 5 * US_PER_SECOND);
    lease->lease_us = LEASE_US;
    send_as(world, worker, &lease->base, on_leased, worker->life);
    world_after(world, 30 * US_PER_SECOND, revive, worker, worker->life);
}

/* ---- lives ---- */

static void die_with_the_server(struct world *world)
{
    for (size_t i = 0; i < WORKERS_INSIDE; i++)
        go_idle(world, &workers[i]);
}

void workers_start(struct world *world)
{
    world->on_crash = die_with_the_server;
    for (size_t i = 0; i < WORKERS; i++) {
        struct sim_worker *worker = &workers[i];
        arena_release(&worker->arena);
        *worker = (struct sim_worker){0};
        if (i < WORKERS_INSIDE) {
            snprintf(worker->name, sizeof worker->name, SIM_NODE "/%zu", i);
            worker->principal = principal_of_node(SIM_NODE);
        } else {
            snprintf(worker->name, sizeof worker->name, "far-%zu/0", i);
            snprintf(worker->principal.text, PRINCIPAL_BYTES, "token-%zu", i);
        }
        go_idle(world, &workers[i]);
    }
}
