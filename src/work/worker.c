/*
 * worker.c - slots that lease, run and report; a heart that keeps their leases.
 *
 *     slot thread:   lease -> decode -> wait for the run -> step -> report -> lease ...
 *     heart thread:  every heartbeat_ms: renew all leases in one call; stop steps that the server
 *                    cancelled, whose lease was lost, or whose time is up
 *
 * How a step ends:
 *     it returned RC_OK      complete (a lost lease makes that worthless: the server says so)
 *     stopped: cancel        fail, code cancelled         stopped: time     fail, step_timed_out
 *     stopped: shutdown      release                      stopped: lost     nothing is said
 *     it failed              fail, with the code of the step
 *
 * Two jobs of one run never work in its directory at the same time: the later one waits for the
 * earlier one to end.  Slots are guarded by the worker's lock; `changed` tells of every change.
 */
#include "work/worker.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "work/report.h"
#include "work/retry.h"
#include "work/step.h"
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SLOTS_MAX = 256,
    NAME_BYTES = 128,
    LEASE_WAIT_MS = 20000,
    PAUSE_MIN_MS = 50, /* After a lease call that failed, or came back empty at once. */
    PAUSE_MAX_MS = 5000,
    AFTER_DEADLINE_MS = 30000, /* A step may use this beyond the run's deadline, to tell. */
    INTERRUPT_EVERY_MS = 100,
};

struct slot {
    struct worker *worker;
    pthread_t thread;
    bool started;
    char name[NAME_BYTES];
    struct stop stop;
    /* Guarded by the worker's lock. */
    bool busy;    /* Holds a lease. */
    bool running; /* Works in the directory of run_id. */
    struct port_ref lease;
    struct id run_id;
    const struct step_kind *kind;
    int64_t deadline_us;
};

struct worker {
    struct step_site site;
    struct worker_options options; /* name and work_dir are copies, owned. */
    char *data_dir;
    struct stop shutdown;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* By the monotonic clock. */
    bool stopping;
    bool heart_stops;
    bool heart_started;
    bool deaf; /* The last heartbeat got no answer; logged once. */
    pthread_t heart;
    int slots_alive;
    struct slot slots[SLOTS_MAX];
};

/* One leased job, on the stack of its slot. */
struct work {
    struct slot *slot;
    const struct port_job *job;
    struct step step;
    struct buf result;
    struct js *payload;
    int64_t begin_us;
};

/* --- waiting --- */

static void lock(struct worker *worker)
{
    (void)pthread_mutex_lock(&worker->lock);
}

static void unlock(struct worker *worker)
{
    (void)pthread_mutex_unlock(&worker->lock);
}

/* Waits under the lock for a change, at most until the given monotonic time. */
static void wait_change(struct worker *worker, int64_t until_us)
{
    struct timespec until = {.tv_sec = until_us / US_PER_SECOND,
                             .tv_nsec = until_us % US_PER_SECOND * 1000};
    (void)pthread_cond_timedwait(&worker->changed, &worker->lock, &until);
}

/* A pause that a shutdown ends. */
static void pause_ms(struct worker *worker, int64_t ms)
{
    int64_t until_us = clock_mono_us() + ms * US_PER_MS;
    lock(worker);
    while (!worker->stopping && clock_mono_us() < until_us)
        wait_change(worker, until_us);
    unlock(worker);
}

/* Under the lock: asks the slot's step to stop and wakes it should it wait for its run. */
static void ask_slot(struct slot *slot, enum stop_reason reason)
{
    stop_ask(&slot->stop, reason);
    (void)pthread_cond_broadcast(&slot->worker->changed);
}

/* --- taking and leaving --- */

static void slot_take(struct slot *slot, const struct port_job *job)
{
    struct worker *worker = slot->worker;
    lock(worker);
    stop_reset(&slot->stop);
    slot->busy = true;
    slot->running = false;
    slot->lease = (struct port_ref){.id = job->id, .epoch = job->epoch};
    slot->run_id = (struct id){0};
    slot->kind = NULL;
    slot->deadline_us = INT64_MAX;
    if (worker->stopping)
        ask_slot(slot, STOP_SHUTDOWN);
    (void)pthread_cond_broadcast(&worker->changed);
    unlock(worker);
}

