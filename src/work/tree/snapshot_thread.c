/*
 * snapshot_thread.c - see snapshot_thread.h.
 *
 *     snapshot thread: wait snapshotMs, or for the end -> snapshot -> news
 *     step's thread:   snapshot_thread_tick: news -> progress
 *
 * The git directory stays from one snapshot to the next, so that its index has the files that git
 * has read.  The lock guards the news; everything else belongs to the thread until it is joined.
 */
#include "work/tree/snapshot_thread.h"
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

struct snapshot_thread {
    pthread_t thread;
    struct arena lasting;     /* What step and base point to. */
    struct arena scratch;     /* Of one snapshot. */
    struct step step;         /* A copy with arena, stop and deadline of its own: for the thread. */
    const struct step *owner; /* For those who begin, tick and end it. */
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
static void add_news(struct snapshot_thread *snapshots)
{
    (void)pthread_mutex_lock(&snapshots->lock);
    if (snapshots->news_count == NEWS_MAX) {
        memmove(snapshots->news, snapshots->news + 1, (NEWS_MAX - 1) * sizeof *snapshots->news);
        snapshots->news_count--;
    }
    snapshots->news[snapshots->news_count++] = snapshots->last;
    (void)pthread_mutex_unlock(&snapshots->lock);
}

static enum rc take(struct snapshot_thread *snapshots, struct err *err)
{
    struct step *step = &snapshots->step;
    struct treegit treegit = snapshot_treegit(step, GIT_DIR, snapshots->base);
    struct snapshot_news news = {0};
    enum rc rc = RC_OK;
    step->deadline_us = clock_mono_us() + TAKE_MS * US_PER_MS;
    if (!snapshots->known)
        rc = snapshot_find_last(step, snapshots->base, &snapshots->last, err);
    snapshots->known |= rc == RC_OK;
    if (rc == RC_OK && !snapshots->open)
        rc = snapshot_open(&treegit, &snapshots->last, err);
    if (rc == RC_OK)
        rc = snapshot_take(&treegit, &snapshots->last, &news, err);
    if (news.fresh)
        add_news(snapshots);
    snapshots->open = rc == RC_OK; /* After a failure its state is unknown. */
    if (rc != RC_OK && rc != RC_TOO_LARGE)
        treegit_close(&treegit);
    return rc;
}

static void *snapshot_thread_main(void *ctx)
{
    struct snapshot_thread *snapshots = ctx;
    bool more = true;
    while (more && !stop_wait(&snapshots->stop, snapshots->every_ms)) {
        struct err err = {0};
        enum rc rc = take(snapshots, &err);
        if (rc != RC_OK && rc != RC_CANCELLED)
            LOG(LOG_DEBUG, "no snapshot this time",
                LOG_STR("runId", snapshots->step.input.run_id.text), LOG_STR("error", err.text));
        more = rc != RC_TOO_LARGE;
        arena_reset(&snapshots->scratch);
    }
    return NULL;
}

static void snapshot_thread_free(struct snapshot_thread *snapshots)
{
    stop_release(&snapshots->stop);
    (void)pthread_mutex_destroy(&snapshots->lock);
    arena_release(&snapshots->scratch);
    arena_release(&snapshots->lasting);
    mem_free(snapshots);
}

struct snapshot_thread *snapshot_thread_begin(struct step *step, const char *base)
{
    if (step->input.config.timeouts.snapshot_ms == 0)
        return NULL;
    struct snapshot_thread *snapshots = mem_alloc(sizeof *snapshots);
    snapshots->every_ms = step->input.config.timeouts.snapshot_ms;
    snapshots->step = *step;
    snapshots->owner = step;
    snapshots->step.arena = &snapshots->scratch;
    snapshots->step.stop = &snapshots->stop;
    snapshots->base = arena_strdup(&snapshots->lasting, base);
    snapshots->stop.event_fd = -1;
    (void)pthread_mutex_init(&snapshots->lock, NULL);
    struct err err = {0};
    const struct thread_spec spec = {.body = snapshot_thread_main, .ctx = snapshots};
    if (stop_init(&snapshots->stop, &err) == RC_OK &&
        thread_start(&spec, &snapshots->thread, &err) == RC_OK)
        return snapshots;
    LOG(LOG_WARN, "an agent works without snapshots", LOG_STR("runId", step->input.run_id.text),
        LOG_STR("error", err.text));
    snapshot_thread_free(snapshots);
    return NULL;
}

static bool next_news(struct snapshot_thread *snapshots, struct snapshot *ret)
{
    (void)pthread_mutex_lock(&snapshots->lock);
    bool any = snapshots->news_count > 0;
    if (any)
        *ret = snapshots->news[0];
    (void)pthread_mutex_unlock(&snapshots->lock);
    return any;
}

static void drop_news(struct snapshot_thread *snapshots, const struct snapshot *told)
{
    (void)pthread_mutex_lock(&snapshots->lock);
    if (snapshots->news_count > 0 && text_same(snapshots->news[0].ref, told->ref)) {
        snapshots->news_count--;
        memmove(snapshots->news, snapshots->news + 1,
                snapshots->news_count * sizeof *snapshots->news);
    }
    (void)pthread_mutex_unlock(&snapshots->lock);
}

static void report(struct snapshot_thread *snapshots, struct progress *progress,
                   const struct snapshot *snapshot)
{
    CLEANUP(buf_release) struct buf data;
    buf_init(&data, DATA_BYTES_MAX);
    snapshot_write(&data, snapshots->owner, snapshot, "interval");
    progress_add(progress, EV_SNAPSHOT_TAKEN, buf_str(&data));
    drop_news(snapshots, snapshot);
}

int64_t snapshot_thread_tick(struct snapshot_thread *snapshots, struct progress *progress)
{
    if (snapshots == NULL)
        return INT64_MAX;
    struct snapshot snapshot;
    while (next_news(snapshots, &snapshot)) {
        /* Among many other events it would be dropped: it goes first in a batch of its own.  While
           the server is unreachable, progress decides when to retry. */
        (void)progress_tick(progress, clock_mono_us());
        if (progress->count > 0)
            break;
        report(snapshots, progress, &snapshot);
    }
    int64_t look_ms = snapshots->every_ms < LOOK_MS ? snapshots->every_ms : LOOK_MS;
    return clock_mono_us() + look_ms * US_PER_MS;
}

void snapshot_thread_end(struct snapshot_thread **snapshots, struct progress *progress)
{
    struct snapshot_thread *ended = *snapshots;
    if (ended == NULL)
        return;
    *snapshots = NULL;
    stop_ask(&ended->stop, STOP_CANCEL);
    (void)pthread_join(ended->thread, NULL);
    struct snapshot snapshot;
    progress_flush(progress); /* Makes room. */
    while (next_news(ended, &snapshot))
        report(ended, progress, &snapshot);
    worktree_drop(&ended->step, worktree_path(&ended->step, GIT_DIR));
    snapshot_thread_free(ended);
}

void snapshot_thread_last(struct step *step, const char *reason, bool publish)
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
