/*
 * committer.c - group commit: see committer.h for the picture.
 *
 * Invariants
 * - A command is in exactly one place: the queue, the batch at hand, the parked list, or with its
 *   owner.  done() is called exactly once, after the transaction that carries it has ended.
 * - Only the lane touches the batch, the parked list and the writer connection.
 * - A parked command holds no locks and no rows: it is applied again from scratch when a batch
 *   made one of its queues ready, inside that batch's transaction.
 */
#include "control/committer.h"
#include "base/log.h"
#include "base/mem.h"
#include "control/admit.h"
#include "control/cx.h"
#include "store/workspaces.h"
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

struct list {
    struct command *first;
    struct command **end; /* Where the next one is hooked in. */
    size_t count;
};

struct committer {
    struct committer_options options;
    struct id workspace_id;
    struct dice dice;
    int64_t last_id_us;

    pthread_mutex_t lock;
    pthread_cond_t work; /* Something for the lane to do. */
    struct list queue;
    bool want_admission;
    bool look_at_parked; /* Somebody hung up, or a worker drains. */
    bool closed;         /* No new commands. */
    bool stopping;
    const char *draining; /* Leases of workers with this prefix wait no more; "" is all. */
    struct committer_stats stats;

    struct list parked;     /* The lane's own; its count is mirrored in stats. */
    int64_t parked_next_us; /* No parked command ends before this; 0: nobody is parked. */
    pthread_t thread;
    bool running;
};

static void list_init(struct list *list)
{
    list->first = NULL;
    list->end = &list->first;
    list->count = 0;
}

static void list_push(struct list *list, struct command *command)
{
    command->next = NULL;
    *list->end = command;
    list->end = &command->next;
    list->count++;
}

static struct command *list_pop(struct list *list)
{
    struct command *command = list->first;
    if (command == NULL)
        return NULL;
    list->first = command->next;
    if (list->first == NULL)
        list->end = &list->first;
    list->count--;
    command->next = NULL;
    return command;
}

/* Takes out the one that *link points to. */
static struct command *list_unlink(struct list *list, struct command **link)
{
    struct command *command = *link;
    *link = command->next;
    if (list->end == &command->next)
        list->end = link;
    list->count--;
    command->next = NULL;
    return command;
}

static void list_append(struct list *list, struct list *from)
{
    struct command *command;
    while ((command = list_pop(from)) != NULL)
        list_push(list, command);
}

enum rc committer_new(const struct committer_options *options, struct committer **ret_committer,
                      struct err *err)
{
    assert(options->queue_max > 0 && options->batch_max > 0);
    struct arena arena = {0};
    struct workspace_row workspace;
    enum rc rc = workspaces_by_name(store_writer(options->store), "default", &arena, &workspace,
                                    err);
    arena_release(&arena);
    if (rc != RC_OK)
        return rc;
    struct committer *committer = mem_alloc(sizeof(*committer));
    committer->options = *options;
    committer->workspace_id = workspace.id;
    committer->dice = options->dice;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&committer->lock, NULL);
    pthread_cond_init(&committer->work, &monotonic);
    pthread_condattr_destroy(&monotonic);
    list_init(&committer->queue);
    list_init(&committer->parked);
    *ret_committer = committer;
    return RC_OK;
}

void committer_free(struct committer *committer)
{
    if (committer == NULL)
        return;
    assert(!committer->running);
    assert(committer->queue.count == 0 && committer->parked.count == 0);
    pthread_cond_destroy(&committer->work);
    pthread_mutex_destroy(&committer->lock);
    mem_free(committer);
}

static void answer(struct command *command, enum rc rc)
{
    command->rc = rc == RC_OK ? command->refused : rc;
    command->done(command);
}

static void answer_all(struct list *list)
{
    struct command *command;
    while ((command = list_pop(list)) != NULL)
        answer(command, command->rc);
}

/* ---- one transaction -------------------------------------------------------------------- */

