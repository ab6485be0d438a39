/*
 * nodes.c - three nodes on one PostgreSQL, of which one at a time stands still: for longer or
 * shorter than its leases, between two things or in the middle of a transaction.  See main.c.
 *
 * Time is virtual on both sides: clock_timestamp() of the database is a function of the world's
 * schema, which stands in the search path before PostgreSQL's own.  Every quarter of a second the
 * nodes that are awake do what they have to: the membership its round, the one that has the timers
 * posts what is due, and clients enqueue, lease and complete jobs through any of them.
 *
 * A node falls asleep in one of two ways: it does nothing for a while, with a timer command posted
 * and not yet run; or a command of its own batch lets the world go on without it (nap), with all
 * that the transaction has locked.
 *
 * Invariants
 * 1. No job is handed out twice under the same epoch, and epochs of a job grow.
 * 2. No job is handed out before it is due, and none before the lease of another has ended.
 * 3. No job is completed twice.
 * 4. A timer command goes through only under the epoch that the lease has when it commits.
 * 5. Nothing is due for longer than LATE_US, whoever sleeps.
 */
#include "tests/sim/nodes.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "control/commit/committer.h"
#include "control/hooks.h"
#include "control/queue/complete.h"
#include "control/queue/enqueue.h"
#include "control/queue/lease.h"
#include "control/watch/due.h"
#include "control/watch/membership.h"
#include "core/queue/rank.h"
#include "store/engine.h"
#include "store/pq_lib.h"
#include "store/query.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 3, TICK_MS = 250, JOBS_MAX = 20000, LEASE_AT_ONCE = 3, URL_BYTES = 1024 };
#define TICK_US  (TICK_MS * US_PER_MS)
#define BEGIN_US (INT64_C(1800000000) * US_PER_SECOND)
/* A node frozen in a transaction: its claim ends, another ends its sessions, looks, and handles. */
#define LATE_US ((MEMBERSHIP_CLAIM_MS + 4 * MEMBERSHIP_EVERY_MS) * US_PER_MS)
#define REST_US (5 * US_PER_SECOND) /* Between the end of one sleep and the next. */

enum seen { SEEN_WAITING, SEEN_LEASED, SEEN_DONE };

struct seen_job {
    struct id id;
    enum seen state;
    int64_t epoch;
    int64_t not_before_us; /* It is not handed out earlier. */
    const char *principal; /* Of the lease. */
    bool reported;         /* Its consumer will say no more. */
};

struct sim_node {
    struct nodes *nodes;
    char name[16];
    struct store *store;
    struct committer *committer;
    struct membership *membership;
    int64_t asleep_until_us; /* 0: awake */
    int64_t phase;           /* Of its seconds, in ticks. */
};

struct nodes {
    uint64_t seed;
    struct random random;
    const char *postgres;
    char schema[32], url[URL_BYTES];
    struct store *store; /* The world's own, for the clock and for looking. */
    int64_t now_us;
    int64_t quiet_us; /* When the last sleeper woke up. */
    bool napping;     /* One sleeps in a transaction: others may meet its locks. */
    struct sim_node node[NODES];
    struct seen_job *jobs; /* In order of arrival. */
    size_t job_count;
    struct arena arena;
};

static struct totals {
    int64_t worlds, steps, jobs, leases, completed, naps, sleeps, fenced, turns, failed;
} totals;

static _Noreturn void broken(const struct nodes *nodes, const char *what, const char *which)
{
    fprintf(stderr, "\nBROKEN at %.2f s of seed %" PRIu64 ": %s %s\n",
            (double)(nodes->now_us - BEGIN_US) / 1e6, nodes->seed, what, which);
    exit(1);
}

static bool chance(struct nodes *nodes, unsigned per_thousand)
{
    return random_below(&nodes->random, 1000) < per_thousand;
}

static int64_t between(struct nodes *nodes, int64_t low, int64_t high)
{
    return low + (int64_t)random_below(&nodes->random, (uint64_t)(high - low + 1));
}

/* ---- the database and its clock ---- */

