#include "bench/runs.h"
#include "base/mem.h"
#include "control/admit/repositories.h"
#include "control/admit/submit.h"
#include "control/queue/complete.h"
#include "control/queue/lease.h"
#include "tests/unit/honest.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { WAIT_MS = 200, LEASES_EACH = 100, LEASE_MS = 600 * 1000 };
#define REPOSITORY "bench/runs"
/* In the order of their jobs; the results as sketches of tests/unit/honest.h. */
static const struct step {
    const char *type, *sketch;
} steps[] = {
    {"prepare", "{\"baseCommit\":\"base\"}"},
    {"hydrate", "{\"promptSha256\":\"prompt\",\"sources\":[\"task_description\"],"
                "\"tokenEstimate\":10}"},
    {"agent", "{\"outcome\":\"ended\",\"report\":\"success\",\"summary\":\"done\",\"turns\":2,"
              "\"costUsd\":0.5,\"patch\":{\"sha256\":\"patch\",\"files\":1,"
              "\"linesAdded\":2,\"linesDeleted\":1}}"},
    {"verify",
     "{\"verdict\":\"verified\",\"certificateSha256\":\"certificate\",\"checks\":"
     "[{\"name\":\"unit\",\"command\":\"make test\",\"status\":\"passed\",\"exitCode\":0}]}"},
    {"judge",
     "{\"verdict\":\"pass\",\"judges\":[{\"name\":\"rules\",\"kind\":\"rules\",\"verdict\":"
     "\"pass\",\"score\":1,\"findings\":[]}]}"},
    {"publish", "{\"number\":%lld,\"headCommit\":\"head\"}"},
    {"clean", "{}"},
};
enum { STEPS = COUNT_OF(steps), LAST_STEP = STEPS - 1 };

/* What is nearest to its end goes first. */
static const char *const queues[] = {
    "drover.clean", "drover.publish", "drover.judge",   "drover.verify",
    "drover.agent", "drover.hydrate", "drover.prepare", NULL};

enum doing { IDLE, SUBMITTING, LEASING, COMPLETING };

struct actor_slot {
    struct plant_slot slot; /* First: see plant.h. */
    enum doing doing;
    bool last_step;
};

struct runs {
    struct plant plant;
    struct actor_slot submitters[RUNS_AT_ONCE_MAX], workers[RUNS_AT_ONCE_MAX];
    int64_t total, at_once, sent, finished, busy, commands;
    double end;
    int64_t pr_number;    /* The last one. */
    struct job_ref *jobs; /* runs_moves: those that are leased, ... */
    const char **results; /* ... and what is reported of them, in the arena. */
    struct arena arena;
    int64_t job_count, job_next;
    const struct step *step; /* That they are of. */
};

static void post(struct runs *runs, struct actor_slot *slot, enum doing doing,
                 struct command *command)
{
    slot->doing = doing;
    runs->busy++;
    runs->commands++;
    plant_post(&runs->plant, &slot->slot, command);
}

static void submit(struct runs *runs, struct actor_slot *slot)
{
    struct cmd_submit *cmd = cmd_submit_new();
    cmd->task.repository = REPOSITORY;
    cmd->task.description = "Make the clock run on time";
    cmd->base.actor = (struct actor){"user", "bench"};
    runs->sent++;
    post(runs, slot, SUBMITTING, &cmd->base);
}

static void submit_more(struct runs *runs)
{
    for (int64_t i = 0; i < runs->at_once && runs->sent < runs->total; i++)
        if (runs->sent - runs->finished < runs->at_once && runs->submitters[i].doing == IDLE)
            submit(runs, &runs->submitters[i]);
}

static struct cmd_lease *make_lease(const char *const *from)
{
    struct cmd_lease *cmd = cmd_lease_new();
    cmd->base.principal = BENCH_PRINCIPAL;
    cmd->queues = from;
    cmd->worker = "bench/0";
    cmd->max = 1;
    cmd->wait_us = WAIT_MS * US_PER_MS;
    cmd->lease_us = LEASE_MS * US_PER_MS;
    return cmd;
}

static void lease(struct runs *runs, struct actor_slot *slot)
{
    post(runs, slot, LEASING, &make_lease(queues)->base);
}

