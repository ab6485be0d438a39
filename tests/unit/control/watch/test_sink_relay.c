/*
 * test_sink_relay.c - what the relay of a sink decides, in virtual time: a real log and committer,
 * and a sink that does as it is told.
 */
#include "control/watch/sink_relay.h"
#include "control/watch/sinks.h"
#include "core/event_types.h"
#include "store/events.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

enum { SEEN_MAX = 4000 };

/* One sink, and what it got. */
static struct probe {
    struct lab lab;
    struct random random;
    struct sink_config config;
    struct sink_relay *relay;
    int64_t seen[SEEN_MAX]; /* In order. */
    size_t seen_count;
    size_t accepts;   /* Records that it takes before it fails; SIZE_MAX: all. */
    bool refuses;     /* It fails for good. */
    bool closed;      /* It cannot be opened. */
    int64_t retry_ms; /* The receiver's own wish. */
    int opened, publishes;
    size_t last_count;  /* Records in the last call. */
    size_t stops;       /* It takes so many at a time, without a failure; 0: all. */
    int changed;        /* So often the relay has found another revision. */
    enum rc call_fails; /* The next commands are not applied, and end with this. */
    int calls;
} probe;

static const char broken[] = "the far side is down";

static enum rc probe_open(const void *settings, void **ret_sink, struct err *err)
{
    (void)settings;
    probe.opened++;
    if (probe.closed)
        return err_set(err, RC_IO, "IO_ERROR", "%s", broken);
    *ret_sink = &probe;
    return RC_OK;
}

static struct sink_outcome probe_publish(void *sink, const struct sink_record *records,
                                         size_t count)
{
    ck_assert_ptr_eq(sink, &probe);
    struct sink_outcome outcome = {.verdict = SINK_DELIVERED, .delivered = count};
    probe.publishes++;
    probe.last_count = count;
    if (probe.stops > 0 && probe.stops < count && probe.accepts == SIZE_MAX)
        outcome.delivered = probe.stops;
    if (count > probe.accepts) {
        outcome.delivered = probe.accepts;
        outcome.verdict = probe.refuses ? SINK_REFUSED : SINK_RETRY;
        (void)!err_set(&outcome.why, RC_IO, "DOWN", "%s", broken);
        outcome.why.retry_ms = probe.retry_ms;
    }
    for (size_t i = 0; i < outcome.delivered; i++) {
        ck_assert_uint_lt(probe.seen_count, SEEN_MAX);
        ck_assert_int_eq(records[i].json.at[0], (int)'{');
        ck_assert_ptr_nonnull(memmem(records[i].json.at, records[i].json.len,
                                     records[i].event->id.text, ID_TEXT_BYTES - 1));
        probe.seen[probe.seen_count++] = records[i].event->seq;
    }
    return outcome;
}

static void probe_close(void *sink)
{
    ck_assert_ptr_eq(sink, &probe);
}

static const struct sink_ops probe_ops = {
    .type = "probe", .open = probe_open, .deliver = probe_publish, .close = probe_close};

static int64_t probe_now(void *ctx)
{
    (void)ctx;
    return probe.lab.now_us;
}

static enum rc probe_call(void *ctx, struct command *command)
{
    probe.calls++;
    return probe.call_fails != RC_OK ? probe.call_fails : lab_call(ctx, command);
}

static void probe_changed(void *ctx)
{
    ck_assert_ptr_eq(ctx, &probe);
    probe.changed++;
}

/* The revision of the row; 0: there is none. */
static int64_t revision_of(const char *name)
{
    struct err err = {0};
    struct sink_row row = {0};
    (void)!sinks_get(probe.lab.db, name, &probe.lab.arena, &row, &err);
    return row.revision;
}

/* As after a start of the server. */
static void relay_anew(void)
{
    sink_relay_free(probe.relay);
    probe.relay = sink_relay_new(&(struct sink_relay_options){.config = &probe.config,
                                                              .revision = revision_of("probe"),
                                                              .changed = probe_changed,
                                                              .changed_ctx = &probe,
                                                              .store = probe.lab.store,
                                                              .clock = {probe_now, NULL},
                                                              .random = random_seeded(3),
                                                              .call = probe_call,
                                                              .ctx = &probe.lab});
}

