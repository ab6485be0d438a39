/*
 * custody.c - see custody.h.
 *
 *     custody thread:  wait snapshotMs, or for the end -> snapshot -> news
 *     step's thread:   custody_tick: news -> progress
 *
 * The git directory stays from one snapshot to the next, so that its index has the files that git
 * has read.  The lock guards the news; everything else belongs to the thread until it is joined.
 */
#include "work/tree/custody.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "core/event_types.h"
#include "work/tree/rescue.h"
#include "work/tree/worktree.h"
#include <pthread.h>
#include <string.h>

enum {
    NEWS_MAX = 8,
    LOOK_MS = 1000,
    DATA_BYTES_MAX = 4096,
    TAKE_MS = 5 * 60 * 1000,
    LAST_MS = 20 * 1000,         /* Within timeouts.cancelMs, as a rule. */
    LAST_SHUTDOWN_MS = 4 * 1000, /* Unsaved work is saved after the worker's restart. */
};
#define GIT_DIR "snapshot.git"

struct custody {
    pthread_t thread;
    struct arena lasting; /* What step and base point to. */
    struct arena scratch; /* Of one snapshot. */
    struct step step;     /* A copy with arena, stop and deadline of its own. */
    struct stop stop;
    const char *base;
    int64_t every_ms;
    struct snapshot last;
    bool known, open; /* last is known; the git directory is there. */
    pthread_mutex_t lock;
    struct snapshot news[NEWS_MAX]; /* Not reported yet, oldest first. */
    size_t news_count;
};

/* When none are read, the oldest is dropped: it is an ancestor of the later ones. */
static void add_news(struct custody *custody)
{
    (void)pthread_mutex_lock(&custody->lock);
    if (custody->news_count == NEWS_MAX) {
        memmove(custody->news, custody->news + 1, (NEWS_MAX - 1) * sizeof *custody->news);
        custody->news_count--;
    }
    custody->news[custody->news_count++] = custody->last;
    (void)pthread_mutex_unlock(&custody->lock);
}

static enum rc take(struct custody *custody, struct err *err)
{
    struct step *step = &custody->step;
    struct treegit treegit = snapshot_treegit(step, GIT_DIR, custody->base);
    struct snapshot_news news = {0};
    enum rc rc = RC_OK;
    step->deadline_us = clock_mono_us() + TAKE_MS * US_PER_MS;
    if (!custody->known)
        rc = snapshot_find_last(step, custody->base, &custody->last, err);
    custody->known |= rc == RC_OK;
    if (rc == RC_OK && !custody->open)
        rc = snapshot_open(&treegit, &custody->last, err);
    if (rc == RC_OK)
        rc = snapshot_take(&treegit, &custody->last, &news, err);
    if (news.fresh)
        add_news(custody);
    custody->open = rc == RC_OK; /* After a failure its state is unknown. */
    if (rc != RC_OK && rc != RC_TOO_LARGE)
        treegit_close(&treegit);
    return rc;
}

static void *custody_main(void *ctx)
{
    struct custody *custody = ctx;
    bool more = true;
    while (more && !stop_wait(&custody->stop, custody->every_ms)) {
        struct err err = {0};
        enum rc rc = take(custody, &err);
        if (rc != RC_OK && rc != RC_CANCELLED)
            LOG(LOG_DEBUG, "no snapshot this time",
                LOG_STR("runId", custody->step.input.run_id.text), LOG_STR("error", err.text));
        more = rc != RC_TOO_LARGE;
        arena_reset(&custody->scratch);
    }
    return NULL;
}

static void custody_free(struct custody *custody)
{
    stop_release(&custody->stop);
    (void)pthread_mutex_destroy(&custody->lock);
    arena_release(&custody->scratch);
    arena_release(&custody->lasting);
    mem_free(custody);
}