struct batch {
    struct committer *committer;
    struct list todo;   /* Not applied yet. */
    struct list done;   /* Applied or refused; answered after the commit. */
    struct list served; /* Were parked; answered after the commit, parked again after a rollback. */
    struct list wait;   /* Found nothing; parked after the commit. */
    struct round round;
    struct arena arena; /* For the work at the end. */
    int64_t now_us;
};

static bool is_engine_error(enum rc rc)
{
    return rc == RC_IO || rc == RC_BUSY || rc == RC_CORRUPT || rc == RC_UNREACHABLE;
}

static struct cx batch_cx(struct batch *batch, struct command *command)
{
    struct committer *committer = batch->committer;
    return (struct cx){
        .db = store_writer(committer->options.store),
        .now_us = batch->now_us,
        .dice = &committer->dice,
        .last_id_us = &committer->last_id_us,
        .arena = command != NULL ? &command->arena : &batch->arena,
        .actor = command != NULL ? command->actor : (struct actor){"system", "drover"},
        .traceparent = command != NULL ? command->traceparent : NULL,
        .workspace_id = committer->workspace_id,
        .limits = &committer->options.limits,
        .round = &batch->round,
        .batch_arena = &batch->arena,
    };
}

/* RC_OK, or an engine error that spoils the transaction. */
static enum rc apply(struct batch *batch, struct command *command)
{
    struct cx cx = batch_cx(batch, command);
    cx.err = &command->err;
    command->refused = RC_OK;
    err_clear(&command->err);
    int64_t before = db_changes(cx.db);
    enum rc rc = command->ops->apply(&cx, command);
    command->rc = rc;
    if (is_engine_error(rc))
        return rc;
    if (rc == RC_OK && command->refused == RC_OK)
        err_clear(&command->err); /* What was looked for and not found on the way. */
    /* Refused after it had written: the whole transaction must go, and this one alone with it. */
    if (rc != RC_OK && db_changes(cx.db) != before)
        return RC_IO;
    return RC_OK;
}

/* Its caller is gone, or its worker: nobody waits for the answer.  Under the lock. */
static bool is_given_up(const struct committer *committer, const struct command *command)
{
    return command->abandoned ||
           (committer->draining != NULL && text_starts(command->waiter, committer->draining));
}

static bool waits(struct batch *batch, const struct command *command)
{
    if (command->rc != RC_OK || command->ops->may_wait == NULL ||
        !command->ops->may_wait(command) || command->wait_until_us <= batch->now_us)
        return false;
    pthread_mutex_lock(&batch->committer->lock);
    bool given_up = is_given_up(batch->committer, command);
    pthread_mutex_unlock(&batch->committer->lock);
    return !given_up;
}

static bool wants_ready(const struct round *round, const struct command *command)
{
    if (round->all_ready)
        return true;
    for (size_t i = 0; i < round->ready_count; i++)
        if (command->ops->wants(command, round->ready[i].queue))
            return true;
    return false;
}

/* A lease that came back empty: nothing is left in the queues that it looked into. */
static void drop_ready(struct round *round, const struct command *command)
{
    size_t kept = 0;
    for (size_t i = 0; i < round->ready_count; i++)
        if (!command->ops->wants(command, round->ready[i].queue))
            round->ready[kept++] = round->ready[i];
    round->ready_count = kept;
}

/* Gives the jobs that this batch made ready to leases in `from`, in the same transaction. */
static enum rc serve(struct batch *batch, struct list *from)
{
    struct command **link = &from->first;
    while (*link != NULL && batch->round.ready_count > 0) {
        struct command *command = *link;
        if (wants_ready(&batch->round, command)) {
            enum rc rc = apply(batch, command);
            if (rc != RC_OK)
                return rc;
            if (!waits(batch, command)) {
                list_push(&batch->served, list_unlink(from, link));
                continue;
            }
            drop_ready(&batch->round, command);
        }
        link = &command->next;
    }
    return RC_OK;
}

