/*
 * lane.c - see lane.h.
 *
 * Invariants
 * - A command is in exactly one place: the work, the batch, the register of parked leases, or with
 *   its owner.  done() is called exactly once, after the transaction that carries it has ended.
 * - Only the lane touches its batch and its connection.
 * - A rolled-back transaction leaves no trace in memory.  Commands are undone (command.h).  What a
 *   batch notes is in its round, which each transaction begins anew, and is shared (swarms,
 *   rules_news, the register's count of news) after the commit only.  The state of admission is
 *   restored.  The books of queues and configurations hold what was committed before the
 *   transaction.  Two things are not restored, with intent: the random numbers and last_id_us, so
 *   that no id is made twice.
 */
#include "control/commit/lane.h"
#include "base/log.h"
#include "base/mem.h"
#include "control/commit/config_book.h"
#include "control/commit/context.h"
#include "control/commit/read_ahead.h"
#include "core/event_types.h"
#include "store/workspaces.h"
#include <assert.h>
#include <string.h>

enum { SERVE_AT_ONCE = 32, TRIES_MAX = 5 };
/* The pause after parked leases were applied and failed. */
#define LOOK_AGAIN_US US_PER_SECOND

struct lane {
    struct lane_options options;
    int64_t last_id_us;
    struct arena arena; /* Of the batch at hand, for work that belongs to no command. */
    struct queue_book queues;
    struct config_book configs;
    void *admit_state;        /* Of the hook, */
    void *admit_state_before; /* and as it was before the current transaction. */
};

struct batch {
    struct lane *lane;
    struct lane_outcome *outcome;
    struct command_list todo;   /* Not applied yet. */
    struct command_list done;   /* Applied or refused; answered after the commit. */
    struct command_list wait;   /* Found no job; parked after the commit. */
    struct command_list served; /* Were parked; answered after the commit. */
    struct command_list idle;   /* Were parked, applied again, and found no job. */
    struct round round;
    bool admit, look;
    /* The second try: one command and nothing else, or admission and nothing else.  It fails for
       reasons of its own only, and rows of loops are isolated (isolate.h). */
    bool single;
    bool owes_look; /* Parked leases are to be applied again, and no commit has done so yet. */
    int64_t now_us;
    int64_t news; /* Of the register, when the batch began. */
};

struct lane *lane_new(const struct lane_options *options)
{
    struct lane *lane = mem_alloc(sizeof *lane);
    lane->options = *options;
    lane->admit_state = mem_alloc(options->committer->hooks->admit_state_bytes);
    lane->admit_state_before = mem_alloc(options->committer->hooks->admit_state_bytes);
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
    mem_free(lane->admit_state);
    mem_free(lane->admit_state_before);
    mem_free(lane);
}

void lane_answer(struct command *command, enum rc rc)
{
    assert(command->before == NULL);           /* Its transaction has ended, */
    assert(rc != RC_OK || command->committed); /* and an answer was committed. */
    command->rc = rc == RC_OK ? command->refused : rc;
    command->done(command);
}

static void keep_all(struct command_list *list)
{
    for (struct command *command = list->first; command != NULL; command = command->next)
        command_keep(command);
}

static void undo_all(struct command_list *list)
{
    for (struct command *command = list->first; command != NULL; command = command->next)
        command_undo(command);
}

static void answer_all(struct command_list *list)
{
    struct command *command;
    while ((command = command_list_pop(list)) != NULL)
        lane_answer(command, command->rc);
}

/* ---- one command ---- */

static bool is_engine_error(enum rc rc)
{
    return rc == RC_IO || rc == RC_BUSY || rc == RC_CORRUPT || rc == RC_UNREACHABLE;
}