static const struct step *find_step(const char *type)
{
    for (size_t i = 0; i < STEPS; i++)
        if (strcmp(steps[i].type, type) == 0)
            return &steps[i];
    bench_die("a step of an unknown kind: %s", type);
}

/* What the server can check: made, and its artifacts stored, as a worker would. */
static const char *make_result(struct runs *runs, const struct job_row *job, struct arena *arena)
{
    const struct step *step = find_step(job->type);
    const char *sketch = arena_printf(arena, step->sketch, (long long)++runs->pr_number);
    return honest_result(runs->plant.store, job, sketch, arena);
}

static void complete(struct runs *runs, struct actor_slot *slot, const struct job_ref *ref,
                     const char *result)
{
    struct cmd_complete *cmd = cmd_complete_new();
    cmd->base.principal = BENCH_PRINCIPAL;
    struct job_done *done = arena_array(&cmd->base.arena, 1, sizeof *done);
    done->ref = *ref;
    done->result = str_of(arena_strdup(&cmd->base.arena, result));
    cmd->jobs = done;
    cmd->count = 1;
    post(runs, slot, COMPLETING, &cmd->base);
}

static void check_completed(const struct command *command)
{
    const struct cmd_complete *cmd = (const struct cmd_complete *)command;
    if (!cmd->answers[0].ok)
        bench_die("a completion is refused: %s", cmd->answers[0].code);
}

/* ---- whole runs ---- */

/* One answer, and what its receiver does next. */
static void go_on(struct runs *runs)
{
    struct actor_slot *slot = (struct actor_slot *)plant_take(&runs->plant);
    struct command *command = slot->slot.command;
    enum doing done = slot->doing;
    runs->busy--;
    slot->doing = IDLE;
    if (done == COMPLETING) {
        check_completed(command);
        if (slot->last_step && ++runs->finished == runs->total)
            runs->end = bench_seconds();
    }
    const struct cmd_lease *leased = (const struct cmd_lease *)command;
    if (done == LEASING && leased->job_count > 0) {
        const struct job_row *job = &leased->jobs[0];
        const struct job_ref ref = {job->id, job->life.epoch};
        slot->last_step = find_step(job->type) == &steps[LAST_STEP];
        complete(runs, slot, &ref, make_result(runs, job, &command->arena));
    } else if (done != SUBMITTING && runs->finished < runs->total) {
        lease(runs, slot);
    }
    command_free(command);
    submit_more(runs);
}

static void wish_for(struct runs *runs, const struct runs_wish *wish)
{
    assert(wish->at_once > 0 && wish->at_once <= RUNS_AT_ONCE_MAX);
    runs->total = wish->total;
    runs->at_once = wish->at_once;
    runs->sent = runs->finished = runs->commands = 0;
}

static void note_value(const struct runs *runs, double rate, const struct effort *spent,
                       struct figure *figure)
{
    if (figure->count == 0 || rate > figure_best(figure)) {
        figure->batch = effort_batch(spent, runs->commands);
        figure->flushes = 1000.0 * (double)spent->flushes / (double)runs->total;
        figure->cpu_us = spent->cpu_us / (double)runs->total;
    }
    figure->values[figure->count++] = rate;
}

void runs_whole(struct runs *runs, const struct runs_wish *wish, struct figure *figure)
{
    struct effort before, after;
    wish_for(runs, wish);
    plant_effort(&runs->plant, &before);
    double begin = bench_seconds();
    for (int64_t i = 0; i < runs->at_once; i++)
        lease(runs, &runs->workers[i]);
    submit_more(runs);
    while (runs->busy > 0)
        go_on(runs);
    plant_effort(&runs->plant, &after);
    struct effort spent = effort_since(&before, &after);
    note_value(runs, (double)runs->total / (runs->end - begin), &spent, figure);
}

/* ---- completions only ---- */

static void submit_all(struct runs *runs)
{
    while (runs->finished < runs->total) { /* Here: submitted. */
        submit_more(runs);
        struct actor_slot *slot = (struct actor_slot *)plant_take(&runs->plant);
        command_free(slot->slot.command);
        slot->doing = IDLE;
        runs->busy--;
        runs->finished++;
    }
}

