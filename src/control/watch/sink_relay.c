#include "control/watch/sink_relay.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "control/watch/sinks.h"
#include "core/queue/backoff.h"
#include "store/settled.h"
#include <assert.h>
#include <pthread.h>

/* Without a wake-up, which can be lost between nodes. */
#define IDLE_US (60 * US_PER_SECOND)
/* Until the turn at the sink may come. */
#define TURN_US US_PER_SECOND
/* Until a gap in the log may be filled (settled.h). */
#define GAP_US (20 * US_PER_MS)
/* Of a store that does not answer. */
#define STORE_US US_PER_SECOND

static const struct backoff pauses = {
    .base_us = 200 * US_PER_MS, .max_us = 30 * US_PER_SECOND, .jitter_us = 200 * US_PER_MS};

struct batch {
    struct sink_record records[SINK_BATCH_RECORDS];
    size_t count;
    int64_t end_seq; /* Where the cursor stands when all records are delivered. */
    bool more;       /* Events were read that do not fit, or may follow. */
    bool too_large;  /* The only record is an event that does not fit alone. */
    struct sink_outcome outcome;
};

struct sink_relay {
    struct sink_relay_options options;
    struct lease_fence turn;
    bool loaded; /* In this turn: cursor and error are as in the store. */
    struct settled cursor;
    int64_t stored_seq;       /* The cursor in the store, */
    char error[ERR_TEXT_MAX]; /* and the last error there; "": none. */
    struct db *db;            /* For reading; NULL until first used. */
    void *sink;               /* NULL: not open. */
    int64_t failures;         /* In a row. */
    int64_t retry_us;         /* Not before; 0: at once. */
    struct batch *batch;      /* Published, and the cursor not moved yet; or NULL. */
    struct arena arena;       /* Of the batch, with its events, */
    struct buf json;          /* and their JSON. */
};

struct sink_relay *sink_relay_new(const struct sink_relay_options *options)
{
    struct sink_relay *relay = mem_alloc(sizeof *relay);
    relay->options = *options;
    buf_init(&relay->json, SINK_BATCH_BYTES);
    return relay;
}

/* The next round begins with the cursor of the store. */
static void leave(struct sink_relay *relay)
{
    if (relay->sink != NULL)
        relay->options.config->ops->close(relay->sink);
    relay->sink = NULL;
    relay->batch = NULL;
    relay->loaded = false;
    relay->cursor = (struct settled){0};
}

void sink_relay_free(struct sink_relay *relay)
{
    if (relay == NULL)
        return;
    leave(relay);
    store_reader_close(relay->options.store, relay->db);
    arena_release(&relay->arena);
    buf_release(&relay->json);
    mem_free(relay);
}

static bool holds_turn(struct sink_relay *relay)
{
    struct membership *membership = relay->options.membership;
    struct lease_fence turn = {0};
    if (membership == NULL)
        return true;
    bool held = membership_holds(membership, relay->options.lease, &turn);
    if (turn.epoch != relay->turn.epoch)
        leave(relay);
    relay->turn = turn;
    return held;
}

/* ---- the row in the store ---- */

static void log_store(const struct sink_relay *relay, enum rc rc, const struct err *err)
{
    if (rc != RC_UNREACHABLE && rc != RC_BUSY && rc != RC_STALE) /* Those are logged elsewhere. */
        LOG(LOG_ERROR, "the relay of a sink cannot use the store",
            LOG_STR("sink", relay->options.config->name), LOG_STR("error", err->text));
}

struct change {
    bool make; /* The sink is new. */
    int64_t cursor_seq;
    const char *error;
    const struct sink_dead_letter *refused;
};

/* May be repeated when the store did not answer: it may have been committed. */
static enum rc change_row(struct sink_relay *relay, const struct change *change)
{
    struct cmd_sink *cmd = cmd_sink_new();
    cmd->turn = relay->turn;
    cmd->make = change->make;
    cmd->row = (struct sink_row){.name = relay->options.config->name,
                                 .cursor_seq = change->cursor_seq,
                                 .last_error = change->error};
    cmd->refused = change->refused;
    enum rc rc = relay->options.call(relay->options.ctx, &cmd->base);
    if (rc == RC_OK) {
        relay->stored_seq = change->cursor_seq;
        text_copy(relay->error, sizeof relay->error, change->error != NULL ? change->error : "");
    } else {
        log_store(relay, rc, &cmd->base.err);
    }
    if (rc == RC_STALE && relay->options.membership != NULL)
        membership_fenced(relay->options.membership, &relay->turn);
    if (rc == RC_STALE || rc == RC_CONFLICT)
        leave(relay);
    command_free(&cmd->base);
    return rc;
}

