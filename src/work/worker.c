/*
 * worker.c - slots that lease, run and report; a heart thread that renews their leases.
 *
 *     slots          [ agent 0 .. agents_max ) [ check ... ) [ short ... )   each leases from the
 *                    queues of its class only, so that no class waits behind another
 *     slot thread:   lease -> decode -> wait for the run -> step -> report -> lease ...
 *                    (a server in this process may lease the next job with the report)
 *     heart thread:  every heartbeat_ms: renew all leases in one call; stop steps that the server
 *                    cancelled, whose lease was lost, or whose time is up
 *     housekeeping thread: every hour: remove directories of runs that other workers have
 *                    finished, and what was put aside for people long ago
 *
 * Two jobs of one run never work in its directory at the same time: the later one waits for the
 * earlier one to end, or for housekeeping.  Slots are guarded by the worker's lock; `changed` is
 * signalled at every change.
 */
#include "work/worker.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"
#include "work/job/disk.h"
#include "work/job/retry.h"
#include "work/job/site.h"
#include "work/job/step.h"
#include "work/job_run.h"
#include "work/orphans.h"
#include "work/presence.h"
#include "work/sandbox/sandbox.h"
#include "work/slot_queues.h"
#include "work/tree/housekeeping.h"
#include "work/tree/sweep.h"
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    NAME_BYTES = 128,
    LEASE_WAIT_MS = 20000,
    LEASE_WAIT_LOW_MS = 2000, /* With a low disk: soon it may have space for all queues. */
    PAUSE_MIN_MS = 50,        /* After a lease call that returned at once without a job. */
    INTERRUPT_EVERY_MS = 100,
    IDLE_END_MS = 1500, /* For lease calls of idle slots to return. */
};

struct slot {
    struct worker *worker;
    enum step_class class;
    int number; /* Within its class. */
    pthread_t thread;
    bool started; /* The thread is to be joined. */
    char name[NAME_BYTES];
    struct stop stop;
    struct steer steer;
    struct arena arenas[2]; /* Of the job at hand and of the next. */
    int turn;               /* Which of them is in use. */
    struct port_next next;
    /* Guarded by the worker's lock. */
    bool alive;   /* The thread continues. */
    bool busy;    /* Holds a lease. */
    bool running; /* Works in the directory of run_id. */
    struct port_ref lease;
    struct id run_id;
    const struct step_row *row;
    int64_t deadline_us;
};

struct worker {
    struct step_site site;
    struct worker_options options; /* Its texts are copies, owned. */
    struct site_dirs dirs;
    struct stop shutdown;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* By the monotonic clock. */
    bool stopping;
    bool heart_stops;
    bool heart_started;
    bool beat_now; /* The server has news for a step. */
    bool deaf;     /* The last heartbeat got no answer; logged once. */
    bool idle;     /* The last lease call got no answer; logged once. */
    bool draining_logged;
    pthread_t heart;
    pthread_t housekeeping;
    bool housekeeping_started;
    struct id swept; /* The run whose directory housekeeping removes now. */
    struct retention_total unpublished;
    struct disk disk;
    int slots_alive;
    int wanted[STEP_CLASS_COUNT]; /* Slots numbered beyond it end with their job. */
    struct slot_queues queues;    /* Those of the options. */
    int slot_count;
    struct slot slots[]; /* slot_count of them, class after class. */
};

/* ---- waiting ---- */

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

/* ---- taking and leaving ---- */

static void slot_take(struct slot *slot, const struct port_job *job)
{
    struct worker *worker = slot->worker;
    lock(worker);
    stop_reset(&slot->stop);
    steer_reset(&slot->steer);
    slot->busy = true;
    slot->running = false;
    slot->lease = (struct port_ref){.id = job->id, .epoch = job->epoch};
    slot->run_id = (struct id){0};
    slot->row = NULL;
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
    for (int i = 0; i < worker->slot_count; i++) {
        struct slot *other = &worker->slots[i];
        if (other != slot && other->running && id_same(&other->run_id, &slot->run_id))
            return other;
    }
    return NULL;
}

