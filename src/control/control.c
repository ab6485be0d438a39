#include "control/control.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "control/hooks.h"
#include "control/pr/sync.h"
#include "control/queue/jobs.h"
#include "control/queue/levels.h"
#include "control/watch/audit.h"
#include "control/watch/due.h"
#include "control/watch/expiry_rounds.h"
#include "control/watch/membership.h"
#include "control/watch/notices.h"
#include "control/watch/sink_relays.h"
#include "control/watch/tail.h"
#include "control/watch/ticker.h"
#include "store/settings.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { QUEUE_MAX = 10000, BATCH_MAX = 256, SHARED_LANES = 4, SECRET_BYTES = 32 };

struct control {
    struct store *store;
    struct clock clock;
    int64_t lease_us;
    char *node;
    char *secret; /* Hex. */
    struct committer *committer;
    struct bus_rules bus_rules;
    struct bus *bus;
    struct tail *tail;
    struct ticker *ticker;
    struct notices *notices;
    struct sink_configs sinks;
    struct sink_relays *relays;
    struct conductor_config conductor_config;
    struct conductor *conductor;   /* NULL: it is off. */
    struct membership *membership; /* NULL: the store is not shared. */
    struct expiry_rounds *expiry;
    struct timer_lag lag;
    void (*lost)(void *ctx, const struct err *why);
    void *lost_ctx;
};

/* ---- first start ---- */

/* A setting that the first node makes at the first start, and that stays. */
static enum rc get_or_make(struct db *db, const char *key, const char *made, char **ret_value,
                           struct err *err)
{
    struct arena arena = {0};
    const char *value;
    enum rc rc = settings_make(db, key, made, err);
    if (rc == RC_OK)
        rc = settings_get(db, key, &arena, &value, err);
    if (rc == RC_OK)
        *ret_value = mem_strdup(value);
    arena_release(&arena);
    return rc;
}

static enum rc load_identity(struct control *control, const struct control_options *options,
                             struct err *err)
{
    struct db *db = store_writer(control->store);
    unsigned char random[SECRET_BYTES];
    char hex[2 * SECRET_BYTES + 1], node[16];
    secret_bytes(random, sizeof random);
    hex_encode(hex, random, sizeof random);
    snprintf(node, sizeof node, "node-%.6s", hex + SECRET_BYTES);
    CLEANUP(tx_abort) struct tx tx = {0};
    enum rc rc = tx_begin(db, &tx, err);
    if (rc == RC_OK)
        rc = get_or_make(db, "token_secret", hex, &control->secret, err);
    if (rc == RC_OK && options->node != NULL)
        control->node = mem_strdup(options->node);
    else if (rc == RC_OK)
        rc = get_or_make(db, "node", node, &control->node, err);
    return rc == RC_OK ? tx_commit(&tx, err) : rc;
}

/* ---- start and stop ---- */

/* Of the log. */
static void wake_readers(struct control *control)
{
    tail_wake(control->tail);
    sink_relays_wake(control->relays);
    if (control->conductor != NULL)
        conductor_wake(control->conductor);
}

static void on_committed(void *ctx, const struct committed *news)
{
    struct control *control = ctx;
    if (news->appended && control->tail != NULL)
        wake_readers(control);
    if (news->due_us > 0 && control->ticker != NULL)
        ticker_hint(control->ticker, news->due_us);
    if (news->brought && control->ticker != NULL) /* To check the levels if they still wait. */
        ticker_hint(control->ticker, clock_now_us(&control->clock) + LEVELS_EVERY_US);
    notices_send(control->notices, news);
}

static void on_jobs(void *ctx)
{
    committer_want_look(((struct control *)ctx)->committer);
}

static void on_events(void *ctx)
{
    wake_readers(ctx);
}

static void on_due(void *ctx, int64_t due_us)
{
    ticker_hint(((struct control *)ctx)->ticker, due_us);
}

static enum rc reclaim_leases(struct control *control, struct err *err)
{
    struct cmd_reclaim *cmd = cmd_reclaim_new();
    cmd->node = control->node;
    /* On a shared store workers could renew their leases at other nodes meanwhile. */
    cmd->grace_us = store_is_shared(control->store) ? 0 : control->lease_us;
    enum rc rc = committer_call(control->committer, &cmd->base);
    if (rc != RC_OK)
        *err = cmd->base.err;
    else if (cmd->reclaimed > 0)
        LOG(LOG_INFO, "took back the jobs of this node's earlier workers",
            LOG_INT("jobs", cmd->reclaimed));
    command_free(&cmd->base);
    return rc;
}

/* What changed at the forges while no server was here. */
static enum rc follow_forges(struct control *control, struct err *err)
{
    struct cmd_sync_start *cmd = cmd_sync_start_new();
    enum rc rc = committer_call(control->committer, &cmd->base);
    if (rc != RC_OK)
        *err = cmd->base.err;
    command_free(&cmd->base);
    return rc;
}

