/*
 * lane.c - see lane.h.
 *
 * Invariants
 * - A command is in exactly one place: the work, the batch, the register of parked leases, or with
 *   its owner.  done() is called exactly once, after the transaction that carries it has ended.
 * - Only the lane touches its batch and its connection.
 */
#include "control/lane.h"
#include "base/log.h"
#include "base/mem.h"
#include "control/admit.h"
#include "control/ahead.h"
#include "control/config_book.h"
#include "control/cx.h"
#include "store/workspaces.h"

enum { SERVE_AT_ONCE = 32, TRIES_MAX = 5 };

struct lane {
    struct lane_options options;
    int64_t last_id_us;
    struct arena arena; /* Of the batch at hand, for work that belongs to no command. */
    struct queue_book queues;
    struct config_book configs;
    struct admit_walk walk;
};

struct batch {
    struct lane *lane;
    struct lane_outcome *outcome;
    struct command_list todo;   /* Not applied yet. */
    struct command_list done;   /* Applied or refused; answered after the commit. */
    struct command_list wait;   /* Found nothing; parked after the commit. */
    struct command_list served; /* Were parked; answered after the commit. */
    struct command_list idle;   /* Were parked, looked and found nothing. */
    struct round round;
    bool admit, look;
    int64_t now_us;
    int64_t news; /* Of the register, when the batch began. */
};

struct lane *lane_new(const struct lane_options *options)
{
    struct lane *lane = mem_alloc(sizeof(*lane));
    lane->options = *options;
    queue_book_init(&lane->queues);
    return lane;
}

void lane_free(struct lane *lane)
{
    if (lane == NULL)
        return;
    arena_release(&lane->arena);
    queue_book_release(&lane->queues);
    config_book_release(&lane->configs);
    mem_free(lane);
}

void lane_answer(struct command *command, enum rc rc)
{
    command->rc = rc == RC_OK ? command->refused : rc;
    command->done(command);
}

static void answer_all(struct command_list *list)
{
    struct command *command;
    while ((command = command_list_pop(list)) != NULL)
        lane_answer(command, command->rc);
}

/* ---- one command ------------------------------------------------------------------------ */

static bool is_engine_error(enum rc rc)
{
    return rc == RC_IO || rc == RC_BUSY || rc == RC_CORRUPT || rc == RC_UNREACHABLE;
}

