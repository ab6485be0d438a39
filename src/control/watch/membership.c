#include "control/watch/membership.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/remote_clock.h"
#include "base/str.h"
#include "base/thread.h"
#include "control/watch/due.h"
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum {
    CLOCK_ASKS = 5,          /* At the start; the quickest answer counts most. */
    WATCH_EVERY_MS = 200,    /* A name that is in use: is it renewed? */
    END_EVERY_MS = 20,       /* Until the connections of the server before have ended ... */
    END_WAIT_MS = 10 * 1000, /* ... but no longer. */
};
#define CLOCKS_DIFFER_US US_PER_SECOND
/* The store was not reached for so long: it was unreachable, or this process was stopped. */
#define GAP_US (3 * US_PER_SECOND)

/* A lease that one node at a time has.  The first one is that of the timers. */
struct turn {
    char lease[LEASE_NAME_BYTES]; /* "": free; only the thread frees one. */
    int64_t epoch;                /* 0: not this node's. */
    bool dropped;                 /* To be released, and free then. */
};
enum { TURN_TIMERS = 0 };

struct membership {
    struct membership_options options;
    char *node;
    char claim[LEASE_NAME_BYTES];
    char session[SESSION_BYTES];
    int64_t claim_epoch;
    struct remote_clock time;
    struct db *db;    /* The thread's. */
    bool unreachable; /* The store, at the last query; logged once. */
    int64_t seen_us;  /* Monotonic: when it was last reached, by this node; 0: never. */
    pthread_t thread;
    bool running;

    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stopping;
    bool lost; /* The name. */
    bool gap;
    struct turn turns[1 + MEMBERSHIP_LEASES_MAX];
    struct membership_view view;
};

/* ---- the database's clock ---- */

static void learn(struct membership *membership, int64_t asked_us, int64_t time_us)
{
    struct remote_answer answer = {
        .asked_us = asked_us, .came_us = clock_boot_us(), .time_us = time_us};
    int64_t moved_us = remote_clock_learn(&membership->time, &answer);
    if (moved_us > REMOTE_STEP_US || moved_us < -REMOTE_STEP_US)
        LOG(LOG_WARN, "the database's clock was set: everything that is due moves by that much",
            LOG_INT("movedMs", moved_us / US_PER_MS));
}

/* Due times are compared with the database's clock; this node's clock is only used in logs. */
static void compare_clocks(struct membership *membership)
{
    int64_t ahead_us = clock_now_us(&membership->options.clock) -
                       remote_clock_now_us(&membership->time);
    if (ahead_us > CLOCKS_DIFFER_US || ahead_us < -CLOCKS_DIFFER_US)
        LOG(LOG_WARN,
            "this node's clock is not the database's: leases, schedules and limits of time go by "
            "the database's; keep all clocks in step (NTP) to compare logs",
            LOG_INT("aheadMs", ahead_us / US_PER_MS));
}

static enum rc ask_time(struct membership *membership, struct err *err)
{
    enum rc rc = RC_OK;
    for (int i = 0; rc == RC_OK && i < CLOCK_ASKS; i++) {
        int64_t asked_us = clock_boot_us(), time_us;
        rc = store_clock(membership->options.store, &time_us, err);
        if (rc == RC_OK)
            learn(membership, asked_us, time_us);
    }
    return rc;
}

/* ---- the name ---- */

static void pause_ms(int64_t ms)
{
    struct timespec pause = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)nanosleep(&pause, NULL);
}

static enum rc in_use(struct membership *membership, const struct lease_row *row, struct err *err)
{
    char since[TIME_TEXT_BYTES];
    return err_set(err, RC_CONFLICT, "NODE_IN_USE",
                   "another server goes by the name %s on this database, since %s: if this data "
                   "directory is a copy of that server's, remove the file \"node\" from it and "
                   "start again; otherwise stop the other server first",
                   membership->node, time_format(since, row->since_us));
}

/* Waits for the end of another server's claim.  RC_CONFLICT: it was renewed meanwhile. */
static enum rc outwait(struct membership *membership, struct db *db, struct err *err)
{
    struct arena arena = {0};
    struct lease_row first = {0}, row = {0};
    enum rc rc = leases_get(db, membership->claim, &arena, &first, err);
    if (rc == RC_OK)
        LOG(LOG_INFO, "another server has claimed this node's name: looking whether it is alive",
            LOG_STR("node", membership->node));
    row = first;
    while (rc == RC_OK && row.deadline_us > row.now_us) {
        pause_ms(WATCH_EVERY_MS);
        rc = leases_get(db, membership->claim, &arena, &row, err);
        if (rc == RC_OK && (row.epoch != first.epoch || row.deadline_us > first.deadline_us))
            rc = in_use(membership, &row, err);
    }
    arena_release(&arena);
    return rc;
}

