/*
 * committer.c - see committer.h.
 *
 * Under the lock: the queue, the requests to the lanes (want_*), and the statistics.  A lane takes
 * its work under it, runs without it, and adds its outcome under it.
 */
#include "control/commit/committer.h"
#include "base/mem.h"
#include "control/commit/lane.h"
#include "control/commit/swarms.h"
#include "store/db.h"
#include "store/workspaces.h"
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

/* A lane without work for so long takes care of its connection. */
#define IDLE_US US_PER_MS

struct lane_thread {
    struct committer *committer;
    struct lane *lane;
    struct db *db; /* NULL: the store's own writer. */
    pthread_t thread;
    bool running;
};

struct committer {
    struct committer_options options;
    struct parked *parked;
    struct swarms *swarms;
    atomic_llong rules_news;     /* Changes of queues' rules that were committed here. */
    struct lane_thread *threads; /* options.lanes of them. */

    pthread_mutex_t lock;
    pthread_cond_t work; /* Something for a lane to do. */
    struct command_list queue;
    bool want_admission;
    bool admitting; /* A lane admits: others would only wait for its row lock. */
    bool want_look;
    bool want_sweep; /* A client disconnected, or a worker drains. */
    bool closed;     /* No new commands. */
    bool stopping;
    struct committer_stats stats;
};

/* ---- making and ending ---- */

static enum rc find_workspace(struct store *store, struct id *ret_id, struct err *err)
{
    struct arena arena = {0};
    struct workspace_row workspace;
    enum rc rc = workspaces_by_name(store_writer(store), WORKSPACE_DEFAULT, &arena, &workspace,
                                    err);
    arena_release(&arena);
    if (rc == RC_OK)
        *ret_id = workspace.id;
    return rc;
}

/* The first lane writes through the store's own connection; each has random numbers of its own. */
static enum rc make_lanes(struct committer *committer, const struct id *workspace_id,
                          struct err *err)
{
    struct committer_options *options = &committer->options;
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < options->lanes; i++) {
        struct lane_thread *thread = &committer->threads[i];
        thread->committer = committer;
        if (i > 0)
            rc = store_writer_open(options->store, &thread->db, err);
        struct lane_options lane = {
            .committer = options,
            .db = i > 0 ? thread->db : store_writer(options->store),
            .random = i > 0 ? random_split(&options->random) : options->random,
            .workspace_id = *workspace_id,
            .parked = committer->parked,
            .swarms = committer->swarms,
            .rules_news = &committer->rules_news,
            .alone = options->lanes == 1 && !store_is_shared(options->store),
        };
        if (rc == RC_OK)
            thread->lane = lane_new(&lane);
    }
    return rc;
}

enum rc committer_new(const struct committer_options *options, struct committer **ret_committer,
                      struct err *err)
{
    assert(options->queue_max > 0 && options->batch_max > 0 && options->lanes > 0);
    assert(options->lanes == 1 || store_is_shared(options->store));
    struct id workspace_id;
    enum rc rc = find_workspace(options->store, &workspace_id, err);
    if (rc != RC_OK)
        return rc;
    struct committer *committer = mem_alloc(sizeof *committer);
    committer->options = *options;
    committer->parked = parked_new();
    committer->swarms = swarms_new();
    committer->threads = mem_array(options->lanes, sizeof *committer->threads);
    command_list_init(&committer->queue);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&committer->lock, NULL);
    pthread_cond_init(&committer->work, &monotonic);
    pthread_condattr_destroy(&monotonic);
    rc = make_lanes(committer, &workspace_id, err);
    if (rc != RC_OK) {
        committer_free(committer);
        return rc;
    }
    *ret_committer = committer;
    return RC_OK;
}

void committer_free(struct committer *committer)
{
    if (committer == NULL)
        return;
    assert(committer->queue.count == 0);
    for (size_t i = 0; i < committer->options.lanes; i++) {
        assert(!committer->threads[i].running);
        lane_free(committer->threads[i].lane);
        if (committer->threads[i].db != NULL)
            store_writer_close(committer->options.store, committer->threads[i].db);
    }
    parked_free(committer->parked);
    swarms_free(committer->swarms);
    pthread_cond_destroy(&committer->work);
    pthread_mutex_destroy(&committer->lock);
    mem_free(committer->threads);
    mem_free(committer);
}

/* ---- rounds ---- */

/* Answers parked leases that expired or have no client; those that are to be applied again are
   queued. */
