#include "control/watch/tail.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "store/settled.h"
#include <pthread.h>
#include <string.h>
#include <time.h>

enum { TAIL_PAGE = 500, BEGIN_TRIES = 200 };
#define NET_US           (60 * US_PER_SECOND)
#define GAP_WAIT_US      (2 * US_PER_MS)
#define IDLE_GAP_WAIT_US (50 * US_PER_MS) /* Without a subscriber. */

struct tail {
    struct store *store;
    struct db *db;
    struct bus *bus;
    pthread_t thread;
    struct settled cursor; /* The thread's own. */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int64_t seq; /* As tail_seq returns it. */
    bool woken;
    bool stopping;
    int64_t asked, served; /* By tail_ask; up to here it has published since. */
};

/* Only upwards: a value that was returned once stays true. */
static void raise_seq(struct tail *tail, int64_t seq)
{
    pthread_mutex_lock(&tail->lock);
    if (seq > tail->seq)
        tail->seq = seq;
    pthread_mutex_unlock(&tail->lock);
}

/* Without a subscriber the events in the log are skipped: a later subscriber reads them there.
   Hence the order: first seq is raised to the new end, then the bus is checked.  A subscriber that
   comes after the check gets the new end from tail_seq and reads the log up to it; one that came
   before it is found by the check, and gets all events from the bus.  Where other nodes write, the
   end is skipped to as soon as it has settled. */
static bool pass_over(struct tail *tail)
{
    struct err err = {0};
    struct settled end = tail->cursor;
    enum rc rc = settled_last(tail->db, &end, &err);
    if (rc != RC_OK && rc != RC_BUSY)
        return false;
    raise_seq(tail, end.after_seq);
    if (!bus_is_idle(tail->bus))
        return false;
    tail->cursor = end;
    return true;
}

static void post(struct bus *bus, const struct event *event)
{
    const char *why = NULL;
    bus_published(bus, event);
    if (!bus_wants(bus, event))
        return;
    struct envelope *envelope = envelope_new(event, &why);
    if (envelope == NULL) {
        bus_pass_over(bus, event, why);
        return;
    }
    bus_post(bus, envelope);
    envelope_unref(envelope);
}

/* True when a full page was read: there may be more. */
static bool read_page(struct tail *tail)
{
    struct arena arena = {0};
    struct event *events;
    size_t count = 0;
    struct err err = {0};
    enum rc rc = settled_read(tail->db, &tail->cursor, TAIL_PAGE, &arena, &events, &count, &err);
    if (rc != RC_OK && rc != RC_UNREACHABLE)
        LOG(LOG_ERROR, "the tail cannot read the log", LOG_STR("error", err.text));
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        raise_seq(tail, events[i].seq); /* First: see tail_seq. */
        post(tail->bus, &events[i]);
    }
    arena_release(&arena);
    return rc == RC_OK && count == TAIL_PAGE;
}

static int64_t patience_us(struct tail *tail)
{
    if (!settled_waits(&tail->cursor))
        return NET_US;
    return bus_is_idle(tail->bus) ? IDLE_GAP_WAIT_US : GAP_WAIT_US;
}

static bool wait_for_wake(struct tail *tail, int64_t *ret_asked)
{
    struct timespec until = clock_mono_after(patience_us(tail));
    pthread_mutex_lock(&tail->lock);
    while (!tail->woken && !tail->stopping)
        if (pthread_cond_timedwait(&tail->wake, &tail->lock, &until) != 0)
            break;
    tail->woken = false;
    *ret_asked = tail->asked;
    bool go_on = !tail->stopping;
    pthread_mutex_unlock(&tail->lock);
    return go_on;
}

static void *tail_main(void *arg)
{
    struct tail *tail = arg;
    int64_t asked = 0;
    bool go_on = true;
    while (go_on) {
        go_on = wait_for_wake(tail, &asked);
        while (!pass_over(tail) && read_page(tail)) {
        }
        pthread_mutex_lock(&tail->lock);
        tail->served = asked;
        pthread_mutex_unlock(&tail->lock);
    }
    return NULL;
}

/* Where other nodes write, the end is known when the transactions that had begun have ended.  One
   that stays open for seconds is not waited for: its events can be read from the log. */
static enum rc find_end(struct tail *tail, struct err *err)
{
    const struct timespec pause = {.tv_nsec = 10 * US_PER_MS * 1000};
    enum rc rc = settled_last(tail->db, &tail->cursor, err);
    for (int i = 0; i < BEGIN_TRIES && rc == RC_BUSY; i++) {
        (void)nanosleep(&pause, NULL);
        rc = settled_last(tail->db, &tail->cursor, err);
    }
    if (rc == RC_BUSY) {
        LOG(LOG_WARN, "a transaction of long standing holds up the end of the log");
        tail->cursor = (struct settled){.after_seq = tail->cursor.seen_seq};
        rc = RC_OK;
    }
    tail->seq = tail->cursor.after_seq;
    return rc;
}

enum rc tail_start(struct store *store, struct bus *bus, struct tail **ret_tail, struct err *err)
{
    struct db *db;
    enum rc rc = store_reader_open(store, &db, err);
    if (rc != RC_OK)
        return rc;
    struct tail *tail = mem_alloc(sizeof *tail);
    tail->store = store;
    tail->db = db;
    tail->bus = bus;
    pthread_mutex_init(&tail->lock, NULL);
    thread_cond_init(&tail->wake);
    rc = find_end(tail, err);
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

int64_t tail_ask(struct tail *tail)
{
    pthread_mutex_lock(&tail->lock);
    int64_t asked = ++tail->asked;
    tail->woken = true;
    pthread_cond_signal(&tail->wake);
    pthread_mutex_unlock(&tail->lock);
    return asked;
}

bool tail_served(struct tail *tail, int64_t asked)
{
    pthread_mutex_lock(&tail->lock);
    bool served = tail->served >= asked;
    pthread_mutex_unlock(&tail->lock);
    return served;
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