static void admin(const struct nodes *nodes, const char *verb, const char *more)
{
    char text[128];
    struct err err = {0};
    if (pq_lib_load(&err) != RC_OK)
        broken(nodes, "no libpq:", err.text);
    snprintf(text, sizeof text, "SET client_min_messages = error; %s SCHEMA %s %s", verb,
             nodes->schema, more);
    PGconn *pg = pq->connectdb(nodes->postgres);
    PGresult *result = pq->exec(pg, text);
    if (pq->resultStatus(result) != PGRES_COMMAND_OK)
        broken(nodes, text, pq->errorMessage(pg));
    pq->clear(result);
    pq->finish(pg);
}

static void script(struct nodes *nodes, struct store *store, const char *text)
{
    struct err err = {0};
    if (db_script(store_writer(store), "sim", text, &err) != RC_OK)
        broken(nodes, text, err.text);
}

static void set_clock(struct nodes *nodes)
{
    char text[80];
    snprintf(text, sizeof text, "UPDATE sim_time SET us = %" PRId64, nodes->now_us);
    script(nodes, nodes->store, text);
}

static struct store *open_store(struct nodes *nodes)
{
    struct store_options options = {.url = nodes->url};
    struct store *store;
    struct err err = {0};
    if (store_open(&options, &store, &err) != RC_OK)
        broken(nodes, "the store does not open:", err.text);
    return store;
}

static void make_database(struct nodes *nodes)
{
    static const char make_clock[] =
        "CREATE TABLE sim_time (us BIGINT NOT NULL); INSERT INTO sim_time VALUES (0);"
        " CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS"
        " 'SELECT timestamptz ''epoch'' + us * interval ''1 microsecond'' FROM sim_time'";
    unsigned char random[8];
    char hex[2 * sizeof random + 1];
    secret_bytes(random, sizeof random);
    hex_encode(hex, random, sizeof random);
    snprintf(nodes->schema, sizeof nodes->schema, "sim_%s", hex);
    snprintf(nodes->url, sizeof nodes->url, "%s%coptions=-csearch_path%%3D%s%%2Cpg_catalog",
             nodes->postgres, strchr(nodes->postgres, '?') == NULL ? '?' : '&', nodes->schema);
    admin(nodes, "CREATE", "");
    nodes->store = open_store(nodes);
    script(nodes, nodes->store, make_clock);
    set_clock(nodes);
}

/* ---- what is known of the jobs ---- */

static struct seen_job *find_job(struct nodes *nodes, const struct id *id)
{
    for (size_t i = nodes->job_count; i > 0; i--)
        if (id_same(&nodes->jobs[i - 1].id, id))
            return &nodes->jobs[i - 1];
    return NULL;
}

static void see_enqueued(struct nodes *nodes, const struct id *id, int64_t not_before_us)
{
    if (nodes->job_count == JOBS_MAX)
        broken(nodes, "too many jobs for", "one world");
    nodes->jobs[nodes->job_count++] = (struct seen_job){.id = *id, .not_before_us = not_before_us};
    totals.jobs++;
}

static void see_leased(struct nodes *nodes, const struct job_row *job, int64_t until_us,
                       const char *principal)
{
    struct seen_job *seen = find_job(nodes, &job->id);
    if (seen == NULL)
        broken(nodes, "a job was handed out that nobody was told of:", job->id.text);
    if (seen->state == SEEN_DONE)
        broken(nodes, "a job was handed out after its completion:", job->id.text);
    if (job->life.epoch <= seen->epoch)
        broken(nodes, "a job was handed out twice under one epoch:", job->id.text);
    if (nodes->now_us < seen->not_before_us)
        broken(nodes, seen->state == SEEN_LEASED ? "a lease ended early:" : "a delay ended early:",
               job->id.text);
    seen->state = SEEN_LEASED;
    seen->epoch = job->life.epoch;
    seen->not_before_us = until_us;
    seen->principal = principal;
    seen->reported = false;
    totals.leases++;
}

static void see_completed(struct nodes *nodes, struct seen_job *seen, int64_t epoch)
{
    if (seen->state == SEEN_DONE)
        broken(nodes, "a job was completed twice:", seen->id.text);
    if (epoch != seen->epoch)
        broken(nodes, "a completion under an old epoch was taken:", seen->id.text);
    seen->state = SEEN_DONE;
    totals.completed++;
}

/* ---- commands ---- */

