/*
 * consumer.c - runs a command for every job of a queue.
 *
 *     leaser thread:  lease as many as there is room for -> held: WAITING; at the end
 *                     release what waits
 *     slot threads:   WAITING -> RUNNING: command -> reply -> report -> LEAVING: news -> FREE
 *     heart thread:   every third of a lease: renew what waits and what runs, in one call
 *
 * The held jobs are guarded by the lock; `changed` is signalled at every change.  The thread that
 * has set a job to LEAVING, or runs it, may read it without the lock.
 */
#include "work/consumer.h"
#include "base/clock.h"
#include "base/js.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/random.h"
#include "base/str.h"
#include "base/thread.h"
#include "core/step_kind.h"
#include "work/job/retry.h"
#include "work/job/stop.h"
#include "work/steps/outcome.h"
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    LEASE_WAIT_MS = 20000,
    DRAIN_LOOK_MS = 1000, /* Between lease calls while some are still held. */
    EMPTY_PAUSE_MS = 50,  /* After an immediate answer without jobs. */
    OUT_BYTES_MAX = 256 * 1024,
    ERR_BYTES_MAX = 1024 * 1024,
    REPLY_BYTES_MAX = 256 * 1024,
    NAME_BYTES = 128,
    ENV_MAX = 4096,
    OWN_ENV = 8,
};

enum held_state { HELD_FREE, HELD_WAITING, HELD_RUNNING, HELD_LEAVING };

struct held {
    enum held_state state;
    int64_t turn;       /* The order in which they were leased. */
    struct arena arena; /* Of the job. */
    struct port_job job;
    struct slot *slot; /* RUNNING, else NULL */
};

struct slot {
    struct consumer *consumer;
    pthread_t thread;
    bool started;
    struct stop stop; /* Of the job that it runs. */
    struct buf out, err;
};

struct consumer {
    struct consumer_options options;
    struct port *port;
    struct stop shutdown; /* Once requested, reports get only a few more tries. */
    pthread_t leaser, heart;
    bool leaser_started, heart_started;
    pthread_mutex_t notify_lock; /* One piece of news at a time; taken before the lock. */
    pthread_mutex_t lock;        /* Guards what follows. */
    pthread_cond_t changed;      /* By the monotonic clock. */
    bool stopping;               /* No more jobs. */
    bool leased_out;             /* The leaser has ended. */
    bool heart_stops;
    int slots_alive;
    int64_t taken; /* Jobs that count: not those given back. */
    int64_t turn;
    int64_t held_count;
    struct consumer_counts counts;
    enum rc rc; /* Why it could not continue. */
    struct err why;
    struct slot slots[CONSUMER_SLOTS_MAX];
    struct held held[CONSUMER_HELD_MAX];
};

extern char **environ;

static void lock(struct consumer *consumer)
{
    (void)pthread_mutex_lock(&consumer->lock);
}

static void unlock(struct consumer *consumer)
{
    (void)pthread_mutex_unlock(&consumer->lock);
}

static void wake(struct consumer *consumer)
{
    (void)pthread_cond_broadcast(&consumer->changed);
}

/* Under the lock: for a change, at most so long. */
static void wait_change(struct consumer *consumer, int64_t ms)
{
    struct timespec until = clock_mono_after(ms * US_PER_MS);
    (void)pthread_cond_timedwait(&consumer->changed, &consumer->lock, &until);
}

static void notify(struct consumer *consumer, struct consumer_news news)
{
    (void)pthread_mutex_lock(&consumer->notify_lock);
    lock(consumer);
    news.counts = consumer->counts;
    unlock(consumer);
    consumer->options.notify(consumer->options.ctx, &news);
    (void)pthread_mutex_unlock(&consumer->notify_lock);
}

/* The first reason counts. */
static void give_up(struct consumer *consumer, enum rc rc, const struct err *why)
{
    lock(consumer);
    if (consumer->rc == RC_OK) {
        consumer->rc = rc;
        consumer->why = *why;
    }
    unlock(consumer);
    consumer_wind_down(consumer);
}