static void setup(void)
{
    memset(&probe, 0, sizeof probe);
    lab_open(&probe.lab, NULL);
    probe.random = random_seeded(1);
    probe.accepts = SIZE_MAX;
    probe.config = (struct sink_config){.name = "probe", .ops = &probe_ops};
    relay_anew();
}

static void teardown(void)
{
    sink_relay_free(probe.relay);
    lab_close(&probe.lab);
}

static void append(const char *type, struct str data)
{
    struct err err = {0};
    struct event event = {
        .id = id_new(probe.lab.now_us, &probe.random),
        .type = type,
        .version = 1,
        .time_us = probe.lab.now_us,
        .actor = {"system", "drover"},
        .data = data,
    };
    ck_assert_msg(events_append(probe.lab.db, &event, &err) == RC_OK, "%s", err.text);
}

static void append_many(int count)
{
    for (int i = 0; i < count; i++)
        append(EV_RUN_STARTED, STR("{}"));
}

/* Rounds until it waits; how long. */
static int64_t relay_all(void)
{
    for (int i = 0; i < 1000; i++) {
        int64_t wait_us = sink_relay_round(probe.relay);
        if (wait_us > 0)
            return wait_us;
    }
    ck_abort_msg("it never comes to rest");
}

static struct sink_view look(void)
{
    struct err err = {0};
    struct sink_view view;
    enum rc rc = sink_look(probe.lab.db, "probe", probe.lab.now_us, &probe.lab.arena, &view, &err);
    ck_assert_msg(rc == RC_OK, "%s", err.text);
    return view;
}

/* Exactly these events, each one once and in order. */
static void assert_seen(int64_t first, int64_t last)
{
    ck_assert_int_eq((int64_t)probe.seen_count, last - first + 1);
    for (size_t i = 0; i < probe.seen_count; i++)
        ck_assert_int_eq(probe.seen[i], first + (int64_t)i);
}

START_TEST(every_event_is_published_in_order_and_the_cursor_follows)
{
    ck_assert_int_eq(look().state, SINK_STARTING);
    append_many(1000); /* More than fit into a batch. */
    ck_assert_int_ge(relay_all(), US_PER_SECOND);
    assert_seen(1, 1000);
    ck_assert_int_eq(look().state, SINK_RUNNING);
    ck_assert_int_eq(look().row.cursor_seq, 1000);
    append_many(2);
    ck_assert_int_eq(look().lag, 2);
    probe.lab.now_us += 3 * US_PER_SECOND;
    ck_assert_int_eq(look().lag_us, 3 * US_PER_SECOND);
    (void)relay_all();
    assert_seen(1, 1002);
    ck_assert_int_eq(look().lag, 0);
    ck_assert_int_eq(look().lag_us, 0);
}
END_TEST

START_TEST(without_new_events_nothing_is_written)
{
    append_many(3);
    (void)relay_all();
    int calls = probe.calls;
    for (int i = 0; i < 10; i++)
        (void)sink_relay_round(probe.relay);
    ck_assert_int_eq(probe.calls, calls);
}
END_TEST

START_TEST(a_sink_may_start_at_the_end_of_the_log)
{
    probe.config.from.kind = SINK_FROM_END;
    append_many(5);
    (void)relay_all();
    ck_assert_uint_eq(probe.seen_count, 0);
    ck_assert_int_eq(look().row.cursor_seq, 5);
    append_many(2);
    relay_anew(); /* The end is that of the first start. */
    append_many(1);
    (void)relay_all();
    assert_seen(6, 8);
}
END_TEST

START_TEST(events_that_a_sink_does_not_want_are_passed_over)
{
    probe.config.types[0] = "agent.task.*";
    append_many(300);
    append(EV_TASK_ACCEPTED, STR("{}"));
    append_many(3);
    (void)relay_all();
    assert_seen(301, 301);
    ck_assert_int_eq(look().row.cursor_seq, 304);
}
END_TEST