static enum rc finish_batch(struct batch *batch)
{
    struct err err = {0};
    if (batch->round.admit) {
        struct cx cx = batch_cx(batch, NULL);
        cx.err = &err;
        enum rc rc = admit_queued(&cx);
        if (rc != RC_OK) {
            LOG(LOG_ERROR, "admission failed", LOG_STR("error", err.text));
            return RC_IO;
        }
    }
    enum rc rc = serve(batch, &batch->committer->parked);
    return rc == RC_OK ? serve(batch, &batch->wait) : rc;
}

static int64_t appetite(const struct command *command)
{
    return command->ops->appetite != NULL ? command->ops->appetite(command) : 0;
}

static enum rc apply_all(struct batch *batch)
{
    struct command *command;
    for (command = batch->todo.first; command != NULL; command = command->next)
        batch->round.leases += appetite(command);
    while ((command = batch->todo.first) != NULL) {
        enum rc rc = apply(batch, command);
        batch->round.leases -= appetite(command);
        if (rc != RC_OK)
            return rc;
        list_pop(&batch->todo);
        list_push(waits(batch, command) ? &batch->wait : &batch->done, command);
    }
    return finish_batch(batch);
}

static void park_all(struct committer *committer, struct list *from)
{
    struct command *command;
    while ((command = list_pop(from)) != NULL) {
        if (committer->parked_next_us == 0 || command->wait_until_us < committer->parked_next_us)
            committer->parked_next_us = command->wait_until_us;
        list_push(&committer->parked, command);
    }
}

static void after_commit(struct batch *batch, bool wrote)
{
    struct committer *committer = batch->committer;
    park_all(committer, &batch->wait);
    pthread_mutex_lock(&committer->lock);
    committer->stats.batches++;
    committer->stats.commands += (int64_t)batch->done.count;
    committer->stats.parked = (int64_t)committer->parked.count;
    for (const struct command *c = batch->done.first; c != NULL; c = c->next)
        committer->stats.refused += c->rc != RC_OK || c->refused != RC_OK;
    pthread_mutex_unlock(&committer->lock);
    answer_all(&batch->done);
    answer_all(&batch->served);
    if (wrote && committer->options.committed != NULL)
        committer->options.committed(committer->options.ctx, batch->round.told,
                                     batch->round.due_us);
}

/* Everything back to where it was before the transaction. */
static void undo_batch(struct batch *batch)
{
    park_all(batch->committer, &batch->served);
    list_append(&batch->done, &batch->wait);
    list_append(&batch->done, &batch->todo);
    list_append(&batch->todo, &batch->done);
    batch->round = (struct round){0};
    arena_reset(&batch->arena);
}

static enum rc try_batch(struct batch *batch, struct err *err)
{
    struct db *db = store_writer(batch->committer->options.store);
    CLEANUP(tx_abort) struct tx tx = {0};
    enum rc rc = tx_begin(db, &tx, err);
    if (rc == RC_OK)
        rc = apply_all(batch);
    if (rc == RC_OK) {
        bool wrote = db_changes(db) > 0;
        rc = tx_commit(&tx, err);
        if (rc == RC_OK) {
            after_commit(batch, wrote);
            return RC_OK;
        }
    }
    tx_abort(&tx);
    undo_batch(batch);
    return rc;
}

static void fail_command(struct batch *batch, enum rc rc, const struct err *err)
{
    struct command *command = list_pop(&batch->todo);
    if (command == NULL)
        return;
    bool refused = command->rc != RC_OK && !is_engine_error(command->rc);
    if (!refused) {
        command->rc = rc;
        if (command->err.text[0] == '\0')
            command->err = *err;
        LOG(LOG_ERROR, "command failed in the store", LOG_STR("command", command->ops->name),
            LOG_STR("code", command->err.code), LOG_STR("error", command->err.text));
    }
    answer(command, command->rc);
}