/* Waits until no other slot works for this run; false when asked to stop first. */
static bool slot_enter_run(void *ctx, const struct step *step, const struct step_row *row)
{
    struct slot *slot = ctx;
    struct worker *worker = slot->worker;
    lock(worker);
    slot->run_id = step->input.run_id;
    slot->row = row;
    slot->deadline_us = step->deadline_us;
    struct slot *other;
    bool of_run = !row->bare;
    while (of_run &&
           ((other = slot_before(slot)) != NULL || id_same(&worker->swept, &slot->run_id)) &&
           stop_asked(&slot->stop) == STOP_NONE) {
        /* The same job again: the other slot's lease is lost, also if it has not been notified. */
        if (other != NULL && id_same(&other->lease.id, &slot->lease.id))
            ask_slot(other, STOP_LOST);
        wait_change(worker, clock_mono_us() + US_PER_SECOND);
    }
    bool free_to_go = stop_asked(&slot->stop) == STOP_NONE;
    slot->running = free_to_go && of_run;
    if (slot->running)
        sweep_touch(step->run_dir);
    (void)pthread_cond_broadcast(&worker->changed); /* The heart checks deadlines. */
    unlock(worker);
    return free_to_go;
}

/* ---- the slot ---- */

/* With a server that does not answer. */
struct patience {
    int64_t failures; /* In a row. */
    struct random random;
};

/* Or ends: from the same moment on it is not alive. */
static bool slot_goes_on(struct slot *slot)
{
    struct worker *worker = slot->worker;
    lock(worker);
    slot->alive = !worker->stopping && slot->number < worker->wanted[slot->class];
    bool alive = slot->alive;
    if (!alive) {
        worker->slots_alive--;
        (void)pthread_cond_broadcast(&worker->changed);
    }
    unlock(worker);
    return alive;
}

/* While the disk is low there may be no queue in it: then there is nothing to ask for. */
static struct port_lease_request lease_request(const struct slot *slot)
{
    struct worker *worker = slot->worker;
    bool low = atomic_load(&worker->disk.low);
    return (struct port_lease_request){
        .queues = low ? worker->queues.frugal[slot->class] : worker->queues.all[slot->class],
        .worker = slot->name,
        .max = 1,
        .wait_ms = low ? LEASE_WAIT_LOW_MS : LEASE_WAIT_MS,
        .lease_ms = slot->worker->options.lease_ms,
    };
}

/* Nothing, if the slot is to end. */
static struct port_next *slot_next(void *ctx)
{
    struct slot *slot = ctx;
    struct worker *worker = slot->worker;
    lock(worker);
    bool goes_on = !worker->stopping && slot->number < worker->wanted[slot->class];
    unlock(worker);
    slot->next.request = lease_request(slot); /* The disk may have changed. */
    return goes_on && slot->next.request.queues[0] != NULL ? &slot->next : NULL;
}

static void run_job(struct slot *slot, const struct port_job *job)
{
    slot->next = (struct port_next){.arena = &slot->arenas[!slot->turn]};
    const struct job_run job_run = {
        .site = &slot->worker->site,
        .job = job,
        .arena = &slot->arenas[slot->turn],
        .stop = &slot->stop,
        .steer = &slot->steer,
        .disk = &slot->worker->disk,
        .shutdown = &slot->worker->shutdown,
        .may_begin = slot_enter_run,
        .next = slot_next,
        .ctx = slot,
    };
    slot_take(slot, job);
    job_run_execute(&job_run);
    slot_leave(slot);
}