/* Transactions of the previous server end with its connections: they commit then or never. */
static enum rc end_before(struct db *db, const char *session, struct err *err)
{
    int64_t until_us = clock_mono_us() + END_WAIT_MS * US_PER_MS, left = 0;
    for (;;) {
        enum rc rc = sessions_end(db, session, &left, err);
        if (rc != RC_OK || left == 0)
            return rc;
        if (clock_mono_us() > until_us)
            return err_set(err, RC_BUSY, "STORE_BUSY",
                           "%lld connections of the server that had this node's name before do not "
                           "end: end them in PostgreSQL (pg_terminate_backend)",
                           (long long)left);
        pause_ms(END_EVERY_MS);
    }
}

static enum rc take_name(struct membership *membership, struct db *db, struct err *err)
{
    const char *place = membership->options.place;
    struct lease_claim claim = {
        .name = membership->claim,
        .holder = membership->node,
        .session = membership->session,
        .place = place != NULL ? place : "",
        .under = "",
        .ttl_us = MEMBERSHIP_CLAIM_MS * US_PER_MS,
    };
    struct arena arena = {0};
    struct lease_row before = {0};
    enum rc rc = leases_claim(db, &claim, &arena, &membership->claim_epoch, &before, err);
    if (rc == RC_CONFLICT) {
        rc = outwait(membership, db, err);
        if (rc == RC_OK)
            rc = leases_claim(db, &claim, &arena, &membership->claim_epoch, &before, err);
    }
    if (rc == RC_OK && before.session[0] != '\0')
        rc = end_before(db, before.session, err);
    arena_release(&arena);
    return rc;
}

static void enroll(struct membership *membership)
{
    struct store_fence fence = {
        .lease = membership->claim,
        .epoch = membership->claim_epoch,
        .session = membership->session,
    };
    store_enroll(membership->options.store, &fence);
}

/* ---- once a second ---- */

static void log_reaching(struct membership *membership, bool reached, const struct err *err)
{
    if (!reached && !membership->unreachable)
        LOG(LOG_ERROR, "the store does not answer: requests are turned away until it does",
            LOG_STR("error", err->text));
    else if (reached && membership->unreachable)
        LOG(LOG_INFO, "the store answers again");
    membership->unreachable = !reached;
}

static void lose_name(struct membership *membership, const struct err *why)
{
    pthread_mutex_lock(&membership->lock);
    membership->lost = true;
    for (size_t i = 0; i < COUNT_OF(membership->turns); i++)
        membership->turns[i].epoch = 0;
    pthread_mutex_unlock(&membership->lock);
    membership->options.lost(membership->options.ctx, why);
}

/* The answer carries the time, so that the clock costs no round trip of its own. */
static enum rc renew_name(struct membership *membership, struct err *err)
{
    struct lease_fence claim = {membership->claim, membership->claim_epoch};
    int64_t asked_us = clock_boot_us(), time_us;
    enum rc rc = leases_renew(membership->db, &claim, MEMBERSHIP_CLAIM_MS * US_PER_MS, &time_us,
                              err);
    if (rc == RC_OK)
        learn(membership, asked_us, time_us);
    if (rc != RC_STALE)
        return rc;
    struct err why = {0};
    (void)!err_set(&why, RC_CONFLICT, "NODE_LOST",
                   "another server has claimed the name %s of this node while this one did not "
                   "renew its claim for %d s: it must not go on; start it again with a data "
                   "directory and a file \"node\" of its own",
                   membership->node, MEMBERSHIP_CLAIM_MS / 1000);
    lose_name(membership, &why);
    return rc;
}

/* RC_STALE: it was lost. */
static enum rc renew_turn(struct membership *membership, const struct lease_fence *held,
                          struct err *err)
{
    int64_t ignored_us;
    enum rc rc = leases_renew(membership->db, held, MEMBERSHIP_TIMERS_MS * US_PER_MS, &ignored_us,
                              err);
    if (rc == RC_STALE)
        membership_fenced(membership, held);
    return rc;
}