static struct context batch_cx(struct batch *batch, struct command *command)
{
    struct lane *lane = batch->lane;
    return (struct context){
        .db = lane->options.db,
        .store = lane->options.committer->store,
        .now_us = batch->now_us,
        .random = &lane->options.random,
        .last_id_us = &lane->last_id_us,
        .arena = command != NULL ? &command->arena : &lane->arena,
        .actor = command != NULL ? command->actor : (struct actor){"system", "drover"},
        .traceparent = command != NULL ? command->traceparent : NULL,
        .audit_call = command != NULL ? command->audit : NULL,
        .workspace_id = lane->options.workspace_id,
        .limits = &lane->options.committer->limits,
        .defaults = lane->options.committer->defaults,
        .channels = &lane->options.committer->channels,
        .accounts = &lane->options.committer->accounts,
        .retention = &lane->options.committer->retention,
        .queues = &lane->queues,
        .configs = &lane->configs,
        .swarms = lane->options.swarms,
        .hooks = lane->options.committer->hooks,
        .round = &batch->round,
        .batch_arena = &lane->arena,
        .careful = batch->single,
    };
}

/* Refused, but something was recorded: see struct command. */
static const char *outcome_of(enum rc refused)
{
    if (refused == RC_OK)
        return AUDIT_DONE;
    return refused == RC_DENIED ? AUDIT_DENIED : AUDIT_REFUSED;
}

/* Notes the row of a command that was applied, unless it has none, or was applied before. */
static void note_audit(struct context *ctx, struct command *command)
{
    const struct audit_call *call = command->audit;
    if (call == NULL || command->audited)
        return;
    bool refused = command->refused != RC_OK;
    const char *made = id_or_null(&command->made);
    command->audited = true;
    context_audit(ctx,
                  &(struct audit_entry){
                      .action = call->action,
                      .resource_id = call->resource_id != NULL ? call->resource_id : made,
                      .outcome = outcome_of(command->refused),
                      .code = refused ? arena_strdup(ctx->batch_arena, command->err.code) : NULL,
                      .details = call->details,
                  });
}

/* RC_OK, or why the transaction must be rolled back: an engine error, or a command that was refused
   after it had written. */
