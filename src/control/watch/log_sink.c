#include "control/watch/log_sink.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include <pthread.h>
#include <time.h>

enum { BATCH_LINES = 256, BATCH_BYTES = 256 * 1024, STACK_BYTES = 256 * 1024 };
#define RETRY_US     US_PER_SECOND
#define COMPLAINT_US US_PER_MINUTE /* Of a sink that fails: one line in so long. */

struct log_sink {
    struct log_sink_spec spec;
    struct subscription *subscription;
    pthread_t thread;
    int64_t quiet_until_us; /* The thread's own. */
    int64_t left;           /* Lines that were not written; the thread's until it ends. */

    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool woken, stopping;
    int64_t until_us; /* With stopping. */
};

/* On the sender's thread. */
static void on_line(void *ctx)
{
    struct log_sink *sink = ctx;
    pthread_mutex_lock(&sink->lock);
    sink->woken = true;
    pthread_cond_signal(&sink->wake);
    pthread_mutex_unlock(&sink->lock);
}

/* Waits for a line; false: the sink stops. */
static bool wait_for_line(struct log_sink *sink)
{
    struct timespec until = clock_mono_after(sink->spec.idle_us);
    pthread_mutex_lock(&sink->lock);
    while (!sink->woken && !sink->stopping) {
        if (sink->spec.idle_us == 0)
            (void)pthread_cond_wait(&sink->wake, &sink->lock);
        else if (pthread_cond_timedwait(&sink->wake, &sink->lock, &until) != 0)
            break;
    }
    sink->woken = false;
    bool goes_on = !sink->stopping;
    pthread_mutex_unlock(&sink->lock);
    return goes_on;
}

/* Ends early when the sink stops. */
static void pause_for(struct log_sink *sink, int64_t wait_us)
{
    struct timespec until = clock_mono_after(wait_us);
    pthread_mutex_lock(&sink->lock);
    while (!sink->stopping)
        if (pthread_cond_timedwait(&sink->wake, &sink->lock, &until) != 0)
            break;
    pthread_mutex_unlock(&sink->lock);
}

static bool is_stopping(struct log_sink *sink, bool *ret_late)
{
    pthread_mutex_lock(&sink->lock);
    bool stopping = sink->stopping;
    *ret_late = stopping && clock_mono_us() >= sink->until_us;
    pthread_mutex_unlock(&sink->lock);
    return stopping;
}

static void complain(struct log_sink *sink, const struct err *err)
{
    int64_t now_us = clock_mono_us();
    if (now_us < sink->quiet_until_us)
        return;
    sink->quiet_until_us = now_us + COMPLAINT_US;
    LOG(LOG_WARN,
        "lines of the log cannot be written; they are tried again, and the oldest dropped",
        LOG_STR("subscriber", bus_default(sink->spec.who)->name), LOG_STR("error", err->text));
}

/* False: the sink stops, and they could not be written. */
static bool write_batch(struct log_sink *sink, struct envelope *const *lines, size_t count)
{
    struct err err = {0};
    bool late;
    while (sink->spec.write(sink->spec.ctx, lines, count, &err) != RC_OK) {
        complain(sink, &err);
        if (is_stopping(sink, &late))
            return false;
        pause_for(sink, RETRY_US);
        err_clear(&err);
    }
    return true;
}

static void write_lines(struct log_sink *sink)
{
    struct envelope *lines[BATCH_LINES];
    const struct subscription_batch batch = {lines, BATCH_LINES, BATCH_BYTES};
    bool late = false;
    size_t count;
    while ((count = subscription_take_batch(sink->subscription, &batch, NULL)) > 0) {
        (void)is_stopping(sink, &late);
        if (late || !write_batch(sink, lines, count))
            sink->left += (int64_t)count;
        for (size_t i = 0; i < count; i++)
            envelope_unref(lines[i]);
    }
}

static void *sink_main(void *arg)
{
    struct log_sink *sink = arg;
    log_hide_thread();
    bool goes_on = true;
    while (goes_on) {
        goes_on = wait_for_line(sink);
        if (goes_on && sink->spec.gather_us > 0)
            pause_for(sink, sink->spec.gather_us);
        write_lines(sink);
        struct err err = {0};
        if (goes_on && sink->spec.idle_us > 0 &&
            sink->spec.write(sink->spec.ctx, NULL, 0, &err) != RC_OK)
            complain(sink, &err);
    }
    return NULL;
}

/* Levels of lines are severities of their events: fatal and error are one. */
static enum severity severity_of(enum log_level level)
{
    static const enum severity severities[] = {[LOG_DEBUG] = SEVERITY_DEBUG,
                                               [LOG_INFO] = SEVERITY_INFO,
                                               [LOG_WARN] = SEVERITY_WARNING,
                                               [LOG_ERROR] = SEVERITY_ERROR,
                                               [LOG_FATAL] = SEVERITY_ERROR};
    return severities[level];
}

enum rc log_sink_start(const struct log_sink_spec *spec, struct log_sink **ret_sink,
                       struct err *err)
{
    struct log_sink *sink = mem_alloc(sizeof *sink);
    sink->spec = *spec;
    pthread_mutex_init(&sink->lock, NULL);
    thread_cond_init(&sink->wake);
    sink->subscription = bus_subscribe(
        spec->bus,
        &(struct subscription_options){
            .who = spec->who,
            .filter = {.lines = true, .selector = {.min_severity = severity_of(spec->level)}},
            .wake = on_line,
            .ctx = sink,
        });
    const struct thread_spec thread = {.body = sink_main, .ctx = sink, .stack_bytes = STACK_BYTES};
    enum rc rc = thread_start(&thread, &sink->thread, err);
    if (rc != RC_OK) {
        bus_unsubscribe(spec->bus, sink->subscription);
        mem_free(sink);
        return rc;
    }
    *ret_sink = sink;
    return RC_OK;
}

int64_t log_sink_stop(struct log_sink *sink, int64_t until_us)
{
    if (sink == NULL)
        return 0;
    pthread_mutex_lock(&sink->lock);
    sink->stopping = true;
    sink->until_us = until_us;
    pthread_cond_signal(&sink->wake);
    pthread_mutex_unlock(&sink->lock);
    pthread_join(sink->thread, NULL);
    bus_unsubscribe(sink->spec.bus, sink->subscription);
    pthread_cond_destroy(&sink->wake);
    pthread_mutex_destroy(&sink->lock);
    int64_t left = sink->left;
    mem_free(sink);
    return left;
}