static void log_turn(const struct turn *turn, const char *before, int64_t epoch)
{
    if (text_same(turn->lease, LEASE_TIMERS))
        LOG(LOG_INFO, "this node runs the timers now", LOG_STR("before", before),
            LOG_INT("epoch", epoch));
    else
        LOG(LOG_INFO, "this node holds a lease now", LOG_STR("lease", turn->lease),
            LOG_STR("before", before), LOG_INT("epoch", epoch));
}

static enum rc try_turn(struct membership *membership, struct turn *turn, struct err *err)
{
    struct lease_claim claim = {
        .name = turn->lease,
        .holder = membership->node,
        .session = membership->session,
        .place = "",
        .under = membership->claim,
        .ttl_us = MEMBERSHIP_TIMERS_MS * US_PER_MS,
        .of_the_dead = true,
    };
    struct arena arena = {0};
    struct lease_row before = {0};
    int64_t epoch;
    enum rc rc = leases_claim(membership->db, &claim, &arena, &epoch, &before, err);
    if (rc == RC_OK) {
        log_turn(turn, before.holder, epoch);
        pthread_mutex_lock(&membership->lock);
        turn->epoch = epoch;
        pthread_mutex_unlock(&membership->lock);
    }
    arena_release(&arena);
    return rc == RC_CONFLICT ? RC_OK : rc;
}

static enum rc see_turn(struct membership *membership, struct err *err)
{
    struct arena arena = {0};
    struct lease_row row = {0};
    enum rc rc = leases_get(membership->db, LEASE_TIMERS, &arena, &row, err);
    pthread_mutex_lock(&membership->lock);
    if (rc == RC_OK) {
        struct membership_view *view = &membership->view;
        text_copy(view->holder, sizeof view->holder, row.holder);
        view->since_us = row.since_us;
        int64_t epoch = membership->turns[TURN_TIMERS].epoch;
        view->here = epoch != 0 && epoch == row.epoch;
        if (!view->here && row.deadline_us > row.now_us)
            membership->gap = false; /* Another node ran meanwhile. */
    }
    pthread_mutex_unlock(&membership->lock);
    arena_release(&arena);
    return rc;
}

/* The turn as it is now; it changes no name while the thread looks at it. */
static struct turn copy_turn(struct membership *membership, size_t at)
{
    pthread_mutex_lock(&membership->lock);
    struct turn turn = membership->turns[at];
    pthread_mutex_unlock(&membership->lock);
    return turn;
}

static enum rc release_turn(struct membership *membership, size_t at, struct err *err)
{
    struct turn turn = copy_turn(membership, at);
    enum rc rc = RC_OK;
    if (turn.epoch != 0)
        rc = leases_release(membership->db, &(struct lease_fence){turn.lease, turn.epoch}, err);
    if (rc != RC_OK)
        return rc;
    pthread_mutex_lock(&membership->lock);
    membership->turns[at].epoch = 0;
    if (membership->turns[at].dropped) /* Else it is wanted again. */
        membership->turns[at] = (struct turn){0};
    pthread_mutex_unlock(&membership->lock);
    return RC_OK;
}

static enum rc keep_turn(struct membership *membership, size_t at, struct err *err)
{
    struct turn turn = copy_turn(membership, at);
    if (turn.lease[0] == '\0')
        return RC_OK;
    if (turn.dropped)
        return release_turn(membership, at, err);
    struct lease_fence held = {turn.lease, turn.epoch};
    enum rc rc = turn.epoch != 0 ? renew_turn(membership, &held, err) : RC_STALE;
    return rc == RC_STALE ? try_turn(membership, &membership->turns[at], err) : rc;
}

static enum rc keep_turns(struct membership *membership, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < COUNT_OF(membership->turns); i++)
        rc = keep_turn(membership, i, err);
    return rc == RC_OK ? see_turn(membership, err) : rc;
}

/* A node that does not renew its claim is dead or frozen, or cannot reach the database.  Its
   connections may hold locks that others wait for; its open transactions are rolled back. */