static enum rc apply(struct batch *batch, struct command *command, struct err *err)
{
    struct context ctx = batch_cx(batch, command);
    ctx.err = &command->err;
    command_stage(command, &batch->lane->arena);
    command->refused = RC_OK;
    err_clear(&command->err);
    int64_t before = db_changes(ctx.db);
    const struct audit_pending *noted = batch->round.audit;
    enum rc rc = command->ops->apply(&ctx, command);
    command->rc = rc;
    if (rc == RC_OK)
        note_audit(&ctx, command);
    else
        batch->round.audit = noted;
    if (is_engine_error(rc) || (rc != RC_OK && db_changes(ctx.db) != before)) {
        *err = command->err;
        return rc;
    }
    if (rc == RC_OK && command->refused == RC_OK)
        err_clear(&command->err); /* Of a query on the way that found no row. */
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

/* ---- leases that wait ---- */

static bool has_ready(const struct round *round)
{
    return round->all_ready || round->ready_count > 0;
}

/* A lease found no job: nothing is left in the queues that it queried, unless it takes some jobs of
   them only. */
static void drop_ready(struct round *round, const struct command *command)
{
    size_t kept = 0;
    if (command->ops->picks != NULL)
        return;
    for (size_t i = 0; i < round->ready_count; i++)
        if (!command->ops->wants(command, round->ready[i].queue))
            round->ready[kept++] = round->ready[i];
    round->ready_count = kept;
}

/* Applies leases to the jobs that this batch made ready. */
struct serving {
    struct command_list *from;
    struct command_list *served; /* Those that get something, */
    struct command_list *left;   /* and the others, in their order. */
};
static enum rc serve(struct batch *batch, const struct serving *serving, struct err *err)
{
    struct command *command;
    while ((command = serving->from->first) != NULL) {
        bool empty = true;
        if (round_serves(&batch->round, command)) {
            enum rc rc = apply(batch, command, err);
            if (rc != RC_OK)
                return rc;
            empty = waits(batch, command);
            if (empty)
                drop_ready(&batch->round, command);
        }
        (void)command_list_pop(serving->from);
        command_list_push(empty ? serving->left : serving->served, command);
    }
    return RC_OK;
}

static enum rc serve_parked(struct batch *batch, struct err *err)
{
    while (has_ready(&batch->round)) {
        struct command_list some;
        command_list_init(&some);
        parked_take(batch->lane->options.parked, &batch->round, SERVE_AT_ONCE, &some);
        if (some.first == NULL)
            return RC_OK;
        enum rc rc = serve(batch, &(struct serving){&some, &batch->served, &batch->idle}, err);
        command_list_append(&batch->idle, &some);
        if (rc != RC_OK)
            return rc;
    }
    return RC_OK;
}

/* Leases of this batch that found no job are applied again: later commands may have made some. */
static enum rc serve_waiting(struct batch *batch, struct err *err)
{
    if (!has_ready(&batch->round))
        return RC_OK;
    struct command_list left;
    command_list_init(&left);
    enum rc rc = serve(batch, &(struct serving){&batch->wait, &batch->done, &left}, err);
    command_list_prepend(&batch->wait, &left);
    return rc;
}

/* ---- one transaction ---- */

static enum rc admit(struct batch *batch, struct err *err)
{
    struct context ctx = batch_cx(batch, NULL);
    ctx.err = err;
    enum rc rc = RC_OK;
    if (!batch->lane->options.alone)
        rc = workspaces_lock(ctx.db, &ctx.workspace_id, ctx.err);
    if (rc == RC_OK)
        rc = ctx.hooks->admit(&ctx, batch->lane->admit_state);
    if (rc == RC_OK)
        return RC_OK;
    if (batch->single && rc != RC_UNREACHABLE && rc != RC_BUSY)
        LOG(LOG_ERROR, "admission failed", LOG_STR("code", err->code), LOG_STR("error", err->text));
    return is_engine_error(rc) ? rc : RC_IO;
}

static enum rc apply_all(struct batch *batch, struct err *err)
{
    struct command *command;
    for (command = batch->todo.first; command != NULL; command = command->next)
        batch->round.leases += appetite(command);
    while ((command = batch->todo.first) != NULL) {
        enum rc rc = apply(batch, command, err);
        batch->round.leases -= appetite(command);
        if (rc != RC_OK)
            return rc;
        command_list_pop(&batch->todo);
        command_list_push(waits(batch, command) ? &batch->wait : &batch->done, command);
    }
    return RC_OK;
}

static enum rc read_batch_ahead(struct batch *batch, struct err *err)
{
    struct lane *lane = batch->lane;
    struct read_ahead read_ahead = {.arena = &lane->arena};
    if (lane->options.alone)
        return RC_OK;
    for (const struct command *c = batch->todo.first; c != NULL; c = c->next)
        if (c->ops->names != NULL)
            c->ops->names(c, &read_ahead);
    return read_ahead_fetch(&read_ahead, lane->options.committer->hooks, lane->options.db, err);
}

/* New rules may allow jobs to be claimed that old ones held back. */
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
        batch->round.all_ready = batch->owes_look = true;
    return rc;
}

/* What concerns security is also an event, for those who watch the log of events. */
static enum rc emit_audit(void *arg, const struct audit_entry *entry, struct err *err)
{
    struct context *ctx = arg;
    if (!audit_is_security(entry))
        return RC_OK;
    CLEANUP(buf_release) struct buf data;
    buf_init(&data, AUDIT_JSON_MAX);
    struct jw jw = jw_to(&data);
    audit_write(&jw, entry);
    struct event event = {.type = EV_AUDIT_RECORDED, .subject = "audit", .data = buf_str(&data)};
    ctx->err = err;
    return context_append(ctx, &event, NULL);
}