START_TEST(after_a_restart_it_goes_on_at_its_cursor)
{
    append_many(10);
    (void)relay_all();
    relay_anew();
    append_many(10);
    (void)relay_all();
    assert_seen(1, 20);
}
END_TEST

START_TEST(a_failure_is_retried_after_pauses_that_grow)
{
    append_many(10);
    probe.accepts = 0;
    int64_t last_us = 0;
    for (int i = 0; i < 12; i++) {
        int64_t wait_us = relay_all();
        int publishes = probe.publishes;
        ck_assert_int_eq(publishes, i + 1);
        if (i < 7)
            ck_assert_int_gt(wait_us, last_us);
        ck_assert_int_le(wait_us, 30 * US_PER_SECOND);
        probe.lab.now_us += wait_us / 2; /* A new event wakes it, and does not shorten the pause. */
        ck_assert_int_eq(relay_all(), wait_us - wait_us / 2);
        ck_assert_int_eq(probe.publishes, publishes);
        probe.lab.now_us += wait_us - wait_us / 2;
        last_us = wait_us;
    }
    ck_assert_int_eq(last_us, 30 * US_PER_SECOND);
    ck_assert_int_eq(look().state, SINK_OPEN);
    ck_assert_str_eq(look().row.last_error, broken);
    ck_assert_int_eq(look().row.cursor_seq, 0);
    ck_assert_int_eq(look().row.retries, 12);
    ck_assert_uint_eq(probe.last_count, 1); /* A probe. */
    probe.accepts = SIZE_MAX;
    (void)relay_all();
    assert_seen(1, 10);
    ck_assert_int_eq(look().state, SINK_RUNNING);
    ck_assert_ptr_null(look().row.last_error);
    append_many(1);
    probe.accepts = 0;
    ck_assert_int_lt(relay_all(), US_PER_SECOND); /* From the start again. */
}
END_TEST

START_TEST(a_receiver_may_ask_for_a_longer_pause)
{
    append_many(1);
    probe.accepts = 0;
    probe.retry_ms = 90 * 1000;
    ck_assert_int_eq(relay_all(), 90 * US_PER_SECOND);
}
END_TEST

START_TEST(what_was_published_before_a_failure_is_not_published_again)
{
    append_many(10);
    probe.accepts = 4;
    probe.lab.now_us += relay_all();
    ck_assert_int_eq(look().row.cursor_seq, 4);
    ck_assert_str_eq(look().row.last_error, broken);
    relay_anew();
    (void)relay_all();
    assert_seen(1, 8);
    probe.accepts = SIZE_MAX;
    relay_anew();
    (void)relay_all();
    assert_seen(1, 10);
}
END_TEST

START_TEST(an_event_that_is_refused_for_good_becomes_a_dead_letter)
{
    struct sink_dead_letter letter;
    struct err err = {0};
    append_many(10);
    probe.accepts = 4;
    probe.refuses = true;
    int64_t wait_us = sink_relay_round(probe.relay);
    ck_assert_int_eq(wait_us, 0); /* No pause: the next one may be welcome. */
    ck_assert_int_eq(look().row.cursor_seq, 5);
    probe.accepts = SIZE_MAX;
    (void)relay_all();
    ck_assert_uint_eq(probe.seen_count, 9);
    ck_assert_int_eq(probe.seen[3], 4);
    ck_assert_int_eq(probe.seen[4], 6);
    ck_assert_int_eq(look().row.dead_letters, 1);
    ck_assert_int_eq(look().state, SINK_RUNNING);
    ck_assert_int_eq(sinks_last_dead_letter(probe.lab.db, "probe", &probe.lab.arena, &letter, &err),
                     RC_OK);
    ck_assert_int_eq(letter.seq, 5);
    ck_assert_str_eq(letter.event_type, EV_RUN_STARTED);
    ck_assert_str_eq(letter.code, "DOWN");
    ck_assert_str_eq(letter.message, broken);
}
END_TEST