static enum rc end_overdue(struct membership *membership, struct err *err)
{
    struct arena arena = {0};
    struct lease_row *rows;
    size_t count = 0;
    enum rc rc = leases_overdue_nodes(membership->db, &arena, &rows, &count, err);
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        int64_t ended = 0;
        rc = sessions_end(membership->db, rows[i].session, &ended, err);
        if (rc == RC_OK && ended > 0)
            LOG(LOG_WARN, "a node has not renewed its claim: its connections are ended",
                LOG_STR("node", rows[i].holder), LOG_INT("connections", ended),
                LOG_INT("lateMs", (rows[i].now_us - rows[i].deadline_us) / US_PER_MS));
        if (rc == RC_OK && ended == 0) /* Done: it has none any more. */
            rc = leases_release(membership->db, &(struct lease_fence){rows[i].name, rows[i].epoch},
                                err);
    }
    arena_release(&arena);
    return rc;
}

static enum rc see_due(struct membership *membership, struct err *err)
{
    int64_t oldest_us = 0;
    enum rc rc = due_next(membership->db, &oldest_us, err);
    if (rc == RC_OK)
        membership->options.due(membership->options.ctx, oldest_us);
    return rc;
}

/* While this node could reach the store, leases could be renewed here. */
static void note_reached(struct membership *membership)
{
    int64_t lease_us = membership->options.lease_us;
    int64_t gap_us = lease_us / 2 < GAP_US ? lease_us / 2 : GAP_US;
    int64_t now_us = clock_mono_us();
    pthread_mutex_lock(&membership->lock);
    if (membership->seen_us == 0 || now_us - membership->seen_us > gap_us + US_PER_SECOND)
        membership->gap = true;
    membership->seen_us = now_us;
    pthread_mutex_unlock(&membership->lock);
}

void membership_round(struct membership *membership)
{
    struct err err = {0};
    enum rc rc = RC_OK;
    if (membership->db == NULL)
        rc = store_writer_open(membership->options.store, &membership->db, &err);
    if (rc == RC_OK)
        rc = renew_name(membership, &err);
    if (rc == RC_STALE)
        return;
    if (rc == RC_OK)
        note_reached(membership);
    if (rc == RC_OK)
        rc = keep_turns(membership, &err);
    if (rc == RC_OK)
        rc = end_overdue(membership, &err);
    if (rc == RC_OK)
        rc = see_due(membership, &err);
    log_reaching(membership, rc == RC_OK || rc == RC_BUSY, &err);
}

/* False at the end. */
static bool rest(struct membership *membership)
{
    struct timespec until = clock_mono_after(MEMBERSHIP_EVERY_MS * US_PER_MS);
    pthread_mutex_lock(&membership->lock);
    while (!membership->stopping)
        if (pthread_cond_timedwait(&membership->wake, &membership->lock, &until) != 0)
            break;
    bool go_on = !membership->stopping && !membership->lost;
    pthread_mutex_unlock(&membership->lock);
    return go_on;
}

static void *membership_main(void *arg)
{
    struct membership *membership = arg;
    do
        membership_round(membership);
    while (rest(membership));
    return NULL;
}

/* ---- start and stop ---- */

static struct membership *membership_new(const struct membership_options *options)
{
    struct membership *membership = mem_alloc(sizeof *membership);
    membership->options = *options;
    membership->node = mem_strdup(options->node);
    int len = snprintf(membership->claim, sizeof membership->claim, LEASE_NODE_PREFIX "%s",
                       options->node);
    assert(len > 0 && (size_t)len < sizeof membership->claim);
    unsigned char random[(SESSION_BYTES - 1) / 2];
    secret_bytes(random, sizeof random);
    hex_encode(membership->session, random, sizeof random);
    text_copy(membership->turns[TURN_TIMERS].lease, LEASE_NAME_BYTES, LEASE_TIMERS);
    remote_clock_init(&membership->time);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&membership->lock, NULL);
    pthread_cond_init(&membership->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return membership;
}

enum rc membership_join(const struct membership_options *options,
                        struct membership **ret_membership, struct err *err)
{
    assert(store_is_shared(options->store));
    struct membership *membership = membership_new(options);
    enum rc rc = take_name(membership, store_writer(options->store), err);
    if (rc == RC_OK) {
        enroll(membership);
        rc = ask_time(membership, err);
    }
    if (rc != RC_OK) {
        membership_free(membership);
        return rc;
    }
    compare_clocks(membership);
    *ret_membership = membership;
    return RC_OK;
}

enum rc membership_start(struct membership *membership, struct err *err)
{
    struct thread_spec spec = {.body = membership_main, .ctx = membership};
    enum rc rc = thread_start(&spec, &membership->thread, err);
    membership->running = rc == RC_OK;
    return rc;
}