/* ---- held jobs, under the lock ---- */

static void hold(struct consumer *consumer, const struct port_job *job)
{
    struct held *held = consumer->held;
    while (held->state != HELD_FREE)
        held++;
    assert(held < consumer->held + consumer->options.held_max); /* No more were requested. */
    held->state = HELD_WAITING;
    held->turn = consumer->turn++;
    held->job = (struct port_job){
        .id = job->id,
        .queue = arena_strdup(&held->arena, job->queue),
        .type = arena_strdup(&held->arena, job->type),
        .payload = str_of(str_dup(&held->arena, job->payload)),
        .headers = str_of(str_dup(&held->arena, job->headers)),
        .attempt = job->attempt,
        .epoch = job->epoch,
        .lease_until_us = job->lease_until_us,
    };
    consumer->held_count++;
    consumer->counts.waiting++;
    consumer->taken++;
}

/* Its place is free for another. */
static void let_go(struct consumer *consumer, struct held *held)
{
    assert(held->state == HELD_LEAVING);
    held->state = HELD_FREE;
    consumer->held_count--;
    arena_release(&held->arena);
    wake(consumer);
}

/* It has ended in this way: its lease is not renewed any more. */
static void leave(struct consumer *consumer, struct held *held, enum step_end end)
{
    assert(held->state == HELD_WAITING || held->state == HELD_RUNNING);
    int64_t *const counts[] = {
        [STEP_COMPLETED] = &consumer->counts.done,
        [STEP_FAILED] = &consumer->counts.failed,
        [STEP_RELEASED] = &consumer->counts.returned,
        [STEP_DISCARDED] = &consumer->counts.lost,
    };
    ++*counts[end];
    --*(held->state == HELD_RUNNING ? &consumer->counts.running : &consumer->counts.waiting);
    held->state = HELD_LEAVING;
    held->slot = NULL;
    if (end == STEP_RELEASED || end == STEP_DISCARDED)
        consumer->taken--;
}

static struct held *first_waiting(struct consumer *consumer)
{
    struct held *first = NULL;
    for (int i = 0; i < consumer->options.held_max; i++) {
        struct held *held = &consumer->held[i];
        if (held->state == HELD_WAITING && (first == NULL || held->turn < first->turn))
            first = held;
    }
    return first;
}

static struct port_ref ref_of(const struct held *held)
{
    return (struct port_ref){.id = held->job.id, .epoch = held->job.epoch};
}

/* ---- the command ---- */

static const char *const own_names[] = {
    "DROVER_JOB_ID=", "DROVER_QUEUE=", "DROVER_TYPE=", "DROVER_ATTEMPT=", "DROVER_HEADERS="};

static bool is_own(const char *entry)
{
    for (size_t i = 0; i < COUNT_OF(own_names); i++) {
        if (text_starts(entry, own_names[i]))
            return true;
    }
    return false;
}

/* Our own environment, and the variables of the job. */
static const char *const *make_env(const struct port_job *job, struct arena *arena)
{
    const char **env = arena_array(arena, ENV_MAX + OWN_ENV, sizeof *env);
    size_t count = 0;
    for (char **each = environ; *each != NULL && count < ENV_MAX; each++) {
        if (!is_own(*each))
            env[count++] = *each;
    }
    env[count++] = arena_printf(arena, "DROVER_JOB_ID=%s", job->id.text);
    env[count++] = arena_printf(arena, "DROVER_QUEUE=%s", job->queue);
    env[count++] = arena_printf(arena, "DROVER_TYPE=%s", job->type);
    env[count++] = arena_printf(arena, "DROVER_ATTEMPT=%lld", (long long)job->attempt);
    env[count++] = arena_printf(arena, "DROVER_HEADERS=%s",
                                job->headers.len ? job->headers.at : "{}");
    return env;
}

