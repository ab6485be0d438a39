#include "control/watch/log_events.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "core/event_types.h"
#include <pthread.h>
#include <string.h>
#include <sys/queue.h>

enum { QUEUE_LINES = 4096, QUEUE_BYTES = 4 * 1024 * 1024, STACK_BYTES = 256 * 1024 };

struct line {
    STAILQ_ENTRY(line) next;
    int64_t time_us;
    struct id run_id, task_id;
    size_t len;
    char json[];
};
STAILQ_HEAD(line_queue, line);

struct log_events {
    struct log_events_options options;
    struct random random; /* The thread's own. */
    char *subject;
    struct log_file *file;
    struct log_store *store;
    pthread_t thread;
    bool running;

    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct line_queue queue;
    size_t count, bytes;
    int64_t lost;
    bool stopping;
    int64_t until_us; /* With stopping: lines that are left then are given up. */
};

/* ---- lines ---- */

static struct id id_field(const struct log_line *line, const char *key)
{
    struct id id = {""};
    for (const struct log_field *field = line->fields; field->key != NULL; field++)
        if (strcmp(field->key, key) == 0 && field->text != NULL && id_parse(field->text, &id))
            return id;
    return (struct id){""};
}

/* Under the lock. */
static struct line *pop(struct log_events *events)
{
    struct line *line = STAILQ_FIRST(&events->queue);
    if (line == NULL)
        return NULL;
    STAILQ_REMOVE_HEAD(&events->queue, next);
    events->count--;
    events->bytes -= line->len;
    return line;
}

/* On the thread that logs. */
static void on_line(void *ctx, const struct log_line *given)
{
    struct log_events *events = ctx;
    struct line *line = mem_alloc(sizeof *line + given->json.len);
    line->time_us = given->time_us;
    line->run_id = id_field(given, "runId");
    line->task_id = id_field(given, "taskId");
    line->len = given->json.len;
    memcpy(line->json, given->json.at, given->json.len);
    pthread_mutex_lock(&events->lock);
    while (events->count == QUEUE_LINES ||
           (events->count > 0 && events->bytes + line->len > QUEUE_BYTES)) {
        mem_free(pop(events));
        events->lost++;
    }
    STAILQ_INSERT_TAIL(&events->queue, line, next);
    events->count++;
    events->bytes += line->len;
    pthread_cond_signal(&events->wake);
    pthread_mutex_unlock(&events->lock);
}

/* ---- the thread ---- */

static void post_line(struct log_events *events, const struct line *line)
{
    const char *why = NULL;
    struct event event = {
        .id = id_new(line->time_us, &events->random),
        .type = EV_LOG_WRITTEN,
        .version = 1,
        .subject = events->subject,
        .time_us = line->time_us,
        .run_id = line->run_id,
        .task_id = line->task_id,
        .actor = {"system", "drover"},
        .data = {line->json, line->len},
    };
    bus_published(events->options.bus, &event);
    struct envelope *envelope = envelope_new(&event, &why);
    if (envelope == NULL)
        return; /* No line is such a one. */
    bus_post(events->options.bus, envelope);
    envelope_unref(envelope);
}

/* NULL: it stops, and the queue is empty or the time is over. */
static struct line *wait_for_line(struct log_events *events, int64_t *ret_lost)
{
    pthread_mutex_lock(&events->lock);
    while (events->count == 0 && !events->stopping)
        (void)pthread_cond_wait(&events->wake, &events->lock);
    bool late = events->stopping && clock_mono_us() >= events->until_us;
    struct line *line = late ? NULL : pop(events);
    *ret_lost = events->lost;
    events->lost = 0;
    pthread_mutex_unlock(&events->lock);
    return line;
}

static void *pump_main(void *arg)
{
    struct log_events *events = arg;
    struct line *line;
    int64_t lost = 0;
    log_hide_thread();
    while ((line = wait_for_line(events, &lost)) != NULL) {
        if (lost > 0)
            LOG(LOG_WARN, "too many log lines at once: some were not kept", LOG_INT("lines", lost));
        post_line(events, line);
        mem_free(line);
    }
    return NULL;
}

/* ---- start and stop ---- */

static enum rc start_sinks(struct log_events *events, struct err *err)
{
    const struct log_events_options *options = &events->options;
    enum rc rc = RC_OK;
    if (options->file.path != NULL)
        rc = log_file_start(&options->file, options->bus, &events->file, err);
    if (rc == RC_OK && options->store.on)
        rc = log_store_start(&(struct log_store_options){.config = options->store,
                                                         .bus = options->bus,
                                                         .committer = options->committer,
                                                         .node = options->node},
                             &events->store, err);
    return rc;
}

static enum log_level lowest_level(const struct log_events_options *options)
{
    enum log_level level = LOG_FATAL;
    if (options->file.path != NULL)
        level = options->file.level;
    if (options->store.on && options->store.level < level)
        level = options->store.level;
    return level;
}

enum rc log_events_start(const struct log_events_options *options, struct log_events **ret_events,
                         struct err *err)
{
    *ret_events = NULL;
    if (options->file.path == NULL && !options->store.on)
        return RC_OK;
    struct log_events *events = mem_alloc(sizeof *events);
    CLEANUP(arena_release) struct arena arena = {0};
    events->options = *options;
    events->random = random_from_os();
    events->subject = mem_strdup(arena_printf(&arena, "node/%s", options->node));
    STAILQ_INIT(&events->queue);
    pthread_mutex_init(&events->lock, NULL);
    thread_cond_init(&events->wake);
    enum rc rc = start_sinks(events, err);
    const struct thread_spec thread = {
        .body = pump_main, .ctx = events, .stack_bytes = STACK_BYTES};
    if (rc == RC_OK)
        rc = thread_start(&thread, &events->thread, err);
    events->running = rc == RC_OK;
    if (rc != RC_OK) {
        log_events_stop(events, 0);
        return rc;
    }
    log_set_tap(&(struct log_tap){.level = lowest_level(options), .line = on_line, .ctx = events});
    *ret_events = events;
    return RC_OK;
}

void log_events_stop(struct log_events *events, int64_t drain_us)
{
    if (events == NULL)
        return;
    int64_t until_us = clock_mono_us() + drain_us;
    log_set_tap(&(struct log_tap){0});
    pthread_mutex_lock(&events->lock);
    events->stopping = true;
    events->until_us = until_us;
    pthread_cond_signal(&events->wake);
    pthread_mutex_unlock(&events->lock);
    if (events->running)
        pthread_join(events->thread, NULL);
    int64_t left = (int64_t)events->count;
    while (events->count > 0)
        mem_free(pop(events));
    left += log_file_stop(events->file, until_us) + log_store_stop(events->store, until_us);
    if (left > 0)
        LOG(LOG_WARN, "lines of the log were not written before the server stopped",
            LOG_INT("lines", left));
    pthread_cond_destroy(&events->wake);
    pthread_mutex_destroy(&events->lock);
    mem_free(events->subject);
    mem_free(events);
}