static void lease_all(struct runs *runs)
{
    char queue[32];
    const char *const from[] = {queue, NULL};
    (void)snprintf(queue, sizeof queue, "drover.%s", runs->step->type);
    runs->job_count = runs->job_next = 0;
    arena_release(&runs->arena);
    while (runs->job_count < runs->total) {
        struct cmd_lease *cmd = make_lease(from);
        cmd->max = LEASES_EACH;
        plant_call(&runs->plant, &cmd->base);
        for (size_t i = 0; i < cmd->job_count; i++, runs->job_count++) {
            const struct job_row *job = &cmd->jobs[i];
            runs->jobs[runs->job_count] = (struct job_ref){job->id, job->life.epoch};
            runs->results[runs->job_count] = make_result(runs, job, &runs->arena);
        }
        command_free(&cmd->base);
    }
}

static void complete_next(struct runs *runs, struct actor_slot *slot)
{
    if (runs->job_next == runs->job_count)
        return;
    int64_t i = runs->job_next++;
    complete(runs, slot, &runs->jobs[i], runs->results[i]);
}

static void complete_all(struct runs *runs)
{
    for (int64_t i = 0; i < runs->at_once; i++)
        complete_next(runs, &runs->workers[i]);
    while (runs->busy > 0) {
        struct actor_slot *slot = (struct actor_slot *)plant_take(&runs->plant);
        struct command *command = slot->slot.command;
        slot->doing = IDLE;
        runs->busy--;
        check_completed(command);
        complete_next(runs, slot);
        command_free(command);
    }
}

void runs_moves(struct runs *runs, const struct runs_wish *wish, struct figure *figure)
{
    wish_for(runs, wish);
    runs->jobs = mem_array((size_t)wish->total, sizeof *runs->jobs);
    runs->results = mem_array((size_t)wish->total, sizeof *runs->results);
    submit_all(runs);
    runs->commands = 0;
    struct effort spent = {0};
    double took = 0;
    for (size_t i = 0; i < STEPS; i++) {
        struct effort before, after;
        runs->step = &steps[i];
        lease_all(runs);
        plant_effort(&runs->plant, &before);
        double begin = bench_seconds();
        complete_all(runs);
        if (i == LAST_STEP) /* Cleaning moves nothing on. */
            break;
        took += bench_seconds() - begin;
        plant_effort(&runs->plant, &after);
        struct effort more = effort_since(&before, &after);
        spent.commits += more.commits;
        spent.flushes += more.flushes;
        spent.cpu_us += more.cpu_us;
    }
    mem_free(runs->jobs);
    mem_free(runs->results);
    arena_release(&runs->arena);
    runs->jobs = NULL;
    runs->results = NULL;
    runs->total *= LAST_STEP; /* From here on commands are what is counted. */
    runs->commands = runs->total;
    note_value(runs, (double)runs->total / took, &spent, figure);
}

/* ---- making and ending ---- */

struct runs *runs_open(const struct plant_setup *setup)
{
    struct runs *runs = mem_alloc(sizeof *runs);
    runs->pr_number = 1;
    plant_open(&runs->plant, setup);
    struct cmd_repository_put *put = cmd_repository_put_new();
    put->name = REPOSITORY;
    put->config = STR("{\"url\":\"/srv/git/x.git\",\"agent\":{\"command\":[\"./agent\"]},"
                      "\"verify\":[{\"name\":\"unit\",\"command\":\"make test\"}],"
                      "\"limits\":{\"maxActiveRuns\":1000}}");
    plant_call(&runs->plant, &put->base);
    command_free(&put->base);
    return runs;
}

void runs_close(struct runs *runs)
{
    if (runs == NULL)
        return;
    plant_close(&runs->plant);
    mem_free(runs);
}

const char *runs_payload(void)
{
    static char payload[RUNS_PAYLOAD_BYTES + 1];
    memset(payload, 'x', RUNS_PAYLOAD_BYTES);
    payload[0] = payload[RUNS_PAYLOAD_BYTES - 1] = '"';
    return payload;
}

int64_t runs_retried(struct runs *runs)
{
    struct effort effort;
    plant_effort(&runs->plant, &effort);
    return effort.retried;
}