/* The payload as a line of text. */
static enum rc run_command(struct slot *slot, struct held *held, struct command_end *ret_end,
                           struct err *err)
{
    const struct consumer_options *options = &slot->consumer->options;
    const struct proc_spec spec = {.argv = options->argv,
                                   .env = make_env(&held->job, &held->arena)};
    const struct proc_limits limits = {
        .timeout_ms = options->timeout_ms > 0 ? (int)options->timeout_ms : -1,
        .cancel = &slot->stop.reason,
    };
    const char *input = arena_printf(&held->arena, "%s\n", held->job.payload.at);
    buf_clear(&slot->out);
    buf_clear(&slot->err);
    enum rc rc = proc_run(&spec, str_of(input), &slot->out, &slot->err, &limits, &ret_end->how,
                          err);
    ret_end->out = buf_str(&slot->out);
    ret_end->err = buf_str(&slot->err);
    return rc;
}

/* What is reported to the server.  The outcome of a command that ended by itself counts also when a
   stop was requested, except after a lost lease. */
static struct step_report report_of(struct slot *slot, struct held *held,
                                    const struct command_end *end)
{
    enum stop_reason reason = stop_asked(&slot->stop);
    if (reason == STOP_LOST)
        return (struct step_report){.kind = STEP_DISCARDED};
    if (!end->how.cancelled)
        return outcome_of(end, &held->arena);
    if (reason == STOP_SHUTDOWN)
        return (struct step_report){.kind = STEP_RELEASED};
    return (struct step_report){.kind = STEP_FAILED,
                                .failure = {.code = "cancelled", .message = "It was cancelled."}};
}

/* ---- reports to the server ---- */

/* The requester gets the output first: once the job is completed, no worker would send it again. */
static void send_reply(struct slot *slot, struct held *held, struct str out)
{
    CLEANUP(js_freep) struct js *headers = NULL;
    if (held->job.headers.len == 0 ||
        js_parse(held->job.headers.at, held->job.headers.len, &headers, NULL) != RC_OK)
        return;
    const char *reply_to = js_get_str(headers, "replyTo", NULL);
    if (reply_to == NULL)
        return;
    struct str payload = outcome_output(out, REPLY_BYTES_MAX, &held->arena);
    struct err err = {0};
    struct retry retry = retry_begin(&slot->stop);
    enum rc rc;
    do
        rc = port_http_reply(slot->consumer->options.port, reply_to, payload, &err);
    while (retry_again(&retry, rc));
    if (rc != RC_OK) /* Too late, or no requester waits: the work is done all the same. */
        notify(slot->consumer,
               (struct consumer_news){.text = arena_printf(&held->arena,
                                                           "the reply to %s was not taken: %s",
                                                           held->job.id.text, err.text)});
}

static enum rc send_report(struct consumer *consumer, const struct held *held,
                           const struct step_report *report, struct err *err)
{
    const struct report_route route = {
        .port = consumer->port, .lease = ref_of(held), .shutdown = &consumer->shutdown};
    return report_send(&route, report, err);
}

/* A job whose result the server refuses must not be retried for ever. */
static void report(struct consumer *consumer, struct held *held, struct step_report *said)
{
    struct err err = {0};
    enum rc rc = send_report(consumer, held, said, &err);
    if (said->kind == STEP_COMPLETED && rc != RC_OK && rc != RC_STALE && !retry_may_help(rc)) {
        *said = (struct step_report){
            .kind = STEP_FAILED,
            .failure = {.code = "result_refused", .message = arena_strdup(&held->arena, err.text)}};
        rc = send_report(consumer, held, said, &err);
    }
    if (rc == RC_OK)
        return;
    *said = (struct step_report){.kind = STEP_DISCARDED};
    if (rc != RC_STALE)
        notify(consumer,
               (struct consumer_news){
                   .text = arena_printf(&held->arena, "the end of %s could not be reported: %s",
                                        held->job.id.text, err.text)});
}

/* ---- a slot ---- */

