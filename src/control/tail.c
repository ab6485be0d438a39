/*
 * tail.c - see tail.h.
 */
#include "control/tail.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/events.h"
#include <pthread.h>
#include <string.h>
#include <time.h>

enum { TAIL_PAGE = 500 };

struct tail {
    struct store *store;
    struct db *db;
    struct bus *bus;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int64_t seq; /* Published up to here. */
    bool woken;
    bool stopping;
};

/* With nobody there what is in the log is passed over: whoever subscribes later reads it there
   (hence the order: first the end of the log, then a look at the bus). */
static bool pass_over(struct tail *tail)
{
    int64_t last_seq;
    struct err err = {0};
    if (events_last_seq(tail->db, &last_seq, &err) != RC_OK || !bus_is_idle(tail->bus))
        return false;
    pthread_mutex_lock(&tail->lock);
    tail->seq = last_seq;
    pthread_mutex_unlock(&tail->lock);
    return true;
}

static void publish(struct bus *bus, const struct event *event)
{
    if (!bus_wants(bus, event))
        return;
    struct envelope *envelope = envelope_new(event);
    bus_publish(bus, envelope);
    envelope_unref(envelope);
}

/* True when a full page was read: there may be more. */
static bool read_page(struct tail *tail)
{
    struct arena arena = {0};
    struct event *events;
    size_t count = 0;
    struct err err = {0};
    struct event_filter filter = {.after_seq = tail_seq(tail), .limit = TAIL_PAGE};
    enum rc rc = events_list(tail->db, &filter, &arena, &events, &count, &err);
    if (rc != RC_OK)
        LOG(LOG_ERROR, "the tail cannot read the log", LOG_STR("error", err.text));
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        publish(tail->bus, &events[i]);
        pthread_mutex_lock(&tail->lock);
        tail->seq = events[i].seq;
        pthread_mutex_unlock(&tail->lock);
    }
    arena_release(&arena);
    return rc == RC_OK && count == TAIL_PAGE;
}

static bool wait_for_wake(struct tail *tail)
{
    int64_t until_us = clock_mono_us() + US_PER_SECOND;
    struct timespec until = {.tv_sec = (time_t)(until_us / US_PER_SECOND),
                             .tv_nsec = (long)(until_us % US_PER_SECOND) * 1000};
    pthread_mutex_lock(&tail->lock);
    while (!tail->woken && !tail->stopping)
        if (pthread_cond_timedwait(&tail->wake, &tail->lock, &until) != 0)
            break;
    tail->woken = false;
    bool go_on = !tail->stopping;
    pthread_mutex_unlock(&tail->lock);
    return go_on;
}

static void *tail_main(void *arg)
{
    struct tail *tail = arg;
    bool go_on = true;
    while (go_on) {
        go_on = wait_for_wake(tail);
        while (!pass_over(tail) && read_page(tail)) {
        }
    }
    return NULL;
}

enum rc tail_start(struct store *store, struct bus *bus, struct tail **ret_tail, struct err *err)
{
    struct db *db;
    enum rc rc = store_reader_open(store, &db, err);
    if (rc != RC_OK)
        return rc;
    struct tail *tail = mem_alloc(sizeof(*tail));
    tail->store = store;
    tail->db = db;
    tail->bus = bus;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&tail->lock, NULL);
    pthread_cond_init(&tail->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    rc = events_last_seq(db, &tail->seq, err);
    int failed = rc == RC_OK ? pthread_create(&tail->thread, NULL, tail_main, tail) : 0;
    if (failed != 0)
        rc = err_set(err, RC_IO, "THREAD_FAILED", "cannot start the tail: %s", strerror(failed));
    if (rc != RC_OK) {
        store_reader_close(store, db);
        mem_free(tail);
        return rc;
    }
    *ret_tail = tail;
    return RC_OK;
}

void tail_wake(struct tail *tail)
{
    pthread_mutex_lock(&tail->lock);
    tail->woken = true;
    pthread_cond_signal(&tail->wake);
    pthread_mutex_unlock(&tail->lock);
}

int64_t tail_seq(struct tail *tail)
{
    pthread_mutex_lock(&tail->lock);
    int64_t seq = tail->seq;
    pthread_mutex_unlock(&tail->lock);
    return seq;
}

void tail_stop(struct tail *tail)
{
    if (tail == NULL)
        return;
    pthread_mutex_lock(&tail->lock);
    tail->stopping = true;
    pthread_cond_signal(&tail->wake);
    pthread_mutex_unlock(&tail->lock);
    pthread_join(tail->thread, NULL);
    store_reader_close(tail->store, tail->db);
    pthread_cond_destroy(&tail->wake);
    pthread_mutex_destroy(&tail->lock);
    mem_free(tail);
}