static void pass(struct nodes *nodes, int64_t until_us);

struct cmd_nap { /* Lets the world go on without this node. */
    struct command base;
    struct sim_node *node;
    int64_t nap_us;
};

static enum rc apply_nap(struct context *ctx, struct command *command)
{
    (void)ctx;
    struct cmd_nap *cmd = (struct cmd_nap *)command;
    struct nodes *nodes = cmd->node->nodes;
    int64_t nap_us = cmd->nap_us;
    cmd->nap_us = 0; /* Once, however often the batch is tried. */
    if (nap_us == 0)
        return RC_OK;
    totals.naps++;
    nodes->napping = true;
    cmd->node->asleep_until_us = nodes->now_us + nap_us;
    pass(nodes, nodes->now_us + nap_us);
    cmd->node->asleep_until_us = 0;
    nodes->napping = false;
    nodes->quiet_us = nodes->now_us;
    return RC_OK;
}

static const struct command_ops nap_ops = {.name = "nap", .apply = apply_nap};

static void ignore_done(struct command *command)
{
    (void)command;
}

static void post(struct sim_node *node, struct command *command)
{
    command->done = ignore_done;
    if (committer_post(node->committer, command) != RC_OK)
        broken(node->nodes, "the committer is full:", node->name);
}

/* Those whose statements meet a lock give up at once: it is held by one who sleeps. */
static void hurry_locks(struct nodes *nodes)
{
    for (size_t i = 0; i < NODES; i++)
        if (nodes->node[i].asleep_until_us == 0)
            script(nodes, nodes->node[i].store, "SET lock_timeout = '20ms'");
}

static bool may_sleep(const struct nodes *nodes)
{
    bool all_awake = !nodes->napping;
    for (size_t i = 0; i < NODES; i++)
        all_awake = all_awake && nodes->node[i].asleep_until_us == 0;
    return all_awake && nodes->now_us - nodes->quiet_us > REST_US;
}

static int64_t sleep_us(struct nodes *nodes)
{
    bool long_one = chance(nodes, 500);
    return between(nodes, TICK_US, (long_one ? 40 : 8) * US_PER_SECOND);
}

/* Runs the command; now and then the node falls asleep behind it, in the same transaction. */
static enum rc run(struct sim_node *node, struct command *command)
{
    struct nodes *nodes = node->nodes;
    struct cmd_nap *nap = NULL;
    post(node, command);
    if (may_sleep(nodes) && chance(nodes, 15)) {
        hurry_locks(nodes);
        nap = command_new(&nap_ops, sizeof *nap);
        nap->node = node;
        nap->nap_us = sleep_us(nodes);
        post(node, &nap->base);
    }
    while (committer_round(node->committer)) {
    }
    if (nap != NULL)
        command_free(&nap->base);
    enum rc rc = command->rc;
    bool met = rc == RC_UNREACHABLE || rc == RC_BUSY || rc == RC_IO;
    if (met && text_same(command->err.code, "COMMIT_UNKNOWN"))
        broken(nodes, "nobody knows what became of a commit:", command->ops->name);
    /* Woken without its connections, or in the way of one who sleeps. */
    if (met && !nodes->napping && nodes->now_us - nodes->quiet_us > REST_US)
        broken(nodes, command->ops->name, command->err.text);
    totals.failed += met;
    return rc;
}

static int64_t sim_now(void *ctx)
{
    return ((struct nodes *)ctx)->now_us;
}

static void enqueue(struct sim_node *node)
{
    struct nodes *nodes = node->nodes;
    int64_t delay_us = chance(nodes, 700) ? between(nodes, 0, 20 * US_PER_SECOND) : 0;
    struct job_spec spec = {.queue = "q",
                            .type = "x",
                            .payload = STR("{}"),
                            .priority = PRIORITY_NORMAL,
                            .delay_us = delay_us};
    struct cmd_enqueue *cmd = cmd_enqueue_new();
    cmd->jobs = &spec;
    cmd->count = 1;
    int64_t not_before_us = nodes->now_us + delay_us;
    if (run(node, &cmd->base) == RC_OK)
        see_enqueued(nodes, &cmd->answers[0].id, not_before_us);
    command_free(&cmd->base);
}