static void run_job(struct slot *slot, struct held *held)
{
    struct consumer *consumer = slot->consumer;
    struct command_end end = {0};
    struct err err = {0};
    int64_t begin_us = clock_mono_us();
    struct step_report said = {.kind = STEP_RELEASED};
    enum rc rc = run_command(slot, held, &end, &err);
    if (rc == RC_OK)
        said = report_of(slot, held, &end);
    else
        give_up(consumer, RC_IO, &err); /* It cannot be started: not the job's fault. */
    if (said.kind == STEP_COMPLETED)
        send_reply(slot, held, end.out);
    report(consumer, held, &said);
    lock(consumer);
    leave(consumer, held, said.kind);
    unlock(consumer);
    notify(consumer, (struct consumer_news){.job = &held->job,
                                            .report = &said,
                                            .took_us = clock_mono_us() - begin_us});
    lock(consumer);
    let_go(consumer, held);
    unlock(consumer);
}

/* The next job, or NULL when there will be none. */
static struct held *next_job(struct slot *slot)
{
    struct consumer *consumer = slot->consumer;
    struct held *held;
    lock(consumer);
    while ((held = consumer->stopping ? NULL : first_waiting(consumer)) == NULL &&
           !consumer->leased_out)
        wait_change(consumer, 60000);
    if (held != NULL) {
        stop_reset(&slot->stop);
        held->state = HELD_RUNNING;
        held->slot = slot;
        consumer->counts.waiting--;
        consumer->counts.running++;
    }
    unlock(consumer);
    return held;
}

static void *slot_main(void *ctx)
{
    struct slot *slot = ctx;
    struct consumer *consumer = slot->consumer;
    struct held *held;
    while ((held = next_job(slot)) != NULL)
        run_job(slot, held);
    lock(consumer);
    bool last = --consumer->slots_alive == 0;
    unlock(consumer);
    if (last)
        consumer->options.ended(consumer->options.ctx);
    return NULL;
}

/* ---- the leaser ---- */

/* Waits for room; how many jobs to lease, 0: no more. */
static int64_t room(struct consumer *consumer)
{
    const struct consumer_options *options = &consumer->options;
    int64_t wanted = 0;
    lock(consumer);
    for (;;) {
        int64_t left = options->count > 0 ? options->count - consumer->taken : INT64_MAX;
        bool over = consumer->stopping || (left <= 0 && consumer->held_count == 0);
        wanted = options->held_max - consumer->held_count;
        wanted = left < wanted ? left : wanted;
        if (over || wanted > 0)
            break;
        wait_change(consumer, 60000);
    }
    if (consumer->stopping)
        wanted = 0;
    unlock(consumer);
    return wanted > 0 ? wanted : 0;
}

static void pause_ms(struct consumer *consumer, int64_t ms)
{
    int64_t until_us = clock_mono_us() + ms * US_PER_MS;
    int64_t left_us;
    lock(consumer);
    while (!consumer->stopping && (left_us = until_us - clock_mono_us()) > 0)
        wait_change(consumer, left_us / US_PER_MS + 1);
    unlock(consumer);
}

/* With nothing to lease: is that the end? */
static bool drained(struct consumer *consumer)
{
    if (!consumer->options.drain) {
        pause_ms(consumer, EMPTY_PAUSE_MS);
        return false;
    }
    lock(consumer);
    bool empty = consumer->held_count == 0;
    if (!empty && !consumer->stopping) /* A job's end may make others leasable. */
        wait_change(consumer, DRAIN_LOOK_MS);
    unlock(consumer);
    return empty;
}

/* With a server that does not answer. */
struct patience {
    int64_t failures; /* In a row. */
    struct random random;
};

/* false: a retry cannot help. */
static bool bear_failure(struct consumer *consumer, struct patience *patience, enum rc rc,
                         const struct err *err)
{
    if (!retry_may_help(rc)) {
        give_up(consumer, rc, err);
        return false;
    }
    if (++patience->failures == 1)
        notify(consumer, (struct consumer_news){.text = err->text});
    pause_ms(consumer, retry_pause_ms(patience->failures, &patience->random));
    return true;
}