void membership_stop(struct membership *membership)
{
    if (membership == NULL || !membership->running)
        return;
    pthread_mutex_lock(&membership->lock);
    membership->stopping = true;
    pthread_cond_signal(&membership->wake);
    pthread_mutex_unlock(&membership->lock);
    pthread_join(membership->thread, NULL);
    membership->running = false;
    struct err ignored = {0};
    for (size_t i = 0; i < COUNT_OF(membership->turns); i++) {
        struct turn *turn = &membership->turns[i];
        if (turn->epoch != 0)
            (void)!leases_release(membership->db, &(struct lease_fence){turn->lease, turn->epoch},
                                  &ignored);
        turn->epoch = 0;
    }
}

/* The name is released last, through the store's own connection: all others are closed by then. */
void membership_free(struct membership *membership)
{
    if (membership == NULL)
        return;
    membership_stop(membership);
    store_writer_close(membership->options.store, membership->db);
    struct err ignored = {0};
    if (membership->claim_epoch != 0 && !membership->lost)
        (void)!leases_release(store_writer(membership->options.store),
                              &(struct lease_fence){membership->claim, membership->claim_epoch},
                              &ignored);
    remote_clock_release(&membership->time);
    pthread_cond_destroy(&membership->wake);
    pthread_mutex_destroy(&membership->lock);
    mem_free(membership->node);
    mem_free(membership);
}

/* ---- for others ---- */

struct clock membership_clock(struct membership *membership)
{
    return remote_clock(&membership->time);
}

/* Under the lock; NULL: it is not wanted. */
static struct turn *find_turn(struct membership *membership, const char *lease)
{
    for (size_t i = 0; i < COUNT_OF(membership->turns); i++) {
        if (text_same(membership->turns[i].lease, lease))
            return &membership->turns[i];
    }
    return NULL;
}

bool membership_want(struct membership *membership, const char *lease)
{
    assert(lease[0] != '\0' && strlen(lease) < LEASE_NAME_BYTES);
    pthread_mutex_lock(&membership->lock);
    struct turn *turn = find_turn(membership, lease), *room = find_turn(membership, "");
    if (turn == NULL && room != NULL) {
        turn = room;
        text_copy(turn->lease, sizeof turn->lease, lease);
    }
    if (turn != NULL)
        turn->dropped = false;
    pthread_mutex_unlock(&membership->lock);
    return turn != NULL;
}

void membership_drop(struct membership *membership, const char *lease)
{
    pthread_mutex_lock(&membership->lock);
    struct turn *turn = find_turn(membership, lease);
    if (turn != NULL)
        turn->dropped = true;
    pthread_mutex_unlock(&membership->lock);
}

bool membership_holds(struct membership *membership, const char *lease,
                      struct lease_fence *ret_turn)
{
    pthread_mutex_lock(&membership->lock);
    const struct turn *turn = find_turn(membership, lease);
    *ret_turn = (struct lease_fence){lease, turn != NULL ? turn->epoch : 0};
    pthread_mutex_unlock(&membership->lock);
    return ret_turn->epoch != 0;
}

bool membership_turn(struct membership *membership, struct lease_fence *ret_turn, bool *ret_gap)
{
    bool held = membership_holds(membership, LEASE_TIMERS, ret_turn);
    pthread_mutex_lock(&membership->lock);
    if (held) {
        *ret_gap = membership->gap;
        membership->gap = false;
    }
    pthread_mutex_unlock(&membership->lock);
    return held;
}

void membership_fenced(struct membership *membership, const struct lease_fence *fence)
{
    pthread_mutex_lock(&membership->lock);
    struct turn *turn = find_turn(membership, fence->name);
    bool ours = turn != NULL && turn->epoch == fence->epoch;
    if (ours)
        turn->epoch = 0;
    pthread_mutex_unlock(&membership->lock);
    if (!ours)
        return;
    if (text_same(fence->name, LEASE_TIMERS))
        LOG(LOG_WARN, "lost the timers: another node has taken them over",
            LOG_INT("epoch", fence->epoch));
    else
        LOG(LOG_WARN, "lost a lease: another node has taken it over", LOG_STR("lease", fence->name),
            LOG_INT("epoch", fence->epoch));
}

void membership_look(struct membership *membership, struct membership_view *ret_view)
{
    pthread_mutex_lock(&membership->lock);
    *ret_view = membership->view;
    pthread_mutex_unlock(&membership->lock);
}
