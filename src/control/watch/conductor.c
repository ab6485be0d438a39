#include "control/watch/conductor.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "control/conductor/conduct.h"
#include "control/conductor/issue_tasks.h"
#include "store/consumers.h"
#include "store/issue_states.h"
#include "store/settled.h"
#include <pthread.h>
#include <string.h>

enum { PAGE_EVENTS = 500 };
#define IDLE_US  (CONDUCTOR_SWEEP_MS * US_PER_MS) /* New events wake it earlier. */
#define GAP_US   (5 * US_PER_MS)
#define TURN_US  US_PER_SECOND
#define STORE_US US_PER_SECOND

struct conductor {
    struct conductor_options options;
    struct db *db; /* NULL until first used. */
    struct arena arena;
    bool loaded;
    bool begins;           /* It has no place in the store yet: */
    struct settled end;    /* what is known of the log's end, where it begins. */
    int64_t stored_seq;    /* Its place in the store. */
    struct settled cursor; /* How far it has read. */
    int64_t saved_us;      /* When the place was stored last, */
    int64_t swept_us;      /* and when all issues were looked at; 0: not yet. */
    bool unreachable;      /* Logged. */

    pthread_t thread;
    bool running;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool woken, stopping;
    struct conductor_view view; /* Under the lock. */
};

static void log_store(struct conductor *conductor, enum rc rc, const struct err *err)
{
    bool away = rc == RC_UNREACHABLE || rc == RC_BUSY;
    if (!away || !conductor->unreachable)
        LOG(away ? LOG_WARN : LOG_ERROR, "the Conductor waits: the store does not answer",
            LOG_STR("code", err->code), LOG_STR("error", err->text));
    conductor->unreachable = away;
}

/* ---- its place ---- */

/* While transactions are open it is called again, with what it knows. */
static enum rc find_end(struct conductor *conductor, int64_t *ret_seq, struct err *err)
{
    enum rc rc = settled_last(conductor->db, &conductor->end, err);
    if (rc == RC_OK)
        *ret_seq = conductor->end.after_seq;
    return rc;
}

/* Where the last turn has left off; without one at the end of the log. */
static enum rc load(struct conductor *conductor, struct err *err)
{
    struct consumer_row row;
    int64_t seq = 0;
    enum rc rc = RC_OK;
    if (conductor->db == NULL)
        rc = store_reader_open(conductor->options.store, &conductor->db, err);
    if (rc == RC_OK)
        rc = consumers_get(conductor->db, CONDUCTOR_CONSUMER, &conductor->arena, &row, err);
    conductor->begins = rc == RC_NOT_FOUND;
    if (rc == RC_OK)
        seq = row.cursor_seq;
    else if (rc == RC_NOT_FOUND)
        rc = find_end(conductor, &seq, err);
    if (rc != RC_OK)
        return rc;
    err_clear(err);
    conductor->stored_seq = seq;
    conductor->cursor = (struct settled){.after_seq = seq};
    conductor->end = (struct settled){0};
    conductor->swept_us = 0;
    conductor->loaded = true;
    return RC_OK;
}

/* ---- what concerns issues ---- */

static enum rc note(struct conductor *conductor, const struct event *event, struct cmd_conduct *cmd,
                    struct conduct_notice *notices, struct err *err)
{
    struct conduct_notice notice = {.event_id = event->id};
    if (text_starts(event->type, CLOUD_EVENT_ISSUES)) {
        notice.issue = event->correlation_id;
        for (size_t i = 0; i < cmd->count; i++) /* One look at an issue is enough. */
            if (id_same(&notices[i].issue, &notice.issue))
                return RC_OK;
    } else if (!id_is_none(&event->task_id) && issue_run_event_matters(event->type)) {
        bool works = false;
        enum rc rc = issue_states_has_task(conductor->db, &event->task_id, &works, err);
        if (rc != RC_OK || !works)
            return rc;
        notice.task_id = event->task_id;
        notice.data = (struct str){arena_strndup(&cmd->base.arena, event->data.at, event->data.len),
                                   event->data.len};
    } else {
        return RC_OK;
    }
    notice.type = arena_strdup(&cmd->base.arena, event->type);
    notices[cmd->count++] = notice;
    return RC_OK;
}