static bool lease_some(struct consumer *consumer, int64_t wanted, struct patience *patience)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *const queues[] = {consumer->options.queue, NULL};
    const struct port_lease_request request = {
        .queues = queues,
        .worker = consumer->options.name,
        .max = wanted,
        .wait_ms = consumer->options.drain ? 0 : LEASE_WAIT_MS,
        .lease_ms = consumer->options.lease_ms,
    };
    struct port_job *jobs = NULL;
    size_t count = 0;
    struct err err = {0};
    enum rc rc = consumer->port->ops->lease(consumer->port, &request, &arena, &jobs, &count, &err);
    if (rc != RC_OK)
        return bear_failure(consumer, patience, rc, &err);
    if (patience->failures > 0)
        notify(consumer, (struct consumer_news){.text = "the server answers again"});
    patience->failures = 0;
    if (count == 0)
        return !drained(consumer);
    lock(consumer);
    for (size_t i = 0; i < count; i++)
        hold(consumer, &jobs[i]);
    wake(consumer);
    unlock(consumer);
    return true;
}

/* What was leased ahead and not begun. */
static void return_waiting(struct consumer *consumer)
{
    const struct step_report returned = {.kind = STEP_RELEASED};
    for (;;) {
        lock(consumer);
        struct held *held = consumer->stopping ? first_waiting(consumer) : NULL;
        if (held != NULL)
            leave(consumer, held, STEP_RELEASED);
        unlock(consumer);
        if (held == NULL)
            return;
        (void)!send_report(consumer, held, &returned, NULL); /* Else its lease runs out. */
        lock(consumer);
        let_go(consumer, held);
        unlock(consumer);
    }
}

static void *leaser_main(void *ctx)
{
    struct consumer *consumer = ctx;
    struct patience patience = {.random = random_from_os()};
    int64_t wanted;
    while ((wanted = room(consumer)) > 0 && lease_some(consumer, wanted, &patience)) {
    }
    lock(consumer);
    while (!consumer->stopping && first_waiting(consumer) != NULL)
        wait_change(consumer, 60000);
    unlock(consumer);
    return_waiting(consumer);
    lock(consumer);
    consumer->leased_out = true;
    wake(consumer);
    unlock(consumer);
    return NULL;
}

/* ---- the heart ---- */

struct beats {
    struct port_ref leases[CONSUMER_HELD_MAX];
    struct port_beat answers[CONSUMER_HELD_MAX];
    struct held *held[CONSUMER_HELD_MAX];
    size_t count;
    struct port_ref agents[CONSUMER_HELD_MAX]; /* Those that must show that they are alive. */
    size_t agent_count;
};

/* Under the lock. */
static void gather(struct consumer *consumer, struct beats *beats)
{
    beats->count = beats->agent_count = 0;
    for (int i = 0; i < consumer->options.held_max; i++) {
        struct held *held = &consumer->held[i];
        if (held->state != HELD_WAITING && held->state != HELD_RUNNING)
            continue;
        beats->held[beats->count] = held;
        beats->leases[beats->count++] = ref_of(held);
        if (held->state == HELD_RUNNING && step_is(held->job.type, STEP_PULL))
            beats->agents[beats->agent_count++] = ref_of(held);
    }
}

/* Under the lock. */
static void receive_one(struct consumer *consumer, struct held *held, const struct port_beat *beat)
{
    if (held->state == HELD_RUNNING && !beat->ok) {
        stop_ask(&held->slot->stop, STOP_LOST);
    } else if (held->state == HELD_RUNNING && beat->cancel) {
        stop_ask(&held->slot->stop, STOP_CANCEL);
    } else if (held->state == HELD_WAITING && !beat->ok) {
        leave(consumer, held, STEP_DISCARDED);
        let_go(consumer, held);
    }
}