START_TEST(an_event_that_is_too_large_for_any_sink_becomes_a_dead_letter)
{
    size_t len = SINK_BATCH_BYTES;
    char *data = arena_array(&probe.lab.arena, len, 1);
    memset(data, 'x', len);
    memcpy(data, "{\"x\":\"", 6);
    memcpy(data + len - 2, "\"}", 2);
    append_many(2);
    append(EV_RUN_STARTED, (struct str){data, len});
    append_many(2);
    (void)relay_all();
    ck_assert_uint_eq(probe.seen_count, 4);
    ck_assert_int_eq(probe.seen[1], 2);
    ck_assert_int_eq(probe.seen[2], 4);
    ck_assert_int_eq(look().row.dead_letters, 1);
    ck_assert_int_eq(look().row.cursor_seq, 5);
}
END_TEST

START_TEST(events_that_do_not_fit_into_one_batch_are_published_in_several)
{
    size_t len = SINK_BATCH_BYTES / 3;
    char *data = arena_array(&probe.lab.arena, len, 1);
    memset(data, 'x', len);
    memcpy(data, "{\"x\":\"", 6);
    memcpy(data + len - 2, "\"}", 2);
    for (int i = 0; i < 7; i++)
        append(EV_RUN_STARTED, (struct str){data, len});
    (void)relay_all();
    assert_seen(1, 7);
    ck_assert_int_eq(probe.publishes, 4);
}
END_TEST

START_TEST(a_batch_whose_cursor_could_not_be_saved_is_not_published_again)
{
    append_many(10);
    (void)relay_all();
    append_many(10);
    probe.call_fails = RC_BUSY;
    for (int i = 0; i < 5; i++)
        (void)relay_all();
    ck_assert_int_eq(look().row.cursor_seq, 10);
    assert_seen(1, 20);
    append_many(1);
    probe.call_fails = RC_OK;
    (void)relay_all();
    (void)relay_all();
    assert_seen(1, 21);
    ck_assert_int_eq(look().row.cursor_seq, 21);
}
END_TEST

START_TEST(a_sink_that_cannot_be_opened_is_retried_and_its_error_is_cleared)
{
    probe.closed = true;
    probe.lab.now_us += relay_all();
    ck_assert_int_eq(look().state, SINK_RETRYING);
    ck_assert_str_eq(look().row.last_error, broken);
    probe.closed = false;
    (void)relay_all();
    ck_assert_int_eq(look().state, SINK_RUNNING); /* There was no event to prove it with. */
    ck_assert_int_eq(probe.opened, 2);
}
END_TEST

START_TEST(an_error_of_the_server_before_is_cleared_by_the_first_success)
{
    append_many(1);
    probe.accepts = 0;
    (void)relay_all();
    probe.accepts = SIZE_MAX;
    relay_anew();
    (void)relay_all();
    ck_assert_int_eq(look().state, SINK_RUNNING);
    assert_seen(1, 1);
}
END_TEST

START_TEST(what_a_sink_took_is_kept_when_it_asks_for_the_rest_again)
{
    append_many(10);
    probe.stops = 4;
    (void)relay_all();
    assert_seen(1, 10);
    ck_assert_int_eq(probe.publishes, 3);
    ck_assert_int_eq(look().row.delivered, 10);
    ck_assert_int_eq(look().row.retries, 0);
}
END_TEST

START_TEST(a_sink_may_start_at_a_sequence_or_a_time)
{
    struct sink_from places[] = {{SINK_FROM_SEQ, 6}, {SINK_FROM_TIME, 0}};
    append_many(5);
    probe.lab.now_us += US_PER_DAY;
    places[1].value = probe.lab.now_us;
    append_many(5);
    probe.config.from = places[_i];
    (void)relay_all();
    assert_seen(6, 10);
}
END_TEST

START_TEST(a_time_that_has_no_event_yet_is_the_end_of_the_log)
{
    append_many(5);
    probe.config.from = (struct sink_from){SINK_FROM_TIME, probe.lab.now_us + US_PER_DAY};
    (void)relay_all();
    append_many(1);
    (void)relay_all();
    assert_seen(6, 6);
}
END_TEST

