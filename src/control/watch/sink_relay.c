#include "control/watch/sink_relay.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "control/watch/sinks.h"
#include "core/queue/backoff.h"
#include "core/queue/breaker.h"
#include "store/events.h"
#include "store/settled.h"
#include <assert.h>

enum { REPLAY_LETTERS = 64 }; /* In one batch. */

/* Without a wake-up, which can be lost between nodes. */
#define IDLE_US (60 * US_PER_SECOND)
/* Until the turn at the sink may come. */
#define TURN_US US_PER_SECOND
/* Until a gap in the log may be filled (settled.h). */
#define GAP_US (20 * US_PER_MS)
/* Of a store that does not answer. */
#define STORE_US US_PER_SECOND
/* A receiver may ask for a pause, up to this. */
#define RETRY_AFTER_US (5 * US_PER_MINUTE)

static const struct backoff pauses = {
    .base_us = 200 * US_PER_MS, .max_us = 30 * US_PER_SECOND, .jitter_us = 200 * US_PER_MS};

/* The pauses soon are longer than open_us; half-open, one event is a probe. */
static const struct breaker_rules breaker_rules = {.failures = 5,
                                                   .window_us = US_PER_MINUTE,
                                                   .open_us = 5 * US_PER_SECOND,
                                                   .successes = 1,
                                                   .probes = 1};

struct batch {
    struct sink_record records[SINK_BATCH_RECORDS];
    size_t count;
    struct sink_dead_letter *letters; /* The records are these, replayed; NULL: of the log. */
    int64_t end_seq;                  /* The cursor when all records are delivered. */
    bool more;                        /* Events were read that do not fit, or may follow. */
    bool too_large;                   /* The only record is an event that does not fit alone. */
    struct sink_outcome outcome;
};

struct sink_relay {
    struct sink_relay_options options;
    struct lease_fence turn;
    bool loaded; /* In this turn: the row is as in the store. */
    bool over;   /* The row has another revision, or is gone. */
    struct settled cursor;
    struct sink_row stored;   /* Cursor, counts and identity; its texts are not used, */
    char error[ERR_TEXT_MAX]; /* but for the last error; "": none. */
    bool replays;             /* Dead letters may wait to be replayed. */
    struct db *db;            /* For reading; NULL until first used. */
    void *sink;               /* NULL: not open. */
    struct breaker breaker;
    int64_t failures;    /* In a row. */
    int64_t retry_us;    /* Not before; 0: at once. */
    struct batch *batch; /* Published, and the cursor not moved yet; or NULL. */
    struct arena arena;  /* Of the batch, with its events, */
    struct buf json;     /* and their JSON. */
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
    const char *error; /* NULL: none */
    int64_t delivered, refused, retries;
    const struct sink_dead_letter *letter; /* Refused now. */
    const struct sink_dead_letter *letters;
    size_t letters_delivered;
    const struct sink_dead_letter *letter_again;
};

static struct sink_row changed_row(const struct sink_relay *relay, const struct change *change)
{
    struct sink_row row = relay->stored;
    row.name = relay->options.config->name;
    row.cursor_seq = change->cursor_seq;
    row.last_error = change->error;
    row.breaker_open = relay->breaker.state != BREAKER_CLOSED;
    row.delivered += change->delivered;
    row.refused += change->refused;
    row.retries += change->retries;
    return row;
}