static void lease(struct sim_node *node)
{
    static const char *const queues[] = {"q", NULL};
    struct nodes *nodes = node->nodes;
    struct cmd_lease *cmd = cmd_lease_new();
    cmd->queues = queues;
    cmd->worker = "w";
    cmd->base.principal = "sim";
    cmd->max = LEASE_AT_ONCE;
    cmd->lease_us = between(nodes, US_PER_SECOND, 20 * US_PER_SECOND);
    int64_t until_us = nodes->now_us + cmd->lease_us;
    if (run(node, &cmd->base) == RC_OK)
        for (size_t i = 0; i < cmd->job_count; i++)
            see_leased(nodes, &cmd->jobs[i], until_us, "sim");
    command_free(&cmd->base);
}

/* Of one whose lease may be over by now, too. */
static void complete(struct sim_node *node)
{
    struct nodes *nodes = node->nodes;
    struct seen_job *seen = NULL;
    for (size_t i = nodes->job_count; i > 0 && seen == NULL; i--) {
        struct seen_job *job = &nodes->jobs[i - 1];
        if (job->state == SEEN_LEASED && !job->reported && chance(nodes, 400))
            seen = job;
    }
    if (seen == NULL)
        return;
    seen->reported = chance(nodes, 300); /* It forgets to report: the lease runs out. */
    if (seen->reported)
        return;
    struct job_done done = {.ref = {.id = seen->id, .epoch = seen->epoch}};
    size_t place = (size_t)(seen - nodes->jobs);
    struct cmd_complete *cmd = cmd_complete_new();
    cmd->base.principal = seen->principal;
    cmd->jobs = &done;
    cmd->count = 1;
    if (run(node, &cmd->base) == RC_OK && cmd->answers[0].ok)
        see_completed(nodes, &nodes->jobs[place], done.ref.epoch);
    command_free(&cmd->base);
}

/* ---- nodes ---- */

/* Between the command that holds the turn and its commit nobody else may have taken it. */
static void check_turn(struct sim_node *node, const struct lease_fence *turn)
{
    struct nodes *nodes = node->nodes;
    struct lease_row row;
    struct err err = {0};
    if (leases_get(store_writer(nodes->store), LEASE_TIMERS, &nodes->arena, &row, &err) != RC_OK)
        broken(nodes, "the lease cannot be read:", err.text);
    if (row.epoch != turn->epoch)
        broken(nodes, "a node handled timers that are another's:", node->name);
}

static void handle_due(struct sim_node *node)
{
    struct nodes *nodes = node->nodes;
    struct lease_fence turn;
    bool gap;
    if (!membership_turn(node->membership, &turn, &gap))
        return;
    struct cmd_due *due = cmd_due_new();
    due->turn = turn;
    if (may_sleep(nodes) && chance(nodes, 80)) { /* Posted, and not yet run. */
        totals.sleeps++;
        hurry_locks(nodes);
        node->asleep_until_us = nodes->now_us + sleep_us(nodes);
        pass(nodes, node->asleep_until_us);
        node->asleep_until_us = 0;
        nodes->quiet_us = nodes->now_us;
    }
    enum rc rc = run(node, &due->base);
    if (rc == RC_OK)
        check_turn(node, &turn);
    if (rc == RC_STALE) {
        totals.fenced++;
        membership_fenced(node->membership, &turn);
    }
    command_free(&due->base);
}

static void act(struct sim_node *node, int64_t tick)
{
    struct nodes *nodes = node->nodes;
    int64_t in_second = (tick + node->phase) % (1000 / TICK_MS);
    if (in_second == 0)
        membership_round(node->membership);
    if (in_second == 2)
        handle_due(node);
    if (chance(nodes, 250))
        enqueue(node);
    if (chance(nodes, 300))
        lease(node);
    if (chance(nodes, 300))
        complete(node);
}

static void check_late(struct nodes *nodes)
{
    int64_t oldest_us = 0;
    struct err err = {0};
    if (due_next(store_writer(nodes->store), &oldest_us, &err) != RC_OK)
        broken(nodes, "what is due cannot be read:", err.text);
    if (oldest_us > 0 && nodes->now_us - oldest_us > LATE_US)
        broken(nodes, "something is due for too long,", "and nobody handles it");
}