/* The batch was rolled back: each command gets a transaction of its own. */
static void run_one_by_one(struct batch *batch)
{
    struct list all = {0};
    list_init(&all);
    list_append(&all, &batch->todo);
    struct command *command;
    while ((command = list_pop(&all)) != NULL) {
        list_push(&batch->todo, command);
        struct err err = {0};
        enum rc rc = try_batch(batch, &err);
        if (rc != RC_OK)
            fail_command(batch, rc, &err);
        batch->round = (struct round){0};
    }
}

static void run_batch(struct batch *batch)
{
    struct err err = {0};
    if (try_batch(batch, &err) == RC_OK)
        return;
    pthread_mutex_lock(&batch->committer->lock);
    batch->committer->stats.retried++;
    pthread_mutex_unlock(&batch->committer->lock);
    run_one_by_one(batch);
}

/* ---- the lane --------------------------------------------------------------------------- */

/* Answers parked commands whose time is over or that nobody waits for. */
static void sweep_parked(struct committer *committer, int64_t now_us)
{
    struct list leave;
    list_init(&leave);
    pthread_mutex_lock(&committer->lock);
    if (!committer->look_at_parked && committer->parked_next_us > now_us) {
        pthread_mutex_unlock(&committer->lock);
        return;
    }
    int64_t next_us = 0;
    struct command **link = &committer->parked.first;
    while (*link != NULL) {
        struct command *command = *link;
        if (command->wait_until_us <= now_us || is_given_up(committer, command)) {
            list_push(&leave, list_unlink(&committer->parked, link));
            continue;
        }
        if (next_us == 0 || command->wait_until_us < next_us)
            next_us = command->wait_until_us;
        link = &command->next;
    }
    committer->parked_next_us = next_us;
    committer->look_at_parked = false;
    committer->stats.parked = (int64_t)committer->parked.count;
    pthread_mutex_unlock(&committer->lock);
    answer_all(&leave);
}

static void take_batch(struct committer *committer, struct batch *batch)
{
    list_init(&batch->todo);
    list_init(&batch->done);
    list_init(&batch->served);
    list_init(&batch->wait);
    batch->committer = committer;
    pthread_mutex_lock(&committer->lock);
    struct command *command;
    while (batch->todo.count < committer->options.batch_max &&
           (command = list_pop(&committer->queue)) != NULL)
        list_push(&batch->todo, command);
    batch->round.admit = committer->want_admission;
    committer->want_admission = false;
    committer->stats.queue_length = (int64_t)committer->queue.count;
    pthread_mutex_unlock(&committer->lock);
}

bool committer_round(struct committer *committer)
{
    struct batch batch = {.now_us = clock_now_us(&committer->options.clock)};
    sweep_parked(committer, batch.now_us);
    take_batch(committer, &batch);
    bool work = batch.todo.count > 0 || batch.round.admit;
    if (work)
        run_batch(&batch);
    arena_release(&batch.arena);
    return work;
}

/* Sleeps until there is something to do; the wait is bounded by the first parked deadline. */
static void lane_wait(struct committer *committer)
{
    int64_t wait_us = 60 * US_PER_SECOND;
    if (committer->parked_next_us > 0) {
        wait_us = committer->parked_next_us - clock_now_us(&committer->options.clock);
        wait_us = wait_us < 0 ? 0 : wait_us;
    }
    int64_t until_us = clock_mono_us() + wait_us;
    struct timespec until = {.tv_sec = (time_t)(until_us / US_PER_SECOND),
                             .tv_nsec = (long)(until_us % US_PER_SECOND) * 1000};
    pthread_mutex_lock(&committer->lock);
    while (committer->queue.count == 0 && !committer->want_admission &&
           !committer->look_at_parked && !committer->stopping)
        if (pthread_cond_timedwait(&committer->work, &committer->lock, &until) == ETIMEDOUT)
            break;
    pthread_mutex_unlock(&committer->lock);
}