/* ---- changes by the API ---- */

static void pause_sink(bool pause)
{
    struct cmd_sink_pause *cmd = cmd_sink_pause_new();
    cmd->name = "probe";
    cmd->pause = pause;
    ck_assert_int_eq(lab_call(&probe.lab, &cmd->base), RC_OK);
    ck_assert_int_eq(cmd->view.state == SINK_PAUSED, pause);
    command_free(&cmd->base);
}

START_TEST(no_batch_begins_after_a_pause)
{
    append_many(3);
    (void)relay_all();
    pause_sink(true);
    append_many(3);
    ck_assert_int_ge(relay_all(), US_PER_SECOND);
    assert_seen(1, 3);
    ck_assert_int_eq(probe.changed, 1);
    (void)relay_all();
    ck_assert_int_eq(probe.changed, 1); /* It says so once. */
    ck_assert_int_eq(look().state, SINK_PAUSED);
    ck_assert_int_eq(look().lag, 3);
    pause_sink(false);
    relay_anew();
    (void)relay_all();
    assert_seen(1, 6);
}
END_TEST

START_TEST(a_sink_that_was_removed_and_made_again_keeps_its_new_cursor)
{
    struct cmd_sink_remove *removal = cmd_sink_remove_new();
    append_many(10);
    probe.call_fails = RC_BUSY; /* The cursor of the batch cannot be saved. */
    (void)relay_all();
    probe.call_fails = RC_OK;
    (void)relay_all();
    ck_assert_int_eq(look().row.cursor_seq, 10);
    append_many(10);
    probe.call_fails = RC_BUSY;
    (void)relay_all();
    removal->name = "probe";
    ck_assert_int_eq(lab_call(&probe.lab, &removal->base), RC_OK);
    command_free(&removal->base);
    probe.call_fails = RC_OK;
    probe.lab.now_us += US_PER_SECOND;
    probe.seen_count = 0;
    (void)relay_all(); /* Refused: it is not the sink that it was loaded from. */
    (void)relay_all();
    assert_seen(1, 20); /* From the start: the configuration still has it. */
}
END_TEST

START_TEST(a_sink_that_the_api_removed_is_not_made_again)
{
    struct err err = {0};
    struct sink_row row;
    append_many(3);
    (void)relay_all();
    sink_relay_free(probe.relay);
    probe.relay = sink_relay_new(&(struct sink_relay_options){.config = &probe.config,
                                                              .made = true,
                                                              .changed = probe_changed,
                                                              .changed_ctx = &probe,
                                                              .store = probe.lab.store,
                                                              .clock = {probe_now, NULL},
                                                              .random = random_seeded(3),
                                                              .call = probe_call,
                                                              .ctx = &probe.lab});
    (void)relay_all();
    struct cmd_sink_remove *removal = cmd_sink_remove_new();
    removal->name = "probe";
    ck_assert_int_eq(lab_call(&probe.lab, &removal->base), RC_OK);
    command_free(&removal->base);
    append_many(3);
    (void)relay_all();
    assert_seen(1, 3);
    ck_assert_int_eq(probe.changed, 1);
    ck_assert_int_eq(sinks_get(probe.lab.db, "probe", &probe.lab.arena, &row, &err), RC_NOT_FOUND);
}
END_TEST

/* ---- dead letters ---- */

static int64_t change_letters(bool discard, int64_t seq)
{
    struct cmd_sink_letters *cmd = cmd_sink_letters_new();
    cmd->name = "probe";
    cmd->discard = discard;
    cmd->sequences[0] = seq;
    cmd->sequence_count = seq != 0;
    ck_assert_int_eq(lab_call(&probe.lab, &cmd->base), RC_OK);
    int64_t changed = cmd->changed;
    command_free(&cmd->base);
    return changed;
}