static void slot_leave(struct slot *slot)
{
    struct worker *worker = slot->worker;
    lock(worker);
    slot->busy = slot->running = false;
    (void)pthread_cond_broadcast(&worker->changed);
    unlock(worker);
}

/* Under the lock: another slot that works in this slot's run directory. */
static struct slot *slot_before(struct slot *slot)
{
    struct worker *worker = slot->worker;
    for (int i = 0; i < worker->options.slots; i++) {
        struct slot *other = &worker->slots[i];
        if (other != slot && other->running && id_same(&other->run_id, &slot->run_id))
            return other;
    }
    return NULL;
}

/* Waits until no other slot works for this run; false when asked to stop first. */
static bool slot_enter_run(struct slot *slot, const struct step *step, const struct step_kind *kind)
{
    struct worker *worker = slot->worker;
    lock(worker);
    slot->run_id = step->input.run_id;
    slot->kind = kind;
    slot->deadline_us = step->deadline_us;
    struct slot *other;
    while ((other = slot_before(slot)) && stop_asked(&slot->stop) == STOP_NONE) {
        /* The same job again: the other's lease is gone, whatever it has heard. */
        if (id_same(&other->lease.id, &slot->lease.id))
            ask_slot(other, STOP_LOST);
        wait_change(worker, clock_mono_us() + US_PER_SECOND);
    }
    bool free_to_go = !other && stop_asked(&slot->stop) == STOP_NONE;
    slot->running = free_to_go;
    (void)pthread_cond_broadcast(&worker->changed); /* The heart looks at deadlines. */
    unlock(worker);
    return free_to_go;
}

/* --- one job --- */

static int64_t deadline_of(const struct step *step, const struct step_kind *kind)
{
    int64_t ms = kind->timeout_ms(&step->input.config);
    if (step->input.run_deadline_us > 0) {
        int64_t now_us = clock_now_us(&step->site->clock);
        int64_t left_ms = (step->input.run_deadline_us - now_us) / US_PER_MS;
        left_ms = (left_ms > 0 ? left_ms : 0) + AFTER_DEADLINE_MS;
        ms = left_ms < ms ? left_ms : ms;
    }
    return clock_mono_us() + ms * US_PER_MS;
}

/* RC_INVALID: nobody here can do this job, now or later. */
static enum rc decode(struct work *work, const struct step_kind **ret_kind, struct err *err)
{
    const struct port_job *job = work->job;
    const struct step_kind *kind = step_find(job->type);
    if (!kind)
        return err_set(err, RC_INVALID, "UNKNOWN_STEP", "There is no step called %.100s.",
                       job->type);
    enum rc rc = js_parse(job->payload.at, job->payload.len, &work->payload, err);
    if (rc == RC_OK)
        rc = step_decode(work->payload, work->step.arena, &work->step.input, err);
    if (rc != RC_OK)
        return rc;
    step_place(&work->step);
    work->step.deadline_us = deadline_of(&work->step, kind);
    *ret_kind = kind;
    return RC_OK;
}

static enum rc perform(struct work *work, const struct step_kind **ret_kind, struct err *err)
{
    struct step *step = &work->step;
    enum rc rc = decode(work, ret_kind, err);
    if (rc != RC_OK)
        return step_fail(step, rc, err, (struct port_failure){.code = "payload_invalid"});
    if (!slot_enter_run(work->slot, step, *ret_kind))
        return err_set(err, RC_CANCELLED, "CANCELLED", "stopped before it began");
    rc = (*ret_kind)->run(step, err);
    if (rc == RC_OK && step->result->overflow) {
        rc = err_set(err, RC_TOO_LARGE, "RESULT_TOO_LARGE", "The result is larger than %d bytes.",
                     STEP_RESULT_MAX);
        return step_fail(step, rc, err, (struct port_failure){.code = "result_too_large"});
    }
    return rc;
}

static struct port_failure failure_of(struct work *work, const struct step_kind *kind, enum rc rc,
                                      const struct err *err)
{
    if (rc == RC_TIMEOUT)
        return (struct port_failure){.code = "step_timed_out", .message = err->text};
    if (work->step.failure.code)
        return work->step.failure;
    return (struct port_failure){.code = kind->failure,
                                 .message = err->text[0] ? err->text : rc_name(rc),
                                 .retryable = retry_may_help(rc)};
}