static void sweep_parked(struct committer *committer)
{
    struct parked_swept swept;
    parked_sweep(committer->parked, clock_now_us(&committer->options.clock), &swept);
    pthread_mutex_lock(&committer->lock);
    committer->want_sweep = false;
    command_list_append(&committer->queue, &swept.again);
    pthread_mutex_unlock(&committer->lock);
    struct command *command;
    while ((command = command_list_pop(&swept.over)) != NULL)
        lane_answer(command, RC_OK);
}

/* A lane that shares its store admits in a transaction of its own (lane.h). */
static bool take_work(struct committer *committer, struct lane_work *work)
{
    command_list_init(&work->todo);
    pthread_mutex_lock(&committer->lock);
    work->admit = committer->want_admission && !committer->admitting;
    if (work->admit) {
        committer->want_admission = false;
        committer->admitting = true;
    }
    bool apart = work->admit && store_is_shared(committer->options.store);
    work->look = !apart && committer->want_look;
    if (work->look)
        committer->want_look = false;
    struct command *command;
    while (!apart && work->todo.count < committer->options.batch_max &&
           (command = command_list_pop(&committer->queue)) != NULL)
        command_list_push(&work->todo, command);
    pthread_mutex_unlock(&committer->lock);
    return work->admit || work->look || work->todo.count > 0;
}

static void take_outcome(struct committer *committer, const struct lane_work *work,
                         struct lane_outcome *outcome)
{
    pthread_mutex_lock(&committer->lock);
    if (work->admit)
        committer->admitting = false;
    struct committer_stats *stats = &committer->stats;
    stats->batches += outcome->batches;
    stats->commands += outcome->commands;
    stats->refused += outcome->refused;
    stats->retried += outcome->retried;
    stats->shed += outcome->shed;
    committer->want_admission |= outcome->admit;
    committer->want_look |= outcome->look;
    command_list_append(&committer->queue, &outcome->again);
    pthread_mutex_unlock(&committer->lock);
}

static bool lane_round(struct lane_thread *thread)
{
    struct committer *committer = thread->committer;
    sweep_parked(committer);
    struct lane_work work;
    if (!take_work(committer, &work))
        return false;
    struct lane_outcome outcome;
    lane_run(thread->lane, &work, &outcome);
    take_outcome(committer, &work, &outcome);
    return true;
}

bool committer_round(struct committer *committer)
{
    return lane_round(&committer->threads[0]);
}

/* ---- threads ---- */

/* Under the lock. */
static bool has_work(const struct committer *committer)
{
    return committer->queue.count > 0 || committer->want_look || committer->want_sweep ||
           (committer->want_admission && !committer->admitting);
}

/* Sleeps until there is something to do, for so long at most; false: there is nothing. */
static bool wait_at_most(struct committer *committer, int64_t wait_us)
{
    struct timespec until = clock_mono_after(wait_us);
    pthread_mutex_lock(&committer->lock);
    while (!has_work(committer) && !committer->stopping)
        if (pthread_cond_timedwait(&committer->work, &committer->lock, &until) == ETIMEDOUT)
            break;
    bool something = has_work(committer) || committer->stopping;
    pthread_mutex_unlock(&committer->lock);
    return something;
}

static int64_t to_first_parked_us(struct committer *committer, int64_t most_us)
{
    int64_t next_us = parked_next_us(committer->parked);
    int64_t left_us = next_us - clock_now_us(&committer->options.clock);
    if (next_us == 0 || left_us > most_us)
        return most_us;
    return left_us < 0 ? 0 : left_us;
}

static void wait_for_work(struct lane_thread *thread)
{
    struct committer *committer = thread->committer;
    struct db *db = thread->db != NULL ? thread->db : store_writer(committer->options.store);
    if (db_upkeep_due(db)) {
        if (wait_at_most(committer, IDLE_US))
            return;
        db_upkeep(db);
    }
    (void)wait_at_most(committer, to_first_parked_us(committer, 60 * US_PER_SECOND));
}

static void *thread_main(void *arg)
{
    struct lane_thread *thread = arg;
    struct committer *committer = thread->committer;
    for (;;) {
        wait_for_work(thread);
        while (lane_round(thread)) {
        }
        pthread_mutex_lock(&committer->lock);
        bool end = committer->stopping && committer->queue.count == 0;
        pthread_mutex_unlock(&committer->lock);
        if (end)
            return NULL;
    }
}

const struct committer_limits *committer_limits(const struct committer *committer)
{
    return &committer->options.limits;
}