static struct cx batch_cx(struct batch *batch, struct command *command)
{
    struct lane *lane = batch->lane;
    return (struct cx){
        .db = lane->options.db,
        .store = lane->options.committer->store,
        .now_us = batch->now_us,
        .dice = &lane->options.dice,
        .last_id_us = &lane->last_id_us,
        .arena = command != NULL ? &command->arena : &lane->arena,
        .actor = command != NULL ? command->actor : (struct actor){"system", "drover"},
        .traceparent = command != NULL ? command->traceparent : NULL,
        .workspace_id = lane->options.workspace_id,
        .limits = &lane->options.committer->limits,
        .defaults = lane->options.committer->defaults,
        .channels = &lane->options.committer->channels,
        .queues = &lane->queues,
        .configs = &lane->configs,
        .swarms = lane->options.swarms,
        .round = &batch->round,
        .batch_arena = &lane->arena,
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

static bool waits(struct batch *batch, const struct command *command)
{
    if (command->rc != RC_OK || command->ops->may_wait == NULL ||
        !command->ops->may_wait(command) || command->wait_until_us <= batch->now_us)
        return false;
    return !parked_gives_up(batch->lane->options.parked, command);
}

static int64_t appetite(const struct command *command)
{
    return command->ops->appetite != NULL ? command->ops->appetite(command) : 0;
}

/* ---- leases that wait ------------------------------------------------------------------- */

static bool has_ready(const struct round *round)
{
    return round->all_ready || round->ready_count > 0;
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

/* Lets leases look at what this batch made ready: those that get something to `served`, the
   others, in their order, to `left`. */
static enum rc serve(struct batch *batch, struct command_list *from, struct command_list *left)
{
    while (from->first != NULL) {
        struct command *command = from->first;
        bool empty = true;
        if (round_serves(&batch->round, command)) {
            enum rc rc = apply(batch, command);
            if (rc != RC_OK)
                return rc;
            empty = waits(batch, command);
            if (empty)
                drop_ready(&batch->round, command);
        }
        command_list_push(empty ? left : &batch->served, command_list_pop(from));
    }
    return RC_OK;
}

static enum rc serve_parked(struct batch *batch)
{
    while (has_ready(&batch->round)) {
        struct command_list some;
        command_list_init(&some);
        parked_take(batch->lane->options.parked, &batch->round, SERVE_AT_ONCE, &some);
        if (some.first == NULL)
            return RC_OK;
        enum rc rc = serve(batch, &some, &batch->idle);
        command_list_append(&batch->idle, &some);
        if (rc != RC_OK)
            return rc;
    }
    return RC_OK;
}

/* Those of this batch that found nothing look again at what came after them. */
static enum rc serve_waiting(struct batch *batch)
{
    if (!has_ready(&batch->round))
        return RC_OK;
    struct command_list left;
    command_list_init(&left);
    enum rc rc = serve(batch, &batch->wait, &left);
    command_list_prepend(&batch->wait, &left);
    return rc;
}

/* ---- one transaction -------------------------------------------------------------------- */

static enum rc admit(struct batch *batch)
{
    struct err err = {0};
    struct cx cx = batch_cx(batch, NULL);
    cx.err = &err;
    enum rc rc = RC_OK;
    if (!batch->lane->options.alone)
        rc = workspaces_lock(cx.db, &cx.workspace_id, cx.err);
    if (rc == RC_OK)
        rc = admit_queued(&cx, &batch->lane->walk);
    if (rc == RC_OK)
        return RC_OK;
    if (rc != RC_UNREACHABLE && rc != RC_BUSY)
        LOG(LOG_ERROR, "admission failed", LOG_STR("error", err.text));
    return is_engine_error(rc) ? rc : RC_IO;
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
        command_list_pop(&batch->todo);
        command_list_push(waits(batch, command) ? &batch->wait : &batch->done, command);
    }
    return RC_OK;
}

static enum rc read_ahead(struct batch *batch, struct err *err)
{
    struct lane *lane = batch->lane;
    struct ahead ahead = {.arena = &lane->arena};
    if (lane->options.alone)
        return RC_OK;
    for (const struct command *c = batch->todo.first; c != NULL; c = c->next)
        if (c->ops->names != NULL)
            c->ops->names(c, &ahead);
    return ahead_read(&ahead, lane->options.db, err);
}

/* New rules may let out what old ones held back. */
static enum rc read_rules(struct batch *batch, struct err *err)
{
    struct lane *lane = batch->lane;
    struct queue_book_state state = {
        .news = atomic_load(lane->options.rules_news),
        .now_us = batch->now_us,
        .shared = !lane->options.alone,
    };
    bool changed;
    enum rc rc = queue_book_refresh(&lane->queues, lane->options.db, &state, &changed, err);
    if (rc == RC_OK && changed)
        batch->round.all_ready = true;
    return rc;
}

static enum rc fill_transaction(struct batch *batch, struct err *err)
{
    batch->round.all_ready = batch->look;
    batch->now_us = clock_now_us(&batch->lane->options.committer->clock);
    enum rc rc = read_rules(batch, err);
    if (rc == RC_OK)
        rc = read_ahead(batch, err);
    /* Locks may have been waited for: what happens now happens after what others did. */
    batch->now_us = clock_now_us(&batch->lane->options.committer->clock);
    if (rc == RC_OK)
        rc = apply_all(batch);
    bool here = batch->admit || (batch->round.admit && batch->lane->options.alone);
    if (rc == RC_OK && here)
        rc = admit(batch);
    if (rc == RC_OK)
        rc = serve_parked(batch);
    return rc == RC_OK ? serve_waiting(batch) : rc;
}

/* Back to the register; those that somebody else brought work for meanwhile look again. */
static void park(struct batch *batch)
{
    struct parked *parked = batch->lane->options.parked;
    parked_return(parked, &batch->idle, batch->news);
    parked_add(parked, &batch->wait, batch->news);
    command_list_append(&batch->outcome->again, &batch->idle);
    command_list_append(&batch->outcome->again, &batch->wait);
}

static void after_commit(struct batch *batch, bool wrote, bool brought)
{
    struct lane *lane = batch->lane;
    struct lane_outcome *outcome = batch->outcome;
    park(batch);
    if (batch->round.rules_changed) {
        atomic_fetch_add(lane->options.rules_news, 1);
        outcome->look = true;
    }
    if (brought && !lane->options.alone)
        parked_tell(lane->options.parked);
    outcome->batches++;
    outcome->commands += (int64_t)batch->done.count;
    outcome->shed += batch->round.shed;
    outcome->admit |= batch->round.admit && !lane->options.alone;
    for (const struct command *c = batch->done.first; c != NULL; c = c->next)
        outcome->refused += c->rc != RC_OK || c->refused != RC_OK;
    answer_all(&batch->done);
    answer_all(&batch->served);
    const struct committer_options *options = lane->options.committer;
    struct committed news = {
        .told = batch->round.told, .brought = brought, .due_us = batch->round.due_us};
    if ((wrote || news.due_us > 0) && options->committed != NULL)
        options->committed(options->ctx, &news);
}

/* Everything back to where it was before the transaction. */
static void undo(struct batch *batch)
{
    command_list_append(&batch->served, &batch->idle);
    parked_return(batch->lane->options.parked, &batch->served, batch->news);
    command_list_append(&batch->outcome->again, &batch->served);
    command_list_append(&batch->done, &batch->wait);
    command_list_append(&batch->done, &batch->todo);
    command_list_append(&batch->todo, &batch->done);
}

static enum rc try_batch(struct batch *batch, struct err *err)
{
    struct lane *lane = batch->lane;
    struct db *db = lane->options.db;
    batch->round = (struct round){0};
    arena_reset(&lane->arena);
    CLEANUP(tx_abort) struct tx tx = {0};
    enum rc rc = tx_begin(db, &tx, err);
    if (rc == RC_OK)
        rc = fill_transaction(batch, err);
    if (rc == RC_OK) {
        bool wrote = db_changes(db) > 0, brought = batch->round.brought;
        rc = tx_commit(&tx, err);
        if (rc == RC_OK) {
            after_commit(batch, wrote, brought);
            return RC_OK;
        }
    }
    tx_abort(&tx);
    undo(batch);
    return rc;
}

/* ---- when it fails ---------------------------------------------------------------------- */

static void fail_command(struct batch *batch, enum rc rc, const struct err *err)
{
    struct command *command = command_list_pop(&batch->todo);
    if (command == NULL)
        return;
    bool refused = command->rc != RC_OK && !is_engine_error(command->rc);
    if (!refused) {
        command->rc = rc;
        if (command->err.text[0] == '\0')
            command->err = *err;
        if (rc != RC_UNREACHABLE) /* That is told once, where it is noticed. */
            LOG(LOG_ERROR, "command failed in the store", LOG_STR("command", command->ops->name),
                LOG_STR("code", command->err.code), LOG_STR("error", command->err.text));
    }
    lane_answer(command, command->rc);
}

/* The batch was rolled back: each command gets a transaction of its own.  One that met others on
   the way (a deadlock) is tried again. */
static void run_one_by_one(struct batch *batch)
{
    struct command_list all;
    command_list_init(&all);
    command_list_append(&all, &batch->todo);
    batch->admit = batch->look = false;
    struct command *command;
    while ((command = command_list_pop(&all)) != NULL) {
        command_list_push(&batch->todo, command);
        struct err err = {0};
        enum rc rc = RC_BUSY;
        for (int i = 0; i < TRIES_MAX && rc == RC_BUSY; i++)
            rc = try_batch(batch, &err);
        if (rc != RC_OK)
            fail_command(batch, rc, &err);
    }
}

static void fail_all(struct batch *batch, enum rc rc, const struct err *err)
{
    for (struct command *c = batch->todo.first; c != NULL; c = c->next)
        c->rc = rc;
    while (batch->todo.first != NULL)
        fail_command(batch, rc, err);
}

void lane_run(struct lane *lane, struct lane_work *work, struct lane_outcome *ret_outcome)
{
    *ret_outcome = (struct lane_outcome){0};
    command_list_init(&ret_outcome->again);
    struct batch batch = {
        .lane = lane,
        .outcome = ret_outcome,
        .admit = work->admit,
        .look = work->look,
        .news = parked_news(lane->options.parked),
    };
    command_list_init(&batch.todo);
    command_list_init(&batch.done);
    command_list_init(&batch.wait);
    command_list_init(&batch.served);
    command_list_init(&batch.idle);
    command_list_append(&batch.todo, &work->todo);
    struct err err = {0};
    enum rc rc = try_batch(&batch, &err);
    if (rc == RC_OK)
        return;
    ret_outcome->retried++;
    if (rc == RC_UNREACHABLE)
        fail_all(&batch, rc, &err);
    else
        run_one_by_one(&batch);
}
