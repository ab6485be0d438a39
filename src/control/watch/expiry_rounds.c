/*
 * expiry_rounds.c - see expiry_rounds.h: when rounds begin, how long to pause, and the thread.
 */
#include "control/watch/expiry_rounds.h"
#include "base/log.h"
#include "base/mem.h"
#include "control/watch/expiry_phases.h"
#include <pthread.h>
#include <string.h>

/* Pauses are so many times what a step took, or a share of it. */
enum { BUSY_FACTOR = 30, IDLE_SHARE = 4, OWN_COMMANDS = 2 };
#define ROUND_US     US_PER_HOUR
#define TURN_US      US_PER_SECOND /* Until it may be this node's turn. */
#define TROUBLE_US   (5 * US_PER_SECOND)
#define PAUSE_MIN_US US_PER_MS
#define PAUSE_MAX_US US_PER_SECOND

struct expiry_rounds {
    struct expiry_rounds_options options;
    struct db *db; /* For reading; NULL until first used. */
    struct expiry_round round;
    int64_t next_us; /* By options.clock: the next round. */
    int64_t done;
    int64_t commands; /* Of the committer, after the last step. */

    pthread_t thread;
    bool running;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stopping;
};

/* A round begins, or goes on; false: it is not time, or not this node's turn. */
static bool take_turn(struct expiry_rounds *rounds, int64_t *ret_wait_us)
{
    struct membership *membership = rounds->options.membership;
    struct expiry_round *round = &rounds->round;
    struct err err = {0};
    int64_t now_us = clock_now_us(&rounds->options.clock);
    *ret_wait_us = TURN_US;
    if (membership == NULL)
        round->turn = rounds->options.turn;
    if (membership != NULL && !membership_holds(membership, LEASE_TIMERS, &round->turn)) {
        round->begun_us = 0;
        return false;
    }
    if (round->begun_us > 0)
        return true;
    if (rounds->db == NULL && store_reader_open(rounds->options.store, &rounds->db, &err) != RC_OK)
        return false; /* It is logged elsewhere. */
    /* A clock that was set back does not put off the next round. */
    if (now_us < rounds->next_us && rounds->next_us - now_us <= ROUND_US) {
        *ret_wait_us = rounds->next_us - now_us;
        return false;
    }
    arena_release(&round->arena);
    *round = (struct expiry_round){
        .rules = &rounds->options.rules,
        .store = rounds->options.store,
        .db = rounds->db,
        .clock = rounds->options.clock,
        .turn = round->turn,
        .call = rounds->options.call,
        .ctx = rounds->options.ctx,
        .begun_us = now_us,
        .now_us = now_us,
        .busy = round->busy,
        .untimed = rounds->options.committer == NULL,
        .jobs_seq = round->jobs_seq,
        .jobs_us = round->jobs_us,
    };
    return true;
}

static void next_phase(struct expiry_rounds *rounds)
{
    struct expiry_round *round = &rounds->round;
    if (round->phase < EXPIRY_PHASE_END) {
        round->phase++;
        return;
    }
    rounds->next_us = round->begun_us + ROUND_US;
    round->begun_us = 0;
    rounds->done++;
}

/* A store that is away is logged elsewhere; the same step is tried again. */
static int64_t trouble(struct expiry_rounds *rounds, enum rc rc, const struct err *err)
{
    struct expiry_round *round = &rounds->round;
    if (rc == RC_STALE && rounds->options.membership != NULL)
        membership_fenced(rounds->options.membership, &round->turn);
    if (rc == RC_BUSY || rc == RC_UNREACHABLE || rc == RC_STALE)
        return TROUBLE_US;
    LOG(LOG_ERROR, "retention: a part of the round failed", LOG_INT("part", round->phase),
        LOG_STR("code", err->code), LOG_STR("error", err->text));
    next_phase(rounds);
    return TROUBLE_US;
}

static int64_t pause_us(struct expiry_rounds *rounds, int64_t took_us)
{
    struct committer_stats stats = {0};
    if (rounds->options.committer != NULL)
        committer_stats(rounds->options.committer, &stats);
    rounds->round.busy = stats.commands - rounds->commands > OWN_COMMANDS;
    rounds->commands = stats.commands;
    int64_t pause = rounds->round.busy ? took_us * BUSY_FACTOR : took_us / IDLE_SHARE;
    if (pause < PAUSE_MIN_US)
        return PAUSE_MIN_US;
    return pause < PAUSE_MAX_US ? pause : PAUSE_MAX_US;
}

int64_t expiry_rounds_step(struct expiry_rounds *rounds)
{
    struct expiry_round *round = &rounds->round;
    int64_t wait_us;
    struct err err = {0};
    bool done = false;
    if (!take_turn(rounds, &wait_us))
        return wait_us;
    int64_t begun_us = clock_mono_us();
    round->spent_us = round->wait_us = 0;
    enum rc rc = expiry_phase_step(round, &done, &err);
    if (rc != RC_OK)
        return trouble(rounds, rc, &err);
    if (done)
        next_phase(rounds);
    if (round->wait_us > 0)
        return round->wait_us;
    /* A command that waits for others takes long, and costs them nothing meanwhile. */
    int64_t took_us = clock_mono_us() - begun_us;
    if (round->spent_us > 0 && took_us > 2 * round->spent_us)
        took_us = 2 * round->spent_us;
    return pause_us(rounds, took_us);
}

int64_t expiry_rounds_done(const struct expiry_rounds *rounds)
{
    return rounds->done;
}

/* ---- the thread ---- */

static void *rounds_main(void *arg)
{
    struct expiry_rounds *rounds = arg;
    for (;;) {
        int64_t wait_us = expiry_rounds_step(rounds);
        struct timespec until = clock_mono_after(wait_us);
        pthread_mutex_lock(&rounds->lock);
        while (!rounds->stopping &&
               pthread_cond_timedwait(&rounds->wake, &rounds->lock, &until) == 0) {
        }
        bool stop = rounds->stopping;
        pthread_mutex_unlock(&rounds->lock);
        if (stop)
            return NULL;
    }
}

struct expiry_rounds *expiry_rounds_new(const struct expiry_rounds_options *options)
{
    struct expiry_rounds *rounds = mem_alloc(sizeof *rounds);
    rounds->options = *options;
    rounds->round.busy = options->committer != NULL; /* Until it is known. */
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&rounds->lock, NULL);
    pthread_cond_init(&rounds->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return rounds;
}

void expiry_rounds_free(struct expiry_rounds *rounds)
{
    if (rounds == NULL)
        return;
    store_reader_close(rounds->options.store, rounds->db);
    arena_release(&rounds->round.arena);
    pthread_cond_destroy(&rounds->wake);
    pthread_mutex_destroy(&rounds->lock);
    mem_free(rounds);
}

enum rc expiry_rounds_start(struct expiry_rounds *rounds, struct err *err)
{
    int failed = pthread_create(&rounds->thread, NULL, rounds_main, rounds);
    if (failed != 0)
        return err_set(err, RC_IO, "THREAD_FAILED", "cannot start retention: %s", strerror(failed));
    rounds->running = true;
    return RC_OK;
}

void expiry_rounds_stop(struct expiry_rounds *rounds)
{
    if (rounds == NULL || !rounds->running)
        return;
    pthread_mutex_lock(&rounds->lock);
    rounds->stopping = true;
    pthread_cond_signal(&rounds->wake);
    pthread_mutex_unlock(&rounds->lock);
    pthread_join(rounds->thread, NULL);
    rounds->running = false;
}