/* Under the lock.  A place may hold another job by now. */
static void receive(struct consumer *consumer, const struct beats *beats)
{
    for (size_t i = 0; i < beats->count; i++) {
        struct held *held = beats->held[i];
        const struct port_ref *lease = &beats->leases[i];
        if (id_same(&held->job.id, &lease->id) && held->job.epoch == lease->epoch)
            receive_one(consumer, held, &beats->answers[i]);
    }
}

/* The progress of the command is not known: that its process runs has to be enough.  One call for
   all, since the next heartbeat waits for it; one that fails is repeated then. */
static void show_life(struct consumer *consumer, const struct beats *beats)
{
    struct port *port = consumer->port;
    if (beats->agent_count > 0)
        (void)port->ops->show_life(port, beats->agents, beats->agent_count, NULL);
}

static void announce(struct consumer *consumer, enum port_presence presence, int busy)
{
    const char *const queues[] = {consumer->options.queue, NULL};
    char host[NAME_BYTES] = "";
    (void)gethostname(host, sizeof host - 1);
    const struct port_worker self = {
        .name = consumer->options.name,
        .host = host,
        .queues = queues,
        .pid = getpid(),
        .slots = consumer->options.slots,
        .busy = busy,
        .lease_ms = consumer->options.lease_ms,
        .presence = presence,
        .disk_free = -1,
    };
    (void)consumer->port->ops->announce(consumer->port, &self, NULL); /* Nothing depends on it. */
}

/* Under the lock, which is released during the calls. */
static void beat(struct consumer *consumer, struct beats *beats)
{
    struct port *port = consumer->port;
    gather(consumer, beats);
    int busy = (int)consumer->counts.running;
    enum port_presence presence = consumer->stopping ? PORT_DRAINING : PORT_ACTIVE;
    unlock(consumer);
    enum rc rc = RC_OK;
    if (beats->count > 0)
        rc = port->ops->heartbeat(port, consumer->options.name, beats->leases, beats->count,
                                  consumer->options.lease_ms, beats->answers, NULL);
    lock(consumer);
    if (rc != RC_OK) /* Only an answer of the server ends a lease. */
        return;
    receive(consumer, beats);
    unlock(consumer);
    show_life(consumer, beats);
    announce(consumer, presence, busy);
    lock(consumer);
}

static void *heart_main(void *ctx)
{
    struct consumer *consumer = ctx;
    struct beats *beats = mem_alloc(sizeof *beats);
    int64_t every_us = consumer->options.lease_ms * US_PER_MS / 3;
    int64_t next_us = 0;
    lock(consumer);
    while (!consumer->heart_stops) {
        int64_t now_us = clock_mono_us();
        if (now_us >= next_us) {
            next_us = now_us + every_us;
            beat(consumer, beats);
            continue;
        }
        wait_change(consumer, (next_us - now_us) / US_PER_MS + 1);
    }
    unlock(consumer);
    announce(consumer, PORT_LEFT, 0);
    mem_free(beats);
    return NULL;
}

/* ---- start and end ---- */

void consumer_wind_down(struct consumer *consumer)
{
    lock(consumer);
    consumer->stopping = true;
    wake(consumer);
    unlock(consumer);
    consumer->port->ops->interrupt(consumer->port);
}

void consumer_report_counts(struct consumer *consumer)
{
    notify(consumer, (struct consumer_news){0});
}

void consumer_kill(struct consumer *consumer)
{
    consumer_wind_down(consumer);
    stop_ask(&consumer->shutdown, STOP_SHUTDOWN);
    lock(consumer);
    for (int i = 0; i < consumer->options.held_max; i++) {
        if (consumer->held[i].slot != NULL)
            stop_ask(&consumer->held[i].slot->stop, STOP_SHUTDOWN);
    }
    unlock(consumer);
}