enum rc committer_start(struct committer *committer, struct err *err)
{
    for (size_t i = 0; i < committer->options.lanes; i++) {
        struct lane_thread *thread = &committer->threads[i];
        assert(!thread->running);
        int failed = pthread_create(&thread->thread, NULL, thread_main, thread);
        if (failed != 0)
            return err_set(err, RC_IO, "THREAD_FAILED", "cannot start the committer: %s",
                           strerror(failed));
        thread->running = true;
    }
    return RC_OK;
}

void committer_stop(struct committer *committer)
{
    pthread_mutex_lock(&committer->lock);
    committer->closed = true;
    committer->stopping = true;
    parked_drain(committer->parked, "");
    pthread_cond_broadcast(&committer->work);
    pthread_mutex_unlock(&committer->lock);
    for (size_t i = 0; i < committer->options.lanes; i++) {
        if (committer->threads[i].running)
            pthread_join(committer->threads[i].thread, NULL);
        committer->threads[i].running = false;
    }
    while (committer_round(committer)) {
    }
    assert(parked_count(committer->parked) == 0);
}

/* ---- callers ---- */

/* All or none. */
static enum rc post_all(struct committer *committer, struct command *const *commands, size_t count)
{
    pthread_mutex_lock(&committer->lock);
    size_t waiting = committer->queue.count;
    bool room = !committer->closed && waiting + count <= committer->options.queue_max;
    for (size_t i = 0; room && i < count; i++)
        command_list_push(&committer->queue, commands[i]);
    if (room && (waiting == 0 || committer->options.lanes > 1))
        pthread_cond_signal(&committer->work);
    if (!room)
        committer->stats.busy++;
    pthread_mutex_unlock(&committer->lock);
    return room ? RC_OK : RC_BUSY;
}

enum rc committer_post(struct committer *committer, struct command *command)
{
    assert(command->done != NULL);
    return post_all(committer, &command, 1);
}

struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    size_t left;
};

static void waiter_done(struct command *command)
{
    struct waiter *waiter = command->owner;
    pthread_mutex_lock(&waiter->lock);
    if (--waiter->left == 0)
        pthread_cond_signal(&waiter->ended);
    pthread_mutex_unlock(&waiter->lock);
}

void committer_call_all(struct committer *committer, struct command *const *commands, size_t count)
{
    struct waiter waiter = {
        .lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER, .left = count};
    for (size_t i = 0; i < count; i++) {
        commands[i]->done = waiter_done;
        commands[i]->owner = &waiter;
    }
    if (post_all(committer, commands, count) != RC_OK) {
        for (size_t i = 0; i < count; i++)
            commands[i]->rc = err_set(&commands[i]->err, RC_BUSY, "SERVER_BUSY",
                                      "the command queue is full; try again in a moment");
        return;
    }
    pthread_mutex_lock(&waiter.lock);
    while (waiter.left > 0)
        pthread_cond_wait(&waiter.ended, &waiter.lock);
    pthread_mutex_unlock(&waiter.lock);
    pthread_cond_destroy(&waiter.ended);
    pthread_mutex_destroy(&waiter.lock);
}

enum rc committer_call(struct committer *committer, struct command *command)
{
    committer_call_all(committer, &command, 1);
    return command->rc;
}

/* Wakes a lane, which sweeps the parked leases first of all. */
static void wake(struct committer *committer, bool *wish)
{
    pthread_mutex_lock(&committer->lock);
    *wish = true;
    pthread_cond_signal(&committer->work);
    pthread_mutex_unlock(&committer->lock);
}

void committer_abandon(struct committer *committer, struct command *command)
{
    command->abandoned = true;
    parked_look(committer->parked);
    wake(committer, &committer->want_sweep);
}

void committer_drain(struct committer *committer, const char *worker_prefix)
{
    parked_drain(committer->parked, worker_prefix);
    wake(committer, &committer->want_sweep);
}

void committer_want_admission(struct committer *committer)
{
    wake(committer, &committer->want_admission);
}

void committer_want_look(struct committer *committer)
{
    parked_note_work(committer->parked);
    if (parked_count(committer->parked) > 0)
        wake(committer, &committer->want_look);
}

void committer_stats(struct committer *committer, struct committer_stats *ret_stats)
{
    int64_t parked = (int64_t)parked_count(committer->parked);
    pthread_mutex_lock(&committer->lock);
    *ret_stats = committer->stats;
    ret_stats->queue_length = (int64_t)committer->queue.count;
    ret_stats->parked = parked;
    pthread_mutex_unlock(&committer->lock);
}
