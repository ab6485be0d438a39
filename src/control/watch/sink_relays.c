#include "control/watch/sink_relays.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "control/watch/sink_relay.h"
#include "control/watch/sinks.h"
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { RELAYS_MAX = SINKS_MAX + SINKS_MADE_MAX };

/* One sink that should run.  Without a relay it cannot, which was logged. */
struct runner {
    struct sink_config config;
    struct arena arena; /* Of a configuration that the API has made. */
    bool made;
    int64_t revision, created_us; /* Of its row; 0: it has none yet. */
    char lease[LEASE_NAME_BYTES];
    struct sink_relay *relay;
    pthread_t thread;
    bool running;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool woken, stopping;
};

struct sink_relays {
    struct sink_relays_options options;
    struct random random;
    struct db *db; /* The thread's; NULL until first used. */
    pthread_t thread;
    bool running;

    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool reload, stopping;
    struct runner *runners[RELAYS_MAX]; /* NULL: none.  Only the thread changes them. */
};

/* ---- one relay and its thread ---- */

static int64_t steady_now(void *ctx)
{
    (void)ctx;
    return clock_mono_us();
}

static enum rc call_committer(void *ctx, struct command *command)
{
    return committer_call(ctx, command);
}

static void on_changed(void *ctx)
{
    sink_relays_reload(ctx);
}

/* False at the end. */
static bool rest(struct runner *runner, int64_t wait_us)
{
    struct timespec until = clock_mono_after(wait_us);
    pthread_mutex_lock(&runner->lock);
    while (!runner->woken && !runner->stopping)
        if (pthread_cond_timedwait(&runner->wake, &runner->lock, &until) != 0)
            break;
    runner->woken = false;
    bool more = !runner->stopping;
    pthread_mutex_unlock(&runner->lock);
    return more;
}

static void *runner_main(void *arg)
{
    struct runner *runner = arg;
    while (rest(runner, sink_relay_round(runner->relay))) {
    }
    return NULL;
}

static void runner_wake(struct runner *runner, bool stop)
{
    pthread_mutex_lock(&runner->lock);
    runner->woken = true;
    runner->stopping |= stop;
    pthread_cond_signal(&runner->wake);
    pthread_mutex_unlock(&runner->lock);
}

static void runner_join(struct runner *runner)
{
    if (runner->running)
        pthread_join(runner->thread, NULL);
    runner->running = false;
}

static void runner_free(struct runner *runner)
{
    if (runner == NULL)
        return;
    sink_relay_free(runner->relay);
    pthread_cond_destroy(&runner->wake);
    pthread_mutex_destroy(&runner->lock);
    arena_release(&runner->arena);
    mem_free(runner);
}

static enum rc runner_start(struct sink_relays *relays, struct runner *runner, struct err *err)
{
    const struct sink_relays_options *options = &relays->options;
    if (options->membership != NULL && !membership_want(options->membership, runner->lease))
        return err_set(err, RC_LIMIT, "TOO_MANY_SINKS", "this node has %d leases already",
                       MEMBERSHIP_LEASES_MAX);
    const struct sink_relay_options one = {
        .config = &runner->config,
        .revision = runner->revision,
        .made = runner->made,
        .store = options->store,
        .membership = options->membership,
        .lease = runner->lease,
        .clock = {steady_now, NULL},
        .random = random_split(&relays->random),
        .call = call_committer,
        .ctx = options->committer,
        .changed = on_changed,
        .changed_ctx = relays,
    };
    runner->relay = sink_relay_new(&one);
    enum rc rc = thread_start(&(struct thread_spec){.body = runner_main, .ctx = runner},
                              &runner->thread, err);
    runner->running = rc == RC_OK;
    return rc;
}

/* Waits for the batch that it is at. */
static void runner_end(struct sink_relays *relays, size_t at)
{
    struct runner *runner = relays->runners[at];
    pthread_mutex_lock(&relays->lock);
    relays->runners[at] = NULL;
    pthread_mutex_unlock(&relays->lock);
    runner_wake(runner, true);
    runner_join(runner);
    if (relays->options.membership != NULL)
        membership_drop(relays->options.membership, runner->lease);
    runner_free(runner);
}

/* ---- what should run ---- */

struct wanted {
    const struct sink_config *config; /* NULL: the API has made it. */
    const struct sink_row *row;       /* NULL: it has none yet. */
};