/* The last lock of a transaction is that of the head of the audit log. */
static enum rc write_audit(struct batch *batch, struct err *err)
{
    if (batch->round.audit == NULL)
        return RC_OK;
    struct context ctx = batch_cx(batch, NULL);
    const struct audit_trail trail = {.newest = batch->round.audit,
                                      .arena = &batch->lane->arena,
                                      .written = emit_audit,
                                      .ctx = &ctx};
    return audit_trail_write(&trail, ctx.db, err);
}

static enum rc fill_transaction(struct batch *batch, struct err *err)
{
    batch->round.all_ready = batch->look;
    batch->now_us = clock_now_us(&batch->lane->options.committer->clock);
    enum rc rc = read_rules(batch, err);
    if (rc == RC_OK)
        rc = read_batch_ahead(batch, err);
    /* The transaction may have waited for locks: its time is after that of the lock's holder. */
    batch->now_us = clock_now_us(&batch->lane->options.committer->clock);
    if (rc == RC_OK)
        rc = apply_all(batch, err);
    bool here = batch->admit ||
                (batch->round.admit && batch->lane->options.alone && !batch->single);
    if (rc == RC_OK && here)
        rc = admit(batch, err);
    if (batch->single)
        return rc;
    if (rc == RC_OK)
        rc = serve_parked(batch, err);
    return rc == RC_OK ? serve_waiting(batch, err) : rc;
}

/* Back to the register; those that another lane or node made jobs ready for are applied again. */
static void park(struct batch *batch)
{
    struct parked *parked = batch->lane->options.parked;
    parked_add(parked, &batch->idle, batch->news);
    parked_add(parked, &batch->wait, batch->news);
    command_list_append(&batch->outcome->again, &batch->idle);
    command_list_append(&batch->outcome->again, &batch->wait);
}

/* The effects of the commit on other lanes and on later batches. */
static void share_effects(struct batch *batch, bool brought)
{
    struct lane *lane = batch->lane;
    struct lane_outcome *outcome = batch->outcome;
    swarms_count(lane->options.swarms, &batch->round.swarms);
    if (batch->round.rules_changed) {
        atomic_fetch_add(lane->options.rules_news, 1);
        outcome->look = true;
    }
    if (brought && !lane->options.alone)
        parked_note_work(lane->options.parked);
    outcome->look |= batch->single && has_ready(&batch->round);
    outcome->admit |= batch->round.admit && (batch->single || !lane->options.alone);
    batch->owes_look = false;
}

static void after_commit(struct batch *batch, bool wrote, bool brought)
{
    struct lane *lane = batch->lane;
    struct lane_outcome *outcome = batch->outcome;
    keep_all(&batch->done);
    keep_all(&batch->wait);
    keep_all(&batch->served);
    keep_all(&batch->idle);
    park(batch);
    share_effects(batch, brought);
    outcome->batches++;
    outcome->commands += (int64_t)batch->done.count;
    outcome->shed += batch->round.shed;
    for (const struct command *c = batch->done.first; c != NULL; c = c->next)
        outcome->refused += c->rc != RC_OK || c->refused != RC_OK;
    answer_all(&batch->done);
    answer_all(&batch->served);
    const struct committer_options *options = lane->options.committer;
    struct committed news = {
        .appended = batch->round.appended, .brought = brought, .due_us = batch->round.due_us};
    if ((wrote || news.due_us > 0) && options->committed != NULL)
        options->committed(options->ctx, &news);
}