/* Logs once that leasing fails, and once that it works again. */
static void log_leasing(struct worker *worker, enum rc rc, const struct err *err)
{
    lock(worker);
    bool changed = worker->idle != (rc != RC_OK);
    worker->idle = rc != RC_OK;
    unlock(worker);
    if (changed && rc != RC_OK)
        LOG(LOG_WARN, "cannot lease work; trying again", LOG_STR("worker", worker->options.name),
            LOG_STR("code", err->code), LOG_STR("error", err->text));
    else if (changed)
        LOG(LOG_INFO, "work can be leased again", LOG_STR("worker", worker->options.name));
}

/* One lease call: the job, or NULL. */
static struct port_job *lease_one(struct slot *slot, struct patience *patience)
{
    struct worker *worker = slot->worker;
    struct port *port = worker->site.port;
    const struct port_lease_request request = lease_request(slot);
    struct arena *arena = &slot->arenas[slot->turn];
    struct port_job *jobs = NULL;
    size_t count = 0;
    struct err err = {0};
    int64_t begin_us = clock_mono_us();
    enum rc rc = port->ops->lease(port, &request, arena, &jobs, &count, &err);
    log_leasing(worker, rc, &err);
    patience->failures = rc == RC_OK ? 0 : patience->failures + 1;
    if (rc != RC_OK)
        pause_ms(worker, retry_pause_ms(patience->failures, &patience->random));
    else if (count == 0 && clock_mono_us() - begin_us < PAUSE_MIN_MS * US_PER_MS)
        pause_ms(worker, PAUSE_MIN_MS); /* An immediate answer without a job: no busy loop. */
    return rc == RC_OK && count > 0 ? &jobs[0] : NULL;
}

static void *slot_main(void *ctx)
{
    struct slot *slot = ctx;
    struct patience patience = {.random = random_from_os()};
    struct port_job *job = NULL;
    while (job != NULL || slot_goes_on(slot)) {
        slot->next.job = NULL;
        if (job == NULL && lease_request(slot).queues[0] == NULL)
            pause_ms(slot->worker, LEASE_WAIT_LOW_MS);
        else if (job == NULL)
            job = lease_one(slot, &patience);
        if (job != NULL)
            run_job(slot, job);
        job = slot->next.job;
        arena_reset(&slot->arenas[slot->turn]);
        slot->turn = !slot->turn;
    }
    for (size_t i = 0; i < COUNT_OF(slot->arenas); i++)
        arena_release(&slot->arenas[i]);
    return NULL;
}

/* ---- the heart ---- */

/* Under the lock.  Those that end after their job count until then. */
static struct worker_load count_slots(struct worker *worker)
{
    struct worker_load load = {0};
    for (int i = 0; i < worker->slot_count; i++) {
        load.of[worker->slots[i].class].busy += worker->slots[i].busy;
        load.busy += worker->slots[i].busy;
    }
    for (int i = 0; i < STEP_CLASS_COUNT; i++) {
        struct class_load *class = &load.of[i];
        class->slots = worker->wanted[i] > class->busy ? worker->wanted[i] : class->busy;
    }
    return load;
}

static enum rc announce(struct worker *worker, enum port_presence presence, struct worker_load load,
                        struct err *err)
{
    struct port *port = worker->site.port;
    struct port_worker self = worker_presence(&worker->options);
    const struct class_load *class = &load.of[slots_main(&worker->options.slots)];
    self.slots = class->slots;
    self.busy = class->busy;
    self.presence = presence;
    self.unpublished_count = __atomic_load_n(&worker->unpublished.count, __ATOMIC_RELAXED);
    self.unpublished_bytes = __atomic_load_n(&worker->unpublished.bytes, __ATOMIC_RELAXED);
    self.disk_free = atomic_load(&worker->disk.free_bytes);
    self.disk_low = atomic_load(&worker->disk.low);
    return port->ops->announce(port, &self, err);
}

struct beats {
    struct port_ref leases[ALL_SLOTS_MAX];
    struct slot *slots[ALL_SLOTS_MAX];
    struct port_beat answers[ALL_SLOTS_MAX];
    size_t count;
};