static const char *wanted_name(const struct wanted *wanted)
{
    assert(wanted->config != NULL || wanted->row != NULL);
    return wanted->config != NULL ? wanted->config->name : wanted->row->name;
}

static const struct sink_config *find_config(const struct sink_relays *relays, const char *name)
{
    const struct sink_configs *configs = relays->options.configs;
    for (size_t i = 0; i < configs->count; i++)
        if (text_same(configs->items[i].name, name))
            return &configs->items[i];
    return NULL;
}

static const struct sink_row *find_row(const struct sink_row *rows, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (text_same(rows[i].name, name))
            return &rows[i];
    return NULL;
}

static size_t list_wanted(const struct sink_relays *relays, const struct sink_row *rows,
                          size_t count, struct wanted ret_wanted[RELAYS_MAX])
{
    const struct sink_configs *configs = relays->options.configs;
    size_t wanted = 0;
    for (size_t i = 0; i < configs->count; i++) {
        const struct sink_row *row = find_row(rows, count, configs->items[i].name);
        if (row == NULL || !row->paused)
            ret_wanted[wanted++] = (struct wanted){&configs->items[i], row};
    }
    for (size_t i = 0; i < count && wanted < RELAYS_MAX; i++)
        if (rows[i].config.len > 0 && !rows[i].paused && find_config(relays, rows[i].name) == NULL)
            ret_wanted[wanted++] = (struct wanted){NULL, &rows[i]};
    return wanted;
}

/* Runs it as the row says?  A row that the relay itself has made has the revision 0. */
static bool fits(const struct runner *runner, const struct wanted *wanted)
{
    int64_t revision = wanted->row != NULL ? wanted->row->revision : 0;
    if (!text_same(runner->config.name, wanted_name(wanted)) || runner->revision != revision)
        return false;
    return !runner->made || (wanted->row != NULL && runner->created_us == wanted->row->created_us);
}

static enum rc take_config(struct sink_relays *relays, struct runner *runner,
                           const struct wanted *wanted, struct err *err)
{
    const struct sink_guard *guard = &relays->options.guard;
    CLEANUP(js_freep) struct js *tree = NULL;
    if (wanted->config != NULL) {
        runner->config = *wanted->config;
        return RC_OK;
    }
    const struct str document = wanted->row->config;
    runner->config.name = arena_strdup(&runner->arena, wanted->row->name);
    enum rc rc = js_parse(document.at, document.len, &tree, err);
    if (rc == RC_OK)
        rc = sink_config_decode(tree, "", runner->config.name, &runner->arena, &runner->config,
                                err);
    return rc == RC_OK && guard->check != NULL ? guard->check(guard->ctx, &runner->config, err)
                                               : rc;
}

static void begin(struct sink_relays *relays, size_t at, const struct wanted *wanted)
{
    struct runner *runner = mem_alloc(sizeof *runner);
    struct err err = {0};
    pthread_mutex_init(&runner->lock, NULL);
    thread_cond_init(&runner->wake);
    runner->made = wanted->config == NULL;
    if (wanted->row != NULL) {
        runner->revision = wanted->row->revision;
        runner->created_us = wanted->row->created_us;
    }
    (void)snprintf(runner->lease, sizeof runner->lease, LEASE_SINK_PREFIX "%s",
                   wanted_name(wanted));
    enum rc rc = take_config(relays, runner, wanted, &err);
    if (rc == RC_OK)
        rc = runner_start(relays, runner, &err);
    if (rc != RC_OK)
        LOG(LOG_ERROR, "a sink cannot run on this node", LOG_STR("sink", wanted_name(wanted)),
            LOG_STR("error", err.text));
    pthread_mutex_lock(&relays->lock);
    relays->runners[at] = runner;
    pthread_mutex_unlock(&relays->lock);
}

static void compare(struct sink_relays *relays, const struct wanted *wanted, size_t count)
{
    bool runs[RELAYS_MAX] = {false};
    for (size_t at = 0; at < RELAYS_MAX; at++) {
        size_t i = 0;
        if (relays->runners[at] == NULL)
            continue;
        while (i < count && !fits(relays->runners[at], &wanted[i]))
            i++;
        if (i < count)
            runs[i] = true;
        else
            runner_end(relays, at);
    }
    for (size_t i = 0, at = 0; i < count; i++) {
        if (runs[i])
            continue;
        while (relays->runners[at] != NULL)
            at++;
        assert(at < RELAYS_MAX);
        begin(relays, at, &wanted[i]);
    }
}

