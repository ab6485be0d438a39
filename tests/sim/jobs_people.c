/*
 * jobs_people.c - those who send jobs, and those who run the queues.
 */
#include "tests/sim/jobs_people.h"
#include "control/queue/dead_letters.h"
#include "control/queue/enqueue.h"
#include "control/queue/queues.h"
#include "tests/sim/jobs_queue.h"
#include "tests/sim/jobs_requests.h"
#include <stdio.h>
#include <string.h>

#define BACKOFF "\"backoff\":{\"baseMs\":200,\"maxMs\":4000,\"jitterMs\":300}"

/* What each queue is there for; keys: how many ordering keys its jobs have. */
static const struct kind {
    const char *queue, *rules;
    int64_t keys, bulk_max;
    bool dedup, ttl;
} kinds[] = {
    {"plain", BACKOFF, 0, 1000, false, true},
    {"keyed", BACKOFF ",\"maxAttempts\":5", 12, 200, false, true},
    {"global", BACKOFF ",\"ordering\":\"global\"", 2, 10, false, false},
    {"loose", BACKOFF ",\"ordering\":\"none\",\"ttlMs\":20000", 0, 200, false, true},
    {"narrow", BACKOFF ",\"concurrency\":3", 0, 30, false, false},
    {"slow", BACKOFF ",\"ratePerSecond\":25", 0, 100, false, false},
    {"short", BACKOFF ",\"maxLength\":40", 3, 60, false, false},
    {"shed", BACKOFF ",\"shed\":{\"dropLowAt\":20,\"deferNormalAt\":40,\"deferMs\":3000}", 0, 80,
     false, false},
    {"once", BACKOFF ",\"dedupWindowMs\":20000", 4, 40, true, false},
    {"ever", BACKOFF, 0, 20, true, false},
    {"batch", BACKOFF ",\"batch\":{\"max\":8,\"windowMs\":1500}", 3, 40, false, false},
    {"swarm",
     BACKOFF ",\"swarm\":{\"count\":20,\"windowMs\":5000,\"action\":\"buffer\","
             "\"ratePerSecond\":40}",
     0, 100, false, false},
    {"all",
     BACKOFF ",\"concurrency\":4,\"ratePerSecond\":30,\"maxLength\":80,\"ttlMs\":60000,"
             "\"dedupWindowMs\":30000,\"maxAttempts\":4",
     5, 60, true, true},
    {SIM_ASKED_QUEUE, BACKOFF, 0, 20, false, false},
};
const char *const sim_queues[] = {"plain", "keyed", "global", "loose",         "narrow",
                                  "slow",  "short", "shed",   "once",          "ever",
                                  "batch", "swarm", "all",    SIM_ASKED_QUEUE, NULL};

static int64_t sent, wanted;
static bool calm;

static void ignore(struct world *world, void *who, int64_t what, struct command *command)
{
    (void)who;
    (void)what;
    if (command->rc != RC_OK && command->rc != RC_LIMIT && command->rc != RC_IO)
        world_broken(world, "%s: %s", command->ops->name, command->err.text);
}

/* ---- rules ---- */

static struct cmd_queue *change_of(const struct kind *kind, enum queue_change change)
{
    struct cmd_queue *cmd = cmd_queue_new();
    cmd->name = kind->queue;
    cmd->change = change;
    return cmd;
}

static void configure(struct world *world, const struct kind *kind, const char *more)
{
    struct cmd_queue *cmd = change_of(kind, QUEUE_CONFIGURE);
    const char *text = arena_printf(&cmd->base.arena, "{%s%s}", kind->rules, more);
    struct err err = {0};
    if (js_parse(text, strlen(text), &cmd->base.tree, &err) != RC_OK)
        world_broken(world, "%s: %s", text, err.text);
    cmd->document = cmd->base.tree;
    world_send(world, &cmd->base, ignore, NULL, 0);
}

static const struct kind *kind_named(const char *queue)
{
    size_t i = 0;
    while (strcmp(kinds[i].queue, queue) != 0)
        i++;
    return &kinds[i];
}

/* Now and then a queue is paused or goes on, or gets wider or narrower. */
static void run_queues(struct world *world, void *who, int64_t what)
{
    (void)who;
    (void)what;
    if (calm)
        return;
    const struct kind *kind = &kinds[world_between(world, 0, COUNT_OF(kinds) - 1)];
    bool pause = world_chance(world, 300);
    world_send(world, &change_of(kind, pause ? QUEUE_PAUSE : QUEUE_RESUME)->base, ignore, NULL, 0);
    if (world_chance(world, 100)) {
        char more[64];
        snprintf(more, sizeof more, ",\"ratePerSecond\":%d", (int)world_between(world, 5, 60));
        configure(world, kind_named("keyed"), more);
        snprintf(more, sizeof more, ",\"maxLength\":%d", (int)world_between(world, 10, 90));
        configure(world, kind_named("plain"), world_chance(world, 500) ? more : "");
        snprintf(more, sizeof more, ",\"concurrency\":%d", (int)world_between(world, 1, 6));
        configure(world, kind_named("loose"), more);
    }
    world_after(world, world_between(world, US_PER_SECOND / 2, 4 * US_PER_SECOND), run_queues, NULL,
                0);
}

/* ---- dead letters ---- */

static struct cmd_dead *draw_verb(struct world *world)
{
    int64_t drawn = world_between(world, 0, 9);
    struct cmd_dead *cmd = drawn < 6   ? cmd_replay_new()
                           : drawn < 8 ? cmd_archive_new()
                                       : cmd_purge_new();
    cmd->dry_run = world_chance(world, 100);
    return cmd;
}