static enum rc read_page(struct conductor *conductor, struct cmd_conduct *cmd, bool *ret_more,
                         struct err *err)
{
    struct conduct_notice *notices = arena_array(&cmd->base.arena, PAGE_EVENTS, sizeof *notices);
    struct event *events = NULL;
    size_t count = 0;
    enum rc rc = settled_read(conductor->db, &conductor->cursor, PAGE_EVENTS, &conductor->arena,
                              &events, &count, err);
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        rc = note(conductor, &events[i], cmd, notices, err);
    cmd->notices = notices;
    *ret_more = count == PAGE_EVENTS;
    return rc;
}

/* Nothing but the agents may have changed, which is no event: is an issue waiting for one? */
static enum rc must_sweep(struct conductor *conductor, int64_t now_us, bool *ret_sweep,
                          struct err *err)
{
    const struct issue_ready_ask one = {.limit = 1};
    struct issue_row *rows = NULL;
    size_t count = 0;
    *ret_sweep = conductor->swept_us == 0;
    if (*ret_sweep || now_us - conductor->swept_us < IDLE_US)
        return RC_OK;
    conductor->swept_us = now_us;
    enum rc rc = issue_states_ready(conductor->db, &one, &conductor->arena, &rows, &count, err);
    *ret_sweep = rc == RC_OK && count > 0;
    return rc;
}

/* ---- rounds ---- */

static void note_turn(struct conductor *conductor, const struct cmd_conduct *cmd)
{
    pthread_mutex_lock(&conductor->lock);
    conductor->view.turns++;
    conductor->view.written += cmd->written;
    conductor->view.assigned += cmd->assigned;
    conductor->view.cursor_seq = conductor->stored_seq;
    pthread_mutex_unlock(&conductor->lock);
}

static int64_t post(struct conductor *conductor, struct cmd_conduct *cmd, bool more)
{
    int64_t now_us = clock_now_us(&conductor->options.clock);
    enum rc rc = conductor->options.call(conductor->options.ctx, &cmd->base);
    if (rc != RC_OK) {
        conductor->loaded = false; /* What was read is read again. */
        if (rc == RC_STALE && conductor->options.membership != NULL)
            membership_fenced(conductor->options.membership, &cmd->turn);
        else if (rc != RC_STALE)
            log_store(conductor, rc, &cmd->base.err);
        return rc == RC_STALE ? GAP_US : STORE_US;
    }
    conductor->unreachable = false;
    conductor->begins = false;
    conductor->stored_seq = cmd->to_seq;
    conductor->saved_us = now_us;
    if (cmd->sweep)
        conductor->swept_us = now_us;
    note_turn(conductor, cmd);
    if (more || settled_waits(&conductor->cursor))
        return more ? 0 : GAP_US;
    return IDLE_US;
}

static bool holds_turn(struct conductor *conductor, struct lease_fence *ret_turn)
{
    struct membership *membership = conductor->options.membership;
    bool acts = membership == NULL || membership_holds(membership, CONDUCTOR_LEASE, ret_turn);
    pthread_mutex_lock(&conductor->lock);
    conductor->view.acts = acts;
    pthread_mutex_unlock(&conductor->lock);
    return acts;
}