static void *lane_main(void *arg)
{
    struct committer *committer = arg;
    for (;;) {
        lane_wait(committer);
        while (committer_round(committer)) {
        }
        pthread_mutex_lock(&committer->lock);
        bool end = committer->stopping && committer->queue.count == 0 && !committer->look_at_parked;
        pthread_mutex_unlock(&committer->lock);
        if (end)
            return NULL;
    }
}

enum rc committer_start(struct committer *committer, struct err *err)
{
    assert(!committer->running);
    int failed = pthread_create(&committer->thread, NULL, lane_main, committer);
    if (failed != 0)
        return err_set(err, RC_IO, "THREAD_FAILED", "cannot start the committer: %s",
                       strerror(failed));
    committer->running = true;
    return RC_OK;
}

void committer_stop(struct committer *committer)
{
    pthread_mutex_lock(&committer->lock);
    committer->closed = true;
    committer->stopping = true;
    committer->draining = "";
    committer->look_at_parked = true;
    pthread_cond_signal(&committer->work);
    pthread_mutex_unlock(&committer->lock);
    if (committer->running)
        pthread_join(committer->thread, NULL);
    else
        while (committer_round(committer)) {
        }
    committer->running = false;
    assert(committer->parked.count == 0);
}

enum rc committer_post(struct committer *committer, struct command *command)
{
    assert(command->done != NULL);
    pthread_mutex_lock(&committer->lock);
    bool room = !committer->closed && committer->queue.count < committer->options.queue_max;
    if (room) {
        bool idle = committer->queue.count == 0;
        list_push(&committer->queue, command);
        if (idle)
            pthread_cond_signal(&committer->work);
    } else {
        committer->stats.busy++;
    }
    pthread_mutex_unlock(&committer->lock);
    return room ? RC_OK : RC_BUSY;
}

struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool is_done;
};

static void waiter_done(struct command *command)
{
    struct waiter *waiter = command->owner;
    pthread_mutex_lock(&waiter->lock);
    waiter->is_done = true;
    pthread_cond_signal(&waiter->ended);
    pthread_mutex_unlock(&waiter->lock);
}

enum rc committer_call(struct committer *committer, struct command *command)
{
    struct waiter waiter = {.lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};
    command->done = waiter_done;
    command->owner = &waiter;
    if (committer_post(committer, command) != RC_OK) {
        command->rc = err_set(&command->err, RC_BUSY, "SERVER_BUSY",
                              "the command queue is full; try again in a moment");
        return command->rc;
    }
    pthread_mutex_lock(&waiter.lock);
    while (!waiter.is_done)
        pthread_cond_wait(&waiter.ended, &waiter.lock);
    pthread_mutex_unlock(&waiter.lock);
    pthread_cond_destroy(&waiter.ended);
    pthread_mutex_destroy(&waiter.lock);
    return command->rc;
}

void committer_abandon(struct committer *committer, struct command *command)
{
    pthread_mutex_lock(&committer->lock);
    command->abandoned = true;
    committer->look_at_parked = true;
    pthread_cond_signal(&committer->work);
    pthread_mutex_unlock(&committer->lock);
}

void committer_drain(struct committer *committer, const char *worker_prefix)
{
    pthread_mutex_lock(&committer->lock);
    committer->draining = worker_prefix;
    committer->look_at_parked = true;
    pthread_cond_signal(&committer->work);
    pthread_mutex_unlock(&committer->lock);
}

void committer_want_admission(struct committer *committer)
{
    pthread_mutex_lock(&committer->lock);
    committer->want_admission = true;
    pthread_cond_signal(&committer->work);
    pthread_mutex_unlock(&committer->lock);
}

void committer_stats(struct committer *committer, struct committer_stats *ret_stats)
{
    pthread_mutex_lock(&committer->lock);
    *ret_stats = committer->stats;
    ret_stats->queue_length = (int64_t)committer->queue.count;
    pthread_mutex_unlock(&committer->lock);
}