/* Under the lock. */
static void gather_leases(struct worker *worker, struct beats *beats)
{
    beats->count = 0;
    for (int i = 0; i < worker->slot_count; i++) {
        struct slot *slot = &worker->slots[i];
        if (!slot->busy)
            continue;
        beats->slots[beats->count] = slot;
        beats->leases[beats->count++] = slot->lease;
    }
}

/* Under the lock.  A slot may have moved on to another job meanwhile. */
static void apply_answers(const struct beats *beats)
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
        steer_note(&slot->steer, &beats->answers[i]);
    }
}

static void log_heartbeat(struct worker *worker, enum rc rc, const struct err *err)
{
    if (rc != RC_OK && !worker->deaf)
        LOG(LOG_WARN, "heartbeats get no answer", LOG_STR("worker", worker->options.name),
            LOG_STR("error", err->text));
    else if (rc == RC_OK && worker->deaf)
        LOG(LOG_INFO, "heartbeats are answered again", LOG_STR("worker", worker->options.name));
    worker->deaf = rc != RC_OK;
}

/* Under the lock, which is released during the call. */
static enum rc renew(struct worker *worker, struct beats *beats, struct err *err)
{
    struct port *port = worker->site.port;
    gather_leases(worker, beats);
    if (beats->count == 0)
        return RC_OK;
    unlock(worker);
    enum rc rc = port->ops->heartbeat(port, worker->options.name, beats->leases, beats->count,
                                      worker->options.lease_ms, beats->answers, err);
    lock(worker);
    /* Only an answer of the server ends a lease: without one the work continues. */
    if (rc == RC_OK)
        apply_answers(beats);
    return rc;
}

/* Under the lock, which is released during the calls. */
static void beat(struct worker *worker, struct beats *beats)
{
    struct err err = {0};
    enum rc rc = renew(worker, beats, &err);
    enum port_presence presence = worker->stopping ? PORT_DRAINING : PORT_ACTIVE;
    struct worker_load load = count_slots(worker);
    unlock(worker);
    if (rc == RC_OK)
        rc = announce(worker, presence, load, &err);
    log_heartbeat(worker, rc, &err);
    lock(worker);
}

/* Under the lock: stops steps whose time is up; returns the next deadline. */
static int64_t check_deadlines(struct worker *worker)
{
    int64_t next_us = INT64_MAX;
    int64_t now_us = clock_mono_us();
    for (int i = 0; i < worker->slot_count; i++) {
        struct slot *slot = &worker->slots[i];
        if (!slot->busy || stop_asked(&slot->stop) != STOP_NONE)
            continue;
        int64_t deadline_us = steer_extend(&slot->steer, &slot->deadline_us, now_us);
        if (now_us >= deadline_us)
            ask_slot(slot, STOP_TIMEOUT);
        else if (deadline_us < next_us)
            next_us = deadline_us;
    }
    return next_us;
}

static void *heart_main(void *ctx)
{
    struct worker *worker = ctx;
    struct beats *beats = mem_alloc(sizeof *beats);
    int64_t every_us = worker->options.heartbeat_ms * US_PER_MS;
    int64_t next_beat_us = 0; /* The first one announces the worker. */
    lock(worker);
    while (!worker->heart_stops) {
        bool news = (worker->stopping && !worker->draining_logged) || worker->beat_now;
        if (news || clock_mono_us() >= next_beat_us) {
            worker->beat_now = false;
            worker->draining_logged = worker->stopping;
            beat(worker, beats);
            next_beat_us = clock_mono_us() + every_us;
        }
        int64_t deadline_us = check_deadlines(worker);
        if (!worker->heart_stops)
            wait_change(worker, deadline_us < next_beat_us ? deadline_us : next_beat_us);
    }
    struct worker_load load = count_slots(worker);
    unlock(worker);
    (void)announce(worker, PORT_LEFT, load, NULL);
    mem_free(beats);
    return NULL;
}

