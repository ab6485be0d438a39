#include "tests/sim/world.h"
#include "base/fd.h"
#include "base/mem.h"
#include "control/hooks.h"
#include "control/watch/due.h"
#include "core/run/budget_tree.h"
#include "tests/sim/database.h"
#include "tests/sim/trouble.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define BEGIN_US (INT64_C(1800000000) * US_PER_SECOND)
#define GRACE_US (5 * US_PER_SECOND) /* No trouble: people get the world ready. */

struct appointment {
    int64_t at_us, seq;
    happening *happen;
    void *who;
    int64_t what;
};

/* A command under way: what to do with its answer. */
struct parcel {
    struct world *world;
    struct command *command;
    answered *on_answer;
    void *who;
    int64_t what;
    bool lose_answer;
    bool posted;       /* The committer has the command. */
    bool will_hang_up; /* An appointment holds on to it. */
};

_Noreturn void world_broken(const struct world *world, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fprintf(stderr, "\nBROKEN at step %lld of seed %llu: ", (long long)world->steps,
            (unsigned long long)world->seed);
    vfprintf(stderr, fmt, args);
    fprintf(stderr, "\n");
    va_end(args);
    if (world->dir[0] != '\0' && dir_remove(world->dir, NULL) != RC_OK)
        fprintf(stderr, "the artifacts stay in %s\n", world->dir);
    database_close(world->database);
    exit(1);
}

int64_t world_server_now(const struct world *world)
{
    return world->mono_us + world->skew_us;
}

bool world_chance(struct world *world, unsigned per_thousand)
{
    return random_below(&world->random, 1000) < per_thousand;
}

int64_t world_between(struct world *world, int64_t low, int64_t high)
{
    return low + (int64_t)random_below(&world->random, (uint64_t)(high - low + 1));
}

/* ---- the agenda ---- */

static bool is_before(const struct appointment *a, const struct appointment *b)
{
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->seq < b->seq;
}

static void swap(struct appointment *a, struct appointment *b)
{
    struct appointment kept = *a;
    *a = *b;
    *b = kept;
}

