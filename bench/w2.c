/*
 * w2.c - 1,000 runs of 8 steps that do nothing, 64 at a time, in process: what the control plane
 * itself costs a run, with its state, its events and its jobs.
 *
 * The 8 steps are admit, prepare, hydrate, agent, verify, judge, publish and clean.  Admission
 * happens in the batch of the submission; each of the other seven is a job that one of 64 workers
 * leases and completes with a ready-made result, as slots of a real worker do: one job at a time,
 * from the queues of all steps.  A new run is submitted when one has been cleaned up.
 */
#include "bench/plant.h"
#include "bench/raw.h"
#include "bench/report.h"
#include "control/jobs.h"
#include "control/repositories.h"
#include "control/tasks.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { AT_ONCE = 64, WAIT_MS = 200, PAYLOAD_BYTES = 810 /* As a step's job has. */ };
#define REPOSITORY "bench/runs"
#define SHA256     "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define COMMIT     "da39a3ee5e6b4b0d3255bfef95601890afd80709"

static const struct step {
    const char *type, *result;
} steps[] = {
    {"clean", "{}"},
    {"publish", "{\"number\":1,\"url\":\"/srv/git/x.git#1\",\"headCommit\":\"" COMMIT "\","
                "\"branch\":\"drover/x\",\"draft\":true}"},
    {"judge", "{\"verdict\":\"pass\",\"score\":1,\"findings\":[]}"},
    {"verify", "{\"verdict\":\"verified\",\"certificateSha256\":\"" SHA256 "\",\"checks\":"
               "[{\"name\":\"unit\",\"command\":\"make test\",\"status\":\"passed\","
               "\"exitCode\":0}]}"},
    {"agent", "{\"outcome\":\"ended\",\"report\":\"success\",\"summary\":\"done\",\"turns\":2,"
              "\"costUsd\":0.5,\"patch\":{\"sha256\":\"" SHA256 "\",\"files\":1,"
              "\"linesAdded\":2,\"linesDeleted\":1,\"treeHash\":\"" COMMIT "\"}}"},
    {"hydrate", "{\"promptSha256\":\"" SHA256 "\",\"sources\":[\"task_description\"],"
                "\"tokenEstimate\":10}"},
    {"prepare", "{\"baseCommit\":\"" COMMIT "\"}"},
};
static const char *const queues[] = {
    "drover.clean", "drover.publish", "drover.judge",   "drover.verify",
    "drover.agent", "drover.hydrate", "drover.prepare", NULL};

enum doing { IDLE, SUBMITTING, LEASING, COMPLETING };

struct actor_slot {
    struct plant_slot slot; /* First: see plant.h. */
    enum doing doing;
    bool last_step;
};

struct load {
    struct plant plant;
    struct actor_slot submitters[AT_ONCE], workers[AT_ONCE];
    int64_t total, sent, finished, busy, commands;
    double end;
};

static void post(struct load *load, struct actor_slot *slot, enum doing doing,
                 struct command *command)
{
    slot->doing = doing;
    load->busy++;
    load->commands++;
    plant_post(&load->plant, &slot->slot, command);
}

static void submit(struct load *load, struct actor_slot *slot)
{
    struct cmd_submit *cmd = cmd_submit_new();
    cmd->repository = REPOSITORY;
    cmd->description = "Make the clock run on time";
    cmd->base.actor = (struct actor){"user", "bench"};
    load->sent++;
    post(load, slot, SUBMITTING, &cmd->base);
}

static void submit_more(struct load *load)
{
    for (size_t i = 0; i < AT_ONCE && load->sent < load->total; i++)
        if (load->sent - load->finished < AT_ONCE && load->submitters[i].doing == IDLE)
            submit(load, &load->submitters[i]);
}

static void lease(struct load *load, struct actor_slot *slot)
{
    struct cmd_lease *cmd = cmd_lease_new();
    cmd->queues = queues;
    cmd->worker = "bench/0";
    cmd->max = 1;
    cmd->wait_us = WAIT_MS * US_PER_MS;
    cmd->lease_us = JOB_LEASE_MS_DEFAULT * US_PER_MS;
    post(load, slot, LEASING, &cmd->base);
}

static const char *result_of(const char *type)
{
    for (size_t i = 0; i < COUNT_OF(steps); i++)
        if (strcmp(steps[i].type, type) == 0)
            return steps[i].result;
    bench_die("a step of an unknown kind: %s", type);
}