/* ---- housekeeping ---- */

static bool housekeeping_take(void *ctx, const struct id *run_id)
{
    struct worker *worker = ctx;
    bool in_use = false;
    lock(worker);
    for (int i = 0; i < worker->slot_count; i++)
        in_use |= worker->slots[i].running && id_same(&worker->slots[i].run_id, run_id);
    bool take = !in_use && !worker->stopping;
    if (take)
        worker->swept = *run_id;
    unlock(worker);
    return take;
}

static void housekeeping_leave(void *ctx)
{
    struct worker *worker = ctx;
    lock(worker);
    worker->swept = (struct id){0};
    (void)pthread_cond_broadcast(&worker->changed);
    unlock(worker);
}

static void housekeeping_report(void *ctx, const struct retention_total *unpublished)
{
    struct worker *worker = ctx;
    __atomic_store_n(&worker->unpublished.count, unpublished->count, __ATOMIC_RELAXED);
    __atomic_store_n(&worker->unpublished.bytes, unpublished->bytes, __ATOMIC_RELAXED);
}

static void *housekeeping_main(void *ctx)
{
    struct worker *worker = ctx;
    const struct housekeeping housekeeping = {
        .site = &worker->site,
        .disk = &worker->disk,
        .stop = &worker->shutdown,
        .keep_days = worker->options.keep_days,
        .take = housekeeping_take,
        .leave = housekeeping_leave,
        .report = housekeeping_report,
        .ctx = worker,
    };
    struct housekeeping_times times = {0};
    retention_note_worker(worker->dirs.work, worker->options.name);
    housekeeping_warn_of_kept(&worker->site);
    while (stop_asked(&worker->shutdown) == STOP_NONE)
        pause_ms(worker, housekeeping_turn_ms(&housekeeping, &times));
    return NULL;
}

/* ---- start and stop ---- */

/* Room for the slots of every class; those of agents may become more. */
static void lay_out_slots(struct worker *worker)
{
    int at = 0;
    for (int class = 0; class < STEP_CLASS_COUNT; class ++) {
        int count = worker->options.slots.of[class];
        worker->wanted[class] = count; /* The heart announces them before they have started. */
        if (class == CLASS_AGENT && worker->options.agents_max > count)
            count = worker->options.agents_max;
        for (int i = 0; i < count; i++, at++)
            worker->slots[at] = (struct slot){.worker = worker,
                                              .class = (enum step_class) class,
                                              .number = i,
                                              .stop.event_fd = -1,
                                              .steer.event_fd = -1};
    }
    assert(at == worker->slot_count);
}

static void make_lock(struct worker *worker)
{
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&worker->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    (void)pthread_mutex_init(&worker->lock, NULL);
}