/* Events 1 to `count`, each of them refused. */
static void refuse_all(int count)
{
    append_many(count);
    probe.accepts = 0;
    probe.refuses = true;
    (void)relay_all();
    ck_assert_int_eq(look().row.dead_letters, count);
}

START_TEST(dead_letters_are_delivered_once_more)
{
    refuse_all(5);
    ck_assert_int_eq(change_letters(false, 3), 1);
    ck_assert_int_eq(change_letters(false, 99), 0);
    probe.accepts = SIZE_MAX;
    relay_anew();
    (void)relay_all();
    assert_seen(3, 3);
    ck_assert_int_eq(look().row.dead_letters, 4);
    ck_assert_int_eq(look().row.cursor_seq, 5);
    ck_assert_int_eq(change_letters(false, 0), 4);
    append_many(1);
    relay_anew();
    (void)relay_all();
    ck_assert_uint_eq(probe.seen_count, 6);
    ck_assert_int_eq(probe.seen[5], 6); /* Then the log continues. */
    ck_assert_int_eq(look().row.dead_letters, 0);
    ck_assert_int_eq(look().row.delivered, 6);
    ck_assert_int_eq(look().row.refused, 5);
}
END_TEST

START_TEST(a_replay_that_is_refused_again_stays_a_dead_letter)
{
    struct sink_dead_letter *letters;
    size_t count = 0;
    struct err err = {0};
    refuse_all(3);
    ck_assert_int_eq(change_letters(false, 0), 3);
    probe.accepts = 1; /* Of each call. */
    relay_anew();
    (void)relay_all();
    struct sink_letter_filter filter = {.sink = "probe", .limit = 10};
    ck_assert_int_eq(
        sink_letters_list(probe.lab.db, &filter, &probe.lab.arena, &letters, &count, &err), RC_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(letters[0].seq, 2);
    ck_assert(!letters[0].replay);
    ck_assert_int_eq(look().row.refused, 4);
}
END_TEST

START_TEST(a_replay_that_fails_is_tried_again)
{
    refuse_all(2);
    ck_assert_int_eq(change_letters(false, 0), 2);
    probe.refuses = false;
    relay_anew();
    int64_t wait_us = relay_all();
    ck_assert_int_eq(look().state, SINK_RETRYING);
    ck_assert_int_eq(look().row.dead_letters, 2);
    probe.lab.now_us += wait_us;
    probe.accepts = SIZE_MAX;
    (void)relay_all();
    assert_seen(1, 2);
    ck_assert_int_eq(look().row.dead_letters, 0);
}
END_TEST

/* A dead letter whose event retention has removed. */
static void add_letter_without_event(int64_t seq)
{
    struct err err = {0};
    struct sink_row row = look().row;
    struct sink_dead_letter letter = {.sink = "probe",
                                      .seq = seq,
                                      .event_id = id_new(1, &probe.random),
                                      .event_type = "t",
                                      .code = "C",
                                      .message = "m"};
    ck_assert_int_eq(
        sinks_save(probe.lab.db, &(struct lease_proof){probe.lab.db}, &row, &letter, &err), RC_OK);
}

START_TEST(events_that_are_gone_hold_up_no_other_replay)
{
    struct sink_dead_letter *letters;
    size_t count = 0;
    struct err err = {0};
    refuse_all(2);
    add_letter_without_event(1000);
    add_letter_without_event(1001);
    ck_assert_int_eq(change_letters(false, 0), 4);
    probe.accepts = SIZE_MAX;
    relay_anew();
    (void)relay_all();
    assert_seen(1, 2);
    struct sink_letter_filter filter = {.sink = "probe", .limit = 10};
    ck_assert_int_eq(
        sink_letters_list(probe.lab.db, &filter, &probe.lab.arena, &letters, &count, &err), RC_OK);
    ck_assert_uint_eq(count, 2);
    for (size_t i = 0; i < count; i++) {
        ck_assert_str_eq(letters[i].code, "EVENT_GONE");
        ck_assert(!letters[i].replay);
    }
}
END_TEST

START_TEST(too_many_dead_letters_hold_the_sink_until_some_are_gone)
{
    struct err err = {0};
    CLEANUP(tx_abort) struct tx tx = {0};
    append_many(1);
    (void)relay_all();
    ck_assert_int_eq(tx_begin(probe.lab.db, &tx, &err), RC_OK);
    struct sink_row row = look().row;
    for (int64_t i = 0; i < SINK_LETTERS_MAX; i++) {
        struct sink_dead_letter letter = {.sink = "probe",
                                          .seq = i + 1000,
                                          .event_id = id_new(1, &probe.random),
                                          .event_type = "t",
                                          .code = "C",
                                          .message = "m"};
        ck_assert_int_eq(
            sinks_save(probe.lab.db, &(struct lease_proof){probe.lab.db}, &row, &letter, &err),
            RC_OK);
    }
    ck_assert_int_eq(tx_commit(&tx, &err), RC_OK);
    relay_anew();
    append_many(2);
    probe.accepts = 0;
    probe.refuses = true;
    (void)relay_all();
    ck_assert_int_eq(look().state, SINK_RETRYING);
    ck_assert_ptr_nonnull(strstr(look().row.last_error, "discard"));
    ck_assert_int_eq(look().row.cursor_seq, 1);
    ck_assert_int_eq(change_letters(true, 0), SINK_LETTERS_MAX);
    relay_anew();
    (void)relay_all();
    ck_assert_int_eq(look().row.cursor_seq, 3);
    ck_assert_int_eq(look().row.dead_letters, 2);
}
END_TEST

Suite *sink_relay_suite(void)
{
    Suite *suite = suite_create("sink_relay");
    TCase *tc = tcase_create("relay");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, every_event_is_published_in_order_and_the_cursor_follows);
    tcase_add_test(tc, without_new_events_nothing_is_written);
    tcase_add_test(tc, a_sink_may_start_at_the_end_of_the_log);
    tcase_add_test(tc, events_that_a_sink_does_not_want_are_passed_over);
    tcase_add_test(tc, after_a_restart_it_goes_on_at_its_cursor);
    tcase_add_test(tc, a_failure_is_retried_after_pauses_that_grow);
    tcase_add_test(tc, a_receiver_may_ask_for_a_longer_pause);
    tcase_add_test(tc, what_was_published_before_a_failure_is_not_published_again);
    tcase_add_test(tc, an_event_that_is_refused_for_good_becomes_a_dead_letter);
    tcase_add_test(tc, an_event_that_is_too_large_for_any_sink_becomes_a_dead_letter);
    tcase_add_test(tc, events_that_do_not_fit_into_one_batch_are_published_in_several);
    tcase_add_test(tc, a_batch_whose_cursor_could_not_be_saved_is_not_published_again);
    tcase_add_test(tc, a_sink_that_cannot_be_opened_is_retried_and_its_error_is_cleared);
    tcase_add_test(tc, an_error_of_the_server_before_is_cleared_by_the_first_success);
    tcase_add_test(tc, what_a_sink_took_is_kept_when_it_asks_for_the_rest_again);
    tcase_add_loop_test(tc, a_sink_may_start_at_a_sequence_or_a_time, 0, 2);
    tcase_add_test(tc, a_time_that_has_no_event_yet_is_the_end_of_the_log);
    tcase_add_test(tc, no_batch_begins_after_a_pause);
    tcase_add_test(tc, a_sink_that_was_removed_and_made_again_keeps_its_new_cursor);
    tcase_add_test(tc, a_sink_that_the_api_removed_is_not_made_again);
    tcase_add_test(tc, dead_letters_are_delivered_once_more);
    tcase_add_test(tc, a_replay_that_is_refused_again_stays_a_dead_letter);
    tcase_add_test(tc, a_replay_that_fails_is_tried_again);
    tcase_add_test(tc, events_that_are_gone_hold_up_no_other_replay);
    tcase_add_test(tc, too_many_dead_letters_hold_the_sink_until_some_are_gone);
    suite_add_tcase(suite, tc);
    return suite;
}