void world_after(struct world *world, int64_t delay_us, happening *happen, void *who, int64_t what)
{
    if (world->agenda_count == world->agenda_room) {
        world->agenda_room = world->agenda_room ? 2 * world->agenda_room : 1024;
        world->agenda = mem_grow(world->agenda, world->agenda_room * sizeof(struct appointment));
    }
    size_t i = world->agenda_count++;
    world->agenda[i] = (struct appointment){world->mono_us + delay_us, world->agenda_seq++, happen,
                                            who, what};
    while (i > 0 && is_before(&world->agenda[i], &world->agenda[(i - 1) / 2])) {
        swap(&world->agenda[i], &world->agenda[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
}

static struct appointment next_appointment(struct world *world)
{
    struct appointment first = world->agenda[0];
    world->agenda[0] = world->agenda[--world->agenda_count];
    size_t i = 0;
    for (;;) {
        size_t least = i, left = 2 * i + 1, right = left + 1;
        if (left < world->agenda_count && is_before(&world->agenda[left], &world->agenda[least]))
            least = left;
        if (right < world->agenda_count && is_before(&world->agenda[right], &world->agenda[least]))
            least = right;
        if (least == i)
            return first;
        swap(&world->agenda[i], &world->agenda[least]);
        i = least;
    }
}

bool world_step(struct world *world)
{
    if (world->agenda_count == 0)
        return false;
    struct appointment next = next_appointment(world);
    world->mono_us = next.at_us;
    world->steps++;
    next.happen(world, next.who, next.what);
    return true;
}

/* ---- messages ---- */

static int64_t latency_us(struct world *world)
{
    int64_t quick = world_between(world, 100, 3000);
    return world_chance(world, world->faults.slow) ? world_between(world, 0, 20 * US_PER_SECOND)
                                                   : quick;
}

static void drop(struct parcel *parcel)
{
    command_free(parcel->command);
    parcel->command = NULL;
    if (!parcel->will_hang_up)
        mem_free(parcel);
}

static void deliver_answer(struct world *world, void *who, int64_t what)
{
    struct parcel *parcel = who;
    (void)what;
    parcel->on_answer(world, parcel->who, parcel->what, parcel->command);
    drop(parcel);
}

/* On the committer's round: the commit has happened, the model may look. */
static void on_done(struct command *command)
{
    struct parcel *parcel = command->owner;
    struct world *world = parcel->world;
    parcel->posted = false;
    world->watch.answered(world->watch.who, command);
    if (command->rc == RC_IO && !world->crashing && !trouble_excuses(world))
        world_broken(world, "%s failed although the store works: %s", command->ops->name,
                     command->err.text);
    parcel->lose_answer |= command->abandoned;
    if (parcel->lose_answer || world->crashing) {
        world->lost++;
        drop(parcel);
        return;
    }
    world_after(world, latency_us(world), deliver_answer, parcel, 0);
}

static void do_round(struct world *world, void *who, int64_t what)
{
    (void)who;
    (void)what;
    world->round_pending = false;
    while (committer_round(world->committer)) {
    }
    world->watch.look(world->watch.who);
}

/* What arrives close together shares a batch; where a transaction costs round trips, more of it. */
static void want_round(struct world *world)
{
    if (world->round_pending)
        return;
    world->round_pending = true;
    int64_t gather_us = store_is_shared(world->store) ? 50 * US_PER_MS : 500;
    world_after(world, world_between(world, 0, gather_us), do_round, NULL, 0);
}

/* True when there is nothing to hang up any more. */
static bool forget_hang_up(struct parcel *parcel)
{
    parcel->will_hang_up = false;
    bool over = !parcel->posted;
    if (parcel->command == NULL)
        mem_free(parcel);
    return over;
}

static void hang_up(struct world *world, void *who, int64_t what)
{
    struct parcel *parcel = who;
    (void)what;
    if (forget_hang_up(parcel))
        return;
    world->hung_up++;
    committer_abandon(world->committer, parcel->command);
    want_round(world);
}

static void deliver_request(struct world *world, void *who, int64_t what)
{
    struct parcel *parcel = who;
    (void)what;
    parcel->command->done = on_done;
    parcel->command->owner = parcel;
    if (committer_post(world->committer, parcel->command) != RC_OK) {
        drop(parcel);
        return;
    }
    parcel->posted = true;
    if (parcel->command->ops->may_wait != NULL && world_chance(world, world->faults.hang_up)) {
        parcel->will_hang_up = true;
        world_after(world, world_between(world, 0, 3 * US_PER_SECOND), hang_up, parcel, 0);
    }
    want_round(world);
}

void world_send(struct world *world, struct command *command, answered *on_answer, void *who,
                int64_t what)
{
    struct parcel *parcel = mem_alloc(sizeof *parcel);
    *parcel = (struct parcel){
        .world = world, .command = command, .on_answer = on_answer, .who = who, .what = what};
    if (world_chance(world, world->faults.lose_request)) {
        world->lost++;
        drop(parcel);
        return;
    }
    parcel->lose_answer = world_chance(world, world->faults.lose_answer);
    world_after(world, latency_us(world), deliver_request, parcel, 0);
}

/* ---- the server ---- */

static int64_t server_clock(void *ctx)
{
    return world_server_now(ctx);
}

static const struct account_config homes[] = {
    {.name = "account-3", .provider = "claude", .home = "/srv/3", .max_runs = 1, .price = 1},
    {.name = "account-4", .provider = "claude", .home = "/srv/4", .max_runs = 1, .price = 1},
};
const struct account_configs sim_accounts = {homes, COUNT_OF(homes)};

static void start_server(struct world *world)
{
    const struct subtask_limits subtasks = subtask_limits_default();
    struct committer_options options = {
        .hooks = &control_hooks,
        .store = world->store,
        .clock = {server_clock, world},
        .random = random_seeded(random_next(&world->random)),
        .queue_max = 100000,
        .batch_max = 64,
        .lanes = 1,
        .limits = {.max_active_runs = SIM_SYSTEM_MAX,
                   .subtask_depth = subtasks.depth,
                   .subtasks_per_task = subtasks.per_task,
                   .subtasks_per_tree = subtasks.per_tree},
        .accounts = sim_accounts,
    };
    struct err err = {0};
    if (committer_new(&options, &world->committer, &err) != RC_OK)
        world_broken(world, "the server does not start: %s", err.text);
}

static void ignore_answer(struct world *world, void *who, int64_t what, struct command *command)
{
    (void)who;
    (void)what;
    if (command->rc != RC_OK && command->rc != RC_IO)
        world_broken(world, "%s failed: %s", command->ops->name, command->err.text);
}

/* Straight to the committer: the server's own commands are not messages. */
static void post_own(struct world *world, struct command *command)
{
    struct parcel *parcel = mem_alloc(sizeof *parcel);
    *parcel = (struct parcel){.world = world, .command = command, .on_answer = ignore_answer};
    deliver_request(world, parcel, 0);
}

/* Commands that were under way have been applied or not; their answers are lost either way. */
void world_crash(struct world *world)
{
    world->crashes++;
    world->crashing = true;
    bool lose = world->watch.lose_commits != NULL && world_chance(world, 500);
    if (lose)
        world->watch.lose_commits(true);
    committer_stop(world->committer);
    committer_free(world->committer);
    if (lose)
        world->watch.lose_commits(false);
    world->crashing = world->draining = false;
    world->quiet_us = world->mono_us;
    world->watch.look(world->watch.who);
    start_server(world);
    if (world->on_crash != NULL)
        world->on_crash(world);
    struct cmd_reclaim *reclaim = cmd_reclaim_new();
    reclaim->node = SIM_NODE;
    post_own(world, &reclaim->base);
}

static void jump_clock(struct world *world)
{
    world->jumps++;
    world->quiet_us = world->mono_us;
    bool back = world_chance(world, 500);
    world->skew_us += back ? -world_between(world, 0, 60 * US_PER_SECOND)
                           : world_between(world, 0, 120 * US_PER_SECOND);
}

/* The ticker's longest pause, five seconds.  It also requests admission when a timer is due, which
   is left out here.  Commits that make room request it themselves, and one that forgets to should
   not be covered up. */
enum { TICKS_PER_ADMISSION = 10 };

/* Every virtual half second: the ticker, and what fate has in store. */
static void tick(struct world *world, void *who, int64_t what)
{
    (void)who;
    (void)what;
    if (world_chance(world, world->faults.crash_server / 2))
        world_crash(world);
    if (world_chance(world, world->faults.jump_clock / 2))
        jump_clock(world);
    if (world->mono_us > BEGIN_US + GRACE_US && world_chance(world, world->faults.trouble / 2))
        trouble_begin(world);
    struct cmd_due *due = cmd_due_new();
    due->turn = world->turn;
    post_own(world, &due->base);
    if (world->admits && world->ticks++ % TICKS_PER_ADMISSION == 0)
        committer_want_admission(world->committer);
    world_after(world, US_PER_SECOND / 2, tick, NULL, 0);
}

/* Those with trouble last: worlds on PostgreSQL, of which there are few, have one of these. */
enum { KINDS_WITHOUT_TROUBLE = 4 };
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
     .worker_deaf = 200,
     .trouble = 60,
     .hang_up = 50},
    {.trouble = 250, .hang_up = 100},
    {.trouble = 120, .hang_up = 30, .lose_request = 20, .worker_dies = 30, .jump_clock = 10},
};

/* In place of the C library's: artifacts of a simulation need not outlive a power cut. */
int fsync(int fd)
{
    (void)fd;
    return 0;
}

/* The timers, for as long as the world lasts: there is nobody else to take them. */
static void take_turn(struct world *world)
{
    struct arena arena = {0};
    struct lease_row before;
    struct err err = {0};
    struct lease_claim claim = {.name = LEASE_TIMERS,
                                .holder = SIM_NODE,
                                .session = "sim",
                                .place = "",
                                .under = "",
                                .ttl_us = US_PER_HOUR};
    world->turn.name = LEASE_TIMERS;
    if (leases_claim(store_writer(world->store), &claim, &arena, &world->turn.epoch, &before,
                     &err) != RC_OK)
        world_broken(world, "nobody runs the timers: %s", err.text);
    arena_release(&arena);
}

void world_open(struct world *world, uint64_t seed, const char *postgres)
{
    *world = (struct world){.seed = seed, .random = random_seeded(seed), .mono_us = BEGIN_US};
    size_t from = postgres != NULL ? KINDS_WITHOUT_TROUBLE : 0;
    world->faults = kinds[from + seed % (COUNT_OF(kinds) - from)];
    const char *tmp = getenv("TMPDIR");
    snprintf(world->dir, sizeof world->dir, "%s/drover-sim-XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(world->dir) == NULL)
        world_broken(world, "there is no place for artifacts");
    world->database = database_open(postgres);
    struct store_options options = {.url = database_url(world->database),
                                    .artifact_dir = world->dir};
    struct err err = {0};
    if (store_open(&options, &world->store, &err) != RC_OK)
        world_broken(world, "the store does not open: %s", err.text);
    if (store_is_shared(world->store))
        take_turn(world);
    start_server(world);
    world_after(world, 0, tick, NULL, 0);
}

void world_close(struct world *world)
{
    world->crashing = true;
    committer_stop(world->committer);
    committer_free(world->committer);
    /* What is still in the post never arrives. */
    while (world->agenda_count > 0) {
        struct appointment next = next_appointment(world);
        if (next.happen == deliver_answer || next.happen == deliver_request)
            drop(next.who);
        else if (next.happen == hang_up)
            forget_hang_up(next.who);
    }
    store_close(world->store);
    database_close(world->database);
    if (dir_remove(world->dir, NULL) != RC_OK)
        world_broken(world, "the artifacts cannot be removed");
    mem_free(world->agenda);
}