/* The table at the head of this file. */
static struct step_report report_of(struct work *work, const struct step_kind *kind, enum rc rc,
                                    const struct err *err)
{
    enum stop_reason reason = stop_asked(&work->slot->stop);
    if (reason == STOP_LOST)
        return (struct step_report){.kind = REPORT_NOTHING};
    if (rc == RC_OK)
        return (struct step_report){.kind = REPORT_COMPLETE, .result = buf_str(&work->result)};
    switch (reason) {
    case STOP_SHUTDOWN:
        return (struct step_report){.kind = REPORT_RELEASE};
    case STOP_CANCEL:
        return (struct step_report){
            .kind = REPORT_FAIL,
            .failure = {.code = "cancelled", .message = "The step was cancelled."}};
    case STOP_TIMEOUT:
        return (struct step_report){
            .kind = REPORT_FAIL,
            .failure = {.code = "step_timed_out", .message = "The step used up its time."}};
    case STOP_NONE:
    case STOP_LOST:
        break;
    }
    return (struct step_report){.kind = REPORT_FAIL, .failure = failure_of(work, kind, rc, err)};
}

static void log_report(const struct work *work, const struct step_report *report)
{
    static const struct {
        enum log_level level;
        const char *text;
    } lines[] = {
        [REPORT_COMPLETE] = {LOG_DEBUG, "step done"},
        [REPORT_FAIL] = {LOG_WARN, "step failed"},
        [REPORT_RELEASE] = {LOG_INFO, "step given back"},
        [REPORT_NOTHING] = {LOG_WARN, "lease lost: the work of a step is discarded"},
    };
    const struct port_failure *failure = &report->failure;
    LOG(lines[report->kind].level, lines[report->kind].text, LOG_STR("step", work->job->type),
        LOG_STR("jobId", work->job->id.text), LOG_STR("runId", work->step.input.run_id.text),
        LOG_INT("durationMs", (clock_mono_us() - work->begin_us) / US_PER_MS),
        LOG_STR("code", failure->code), LOG_STR("error", failure->message));
}

/* A result that the server will not have must not come back for ever. */
static void refuse(const struct work *work, const struct report_route *route, const struct err *why)
{
    const struct step_report refused = {
        .kind = REPORT_FAIL, .failure = {.code = "result_refused", .message = why->text}};
    struct err err = {0};
    if (report_send(route, &refused, &err) != RC_OK)
        LOG(LOG_ERROR, "the server takes neither result nor failure of a step",
            LOG_STR("jobId", work->job->id.text), LOG_STR("error", err.text));
}

static void send_report(struct work *work, const struct step_report *report)
{
    struct worker *worker = work->slot->worker;
    const struct report_route route = {
        .port = worker->site.port, .lease = work->step.lease, .shutdown = &worker->shutdown};
    struct err err = {0};
    enum rc rc = report_send(&route, report, &err);
    if (rc == RC_OK)
        return;
    LOG(rc == RC_STALE ? LOG_WARN : LOG_ERROR, "the report of a step did not arrive",
        LOG_STR("step", work->job->type), LOG_STR("jobId", work->job->id.text),
        LOG_STR("outcome", rc_name(rc)), LOG_STR("error", err.text));
    if (report->kind == REPORT_COMPLETE && rc != RC_STALE && !retry_may_help(rc))
        refuse(work, &route, &err);
}

static void work_release(struct work *work)
{
    buf_release(&work->result);
    js_free(work->payload);
}

static void run_job(struct slot *slot, const struct port_job *job, struct arena *arena)
{
    struct worker *worker = slot->worker;
    CLEANUP(work_release)
    struct work work = {
        .slot = slot,
        .job = job,
        .step = {.site = &worker->site,
                 .lease = {.id = job->id, .epoch = job->epoch},
                 .arena = arena,
                 .stop = &slot->stop,
                 .deadline_us = INT64_MAX},
        .begin_us = clock_mono_us(),
    };
    buf_init(&work.result, STEP_RESULT_MAX);
    work.step.result = &work.result;
    struct err err = {0};
    const struct step_kind *kind = NULL;
    slot_take(slot, job);
    enum rc rc = perform(&work, &kind, &err);
    struct step_report report = report_of(&work, kind, rc, &err);
    log_report(&work, &report);
    send_report(&work, &report);
    slot_leave(slot);
}