static enum rc make_row(struct sink_relay *relay, struct err *err)
{
    struct settled end = {.after_seq = 0};
    enum rc rc = RC_OK;
    if (relay->options.config->from_end) {
        end = relay->cursor; /* What an earlier try has found out. */
        rc = settled_last(relay->db, &end, err);
        relay->cursor = end;
    }
    return rc == RC_OK
               ? change_row(relay, &(struct change){.make = true, .cursor_seq = end.after_seq})
               : rc;
}

static enum rc load(struct sink_relay *relay)
{
    struct arena arena = {0};
    struct err err = {0};
    struct sink_row row = {0};
    const char *name = relay->options.config->name;
    enum rc rc = RC_OK;
    if (relay->db == NULL)
        rc = store_reader_open(relay->options.store, &relay->db, &err);
    if (rc == RC_OK)
        rc = sinks_get(relay->db, name, &arena, &row, &err);
    if (rc == RC_NOT_FOUND) {
        rc = make_row(relay, &err);
        if (rc == RC_OK)
            rc = sinks_get(relay->db, name, &arena, &row, &err);
    }
    if (rc == RC_OK) {
        relay->cursor = (struct settled){.after_seq = row.cursor_seq};
        relay->stored_seq = row.cursor_seq;
        text_copy(relay->error, sizeof relay->error, row.last_error != NULL ? row.last_error : "");
        relay->loaded = true;
    } else {
        log_store(relay, rc, &err);
    }
    arena_release(&arena);
    return rc;
}

/* ---- failures ---- */

/* An error that is new is stored; the first one in a row is logged, too. */
static int64_t fail(struct sink_relay *relay, const struct err *why)
{
    const struct sink_config *config = relay->options.config;
    struct change change = {.cursor_seq = relay->stored_seq, .error = why->text};
    int64_t pause_us = backoff_delay_us(&pauses, ++relay->failures,
                                        random_next(&relay->options.random));
    if (why->retry_ms * US_PER_MS > pause_us)
        pause_us = why->retry_ms * US_PER_MS;
    relay->retry_us = clock_now_us(&relay->options.clock) + pause_us;
    if (relay->failures == 1)
        LOG(LOG_WARN, "a sink failed: its events are kept until it accepts them",
            LOG_STR("sink", config->name), LOG_STR("type", config->ops->type),
            LOG_STR("error", why->text));
    if (!text_same(why->text, relay->error))
        (void)!change_row(relay, &change);
    return pause_us;
}

static void recover(struct sink_relay *relay)
{
    if (relay->failures > 0)
        LOG(LOG_INFO, "a sink works again", LOG_STR("sink", relay->options.config->name),
            LOG_INT("failures", relay->failures));
    relay->failures = 0;
    relay->retry_us = 0;
}

/* ---- one batch ---- */

/* Takes the events that the sink wants, as many as fit. */
static void fill(struct sink_relay *relay, struct event *events, size_t count)
{
    struct batch *batch = relay->batch;
    buf_clear(&relay->json);
    for (size_t i = 0; i < count && !batch->too_large; i++) {
        if (sink_wants(relay->options.config, events[i].type)) {
            size_t len = relay->json.len;
            struct jw jw = jw_to(&relay->json);
            event_write(&jw, &events[i]);
            if (relay->json.overflow) {
                buf_cut(&relay->json, len);
                batch->more = true;
                batch->too_large = batch->count == 0;
                if (!batch->too_large)
                    break;
            }
            struct sink_record *record = &batch->records[batch->count++];
            record->event = &events[i];
            record->json.len = relay->json.len - len;
        }
        batch->end_seq = events[i].seq;
    }
    const char *at = relay->json.data;
    for (size_t i = 0; i < batch->count; i++) { /* Not before: the buffer moves as it grows. */
        batch->records[i].json.at = at;
        at += batch->records[i].json.len;
    }
}