/* Time goes on for all that are awake. */
static void pass(struct nodes *nodes, int64_t until_us)
{
    while (nodes->now_us < until_us) {
        nodes->now_us += TICK_US;
        set_clock(nodes);
        totals.steps++;
        int64_t tick = (nodes->now_us - BEGIN_US) / TICK_US;
        for (size_t i = 0; i < NODES; i++)
            if (nodes->node[i].asleep_until_us == 0)
                act(&nodes->node[i], tick);
        check_late(nodes);
    }
}

static void ignore_oldest(void *ctx, int64_t oldest_us)
{
    (void)ctx;
    (void)oldest_us;
}

static void lose_name(void *ctx, const struct err *why)
{
    const struct sim_node *node = ctx;
    broken(node->nodes, "a node lost its name:", why->text);
}

static void open_node(struct nodes *nodes, size_t i)
{
    struct sim_node *node = &nodes->node[i];
    struct err err = {0};
    node->nodes = nodes;
    node->phase = (int64_t)i;
    snprintf(node->name, sizeof node->name, "node-%zu", i);
    node->store = open_store(nodes);
    struct membership_options membership = {
        .store = node->store,
        .node = node->name,
        .clock = {sim_now, nodes},
        .lease_us = JOB_LEASE_MS_DEFAULT * US_PER_MS,
        .due = ignore_oldest,
        .lost = lose_name,
        .ctx = node,
    };
    struct committer_options committer = {
        .hooks = &control_hooks,
        .store = node->store,
        .clock = {sim_now, nodes},
        .random = random_seeded(random_next(&nodes->random)),
        .queue_max = 1000,
        .batch_max = 64,
        .lanes = 1,
    };
    enum rc rc = membership_join(&membership, &node->membership, &err);
    if (rc == RC_OK)
        rc = committer_new(&committer, &node->committer, &err);
    if (rc != RC_OK)
        broken(nodes, "a node does not start:", err.text);
}

static void close_node(struct sim_node *node)
{
    committer_stop(node->committer);
    committer_free(node->committer);
    membership_free(node->membership);
    store_close(node->store);
}

/* All that were taken in end once every consumer reports. */
static void simulate(uint64_t seed, const struct sim_nodes_options *options)
{
    struct nodes nodes = {.seed = seed,
                          .random = random_seeded(seed),
                          .postgres = options->postgres,
                          .now_us = BEGIN_US,
                          .quiet_us = BEGIN_US};
    nodes.jobs = mem_array(JOBS_MAX, sizeof *nodes.jobs);
    make_database(&nodes);
    for (size_t i = 0; i < NODES; i++)
        open_node(&nodes, i);
    pass(&nodes, BEGIN_US + options->batch * TICK_US);
    struct lease_row row;
    struct err err = {0};
    if (leases_get(store_writer(nodes.store), LEASE_TIMERS, &nodes.arena, &row, &err) == RC_OK)
        totals.turns += row.epoch;
    totals.worlds++;
    for (size_t i = 0; i < NODES; i++)
        close_node(&nodes.node[i]);
    store_close(nodes.store);
    admin(&nodes, "DROP", "CASCADE");
    arena_release(&nodes.arena);
    mem_free(nodes.jobs);
}

void sim_nodes(const struct sim_nodes_options *options)
{
    int64_t begin_us = clock_mono_us();
    log_configure(&(struct log_options){.fd = open("/dev/null", O_WRONLY | O_CLOEXEC)});
    while (totals.steps < options->steps)
        simulate((uint64_t)(options->seed + totals.worlds), options);
    printf("sim: %" PRId64 " worlds, %" PRId64 " steps; %" PRId64 " jobs, %" PRId64
           " leases, %" PRId64 " completed\n",
           totals.worlds, totals.steps, totals.jobs, totals.leases, totals.completed);
    printf("sim: %" PRId64 " naps in a transaction, %" PRId64 " sleeps, the timers moved %" PRId64
           " times, %" PRId64 " late commands fenced, %" PRId64 " commands failed, %.1f s\n",
           totals.naps, totals.sleeps, totals.turns, totals.fenced, totals.failed,
           (double)(clock_mono_us() - begin_us) / 1e6);
}