/* --- the slot --- */

static bool is_stopping(struct worker *worker)
{
    lock(worker);
    bool stopping = worker->stopping;
    unlock(worker);
    return stopping;
}

/* One lease call, and the job when one comes of it. */
static void lease_one(struct slot *slot, struct arena *arena, int64_t *pause)
{
    struct worker *worker = slot->worker;
    struct port *port = worker->site.port;
    const struct port_lease_request request = {
        .queues = step_queues(),
        .worker = slot->name,
        .max = 1,
        .wait_ms = LEASE_WAIT_MS,
        .lease_ms = worker->options.lease_ms,
    };
    struct port_job *jobs = NULL;
    size_t count = 0;
    struct err err = {0};
    int64_t begin_us = clock_mono_us();
    enum rc rc = port->ops->lease(port, &request, arena, &jobs, &count, &err);
    if (rc == RC_OK && count > 0) {
        *pause = PAUSE_MIN_MS;
        run_job(slot, &jobs[0], arena);
        return;
    }
    if (rc != RC_OK) {
        LOG(LOG_WARN, "cannot lease work", LOG_STR("worker", slot->name),
            LOG_STR("error", err.text));
        pause_ms(worker, *pause);
        *pause = *pause * 2 < PAUSE_MAX_MS ? *pause * 2 : PAUSE_MAX_MS;
    } else if (clock_mono_us() - begin_us < PAUSE_MIN_MS * US_PER_MS) {
        pause_ms(worker, PAUSE_MIN_MS); /* An answer at once, and empty: no reason to spin. */
    }
}

static void *slot_main(void *ctx)
{
    struct slot *slot = ctx;
    struct worker *worker = slot->worker;
    CLEANUP(arena_release) struct arena arena = {0};
    int64_t pause = PAUSE_MIN_MS;
    while (!is_stopping(worker)) {
        lease_one(slot, &arena, &pause);
        arena_reset(&arena);
    }
    lock(worker);
    worker->slots_alive--;
    (void)pthread_cond_broadcast(&worker->changed);
    unlock(worker);
    return NULL;
}

/* --- the heart --- */

struct beats {
    struct port_ref leases[SLOTS_MAX];
    struct slot *slots[SLOTS_MAX];
    struct port_beat answers[SLOTS_MAX];
    size_t count;
};

/* Under the lock. */
static void gather_leases(struct worker *worker, struct beats *beats)
{
    beats->count = 0;
    for (int i = 0; i < worker->options.slots; i++) {
        struct slot *slot = &worker->slots[i];
        if (!slot->busy)
            continue;
        beats->slots[beats->count] = slot;
        beats->leases[beats->count++] = slot->lease;
    }
}

/* Under the lock.  A slot may have moved on to another job meanwhile. */
static void hear_answers(const struct beats *beats)
{
    for (size_t i = 0; i < beats->count; i++) {
        struct slot *slot = beats->slots[i];
        const struct port_ref *lease = &beats->leases[i];
        if (!slot->busy || !id_same(&slot->lease.id, &lease->id) ||
            slot->lease.epoch != lease->epoch)
            continue;
        if (!beats->answers[i].ok)
            ask_slot(slot, STOP_LOST);
        else if (beats->answers[i].cancel)
            ask_slot(slot, STOP_CANCEL);
    }
}

static void log_hearing(struct worker *worker, enum rc rc, const struct err *err)
{
    if (rc != RC_OK && !worker->deaf)
        LOG(LOG_WARN, "heartbeats get no answer", LOG_STR("worker", worker->options.name),
            LOG_STR("error", err->text));
    else if (rc == RC_OK && worker->deaf)
        LOG(LOG_INFO, "heartbeats are answered again", LOG_STR("worker", worker->options.name));
    worker->deaf = rc != RC_OK;
}

/* Under the lock, which is let go during the call. */
static void beat(struct worker *worker, struct beats *beats)
{
    gather_leases(worker, beats);
    if (beats->count == 0)
        return;
    struct port *port = worker->site.port;
    struct err err = {0};
    unlock(worker);
    enum rc rc = port->ops->heartbeat(port, worker->options.name, beats->leases, beats->count,
                                      worker->options.lease_ms, beats->answers, &err);
    log_hearing(worker, rc, &err);
    lock(worker);
    /* Only the server's word ends a lease: without an answer the work goes on. */
    if (rc == RC_OK)
        hear_answers(beats);
}