/* May be repeated when the store did not answer: it may have been committed. */
static enum rc change_row(struct sink_relay *relay, const struct change *change)
{
    struct cmd_sink *cmd = cmd_sink_new();
    const struct sink_row row = changed_row(relay, change);
    cmd->turn = relay->turn;
    cmd->make = change->make;
    cmd->row = row;
    cmd->refused = change->letter;
    cmd->letters = change->letters;
    cmd->delivered = change->letters_delivered;
    cmd->again = change->letter_again;
    enum rc rc = relay->options.call(relay->options.ctx, &cmd->base);
    if (rc == RC_OK) {
        relay->stored = row;
        relay->stored.dead_letters += (change->letter != NULL) - (int64_t)change->letters_delivered;
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

static enum rc make_row(struct sink_relay *relay, struct arena *arena, struct err *err)
{
    int64_t seq = 0;
    enum rc rc = sink_from_seq(relay->db, &relay->options.config->from, arena, &seq, err);
    if (rc == RC_NOT_FOUND) {
        struct settled end = relay->cursor; /* What an earlier try has found out. */
        rc = settled_last(relay->db, &end, err);
        relay->cursor = end;
        seq = end.after_seq;
    }
    relay->stored = (struct sink_row){0};
    return rc == RC_OK ? change_row(relay, &(struct change){.make = true, .cursor_seq = seq}) : rc;
}

static void take_row(struct sink_relay *relay, const struct sink_row *row)
{
    relay->cursor = (struct settled){.after_seq = row->cursor_seq};
    relay->stored = *row;
    relay->stored.config = (struct str){0};
    text_copy(relay->error, sizeof relay->error, row->last_error != NULL ? row->last_error : "");
    relay->replays = row->dead_letters > 0;
    relay->loaded = true;
}

/* For its maker to look at the rows again. */
static void end_here(struct sink_relay *relay)
{
    leave(relay);
    relay->over = true;
    if (relay->options.changed != NULL)
        relay->options.changed(relay->options.changed_ctx);
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
    bool gone = rc == RC_NOT_FOUND && relay->options.made;
    if (rc == RC_NOT_FOUND && !gone) {
        rc = make_row(relay, &arena, &err);
        if (rc == RC_OK)
            rc = sinks_get(relay->db, name, &arena, &row, &err);
    }
    if (gone || (rc == RC_OK && row.revision != relay->options.revision))
        end_here(relay);
    else if (rc == RC_OK)
        take_row(relay, &row);
    else
        log_store(relay, rc, &err);
    arena_release(&arena);
    return rc;
}

/* Is it still the sink that was loaded? */
static enum rc check_revision(struct sink_relay *relay)
{
    struct err err = {0};
    int64_t revision = 0;
    enum rc rc = sinks_revision(relay->db, relay->options.config->name, relay->stored.created_us,
                                &revision, &err);
    if (rc == RC_NOT_FOUND && !relay->options.made)
        leave(relay); /* The next round makes it anew. */
    else if (rc == RC_NOT_FOUND || (rc == RC_OK && revision != relay->options.revision))
        end_here(relay);
    else if (rc != RC_OK)
        log_store(relay, rc, &err);
    return rc;
}

/* ---- failures ---- */

static struct breaker_step step_breaker(struct sink_relay *relay, enum breaker_event event)
{
    const struct breaker_input input = {.event = event,
                                        .now_us = clock_now_us(&relay->options.clock)};
    struct breaker_step step = breaker_step(&relay->breaker, &breaker_rules, &input);
    relay->breaker = step.next;
    return step;
}

static int64_t pause_after(struct sink_relay *relay, const struct err *why)
{
    int64_t now_us = clock_now_us(&relay->options.clock);
    int64_t wish_us = why->retry_ms * US_PER_MS;
    int64_t pause_us = backoff_delay_us(&pauses, relay->failures,
                                        random_next(&relay->options.random));
    if (wish_us > RETRY_AFTER_US)
        wish_us = RETRY_AFTER_US;
    if (wish_us > pause_us)
        pause_us = wish_us;
    if (relay->breaker.state == BREAKER_OPEN && relay->breaker.open_until_us - now_us > pause_us)
        pause_us = relay->breaker.open_until_us - now_us;
    relay->retry_us = now_us + pause_us;
    return pause_us;
}

/* Each one is counted; the first one in a row is logged, too. */
static int64_t fail(struct sink_relay *relay, const struct err *why)
{
    const struct sink_config *config = relay->options.config;
    relay->failures++;
    (void)step_breaker(relay, BREAKER_EV_FAILURE);
    int64_t pause_us = pause_after(relay, why);
    if (relay->failures == 1)
        LOG(LOG_WARN, "a sink failed: its events are kept until it accepts them",
            LOG_STR("sink", config->name), LOG_STR("type", config->ops->type),
            LOG_STR("error", why->text));
    (void)!change_row(
        relay,
        &(struct change){.cursor_seq = relay->stored.cursor_seq, .error = why->text, .retries = 1});
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
        if (batch->letters != NULL || sink_wants(relay->options.config, events[i].type)) {
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
    assert(outcome->verdict == SINK_DELIVERED ? outcome->delivered <= batch->count
                                              : outcome->delivered < batch->count);
    assert(outcome->verdict != SINK_DELIVERED || outcome->delivered > 0 || batch->count == 0);
    if (outcome->verdict == SINK_REFUSED && batch->letters == NULL &&
        relay->stored.dead_letters >= SINK_LETTERS_MAX) {
        outcome->verdict = SINK_RETRY;
        (void)!err_set(&outcome->why, RC_LIMIT, "TOO_MANY_DEAD_LETTERS",
                       "the sink has refused %d events: replay or discard its dead letters, then "
                       "it continues",
                       SINK_LETTERS_MAX);
    }
    if (batch->count > 0 && (outcome->verdict != SINK_RETRY || outcome->delivered > 0)) {
        (void)step_breaker(relay, BREAKER_EV_SUCCESS);
        (void)step_breaker(relay, BREAKER_EV_RESET); /* Failures in a row count, not all of them. */
    }
}

/* Where the cursor stands after the outcome. */
static int64_t cursor_after(const struct sink_relay *relay)
{
    const struct batch *batch = relay->batch;
    const struct sink_outcome *outcome = &batch->outcome;
    if (batch->letters != NULL)
        return relay->stored.cursor_seq;
    if (outcome->verdict == SINK_REFUSED)
        return batch->records[outcome->delivered].event->seq;
    if (outcome->verdict == SINK_DELIVERED && outcome->delivered == batch->count)
        return batch->end_seq;
    return outcome->delivered > 0 ? batch->records[outcome->delivered - 1].event->seq
                                  : relay->stored.cursor_seq;
}

static struct sink_dead_letter make_letter(const struct sink_relay *relay)
{
    const struct sink_outcome *outcome = &relay->batch->outcome;
    const struct event *event = relay->batch->records[outcome->delivered].event;
    return (struct sink_dead_letter){.sink = relay->options.config->name,
                                     .seq = event->seq,
                                     .event_id = event->id,
                                     .event_type = event->type,
                                     .code = outcome->why.code,
                                     .message = outcome->why.text};
}

static enum rc move_cursor(struct sink_relay *relay)
{
    const struct batch *batch = relay->batch;
    const struct sink_outcome *outcome = &batch->outcome;
    bool refused = outcome->verdict == SINK_REFUSED;
    struct sink_dead_letter letter = {0};
    struct change change = {.cursor_seq = cursor_after(relay),
                            .delivered = (int64_t)outcome->delivered,
                            .refused = refused};
    if (refused)
        letter = make_letter(relay);
    if (batch->letters != NULL) {
        change.letters = batch->letters;
        change.letters_delivered = outcome->delivered;
        change.letter_again = refused ? &letter : NULL;
    } else if (refused) {
        change.letter = &letter;
    }
    bool moves = change.cursor_seq != relay->stored.cursor_seq || outcome->delivered > 0 || refused;
    bool heals = relay->error[0] != '\0' || relay->stored.breaker_open;
    if (!moves && (outcome->verdict == SINK_RETRY || !heals))
        return RC_OK;
    enum rc rc = change_row(relay, &change);
    if (rc == RC_OK && refused)
        LOG(LOG_ERROR, "a sink has refused an event for good: it is a dead letter now",
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
    const struct sink_outcome *outcome = &batch.outcome;
    relay->batch = NULL;
    if (outcome->verdict != SINK_RETRY || outcome->delivered > 0)
        recover(relay);
    if (outcome->verdict != SINK_DELIVERED || relay->cursor.after_seq != relay->stored.cursor_seq)
        relay->cursor = (struct settled){.after_seq = relay->stored.cursor_seq};
    if (outcome->verdict == SINK_RETRY)
        return fail(relay, &outcome->why);
    if (batch.more || outcome->delivered < batch.count)
        return 0;
    return settled_waits(&relay->cursor) ? GAP_US : IDLE_US;
}

static struct batch *new_batch(struct sink_relay *relay)
{
    struct batch *batch = arena_array(&relay->arena, 1, sizeof *batch);
    batch->end_seq = relay->cursor.after_seq;
    return batch;
}

static int64_t relay_batch(struct sink_relay *relay)
{
    struct event *events;
    size_t count = 0;
    struct err err = {0};
    int64_t limit = relay->breaker.state == BREAKER_CLOSED ? SINK_BATCH_RECORDS : 1;
    enum rc rc = settled_read(relay->db, &relay->cursor, limit, &relay->arena, &events, &count,
                              &err);
    if (rc != RC_OK) {
        log_store(relay, rc, &err);
        return STORE_US;
    }
    relay->batch = new_batch(relay);
    relay->batch->more = count == (size_t)limit;
    fill(relay, events, count);
    deliver(relay);
    return finish(relay);
}

/* ---- replay ---- */

/* Letters that are to be replayed, */
struct letters {
    struct sink_dead_letter *items;
    struct event *events; /* and their events, as many as are still in the log. */
    size_t count;
    size_t gone;
};

/* The letter is marked, so that it is not tried again. */
static enum rc mark_gone(struct sink_relay *relay, struct sink_dead_letter letter)
{
    letter.code = "EVENT_GONE";
    letter.message = "the event is no longer in the log";
    letter.replay = false;
    return change_row(relay, &(struct change){.cursor_seq = relay->stored.cursor_seq,
                                              .error = relay->error[0] ? relay->error : NULL,
                                              .letter_again = &letter});
}

static enum rc read_letters(struct sink_relay *relay, struct letters *ret_letters, struct err *err)
{
    struct letters letters = {
        .events = arena_array(&relay->arena, REPLAY_LETTERS, sizeof *letters.events)};
    size_t count = 0;
    struct sink_letter_filter filter = {
        .sink = relay->options.config->name, .replay_only = true, .limit = REPLAY_LETTERS};
    enum rc rc = sink_letters_list(relay->db, &filter, &relay->arena, &letters.items, &count, err);
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        struct event_filter one = {
            .after_seq = letters.items[i].seq - 1, .until_seq = letters.items[i].seq, .limit = 1};
        struct event *event = NULL;
        size_t found = 0;
        rc = events_list(relay->db, &one, &relay->arena, &event, &found, err);
        if (rc == RC_OK && found == 1) {
            letters.items[letters.count] = letters.items[i];
            letters.events[letters.count++] = *event;
        } else if (rc == RC_OK) {
            letters.gone++;
            rc = mark_gone(relay, letters.items[i]);
        }
    }
    if (rc == RC_OK)
        *ret_letters = letters;
    return rc;
}

static int64_t replay_batch(struct sink_relay *relay)
{
    struct letters letters;
    struct err err = {0};
    enum rc rc = read_letters(relay, &letters, &err);
    if (rc != RC_OK) {
        log_store(relay, rc, &err);
        return STORE_US;
    }
    relay->replays = letters.count > 0 || letters.gone > 0;
    if (letters.count == 0)
        return 0;
    relay->batch = new_batch(relay);
    relay->batch->letters = letters.items;
    relay->batch->more = true;
    fill(relay, letters.events, relay->breaker.state == BREAKER_CLOSED ? letters.count : 1);
    deliver(relay);
    return finish(relay);
}

/* ---- rounds ---- */

/* Store and sink are ready; *ret_wait_us: else how long until the next round. */
static bool prepare(struct sink_relay *relay, int64_t *ret_wait_us)
{
    const struct sink_config *config = relay->options.config;
    struct err err = {0};
    enum rc rc = relay->loaded ? check_revision(relay) : load(relay);
    *ret_wait_us = rc == RC_BUSY ? GAP_US : STORE_US;
    if (relay->over)
        *ret_wait_us = IDLE_US;
    if (rc != RC_OK || relay->over)
        return false;
    struct breaker_step step = step_breaker(relay, BREAKER_EV_ASK);
    if (!step.allowed) {
        *ret_wait_us = step.until_us - clock_now_us(&relay->options.clock);
        return false;
    }
    if (relay->sink == NULL && config->ops->open(config->settings, &relay->sink, &err) != RC_OK) {
        *ret_wait_us = fail(relay, &err);
        return false;
    }
    return true;
}

int64_t sink_relay_round(struct sink_relay *relay)
{
    int64_t wait_us = 0;
    if (relay->over)
        return IDLE_US;
    if (!holds_turn(relay))
        return TURN_US;
    if (relay->batch != NULL)
        return finish(relay);
    int64_t left_us = relay->retry_us - clock_now_us(&relay->options.clock);
    if (relay->retry_us != 0 && left_us > 0)
        return left_us;
    if (!prepare(relay, &wait_us))
        return wait_us;
    arena_release(&relay->arena);
    return relay->replays ? replay_batch(relay) : relay_batch(relay);
}