struct custody *custody_begin(struct step *step, const char *base)
{
    if (step->input.config.timeouts.snapshot_ms == 0)
        return NULL;
    struct custody *custody = mem_alloc(sizeof *custody);
    custody->every_ms = step->input.config.timeouts.snapshot_ms;
    custody->step = *step;
    custody->step.arena = &custody->scratch;
    custody->step.stop = &custody->stop;
    custody->base = arena_strdup(&custody->lasting, base);
    custody->stop.event_fd = -1;
    (void)pthread_mutex_init(&custody->lock, NULL);
    struct err err = {0};
    const struct thread_spec spec = {.body = custody_main, .ctx = custody};
    if (stop_init(&custody->stop, &err) == RC_OK &&
        thread_start(&spec, &custody->thread, &err) == RC_OK)
        return custody;
    LOG(LOG_WARN, "an agent works without snapshots", LOG_STR("runId", step->input.run_id.text),
        LOG_STR("error", err.text));
    custody_free(custody);
    return NULL;
}

static bool next_news(struct custody *custody, struct snapshot *ret)
{
    (void)pthread_mutex_lock(&custody->lock);
    bool any = custody->news_count > 0;
    if (any)
        *ret = custody->news[0];
    (void)pthread_mutex_unlock(&custody->lock);
    return any;
}

static void drop_news(struct custody *custody, const struct snapshot *told)
{
    (void)pthread_mutex_lock(&custody->lock);
    if (custody->news_count > 0 && text_same(custody->news[0].ref, told->ref)) {
        custody->news_count--;
        memmove(custody->news, custody->news + 1, custody->news_count * sizeof *custody->news);
    }
    (void)pthread_mutex_unlock(&custody->lock);
}

static void tell(struct custody *custody, struct progress *progress,
                 const struct snapshot *snapshot)
{
    CLEANUP(buf_release) struct buf data;
    buf_init(&data, DATA_BYTES_MAX);
    snapshot_write(&data, &custody->step, snapshot, "interval");
    progress_add(progress, EV_SNAPSHOT_TAKEN, buf_str(&data));
    drop_news(custody, snapshot);
}

int64_t custody_tick(struct custody *custody, struct progress *progress)
{
    if (!custody)
        return INT64_MAX;
    struct snapshot snapshot;
    while (next_news(custody, &snapshot)) {
        /* Among many other events it would be dropped: it goes first in a batch of its own.  While
           the server is unreachable, progress decides when to retry. */
        (void)progress_tick(progress, clock_mono_us());
        if (progress->count > 0)
            break;
        tell(custody, progress, &snapshot);
    }
    int64_t look_ms = custody->every_ms < LOOK_MS ? custody->every_ms : LOOK_MS;
    return clock_mono_us() + look_ms * US_PER_MS;
}

void custody_end(struct custody **custody, struct progress *progress)
{
    struct custody *ended = *custody;
    if (!ended)
        return;
    *custody = NULL;
    stop_ask(&ended->stop, STOP_CANCEL);
    (void)pthread_join(ended->thread, NULL);
    struct snapshot snapshot;
    progress_flush(progress); /* Makes room. */
    while (next_news(ended, &snapshot))
        tell(ended, progress, &snapshot);
    worktree_drop(&ended->step, worktree_path(&ended->step, GIT_DIR));
    custody_free(ended);
}

void custody_last(struct step *step, const char *reason, bool publish)
{
    /* A stop of the step is requested already; this one is never requested. */
    struct stop calm;
    struct err err = {0};
    if (stop_init(&calm, &err) != RC_OK)
        return;
    bool hurry = stop_asked(step->stop) == STOP_SHUTDOWN;
    struct step last_step = *step;
    last_step.stop = &calm;
    last_step.deadline_us = clock_mono_us() + (hurry ? LAST_SHUTDOWN_MS : LAST_MS) * US_PER_MS;
    struct snapshot last;
    enum rc rc = rescue_snapshot(&last_step, reason, &last, &err);
    if (rc == RC_OK && publish && last.ref[0])
        rescue_publish(&last_step, &last);
    if (rc != RC_OK) /* The step that removes the tree has to save it first. */
        LOG(LOG_WARN, "no last snapshot of an agent's work for now",
            LOG_STR("runId", step->input.run_id.text), LOG_STR("error", err.text));
    stop_release(&calm);
}
