/*
 * port_direct.c - the job protocol as commands to a control plane in this process.
 */
#include "base/mem.h"
#include "bench/port.h"
#include "control/queue/complete.h"
#include "control/queue/enqueue.h"
#include "control/queue/lease.h"
#include "core/queue/rank.h"
#include <assert.h>

enum { LEASE_SECONDS = 60 };

struct direct_link {
    struct plant_slot slot;
    struct lane *lane;
    bool leasing;
};

struct port_direct {
    struct port port;
    struct plant plant;
    struct direct_link links[PORT_LANES_MAX];
};

static void post(struct lane *lane, struct command *command, bool leasing)
{
    struct port_direct *direct = (struct port_direct *)lane->port;
    struct direct_link *link = lane->link;
    link->leasing = leasing;
    plant_post(&direct->plant, &link->slot, command);
}

static void direct_enqueue(struct lane *lane, int count)
{
    struct cmd_enqueue *cmd = cmd_enqueue_new();
    struct job_spec *jobs = arena_array(&cmd->base.arena, (size_t)count, sizeof *jobs);
    for (int i = 0; i < count; i++)
        jobs[i] = (struct job_spec){
            .queue = BENCH_QUEUE,
            .type = "note",
            .payload = {port_payload(), PAYLOAD_BYTES},
            .priority = PRIORITY_NORMAL,
            .max_attempts = JOB_ATTEMPTS_DEFAULT,
        };
    cmd->jobs = jobs;
    cmd->count = (size_t)count;
    post(lane, &cmd->base, false);
}

static void direct_lease(struct lane *lane, int max, int wait_ms)
{
    static const char *const queues[] = {BENCH_QUEUE, NULL};
    struct cmd_lease *cmd = cmd_lease_new();
    cmd->base.principal = BENCH_PRINCIPAL;
    cmd->queues = queues;
    cmd->worker = "bench";
    cmd->max = max;
    cmd->wait_us = wait_ms * US_PER_MS;
    cmd->lease_us = LEASE_SECONDS * US_PER_SECOND;
    post(lane, &cmd->base, true);
}

static void direct_complete(struct lane *lane)
{
    struct cmd_complete *cmd = cmd_complete_new();
    cmd->base.principal = BENCH_PRINCIPAL;
    size_t count = (size_t)lane->job_count;
    struct job_done *jobs = arena_array(&cmd->base.arena, count, sizeof *jobs);
    for (size_t i = 0; i < count; i++)
        jobs[i].ref = (struct job_ref){.id = lane->jobs[i].id, .epoch = lane->jobs[i].epoch};
    cmd->jobs = jobs;
    cmd->count = count;
    post(lane, &cmd->base, false);
}

static void read_jobs(struct lane *lane, const struct cmd_lease *cmd)
{
    assert(cmd->job_count <= LANE_JOBS_MAX);
    lane->job_count = (int)cmd->job_count;
    for (size_t i = 0; i < cmd->job_count; i++)
        lane->jobs[i] = (struct lane_job){cmd->jobs[i].id, cmd->jobs[i].life.epoch};
}

static void direct_poll(struct port *port)
{
    struct direct_link *link = (struct direct_link *)plant_take(
        &((struct port_direct *)port)->plant);
    struct lane *lane = link->lane;
    if (link->leasing)
        read_jobs(lane, (const struct cmd_lease *)link->slot.command);
    command_free(link->slot.command);
    lane->busy = false;
    lane->answered(lane);
}

static void direct_attach(struct port *port, struct lane *lane, size_t index)
{
    struct direct_link *link = &((struct port_direct *)port)->links[index];
    link->lane = lane;
    lane->link = link;
}

static void direct_effort(struct port *port, struct effort *ret_effort)
{
    plant_effort(&((struct port_direct *)port)->plant, ret_effort);
}

static void direct_close(struct port *port)
{
    plant_close(&((struct port_direct *)port)->plant);
    mem_free(port);
}

static const struct port_ops direct_ops = {
    .name = "in process",
    .attach = direct_attach,
    .enqueue = direct_enqueue,
    .lease = direct_lease,
    .complete = direct_complete,
    .poll = direct_poll,
    .effort = direct_effort,
    .close = direct_close,
};

struct port *port_direct_open(const struct plant_setup *setup)
{
    struct port_direct *direct = mem_alloc(sizeof *direct);
    plant_open(&direct->plant, setup);
    direct->port.ops = &direct_ops;
    return &direct->port;
}

struct port *port_direct_open_dir(const struct bench *bench, const char *name)
{
    char dir[BENCH_PATH_BYTES], url[BENCH_URL_BYTES];
    bench_dir(bench, name, dir);
    bench_sqlite_url(dir, url);
    return port_direct_open(&(struct plant_setup){.url = url});
}