/* Under the lock: stops what is out of time; gives the next deadline. */
static int64_t check_deadlines(struct worker *worker)
{
    int64_t next_us = INT64_MAX;
    int64_t now_us = clock_mono_us();
    for (int i = 0; i < worker->options.slots; i++) {
        struct slot *slot = &worker->slots[i];
        if (!slot->busy || stop_asked(&slot->stop) != STOP_NONE)
            continue;
        if (now_us >= slot->deadline_us)
            ask_slot(slot, STOP_TIMEOUT);
        else if (slot->deadline_us < next_us)
            next_us = slot->deadline_us;
    }
    return next_us;
}

static void *heart_main(void *ctx)
{
    struct worker *worker = ctx;
    struct beats *beats = mem_alloc(sizeof *beats);
    int64_t every_us = worker->options.heartbeat_ms * US_PER_MS;
    int64_t next_beat_us = clock_mono_us() + every_us;
    lock(worker);
    while (!worker->heart_stops) {
        if (clock_mono_us() >= next_beat_us) {
            beat(worker, beats);
            next_beat_us = clock_mono_us() + every_us;
        }
        int64_t deadline_us = check_deadlines(worker);
        if (!worker->heart_stops)
            wait_change(worker, deadline_us < next_beat_us ? deadline_us : next_beat_us);
    }
    unlock(worker);
    mem_free(beats);
    return NULL;
}

/* --- start and stop --- */

/* Makes the directories and finds their names without links: the sandbox hides by name. */
static enum rc settle_dirs(struct worker *worker, const char *work_dir, struct err *err)
{
    char real[PATH_MAX];
    enum rc rc = dir_make(work_dir, 0700, err);
    if (rc != RC_OK)
        return rc;
    if (!realpath(work_dir, real))
        return err_set(err, RC_IO, "IO_ERROR", "cannot find %.300s: %s", work_dir, strerror(errno));
    worker->options.work_dir = mem_strdup(real);
    char *slash = strrchr(real, '/');
    if (slash && slash != real)
        *slash = '\0'; /* Directly below the root there is no data directory to hide. */
    worker->data_dir = mem_strdup(real);
    CLEANUP(arena_release) struct arena arena = {0};
    rc = git_home_make(arena_printf(&arena, "%s/git", worker->options.work_dir), err);
    if (rc == RC_OK)
        rc = dir_make(arena_printf(&arena, "%s/runs", worker->options.work_dir), 0700, err);
    return rc;
}

static void settle_sandbox(struct worker *worker)
{
    struct err why = {0};
    sandbox_probe(&worker->site.sandbox, worker->data_dir, &why);
    if (worker->site.sandbox.kind == SANDBOX_NONE)
        LOG(LOG_WARN,
            "bubblewrap does not work here: agents and checks run WITHOUT a sandbox and can read "
            "and write all that drover can",
            LOG_STR("error", why.text));
}

static enum rc make_worker(const struct worker_options *options, struct worker *worker,
                           struct err *err)
{
    worker->options = *options;
    worker->options.name = mem_strdup(options->name);
    worker->options.server_url = mem_strdup(options->server_url ? options->server_url : "");
    worker->options.work_dir = NULL;
    worker->shutdown.event_fd = -1;
    for (int i = 0; i < options->slots; i++)
        worker->slots[i].stop.event_fd = -1;
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&worker->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    (void)pthread_mutex_init(&worker->lock, NULL);
    enum rc rc = stop_init(&worker->shutdown, err);
    for (int i = 0; rc == RC_OK && i < options->slots; i++) {
        struct slot *slot = &worker->slots[i];
        slot->worker = worker;
        (void)snprintf(slot->name, sizeof slot->name, "%.100s/%d", options->name, i);
        rc = stop_init(&slot->stop, err);
    }
    if (rc == RC_OK)
        rc = settle_dirs(worker, options->work_dir, err);
    if (rc != RC_OK)
        return rc;
    settle_sandbox(worker);
    worker->site = (struct step_site){
        .port = options->port,
        .clock = options->clock,
        .worker = worker->options.name,
        .lease_ms = options->lease_ms,
        .work_dir = worker->options.work_dir,
        .server_url = worker->options.server_url,
        .sandbox = worker->site.sandbox,
    };
    return RC_OK;
}