static enum rc make_worker(const struct worker_options *options, struct worker *worker,
                           struct err *err)
{
    worker->options = *options;
    worker->options.name = mem_strdup(options->name);
    worker->options.server_url = mem_strdup(options->server_url != NULL ? options->server_url : "");
    if (options->server_socket != NULL)
        worker->options.server_socket = mem_strdup(options->server_socket);
    worker->options.work_dir = NULL; /* dirs.work, without links. */
    worker->options.hidden = NULL;   /* dirs.hidden */
    if (options->queues.names[0] == NULL)
        worker->options.queues = step_queues();
    worker->queues = slot_queues_split(&worker->options.queues);
    worker->shutdown.event_fd = -1;
    lay_out_slots(worker);
    make_lock(worker);
    enum rc rc = stop_init(&worker->shutdown, err);
    for (int i = 0; rc == RC_OK && i < worker->slot_count; i++) {
        struct slot *slot = &worker->slots[i];
        (void)snprintf(slot->name, sizeof slot->name, "%.100s/%d", options->name, i);
        rc = stop_init(&slot->stop, err);
        if (rc == RC_OK)
            rc = steer_init(&slot->steer, err);
    }
    if (rc == RC_OK)
        rc = site_dirs_make(options->work_dir, options->hidden, &worker->dirs, err);
    if (rc != RC_OK)
        return rc;
    worker->site = (struct step_site){
        .port = options->port,
        .clock = options->clock,
        .worker = worker->options.name,
        .lease_ms = options->lease_ms,
        .work_dir = worker->dirs.work,
        .server_url = worker->options.server_url,
        .server_socket = worker->options.server_socket,
    };
    disk_start(&worker->disk, worker->dirs.work, options->disk_reserve_bytes);
    const struct sandbox_options shown = {.data_dir = worker->dirs.data,
                                          .hidden = (const char *const *)worker->dirs.hidden,
                                          .none = options->sandbox_none};
    /* Before the probe of the sandbox, which looks like one on its way out. */
    int orphans = orphans_end(worker->dirs.data);
    if (orphans > 0)
        LOG(LOG_WARN, "ended what a killed server left running", LOG_INT("count", orphans));
    return sandbox_start(&worker->site.sandbox, &shown, options->sandbox_required, err);
}

/* Unless it is alive. */
static enum rc start_slot(struct slot *slot, struct err *err)
{
    struct worker *worker = slot->worker;
    lock(worker);
    bool alive = slot->alive;
    slot->alive = true;
    worker->slots_alive += !alive;
    unlock(worker);
    if (alive)
        return RC_OK;
    if (slot->started)
        (void)pthread_join(slot->thread, NULL);
    enum rc rc = thread_start(&(struct thread_spec){.body = slot_main, .ctx = slot}, &slot->thread,
                              err);
    slot->started = rc == RC_OK;
    if (rc == RC_OK)
        return RC_OK;
    lock(worker);
    slot->alive = false;
    worker->slots_alive--;
    unlock(worker);
    return rc;
}

/* All that are wanted.  A slot that was to end and has not ended stays. */
static enum rc start_slots(struct worker *worker, struct err *err)
{
    enum rc rc = RC_OK;
    for (int i = 0; rc == RC_OK && i < worker->slot_count; i++) {
        struct slot *slot = &worker->slots[i];
        if (slot->number < worker->wanted[slot->class]) /* Only the caller changes it. */
            rc = start_slot(slot, err);
    }
    return rc;
}

static enum rc start_threads(struct worker *worker, struct err *err)
{
    enum rc rc = thread_start(&(struct thread_spec){.body = heart_main, .ctx = worker},
                              &worker->heart, err);
    worker->heart_started = rc == RC_OK;
    if (rc == RC_OK)
        rc = thread_start(&(struct thread_spec){.body = housekeeping_main, .ctx = worker},
                          &worker->housekeeping, err);
    worker->housekeeping_started = rc == RC_OK;
    return rc == RC_OK ? start_slots(worker, err) : rc;
}

/* How many slots there may be at once. */
static int count_room(const struct worker_options *options)
{
    int more = options->agents_max - options->slots.of[CLASS_AGENT];
    int count = more > 0 ? more : 0;
    for (int i = 0; i < STEP_CLASS_COUNT; i++) {
        assert(options->slots.of[i] >= 0 && options->slots.of[i] <= CLASS_SLOTS_MAX);
        count += options->slots.of[i];
    }
    assert(count >= 1 && options->agents_max <= CLASS_SLOTS_MAX);
    return count;
}

enum rc worker_start(const struct worker_options *options, struct worker **ret_worker,
                     struct err *err)
{
    assert(options->lease_ms > 0 && options->heartbeat_ms > 0);
    int count = count_room(options);
    struct worker *worker = mem_alloc(sizeof *worker + (size_t)count * sizeof(struct slot));
    worker->slot_count = count;
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
    for (int i = 0; i < worker->slot_count; i++) {
        struct slot *slot = &worker->slots[i];
        bool stoppable = slot->row != NULL && !slot->row->finishes;
        if (slot->busy && stoppable && id_same(&slot->run_id, run_id))
            ask_slot(slot, STOP_CANCEL);
    }
    unlock(worker);
}