static void deliver(struct sink_relay *relay)
{
    struct batch *batch = relay->batch;
    struct sink_outcome *outcome = &batch->outcome;
    if (batch->too_large) {
        outcome->verdict = SINK_REFUSED;
        (void)!err_set(&outcome->why, RC_TOO_LARGE, "EVENT_TOO_LARGE",
                       "the event has more than %d bytes as JSON", SINK_BATCH_BYTES);
    } else if (batch->count > 0) {
        *outcome = relay->options.config->ops->deliver(relay->sink, batch->records, batch->count);
    }
    assert(outcome->verdict == SINK_DELIVERED || outcome->delivered < batch->count);
}

static enum rc move_cursor(struct sink_relay *relay)
{
    const struct batch *batch = relay->batch;
    const struct sink_outcome *outcome = &batch->outcome;
    const struct sink_record *next = &batch->records[outcome->delivered];
    struct change change = {.cursor_seq = relay->stored_seq};
    struct sink_dead_letter letter;
    if (outcome->verdict == SINK_DELIVERED) {
        change.cursor_seq = batch->end_seq;
    } else if (outcome->verdict == SINK_REFUSED) {
        const struct event *event = next->event;
        change.cursor_seq = event->seq;
        letter = (struct sink_dead_letter){.seq = event->seq,
                                           .event_id = event->id,
                                           .event_type = event->type,
                                           .code = outcome->why.code,
                                           .message = outcome->why.text};
        change.refused = &letter;
    } else if (outcome->delivered > 0) {
        change.cursor_seq = next[-1].event->seq;
    }
    bool moves = change.cursor_seq != relay->stored_seq;
    if (!moves && (outcome->verdict == SINK_RETRY || relay->error[0] == '\0'))
        return RC_OK;
    enum rc rc = change_row(relay, &change);
    if (rc == RC_OK && change.refused != NULL)
        LOG(LOG_ERROR, "a sink has refused an event for good: it is left out",
            LOG_STR("sink", relay->options.config->name), LOG_STR("id", letter.event_id.text),
            LOG_INT("seq", letter.seq), LOG_STR("error", letter.message));
    return rc;
}

/* Handles the outcome of the batch; how long until the next round. */
static int64_t finish(struct sink_relay *relay)
{
    enum rc rc = move_cursor(relay);
    if (rc != RC_OK) /* The batch is not delivered again, unless the turn was lost. */
        return rc == RC_BUSY ? GAP_US : STORE_US;
    const struct batch batch = *relay->batch;
    relay->batch = NULL;
    if (batch.outcome.verdict != SINK_RETRY || batch.outcome.delivered > 0)
        recover(relay);
    if (batch.outcome.verdict != SINK_DELIVERED || relay->cursor.after_seq != relay->stored_seq)
        relay->cursor = (struct settled){.after_seq = relay->stored_seq};
    if (batch.outcome.verdict == SINK_RETRY)
        return fail(relay, &batch.outcome.why);
    if (batch.more || batch.outcome.verdict == SINK_REFUSED)
        return 0;
    return settled_waits(&relay->cursor) ? GAP_US : IDLE_US;
}

static int64_t relay_batch(struct sink_relay *relay)
{
    struct event *events;
    size_t count = 0;
    struct err err = {0};
    arena_release(&relay->arena);
    enum rc rc = settled_read(relay->db, &relay->cursor, SINK_BATCH_RECORDS, &relay->arena, &events,
                              &count, &err);
    if (rc != RC_OK) {
        log_store(relay, rc, &err);
        return STORE_US;
    }
    relay->batch = arena_array(&relay->arena, 1, sizeof *relay->batch);
    relay->batch->end_seq = relay->cursor.after_seq;
    relay->batch->more = count == SINK_BATCH_RECORDS;
    fill(relay, events, count);
    deliver(relay);
    return finish(relay);
}