/* Some of those that are there, by their ids. */
static void pick_dead(struct world *world, struct cmd_dead *cmd)
{
    struct arena *arena = &cmd->base.arena;
    struct dead_filter filter = {.archived = DEAD_BOTH};
    struct dead_row *rows;
    size_t count;
    struct err err = {0};
    if (dead_letters_list(store_writer(world->store), &filter, &(struct id){0}, 20, arena, &rows,
                          &count, &err) != RC_OK)
        world_broken(world, "the dead letters cannot be read: %s", err.text);
    struct id *ids = arena_array(arena, count + 1, sizeof *ids);
    for (size_t i = 0; i < count; i++)
        if (world_chance(world, 500))
            ids[cmd->id_count++] = rows[i].job.id;
    cmd->ids = ids;
}

static void undertake(struct world *world, void *who, int64_t what)
{
    (void)who;
    (void)what;
    if (calm)
        return;
    struct cmd_dead *cmd = draw_verb(world);
    if (world_chance(world, 300))
        cmd->filter.queue = kinds[world_between(world, 0, COUNT_OF(kinds) - 1)].queue;
    else
        pick_dead(world, cmd);
    world_send(world, &cmd->base, ignore, NULL, 0);
    world_after(world, world_between(world, 0, 6 * US_PER_SECOND), undertake, NULL, 0);
}

/* ---- calm ---- */

static void resume_all(struct world *world, void *who, int64_t what)
{
    (void)who;
    (void)what;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        world_send(world, &change_of(&kinds[i], QUEUE_RESUME)->base, ignore, NULL, 0);
}

void senders_calm(struct world *world)
{
    calm = true;
    /* After the slowest message that is still under way. */
    world_after(world, 21 * US_PER_SECOND, resume_all, NULL, 0);
}

/* ---- jobs ---- */

static int64_t draw_count(struct world *world, const struct kind *kind)
{
    int64_t drawn = world_between(world, 0, 99);
    int64_t max = drawn < 70 ? 1 : drawn < 98 ? 20 : kind->bulk_max;
    return world_between(world, 1, max < kind->bulk_max ? max : kind->bulk_max);
}

static void draw_spec(struct world *world, const struct kind *kind, struct arena *arena,
                      struct job_spec *ret_spec)
{
    static const int64_t priorities[] = {0, 10, 100, 100, 100, 200, 500};
    *ret_spec = (struct job_spec){
        .queue = kind->queue,
        .type = world_chance(world, 4) ? "poison" : "work",
        .payload = STR("{\"n\":1}"),
        .priority = priorities[world_between(world, 0, COUNT_OF(priorities) - 1)],
    };
    if (kind->keys > 0 && world_chance(world, 900))
        ret_spec->ordering_key = arena_printf(arena, "k-%d",
                                              (int)world_between(world, 1, kind->keys));
    if (kind->dedup && world_chance(world, 700))
        ret_spec->dedup_key = arena_printf(arena, "d-%d",
                                           (int)world_between(world, 0, SIM_DEDUP_KEYS - 1));
    if (world_chance(world, 100))
        ret_spec->delay_us = world_between(world, 1, 10 * US_PER_SECOND);
    if (kind->ttl && world_chance(world, 200))
        ret_spec->ttl_us = world_between(world, 100 * US_PER_MS, 20 * US_PER_SECOND);
    if (world_chance(world, 300))
        ret_spec->max_attempts = world_between(world, 1, 6);
}

static struct cmd_enqueue *enqueue_like(const struct job_spec *specs, size_t count)
{
    struct cmd_enqueue *cmd = cmd_enqueue_new();
    struct job_spec *mine = arena_array(&cmd->base.arena, count, sizeof *mine);
    for (size_t i = 0; i < count; i++) {
        mine[i] = specs[i];
        mine[i].ordering_key = arena_strdup(&cmd->base.arena, specs[i].ordering_key);
        mine[i].dedup_key = arena_strdup(&cmd->base.arena, specs[i].dedup_key);
    }
    cmd->jobs = mine;
    cmd->count = count;
    return cmd;
}

static void send_jobs(struct world *world, void *who, int64_t what)
{
    (void)who;
    (void)what;
    if (sent >= wanted)
        return;
    struct arena arena = {0};
    const struct kind *kind = &kinds[world_between(world, 0, COUNT_OF(kinds) - 1)];
    size_t count = (size_t)draw_count(world, kind);
    struct job_spec *specs = arena_array(&arena, count, sizeof *specs);
    for (size_t i = 0; i < count; i++)
        draw_spec(world, kind, &arena, &specs[i]);
    world_send(world, &enqueue_like(specs, count)->base, ignore, NULL, 0);
    if (kind->dedup && world_chance(world, 200)) /* Not sure that they arrived: once more. */
        world_send(world, &enqueue_like(specs, count)->base, ignore, NULL, 0);
    sent += (int64_t)count;
    arena_release(&arena);
    world_after(world, world_between(world, 0, 400 * US_PER_MS), send_jobs, NULL, 0);
}

static void begin(struct world *world, void *who, int64_t what)
{
    (void)who;
    (void)what;
    struct faults faults = world->faults;
    world->faults = (struct faults){0}; /* That all queues have their rules is taken for granted. */
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        configure(world, &kinds[i], "");
    world->faults = faults;
    for (int i = 0; i < 3; i++)
        world_after(world, US_PER_SECOND, send_jobs, NULL, 0);
    world_after(world, US_PER_SECOND, run_queues, NULL, 0);
    world_after(world, US_PER_SECOND, undertake, NULL, 0);
}

void senders_start(struct world *world, int64_t jobs_max)
{
    sent = 0;
    wanted = jobs_max;
    calm = false;
    world_after(world, 0, begin, NULL, 0);
}

int64_t senders_sent(void)
{
    return sent;
}