static int64_t take_turn(struct conductor *conductor, struct cmd_conduct *cmd)
{
    struct err err = {0};
    bool more = false;
    int64_t now_us = clock_now_us(&conductor->options.clock);
    enum rc rc = conductor->loaded ? RC_OK : load(conductor, &err);
    if (rc == RC_OK)
        rc = read_page(conductor, cmd, &more, &err);
    if (rc == RC_OK)
        rc = must_sweep(conductor, now_us, &cmd->sweep, &err);
    if (rc != RC_OK) {
        conductor->loaded = false;
        if (rc != RC_BUSY)
            log_store(conductor, rc, &err);
        return rc == RC_BUSY ? GAP_US : STORE_US;
    }
    cmd->config = conductor->options.config;
    cmd->begin = conductor->begins;
    cmd->from_seq = conductor->stored_seq;
    cmd->to_seq = conductor->cursor.after_seq;
    bool late = cmd->to_seq != cmd->from_seq &&
                now_us - conductor->saved_us > CONDUCTOR_SAVE_MS * US_PER_MS;
    if (cmd->count > 0 || cmd->sweep || cmd->begin || late)
        return post(conductor, cmd, more);
    return more ? 0 : settled_waits(&conductor->cursor) ? GAP_US : IDLE_US;
}

int64_t conductor_round(struct conductor *conductor)
{
    struct lease_fence turn = {0};
    if (!holds_turn(conductor, &turn)) {
        conductor->loaded = false;
        return TURN_US;
    }
    struct cmd_conduct *cmd = cmd_conduct_new();
    cmd->turn = turn;
    int64_t wait_us = take_turn(conductor, cmd);
    command_free(&cmd->base);
    arena_reset(&conductor->arena);
    return wait_us;
}

/* ---- the thread ---- */

/* False at the end. */
static bool rest(struct conductor *conductor, int64_t wait_us)
{
    struct timespec until = clock_mono_after(wait_us);
    pthread_mutex_lock(&conductor->lock);
    while (!conductor->woken && !conductor->stopping)
        if (pthread_cond_timedwait(&conductor->wake, &conductor->lock, &until) != 0)
            break;
    conductor->woken = false;
    bool more = !conductor->stopping;
    pthread_mutex_unlock(&conductor->lock);
    return more;
}

static void *conductor_main(void *arg)
{
    struct conductor *conductor = arg;
    while (rest(conductor, conductor_round(conductor))) {
    }
    return NULL;
}

struct conductor *conductor_new(const struct conductor_options *options)
{
    struct conductor *conductor = mem_alloc(sizeof *conductor);
    pthread_condattr_t monotonic;
    conductor->options = *options;
    pthread_mutex_init(&conductor->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&conductor->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return conductor;
}

enum rc conductor_start(struct conductor *conductor, struct err *err)
{
    struct membership *membership = conductor->options.membership;
    if (membership != NULL && !membership_want(membership, CONDUCTOR_LEASE))
        return err_set(err, RC_LIMIT, "TOO_MANY_SINKS", "this node has %d leases already",
                       MEMBERSHIP_LEASES_MAX);
    enum rc rc = thread_start(&(struct thread_spec){.body = conductor_main, .ctx = conductor},
                              &conductor->thread, err);
    conductor->running = rc == RC_OK;
    return rc;
}

static void signal_thread(struct conductor *conductor, bool stop)
{
    pthread_mutex_lock(&conductor->lock);
    conductor->woken = true;
    conductor->stopping |= stop;
    pthread_cond_signal(&conductor->wake);
    pthread_mutex_unlock(&conductor->lock);
}

void conductor_wake(struct conductor *conductor)
{
    signal_thread(conductor, false);
}

void conductor_stop(struct conductor *conductor)
{
    if (conductor == NULL || !conductor->running)
        return;
    signal_thread(conductor, true);
    pthread_join(conductor->thread, NULL);
    conductor->running = false;
}

void conductor_free(struct conductor *conductor)
{
    if (conductor == NULL)
        return;
    store_reader_close(conductor->options.store, conductor->db);
    arena_release(&conductor->arena);
    pthread_cond_destroy(&conductor->wake);
    pthread_mutex_destroy(&conductor->lock);
    mem_free(conductor);
}

void conductor_look(struct conductor *conductor, struct conductor_view *ret_view)
{
    pthread_mutex_lock(&conductor->lock);
    *ret_view = conductor->view;
    pthread_mutex_unlock(&conductor->lock);
}