static enum rc record_schema(struct control *control, struct err *err)
{
    struct cmd_audit_schema *cmd = cmd_audit_schema_new();
    enum rc rc = committer_call(control->committer, &cmd->base);
    if (rc != RC_OK)
        *err = cmd->base.err;
    command_free(&cmd->base);
    return rc;
}

static size_t lanes_of(const struct store *store, size_t wanted)
{
    if (!store_is_shared(store))
        return 1;
    return wanted > 0 ? wanted : SHARED_LANES;
}

static void on_lag(void *ctx, int64_t oldest_us)
{
    struct control *control = ctx;
    struct membership_view view;
    membership_look(control->membership, &view);
    timer_lag_note(&control->lag, oldest_us, clock_now_us(&control->clock), view.holder);
}

static void on_lost(void *ctx, const struct err *why)
{
    struct control *control = ctx;
    LOG(LOG_ERROR, "lost this node's name", LOG_STR("code", why->code),
        LOG_STR("error", why->text));
    if (control->lost != NULL)
        control->lost(control->lost_ctx, why);
}

/* Before anything else is read or written. */
static enum rc join(struct control *control, const struct control_options *options, struct err *err)
{
    if (!store_is_shared(control->store))
        return RC_OK;
    struct membership_options membership = {
        .store = control->store,
        .node = control->node,
        .place = options->place,
        .clock = options->clock,
        .lease_us = control->lease_us,
        .due = on_lag,
        .lost = on_lost,
        .ctx = control,
    };
    enum rc rc = membership_join(&membership, &control->membership, err);
    if (rc == RC_OK)
        control->clock = membership_clock(control->membership);
    return rc;
}

static int64_t steady_now(void *ctx)
{
    (void)ctx;
    return clock_mono_us();
}

static enum rc call_committer(void *ctx, struct command *command)
{
    return committer_call(ctx, command);
}

static void make_conductor(struct control *control)
{
    const struct conductor_options options = {
        .config = &control->conductor_config,
        .store = control->store,
        .membership = control->membership,
        .clock = {steady_now, NULL},
        .call = call_committer,
        .ctx = control->committer,
    };
    if (control->conductor_config.enabled)
        control->conductor = conductor_new(&options);
}

static enum rc start_retention(struct control *control, const struct expiry_rules *rules,
                               struct err *err)
{
    const struct expiry_rounds_options options = {
        .rules = *rules,
        .store = control->store,
        .clock = control->clock,
        .membership = control->membership,
        .committer = control->committer,
        .call = call_committer,
        .ctx = control->committer,
    };
    control->expiry = expiry_rounds_new(&options);
    return expiry_rounds_start(control->expiry, err);
}

/* The tail, the ticker and the relays are made before the first command, which may wake them. */
static enum rc start_parts(struct control *control, const struct control_options *options,
                           struct err *err)
{
    struct committer_options committer = {
        .hooks = &control_hooks,
        .store = control->store,
        .clock = control->clock,
        .random = options->random,
        .queue_max = options->queue_max > 0 ? options->queue_max : QUEUE_MAX,
        .batch_max = options->batch_max > 0 ? options->batch_max : BATCH_MAX,
        .lanes = lanes_of(control->store, options->lanes),
        .limits = options->limits,
        .defaults = options->defaults,
        .channels = options->channels,
        .accounts = options->accounts,
        .retention = options->retention,
        .committed = on_committed,
        .ctx = control,
    };
    control->bus = bus_new(&control->bus_rules);
    enum rc rc = committer_new(&committer, &control->committer, err);
    if (rc == RC_OK)
        rc = tail_start(control->store, control->bus, &control->tail, err);
    if (rc == RC_OK)
        rc = ticker_start(&(struct ticker_options){.committer = control->committer,
                                                   .store = control->store,
                                                   .membership = control->membership,
                                                   .lag = &control->lag,
                                                   .clock = control->clock,
                                                   .lease_us = control->lease_us},
                          &control->ticker, err);
    control->relays = sink_relays_new(
        &(struct sink_relays_options){.configs = &control->sinks,
                                      .store = control->store,
                                      .committer = control->committer,
                                      .membership = control->membership,
                                      .random = &committer.random,
                                      .guard = options->sink_guard});
    if (rc == RC_OK)
        make_conductor(control);
    struct notices_hooks hooks = {
        .jobs = on_jobs, .events = on_events, .due = on_due, .ctx = control};
    if (rc == RC_OK)
        rc = notices_start(control->store, control->node, &hooks, &control->notices, err);
    if (rc == RC_OK)
        rc = committer_start(control->committer, err);
    if (rc == RC_OK)
        rc = reclaim_leases(control, err);
    if (rc == RC_OK)
        rc = follow_forges(control, err);
    if (rc == RC_OK)
        rc = record_schema(control, err);
    if (rc == RC_OK && control->membership != NULL)
        rc = membership_start(control->membership, err);
    if (rc == RC_OK)
        rc = sink_relays_start(control->relays, err);
    if (rc == RC_OK && control->conductor != NULL)
        rc = conductor_start(control->conductor, err);
    if (rc == RC_OK)
        rc = start_retention(control, &options->retention, err);
    return rc;
}