int64_t sink_relay_round(struct sink_relay *relay)
{
    const struct sink_config *config = relay->options.config;
    struct err err = {0};
    if (!holds_turn(relay))
        return TURN_US;
    if (relay->batch != NULL)
        return finish(relay);
    int64_t left_us = relay->retry_us - clock_now_us(&relay->options.clock);
    if (relay->retry_us != 0 && left_us > 0)
        return left_us;
    enum rc rc = relay->loaded ? RC_OK : load(relay);
    if (rc != RC_OK)
        return rc == RC_BUSY ? GAP_US : STORE_US;
    if (relay->sink == NULL && config->ops->open(config->settings, &relay->sink, &err) != RC_OK)
        return fail(relay, &err);
    return relay_batch(relay);
}

/* ---- all sinks of a node ---- */

struct relay_thread {
    struct sink_relay *relay;
    pthread_t thread;
    bool running;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool woken, stopping;
};

struct sink_relays {
    struct relay_thread *items;
    size_t count;
};

static int64_t steady_now(void *ctx)
{
    (void)ctx;
    return clock_mono_us();
}

static enum rc call_committer(void *ctx, struct command *command)
{
    return committer_call(ctx, command);
}

/* False at the end. */
static bool rest(struct relay_thread *item, int64_t wait_us)
{
    struct timespec until = clock_mono_after(wait_us);
    pthread_mutex_lock(&item->lock);
    while (!item->woken && !item->stopping)
        if (pthread_cond_timedwait(&item->wake, &item->lock, &until) != 0)
            break;
    item->woken = false;
    bool more = !item->stopping;
    pthread_mutex_unlock(&item->lock);
    return more;
}

static void *relay_main(void *arg)
{
    struct relay_thread *item = arg;
    while (rest(item, sink_relay_round(item->relay))) {
    }
    return NULL;
}

static void thread_init(struct relay_thread *item, const struct sink_relay_options *options)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&item->lock, NULL);
    pthread_cond_init(&item->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    item->relay = sink_relay_new(options);
}

struct sink_relays *sink_relays_new(const struct sink_relays_options *options)
{
    struct sink_relays *relays = mem_alloc(sizeof *relays);
    relays->count = options->configs->count;
    relays->items = mem_array(relays->count + 1, sizeof *relays->items);
    for (size_t i = 0; i < relays->count; i++) {
        struct sink_relay_options one = {
            .config = &options->configs->items[i],
            .store = options->store,
            .membership = options->membership,
            .lease = options->membership != NULL ? options->leases[i] : NULL,
            .clock = {steady_now, NULL},
            .random = random_split(options->random),
            .call = call_committer,
            .ctx = options->committer,
        };
        thread_init(&relays->items[i], &one);
    }
    return relays;
}

enum rc sink_relays_start(struct sink_relays *relays, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < relays->count; i++) {
        struct relay_thread *item = &relays->items[i];
        rc = thread_start(&(struct thread_spec){.body = relay_main, .ctx = item}, &item->thread,
                          err);
        item->running = rc == RC_OK;
    }
    return rc;
}

void sink_relays_wake(struct sink_relays *relays)
{
    for (size_t i = 0; i < relays->count; i++) {
        struct relay_thread *item = &relays->items[i];
        pthread_mutex_lock(&item->lock);
        item->woken = true;
        pthread_cond_signal(&item->wake);
        pthread_mutex_unlock(&item->lock);
    }
}

void sink_relays_stop(struct sink_relays *relays)
{
    for (size_t i = 0; relays != NULL && i < relays->count; i++) {
        struct relay_thread *item = &relays->items[i];
        pthread_mutex_lock(&item->lock);
        item->stopping = true;
        pthread_cond_signal(&item->wake);
        pthread_mutex_unlock(&item->lock);
    }
    for (size_t i = 0; relays != NULL && i < relays->count; i++) {
        struct relay_thread *item = &relays->items[i];
        if (item->running)
            pthread_join(item->thread, NULL);
        item->running = false;
    }
}

void sink_relays_free(struct sink_relays *relays)
{
    if (relays == NULL)
        return;
    for (size_t i = 0; i < relays->count; i++) {
        struct relay_thread *item = &relays->items[i];
        sink_relay_free(item->relay);
        pthread_cond_destroy(&item->wake);
        pthread_mutex_destroy(&item->lock);
    }
    mem_free(relays->items);
    mem_free(relays);
}