static void complete(struct load *load, struct actor_slot *slot, const struct job_row *job)
{
    struct cmd_complete *cmd = cmd_complete_new();
    struct job_done *done = arena_array(&cmd->base.arena, 1, sizeof *done);
    done->ref = (struct job_ref){job->id, job->life.epoch};
    done->result = str_of(result_of(job->type));
    cmd->jobs = done;
    cmd->count = 1;
    slot->last_step = strcmp(job->type, "clean") == 0;
    post(load, slot, COMPLETING, &cmd->base);
}

static void on_completed(struct load *load, struct actor_slot *slot, const struct cmd_complete *cmd)
{
    if (!cmd->answers[0].ok)
        bench_die("a completion is refused: %s", cmd->answers[0].code);
    if (slot->last_step && ++load->finished == load->total)
        load->end = bench_seconds();
}

/* One answer, and what its receiver does next. */
static void go_on(struct load *load)
{
    struct actor_slot *slot = (struct actor_slot *)plant_take(&load->plant);
    struct command *command = slot->slot.command;
    enum doing done = slot->doing;
    load->busy--;
    slot->doing = IDLE;
    const struct cmd_lease *leased = (const struct cmd_lease *)command;
    if (done == COMPLETING)
        on_completed(load, slot, (const struct cmd_complete *)command);
    if (done == LEASING && leased->job_count > 0)
        complete(load, slot, &leased->jobs[0]);
    else if (done != SUBMITTING && load->finished < load->total)
        lease(load, slot);
    command_free(command);
    submit_more(load);
}

static void add_repository(struct load *load)
{
    struct cmd_repository_put *put = cmd_repository_put_new();
    put->name = REPOSITORY;
    put->config = STR("{\"url\":\"/srv/git/x.git\",\"agent\":{\"command\":[\"./agent\"]},"
                      "\"limits\":{\"maxActiveRuns\":1000}}");
    plant_call(&load->plant, &put->base);
    command_free(&put->base);
}

static void measure(struct load *load, struct figure *figure)
{
    struct effort before, after;
    load->sent = load->finished = load->commands = 0;
    plant_effort(&load->plant, &before);
    double begin = bench_seconds();
    for (size_t i = 0; i < AT_ONCE; i++)
        lease(load, &load->workers[i]);
    submit_more(load);
    while (load->busy > 0)
        go_on(load);
    plant_effort(&load->plant, &after);
    struct effort spent = effort_since(&before, &after);
    double rate = (double)load->total / (load->end - begin);
    if (figure->count == 0 || rate > figure_best(figure)) {
        figure->batch = (double)load->commands / (double)spent.commits;
        figure->flushes = 1000.0 * (double)spent.flushes / (double)load->total;
        figure->cpu_us = spent.cpu_us / (double)load->total;
    }
    figure->values[figure->count++] = rate;
}

static void measure_raw(struct raw *raw, int64_t total, struct figure *figure)
{
    static char payload[PAYLOAD_BYTES + 1];
    memset(payload, 'x', PAYLOAD_BYTES);
    struct raw_runs runs = {.runs = total,
                            .at_once = AT_ONCE,
                            .each = (int64_t)(figure->batch + 0.5),
                            .payload = payload};
    double rate = raw_run(raw, &runs);
    if (rate > figure->raw) {
        figure->raw = rate;
        figure->raw_batch = (double)runs.each;
    }
}

void w2_run(const struct bench *bench)
{
    report_group(bench->report, "W2  1,000 runs of 8 steps that do nothing");
    report_note(bench->report, "Steps: admit, prepare, hydrate, agent, verify, judge, publish, "
                               "clean; 15 commands, 32 events, 98 writes a run.");
    struct load load = {.total = bench->quick ? 128 : 1000};
    char dir[BENCH_PATH_BYTES];
    bench_dir(bench, "w2", dir);
    plant_open(&load.plant, dir);
    add_repository(&load);
    struct raw *raw = raw_open(bench, "w2-raw");
    struct figure figure = {.group = "W2",
                            .what = "submit to cleaned up",
                            .unit = "runs/s",
                            .how = "in process, 64 at a time",
                            .aim = 2800};
    for (int i = 0; i < bench->repeat; i++) {
        measure(&load, &figure);
        measure_raw(raw, load.total, &figure);
    }
    raw_close(raw);
    plant_close(&load.plant);
    report_add(bench->report, &figure);
}