/* Everything back to where it was before the transaction. */
static void undo(struct batch *batch)
{
    undo_all(&batch->todo);
    undo_all(&batch->done);
    undo_all(&batch->wait);
    undo_all(&batch->served);
    undo_all(&batch->idle);
    memcpy(batch->lane->admit_state, batch->lane->admit_state_before,
           batch->lane->options.committer->hooks->admit_state_bytes);
    command_list_append(&batch->served, &batch->idle);
    parked_add(batch->lane->options.parked, &batch->served, batch->news);
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
    memcpy(lane->admit_state_before, lane->admit_state,
           lane->options.committer->hooks->admit_state_bytes);
    arena_reset(&lane->arena);
    CLEANUP(tx_abort) struct tx tx = {0};
    enum rc rc = tx_begin(db, &tx, err);
    if (rc == RC_OK)
        rc = fill_transaction(batch, err);
    if (rc == RC_OK)
        rc = write_audit(batch, err);
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

/* ---- when it fails ---- */

static void fail_command(struct batch *batch, enum rc rc, const struct err *err)
{
    struct command *command = command_list_pop(&batch->todo);
    command->err = *err;
    if (is_engine_error(rc) && rc != RC_UNREACHABLE) /* That is logged once, by the membership. */
        LOG(LOG_ERROR, "command failed in the store", LOG_STR("command", command->ops->name),
            LOG_STR("code", err->code), LOG_STR("error", err->text));
    lane_answer(command, rc);
}

/* A transaction that conflicted with another one (a deadlock) is retried. */
static enum rc try_often(struct batch *batch, struct err *err)
{
    enum rc rc = RC_BUSY;
    for (int i = 0; i < TRIES_MAX && rc == RC_BUSY; i++)
        rc = try_batch(batch, err);
    return rc;
}

/* The batch was rolled back: each command gets a transaction of its own, without admission and
   without parked leases, which follow later. */
static void run_one_by_one(struct batch *batch)
{
    struct command_list all;
    command_list_init(&all);
    command_list_append(&all, &batch->todo);
    batch->admit = batch->look = false;
    batch->single = true;
    struct command *command;
    while ((command = command_list_pop(&all)) != NULL) {
        command_list_push(&batch->todo, command);
        struct err err = {0};
        enum rc rc = try_often(batch, &err);
        if (rc != RC_OK)
            fail_command(batch, rc, &err);
    }
}

/* Admission by itself: in a batch with commands it might fail for one and the same run each time,
   and with it each batch.  A failure is logged, and the ticker requests admission again. */
static void admit_alone(struct batch *batch)
{
    struct err err = {0};
    batch->outcome->admit = false;
    batch->admit = batch->single = true;
    (void)!try_often(batch, &err);
}

/* The parked leases were not applied.  With commands in the batch one of them may be the cause: the
   look is requested again at once, without them.  Else the cause is the store or one of the leases,
   and a retry at once would fail in a loop: after a pause each lease is applied as a command of its
   own, where it fails alone. */
static void ask_again(struct batch *batch, bool had_commands)
{
    if (had_commands) {
        batch->outcome->look |= batch->owes_look;
    } else if (batch->owes_look) {
        const struct lane_options *options = &batch->lane->options;
        int64_t now_us = clock_now_us(&options->committer->clock);
        parked_look_at(options->parked, now_us + LOOK_AGAIN_US);
    }
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
        .owes_look = work->look,
        .news = parked_news(lane->options.parked),
    };
    command_list_init(&batch.todo);
    command_list_init(&batch.done);
    command_list_init(&batch.wait);
    command_list_init(&batch.served);
    command_list_init(&batch.idle);
    command_list_append(&batch.todo, &work->todo);
    bool had_commands = batch.todo.count > 0;
    struct err err = {0};
    enum rc rc = try_batch(&batch, &err);
    if (rc == RC_OK)
        return;
    ret_outcome->retried++;
    if (rc == RC_UNREACHABLE) { /* A shared store: leases are applied once a second anyway. */
        while (batch.todo.first != NULL)
            fail_command(&batch, rc, &err);
        return;
    }
    ask_again(&batch, had_commands);
    run_one_by_one(&batch);
    if (work->admit || (ret_outcome->admit && lane->options.alone))
        admit_alone(&batch);
}