/* False: the store did not answer. */
static bool round_once(struct sink_relays *relays)
{
    struct arena arena = {0};
    struct err err = {0};
    struct sink_row *rows = NULL;
    struct wanted wanted[RELAYS_MAX];
    size_t count = 0;
    enum rc rc = RC_OK;
    if (relays->db == NULL)
        rc = store_reader_open(relays->options.store, &relays->db, &err);
    if (rc == RC_OK)
        rc = sinks_list(relays->db, &arena, &rows, &count, &err);
    if (rc == RC_OK)
        compare(relays, wanted, list_wanted(relays, rows, count, wanted));
    else if (rc != RC_UNREACHABLE && rc != RC_BUSY) /* Those are logged elsewhere. */
        LOG(LOG_ERROR, "the sinks cannot be read from the store", LOG_STR("error", err.text));
    arena_release(&arena);
    return rc == RC_OK;
}

/* ---- the thread ---- */

/* False at the end. */
static bool wait_for_change(struct sink_relays *relays, bool polls)
{
    struct timespec until = clock_mono_after(SINK_RELAYS_EVERY_MS * US_PER_MS);
    pthread_mutex_lock(&relays->lock);
    while (!relays->reload && !relays->stopping) {
        if (!polls)
            pthread_cond_wait(&relays->wake, &relays->lock);
        else if (pthread_cond_timedwait(&relays->wake, &relays->lock, &until) != 0)
            break;
    }
    relays->reload = false;
    bool more = !relays->stopping;
    pthread_mutex_unlock(&relays->lock);
    return more;
}

static void *relays_main(void *arg)
{
    struct sink_relays *relays = arg;
    bool shared = relays->options.membership != NULL, answered = true;
    do
        answered = round_once(relays);
    while (wait_for_change(relays, shared || !answered));
    return NULL;
}

struct sink_relays *sink_relays_new(const struct sink_relays_options *options)
{
    struct sink_relays *relays = mem_alloc(sizeof *relays);
    relays->options = *options;
    relays->random = random_split(options->random);
    pthread_mutex_init(&relays->lock, NULL);
    thread_cond_init(&relays->wake);
    return relays;
}

enum rc sink_relays_start(struct sink_relays *relays, struct err *err)
{
    enum rc rc = thread_start(&(struct thread_spec){.body = relays_main, .ctx = relays},
                              &relays->thread, err);
    relays->running = rc == RC_OK;
    return rc;
}

void sink_relays_wake(struct sink_relays *relays)
{
    pthread_mutex_lock(&relays->lock);
    for (size_t i = 0; i < RELAYS_MAX; i++)
        if (relays->runners[i] != NULL)
            runner_wake(relays->runners[i], false);
    pthread_mutex_unlock(&relays->lock);
}

void sink_relays_reload(struct sink_relays *relays)
{
    pthread_mutex_lock(&relays->lock);
    relays->reload = true;
    pthread_cond_signal(&relays->wake);
    pthread_mutex_unlock(&relays->lock);
}

void sink_relays_stop(struct sink_relays *relays)
{
    if (relays == NULL)
        return;
    pthread_mutex_lock(&relays->lock);
    relays->stopping = true;
    pthread_cond_signal(&relays->wake);
    pthread_mutex_unlock(&relays->lock);
    if (relays->running)
        pthread_join(relays->thread, NULL);
    relays->running = false;
    for (size_t i = 0; i < RELAYS_MAX; i++)
        if (relays->runners[i] != NULL)
            runner_wake(relays->runners[i], true);
    for (size_t i = 0; i < RELAYS_MAX; i++)
        if (relays->runners[i] != NULL)
            runner_join(relays->runners[i]);
}

void sink_relays_free(struct sink_relays *relays)
{
    if (relays == NULL)
        return;
    for (size_t i = 0; i < RELAYS_MAX; i++)
        runner_free(relays->runners[i]);
    store_reader_close(relays->options.store, relays->db);
    pthread_cond_destroy(&relays->wake);
    pthread_mutex_destroy(&relays->lock);
    mem_free(relays);
}