enum rc control_start(const struct control_options *options, struct control **ret_control,
                      struct err *err)
{
    struct control *control = mem_alloc(sizeof *control);
    control->store = options->store;
    control->clock = options->clock;
    control->lost = options->lost;
    control->lost_ctx = options->lost_ctx;
    control->sinks = options->sinks;
    control->conductor_config = options->conductor;
    control->bus_rules = options->bus;
    control->lease_us = options->lease_us > 0 ? options->lease_us
                                              : JOB_LEASE_MS_DEFAULT * US_PER_MS;
    enum rc rc = load_identity(control, options, err);
    if (rc == RC_OK)
        rc = join(control, options, err);
    if (rc == RC_OK)
        rc = start_parts(control, options, err);
    if (rc != RC_OK) {
        control_stop(control);
        return rc;
    }
    *ret_control = control;
    return RC_OK;
}

void control_stop(struct control *control)
{
    if (control == NULL)
        return;
    if (control->bus != NULL)
        bus_close(control->bus);
    conductor_stop(control->conductor);
    sink_relays_stop(control->relays); /* Each saves how far it has come. */
    /* The lane first: it wakes the others.  A ticker that posts once more gets RC_BUSY. */
    if (control->committer != NULL)
        committer_stop(control->committer);
    notices_stop(control->notices);
    expiry_rounds_stop(control->expiry);
    ticker_stop(control->ticker);
    membership_stop(control->membership);
    tail_stop(control->tail);
    sink_relays_free(control->relays);
    conductor_free(control->conductor);
    expiry_rounds_free(control->expiry);
    committer_free(control->committer);
    bus_free(control->bus);
    membership_free(control->membership);
    mem_free(control->node);
    mem_free(control->secret);
    mem_free(control);
}

struct committer *control_committer(struct control *control)
{
    return control->committer;
}

struct bus *control_bus(struct control *control)
{
    return control->bus;
}

struct store *control_store(struct control *control)
{
    return control->store;
}

struct clock control_clock(const struct control *control)
{
    return control->clock;
}

const char *control_node(const struct control *control)
{
    return control->node;
}

void control_timers(struct control *control, struct timers_state *ret_state)
{
    struct timers_state state = {.here = true};
    if (control->membership != NULL) {
        struct membership_view view;
        membership_look(control->membership, &view);
        text_copy(state.holder, sizeof state.holder, view.holder);
        state.here = view.here;
        state.since_us = view.since_us;
    } else {
        text_copy(state.holder, sizeof state.holder, control->node);
    }
    state.lag_us = timer_lag_us(&control->lag, clock_now_us(&control->clock));
    *ret_state = state;
}

bool control_conductor(struct control *control, struct conductor_view *ret_view)
{
    if (control->conductor != NULL)
        conductor_look(control->conductor, ret_view);
    return control->conductor != NULL;
}

void control_sinks_changed(struct control *control)
{
    sink_relays_reload(control->relays);
}

int64_t control_tail_seq(struct control *control)
{
    return tail_seq(control->tail);
}

int64_t control_tail_ask(struct control *control)
{
    return tail_ask(control->tail);
}

bool control_tail_served(struct control *control, int64_t asked)
{
    return tail_served(control->tail, asked);
}

/* ---- run tokens ---- */

void control_mac(const struct control *control, const char *text, char to[SHA256_TEXT_BYTES])
{
    struct hmac_key key = {control->secret, strlen(control->secret)};
    hmac_sha256_hex(key, text, strlen(text), to);
}

/* A run's id is no text of another purpose: it has no space in it. */
void control_run_token(const struct control *control, const struct id *run_id,
                       char to[RUN_TOKEN_BYTES])
{
    char mac[SHA256_TEXT_BYTES];
    control_mac(control, run_id->text, mac);
    snprintf(to, RUN_TOKEN_BYTES, RUN_TOKEN_PREFIX "%s_%s", run_id->text, mac);
}

bool control_run_token_check(const struct control *control, const char *token, struct id *ret_run)
{
    size_t prefix = strlen(RUN_TOKEN_PREFIX), id_len = ID_TEXT_BYTES - 1;
    if (!text_starts(token, RUN_TOKEN_PREFIX) || strlen(token) <= prefix + id_len)
        return false;
    char text[ID_TEXT_BYTES];
    text_copy(text, sizeof text, token + prefix);
    struct id run_id;
    if (!id_parse(text, &run_id))
        return false;
    char expected[RUN_TOKEN_BYTES];
    control_run_token(control, &run_id, expected);
    if (!secret_same(token, expected))
        return false;
    *ret_run = run_id;
    return true;
}