static enum rc start_thread(pthread_t *thread, void *(*body)(void *), void *ctx, struct err *err)
{
    int failed = pthread_create(thread, NULL, body, ctx);
    if (failed)
        return err_set(err, RC_IO, "IO_ERROR", "cannot start a thread: %s", strerror(failed));
    return RC_OK;
}

/* Signals are the main thread's business. */
static enum rc start_threads(struct worker *worker, struct err *err)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    enum rc rc = start_thread(&worker->heart, heart_main, worker, err);
    worker->heart_started = rc == RC_OK;
    for (int i = 0; rc == RC_OK && i < worker->options.slots; i++) {
        struct slot *slot = &worker->slots[i];
        lock(worker);
        worker->slots_alive++;
        unlock(worker);
        rc = start_thread(&slot->thread, slot_main, slot, err);
        slot->started = rc == RC_OK;
        if (!slot->started) {
            lock(worker);
            worker->slots_alive--;
            unlock(worker);
        }
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

enum rc worker_start(const struct worker_options *options, struct worker **ret_worker,
                     struct err *err)
{
    assert(options->slots >= 1 && options->slots <= SLOTS_MAX);
    assert(options->lease_ms > 0 && options->heartbeat_ms > 0);
    struct worker *worker = mem_alloc(sizeof *worker);
    enum rc rc = make_worker(options, worker, err);
    if (rc == RC_OK)
        rc = start_threads(worker, err);
    if (rc != RC_OK) {
        worker_stop(worker);
        return rc;
    }
    *ret_worker = worker;
    return RC_OK;
}

void worker_cancel_run(struct worker *worker, const struct id *run_id)
{
    lock(worker);
    for (int i = 0; i < worker->options.slots; i++) {
        struct slot *slot = &worker->slots[i];
        /* Cleaning up is part of a cancel. */
        bool cleans = slot->kind && slot->kind->run == step_clean;
        if (slot->busy && !cleans && id_same(&slot->run_id, run_id))
            ask_slot(slot, STOP_CANCEL);
    }
    unlock(worker);
}

int worker_busy(struct worker *worker)
{
    int busy = 0;
    lock(worker);
    for (int i = 0; i < worker->options.slots; i++)
        busy += worker->slots[i].busy;
    unlock(worker);
    return busy;
}

/* A lease call that begins just now has not heard an interrupt of before: it is repeated. */
static void end_slots(struct worker *worker)
{
    struct port *port = worker->options.port;
    lock(worker);
    worker->stopping = true;
    for (int i = 0; i < worker->options.slots; i++) {
        if (worker->slots[i].busy)
            ask_slot(&worker->slots[i], STOP_SHUTDOWN);
    }
    (void)pthread_cond_broadcast(&worker->changed);
    while (worker->slots_alive > 0) {
        unlock(worker);
        port->ops->interrupt(port);
        lock(worker);
        if (worker->slots_alive > 0)
            wait_change(worker, clock_mono_us() + INTERRUPT_EVERY_MS * US_PER_MS);
    }
    worker->heart_stops = true; /* Leases were kept until their slots had ended. */
    (void)pthread_cond_broadcast(&worker->changed);
    unlock(worker);
}

void worker_stop(struct worker *worker)
{
    if (!worker)
        return;
    if (worker->shutdown.event_fd >= 0)
        stop_ask(&worker->shutdown, STOP_SHUTDOWN);
    end_slots(worker);
    for (int i = 0; i < worker->options.slots; i++) {
        if (worker->slots[i].started)
            (void)pthread_join(worker->slots[i].thread, NULL);
        stop_release(&worker->slots[i].stop);
    }
    if (worker->heart_started)
        (void)pthread_join(worker->heart, NULL);
    stop_release(&worker->shutdown);
    (void)pthread_cond_destroy(&worker->changed);
    (void)pthread_mutex_destroy(&worker->lock);
    mem_free((void *)(uintptr_t)worker->options.name);
    mem_free((void *)(uintptr_t)worker->options.server_url);
    mem_free((void *)(uintptr_t)worker->options.work_dir);
    mem_free(worker->data_dir);
    mem_free(worker);
}