void worker_steer_run(struct worker *worker, const struct id *run_id)
{
    lock(worker);
    worker->beat_now |= run_id == NULL;
    for (int i = 0; run_id != NULL && i < worker->slot_count; i++)
        worker->beat_now |= worker->slots[i].running && id_same(&worker->slots[i].run_id, run_id);
    if (worker->beat_now)
        (void)pthread_cond_broadcast(&worker->changed);
    unlock(worker);
}

struct worker_load worker_load(struct worker *worker)
{
    lock(worker);
    struct worker_load load = count_slots(worker);
    unlock(worker);
    return load;
}

enum rc worker_resize(struct worker *worker, int agents, struct err *err)
{
    assert(agents >= 1 && agents <= CLASS_SLOTS_MAX);
    lock(worker);
    worker->wanted[CLASS_AGENT] = agents;
    unlock(worker);
    return start_slots(worker, err);
}

/* Under the lock. */
static bool slots_wait(struct worker *worker, bool idle_only)
{
    return worker->slots_alive > (idle_only ? count_slots(worker).busy : 0);
}

/* Under the lock, which is released meanwhile.  A lease call that begins after an interrupt is not
   ended by it: so interrupts are repeated. */
static void interrupt_slots(struct worker *worker, bool idle_only, int64_t until_us)
{
    struct port *port = worker->options.port;
    while (slots_wait(worker, idle_only) && clock_mono_us() < until_us) {
        unlock(worker);
        port->ops->interrupt(port);
        lock(worker);
        if (slots_wait(worker, idle_only))
            wait_change(worker, clock_mono_us() + INTERRUPT_EVERY_MS * US_PER_MS);
    }
}

/* Slots without work first, so that they do not lease what the others release. */
static void end_slots(struct worker *worker)
{
    lock(worker);
    worker->stopping = true;
    (void)pthread_cond_broadcast(&worker->changed);
    interrupt_slots(worker, true, clock_mono_us() + IDLE_END_MS * US_PER_MS);
    for (int i = 0; i < worker->slot_count; i++) {
        if (worker->slots[i].busy)
            ask_slot(&worker->slots[i], STOP_SHUTDOWN);
    }
    interrupt_slots(worker, false, INT64_MAX);
    worker->heart_stops = true; /* Leases were kept until their slots had ended. */
    (void)pthread_cond_broadcast(&worker->changed);
    unlock(worker);
}

void worker_stop(struct worker *worker)
{
    if (worker == NULL)
        return;
    if (worker->shutdown.event_fd >= 0)
        stop_ask(&worker->shutdown, STOP_SHUTDOWN);
    end_slots(worker);
    for (int i = 0; i < worker->slot_count; i++) {
        if (worker->slots[i].started)
            (void)pthread_join(worker->slots[i].thread, NULL);
        stop_release(&worker->slots[i].stop);
        steer_release(&worker->slots[i].steer);
    }
    if (worker->housekeeping_started)
        (void)pthread_join(worker->housekeeping, NULL);
    if (worker->heart_started)
        (void)pthread_join(worker->heart, NULL);
    stop_release(&worker->shutdown);
    (void)pthread_cond_destroy(&worker->changed);
    (void)pthread_mutex_destroy(&worker->lock);
    site_dirs_release(&worker->dirs);
    const char *const owned[] = {worker->options.name, worker->options.server_url,
                                 worker->options.server_socket};
    for (size_t i = 0; i < COUNT_OF(owned); i++)
        mem_free((void *)(uintptr_t)owned[i]);
    mem_free(worker);
}
