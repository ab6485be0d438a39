/*
 * jobs_requests.c - see jobs_requests.h.
 *
 *   ask --> [reply]* --> answered --> ask again, or the next question
 */
#include "tests/sim/jobs_requests.h"
#include "control/messaging/requests.h"
#include "control/messaging/subscriptions.h"
#include <inttypes.h>
#include <string.h>

enum { ASKERS = 5, TRIES = 3 };
#define TOPIC "sim.question"

static struct asker {
    struct id id; /* Of the question at hand. */
    int64_t life; /* Answers of earlier questions are ignored. */
    int tries;
} askers[ASKERS];
static bool calm;
static int64_t replies; /* Each has a number of its own. */
static struct ask_stats stats;

/* ---- what holds ---- */

static struct request_row row_of(struct world *world, const struct id *id, struct arena *arena)
{
    struct request_row row;
    struct err err = {0};
    if (requests_get(store_writer(world->store), id, arena, &row, &err) != RC_OK)
        world_broken(world, "request %s was answered and is not there: %s", id->text, err.text);
    return row;
}

static void must_be(struct world *world, const struct request_row *row, const char *state)
{
    if (strcmp(row->state, state) != 0)
        world_broken(world, "request %s was answered as %s and is %s", row->id.text, state,
                     row->state);
}

static void must_say(struct world *world, const struct request_row *row, struct str reply)
{
    must_be(world, row, REQUEST_REPLIED);
    if (!str_same(row->reply, reply))
        world_broken(world, "request %s was answered with another reply than the one that is there",
                     row->id.text);
}

static void check_request(struct world *world, const struct cmd_request *cmd, struct arena *arena)
{
    if (cmd->base.rc == RC_TIMEOUT) {
        struct request_row row = row_of(world, &cmd->id, arena);
        must_be(world, &row, REQUEST_EXPIRED);
        stats.timed_out++;
    } else if (cmd->base.rc == RC_OK && cmd->waiting) {
        /* Or the clock jumped over the end of the wait. */
        bool over = world_server_now(world) >= cmd->base.wait_until_us;
        if (!cmd->base.abandoned && !world->draining && !world->crashing && !over)
            world_broken(world, "request %s was answered before its time", cmd->id.text);
    } else if (cmd->base.rc == RC_OK && !cmd->base.abandoned) {
        struct request_row row = row_of(world, &cmd->id, arena);
        must_say(world, &row, cmd->row.reply);
        stats.replied++;
    }
}

static void check_reply(struct world *world, const struct cmd_reply *cmd, struct arena *arena)
{
    if (cmd->base.rc != RC_OK && cmd->base.rc != RC_CONFLICT)
        return;
    struct request_row row = row_of(world, &cmd->id, arena);
    if (cmd->base.rc == RC_OK)
        must_say(world, &row, cmd->reply);
    else
        must_be(world, &row,
                strcmp(cmd->base.err.code, "REPLY_TAKEN") == 0 ? REQUEST_REPLIED : REQUEST_EXPIRED);
    stats.refused += cmd->base.rc == RC_CONFLICT;
}

void askers_check(struct world *world, const struct command *command)
{
    struct arena arena = {0};
    if (strcmp(command->ops->name, "request") == 0)
        check_request(world, (const struct cmd_request *)command, &arena);
    else if (strcmp(command->ops->name, "reply") == 0)
        check_reply(world, (const struct cmd_reply *)command, &arena);
    arena_release(&arena);
}

/* ---- who replies ---- */

static void on_replied(struct world *world, void *who, int64_t what, struct command *command)
{
    (void)world;
    (void)who;
    (void)what;
    (void)command;
}

static void reply(struct world *world, void *who, int64_t life)
{
    const struct asker *asker = who;
    if (asker->life != life)
        return;
    struct cmd_reply *cmd = cmd_reply_new();
    cmd->id = asker->id;
    cmd->reply = str_of(arena_printf(&cmd->base.arena, "{\"payload\":%" PRId64 "}", ++replies));
    world_send(world, &cmd->base, on_replied, NULL, 0);
}

/* ---- who asks ---- */

static void ask(struct world *world, void *who, int64_t life);

static void next_question(struct world *world, struct asker *asker)
{
    asker->life++;
    asker->tries = 0;
    asker->id = id_new(world->mono_us, &world->random);
    world_after(world, world_between(world, 0, 2 * US_PER_SECOND), ask, asker, asker->life);
}

static void on_answer(struct world *world, void *who, int64_t life, struct command *command)
{
    struct asker *asker = who;
    if (asker->life != life)
        return;
    bool over = command->rc == RC_TIMEOUT ||
                (command->rc == RC_OK && !((const struct cmd_request *)command)->waiting);
    if (over)
        next_question(world, asker);
    else
        ask(world, asker, life);
}

static void give_up(struct world *world, void *who, int64_t life)
{
    struct asker *asker = who;
    if (asker->life == life)
        ask(world, asker, life);
}

/* The same question under the same id, until it is answered or was put often enough. */
static void ask(struct world *world, void *who, int64_t life)
{
    struct asker *asker = who;
    if (asker->life != life || calm)
        return;
    if (asker->tries++ == TRIES) {
        next_question(world, asker);
        return;
    }
    struct cmd_request *cmd = cmd_request_new();
    cmd->topic = TOPIC;
    cmd->message.job = (struct job_spec){.payload = STR("1"), .priority = 100};
    cmd->timeout_us = world_between(world, US_PER_SECOND / 2, 5 * US_PER_SECOND);
    cmd->id = asker->id;
    world_send(world, &cmd->base, on_answer, asker, life);
    for (int64_t i = world_between(world, 0, 2); i > 0; i--)
        world_after(world, world_between(world, 0, 6 * US_PER_SECOND), reply, asker, life);
    world_after(world, 10 * US_PER_SECOND, give_up, asker, life);
}

/* ---- begin and end ---- */

static void begin(struct world *world, void *who, int64_t what)
{
    (void)who;
    (void)what;
    struct cmd_subscription_put *put = cmd_subscription_put_new();
    put->name = "sim";
    put->pattern = TOPIC;
    put->queue = SIM_ASKED_QUEUE;
    world_send(world, &put->base, on_replied, NULL, 0);
    for (size_t i = 0; i < ASKERS; i++)
        next_question(world, &askers[i]);
}

void askers_start(struct world *world)
{
    calm = false;
    memset(askers, 0, sizeof askers);
    world_after(world, 0, begin, NULL, 0);
}

void askers_calm(void)
{
    calm = true;
}

const struct ask_stats *askers_stats(void)
{
    return &stats;
}