static enum rc make(struct consumer *consumer, struct err *err)
{
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&consumer->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    (void)pthread_mutex_init(&consumer->lock, NULL);
    (void)pthread_mutex_init(&consumer->notify_lock, NULL);
    consumer->shutdown.event_fd = -1;
    for (int i = 0; i < consumer->options.slots; i++) {
        struct slot *slot = &consumer->slots[i];
        slot->consumer = consumer;
        slot->stop.event_fd = -1;
        buf_init(&slot->out, OUT_BYTES_MAX);
        buf_init(&slot->err, ERR_BYTES_MAX);
    }
    enum rc rc = stop_init(&consumer->shutdown, err);
    for (int i = 0; rc == RC_OK && i < consumer->options.slots; i++)
        rc = stop_init(&consumer->slots[i].stop, err);
    return rc;
}

static enum rc start_thread(pthread_t *thread, void *(*body)(void *), void *ctx, bool *started,
                            struct err *err)
{
    enum rc rc = thread_start(&(struct thread_spec){.body = body, .ctx = ctx}, thread, err);
    *started = rc == RC_OK;
    return rc;
}

static enum rc start_threads(struct consumer *consumer, struct err *err)
{
    enum rc rc = RC_OK;
    consumer->slots_alive = consumer->options.slots;
    for (int i = 0; rc == RC_OK && i < consumer->options.slots; i++) {
        struct slot *slot = &consumer->slots[i];
        rc = start_thread(&slot->thread, slot_main, slot, &slot->started, err);
    }
    if (rc == RC_OK)
        rc = start_thread(&consumer->heart, heart_main, consumer, &consumer->heart_started, err);
    if (rc == RC_OK)
        rc = start_thread(&consumer->leaser, leaser_main, consumer, &consumer->leaser_started, err);
    return rc;
}

/* Waits for all that was started. */
static void join_all(struct consumer *consumer)
{
    if (consumer->leaser_started)
        (void)pthread_join(consumer->leaser, NULL);
    lock(consumer);
    consumer->leased_out = true; /* When there was no leaser to set it. */
    wake(consumer);
    unlock(consumer);
    for (int i = 0; i < consumer->options.slots; i++) {
        if (consumer->slots[i].started)
            (void)pthread_join(consumer->slots[i].thread, NULL);
    }
    lock(consumer);
    consumer->heart_stops = true; /* Leases were kept until now. */
    wake(consumer);
    unlock(consumer);
    if (consumer->heart_started)
        (void)pthread_join(consumer->heart, NULL);
}

static void consumer_free(struct consumer *consumer)
{
    for (int i = 0; i < consumer->options.slots; i++) {
        struct slot *slot = &consumer->slots[i];
        stop_release(&slot->stop);
        buf_release(&slot->out);
        buf_release(&slot->err);
    }
    stop_release(&consumer->shutdown);
    (void)pthread_cond_destroy(&consumer->changed);
    (void)pthread_mutex_destroy(&consumer->lock);
    (void)pthread_mutex_destroy(&consumer->notify_lock);
    mem_free(consumer);
}

enum rc consumer_start(const struct consumer_options *options, struct consumer **ret_consumer,
                       struct err *err)
{
    assert(options->slots >= 1 && options->slots <= CONSUMER_SLOTS_MAX);
    assert(options->held_max >= options->slots && options->held_max <= CONSUMER_HELD_MAX);
    assert(options->lease_ms > 0);
    struct consumer *consumer = mem_alloc(sizeof *consumer);
    consumer->options = *options;
    consumer->port = port_http_port(options->port);
    enum rc rc = make(consumer, err);
    if (rc == RC_OK)
        rc = start_threads(consumer, err);
    if (rc != RC_OK) {
        consumer_wind_down(consumer);
        join_all(consumer);
        consumer_free(consumer);
        return rc;
    }
    *ret_consumer = consumer;
    return RC_OK;
}

enum rc consumer_join(struct consumer *consumer, struct consumer_counts *ret_counts,
                      struct err *err)
{
    join_all(consumer);
    enum rc rc = consumer->rc;
    *ret_counts = consumer->counts;
    if (rc != RC_OK && err != NULL)
        *err = consumer->why;
    consumer_free(consumer);
    return rc;
}
