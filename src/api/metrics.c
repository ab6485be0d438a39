/*
 * metrics.c - the Prometheus text format 0.0.4.
 *
 *     # HELP name what it is
 *     # TYPE name counter | gauge
 *     name{label="value"} number
 *
 * Names about tasks, runs and agents start with agent_, those about drover itself with drover_,
 * those that every process has with process_.  Counters end in _total.
 */
#include "api/metrics.h"
#include "api/api.h"
#include "api/event_wait.h"
#include "api/routes.h"
#include "api/sse.h"
#include "base/clock.h"
#include "base/mem.h"
#include "control/watch/sinks.h"
#include "http/spool.h"
#include "store/breakers.h"
#include "store/events.h"
#include "store/forge_limits.h"
#include "store/jobs.h"
#include "store/queue_levels.h"
#include "store/runs.h"
#include "store/trains.h"
#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

/* The statuses that are counted by number; all others are counted as 0. */
static const int statuses[] = {0,   200, 201, 202, 204, 400, 401, 403, 404, 405, 406, 408, 409,
                               413, 414, 415, 422, 429, 431, 500, 501, 502, 503, 504, 505};
enum { STATUS_COUNT = COUNT_OF(statuses) };

struct metrics {
    size_t route_count;
    atomic_int_fast64_t *requests; /* [route][status], one route more than there are. */
};

struct metrics *metrics_new(size_t route_count)
{
    struct metrics *metrics = mem_alloc(sizeof *metrics);
    metrics->route_count = route_count;
    metrics->requests = mem_array((route_count + 1) * (size_t)STATUS_COUNT,
                                  sizeof *metrics->requests);
    return metrics;
}

void metrics_free(struct metrics *metrics)
{
    if (metrics == NULL)
        return;
    mem_free(metrics->requests);
    mem_free(metrics);
}

static size_t status_index(int status)
{
    for (size_t i = 1; i < STATUS_COUNT; i++) {
        if (statuses[i] == status)
            return i;
    }
    return 0;
}

void metrics_count(struct metrics *metrics, size_t route, int status)
{
    assert(route <= metrics->route_count);
    atomic_fetch_add_explicit(&metrics->requests[route * STATUS_COUNT + status_index(status)], 1,
                              memory_order_relaxed);
}

/* ---- Writing ---- */

static void family(struct buf *to, const char *name, const char *type, const char *help)
{
    buf_addf(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void label_value(struct buf *to, const char *text)
{
    for (; *text; text++) {
        if (*text == '\\' || *text == '"')
            buf_addc(to, '\\');
        if (*text == '\n')
            buf_adds(to, "\\n");
        else
            buf_addc(to, *text);
    }
}

struct label {
    const char *name, *value;
};

static void sample(struct buf *to, const char *name, const struct label *labels, size_t count,
                   int64_t value)
{
    buf_adds(to, name);
    for (size_t i = 0; i < count; i++) {
        buf_addf(to, "%s%s=\"", i ? "," : "{", labels[i].name);
        label_value(to, labels[i].value);
        buf_addc(to, '"');
    }
    buf_addf(to, "%s %" PRId64 "\n", count ? "}" : "", value);
}

/* A family of one. */
static void single(struct buf *to, const char *name, const char *type, const char *help,
                   int64_t value)
{
    family(to, name, type, help);
    sample(to, name, NULL, 0, value);
}

static void write_http(struct api *api, struct buf *to)
{
    static const char name[] = "drover_http_requests_total";
    size_t count = 0;
    const struct route *routes = routes_all(&count);
    family(to, name, "counter", "Requests answered, by route and status.");
    for (size_t i = 0; i <= count; i++) {
        for (size_t s = 0; s < STATUS_COUNT; s++) {
            int64_t value = atomic_load(&api->metrics->requests[i * STATUS_COUNT + s]);
            if (!value)
                continue;
            char status[8];
            (void)snprintf(status, sizeof status, "%d", statuses[s]);
            struct label labels[] = {
                {"method", i < count ? http_method_name(routes[i].method) : ""},
                {"route", i < count ? routes[i].pattern : ""},
                {"status", status}};
            sample(to, name, labels, COUNT_OF(labels), value);
        }
    }
    struct http_stats stats;
    http_stats(api->http, &stats);
    single(to, "drover_http_connections", "gauge", "Open connections.", stats.connections);
    single(to, "drover_http_connections_refused_total", "counter",
           "Connections closed at once: there were too many.", stats.refused_connections);
    single(to, "drover_http_connections_evicted_total", "counter",
           "Connections without a request that were closed to make room.",
           stats.evicted_connections);
    single(to, "drover_http_streams", "gauge", "Open event streams.", sse_count(api->sse));
    single(to, "drover_mcp_messages", "gauge", "Messages of MCP in progress.",
           atomic_load(&api->mcp_messages));
    single(to, "drover_mcp_streams", "gauge", "Open streams of MCP notifications.",
           atomic_load(&api->mcp_streams));
    single(to, "drover_http_event_waits", "gauge", "Calls that wait for an event.",
           event_waits_count(api->waits));
}

static void write_slots(struct api *api, struct buf *to)
{
    static const char slots[] = "drover_worker_slots", busy[] = "drover_worker_slots_busy";
    pthread_mutex_lock(&api->worker_lock);
    struct worker_load load = api->worker != NULL ? worker_load(api->worker)
                                                  : (struct worker_load){0};
    pthread_mutex_unlock(&api->worker_lock);
    family(to, slots, "gauge", "Slots of the workers in this process, by class of steps.");
    for (int i = 0; i < STEP_CLASS_COUNT; i++)
        sample(to, slots, &(struct label){"class", class_name((enum step_class)i)}, 1,
               load.of[i].slots);
    family(to, busy, "gauge", "Slots that run a step, by class of steps.");
    for (int i = 0; i < STEP_CLASS_COUNT; i++)
        sample(to, busy, &(struct label){"class", class_name((enum step_class)i)}, 1,
               load.of[i].busy);
}

static void write_timers(struct api *api, struct buf *to)
{
    struct timers_state timers;
    control_timers(api->control, &timers);
    single(to, "drover_timer_lag_milliseconds", "gauge",
           "How late the oldest due time is that was not handled.", timers.lag_us / US_PER_MS);
    single(to, "drover_timers_here", "gauge", "1: this node runs the timers.", timers.here);
    single(to, "drover_timers_since_seconds", "gauge",
           "Since when the node that runs the timers does so; 0: not known.",
           timers.since_us / US_PER_SECOND);
}

static void write_control(struct api *api, struct buf *to)
{
    struct committer_stats stats;
    committer_stats(control_committer(api->control), &stats);
    single(to, "drover_committer_commands_total", "counter", "Commands applied.", stats.commands);
    single(to, "drover_committer_batches_total", "counter", "Transactions committed.",
           stats.batches);
    single(to, "drover_committer_refused_total", "counter", "Commands refused on their merits.",
           stats.refused);
    single(to, "drover_committer_retried_total", "counter",
           "Batches rolled back and run one by one.", stats.retried);
    single(to, "drover_committer_busy_total", "counter",
           "Commands turned away: the queue was full.", stats.busy);
    single(to, "drover_jobs_shed_total", "counter", "Jobs that queues under load turned away.",
           stats.shed);
    single(to, "drover_committer_queue_length", "gauge", "Commands that wait.", stats.queue_length);
    single(to, "drover_committer_parked", "gauge", "Leases that wait for work.", stats.parked);
    struct bus_stats bus;
    bus_stats(control_bus(api->control), &bus);
    single(to, "drover_bus_published_total", "counter", "Events published.", bus.posted);
    single(to, "drover_bus_delivered_total", "counter", "Events put into channels.", bus.delivered);
    single(to, "drover_bus_dropped_total", "counter",
           "Events that did not fit into a channel (streams read them in the log).", bus.dropped);
    single(to, "drover_bus_subscribers", "gauge", "Subscriptions.", bus.subscribers);
    single(to, "drover_event_log_published_seq", "gauge",
           "Place in the log up to which events are published.", control_tail_seq(api->control));
    write_timers(api, to);
    write_slots(api, to);
}

/* Of queues that hold jobs; an empty queue is at level normal. */
static void write_levels(const struct queue_counts *queues, size_t count,
                         const struct queue_level_row *levels, size_t level_count, struct buf *to)
{
    static const char level_of[] = "drover_queue_level", desired[] = "drover_queue_desired_workers";
    family(to, level_of, "gauge", "How a queue is doing: 0 normal, 1 warning, 2 critical.");
    for (size_t q = 0; q < count; q++) {
        struct label label = {"queue", queues[q].queue};
        const struct queue_level_row *row = queue_levels_find(levels, level_count, label.value);
        sample(to, level_of, &label, 1, row != NULL ? (int64_t)row->level : 0);
    }
    family(to, desired, "gauge", "Workers that a queue deserves: for scalers outside.");
    for (size_t q = 0; q < count; q++) {
        struct label label = {"queue", queues[q].queue};
        const struct queue_level_row *row = queue_levels_find(levels, level_count, label.value);
        sample(to, desired, &label, 1, row != NULL ? row->desired : 0);
    }
}

enum { BREAKERS_TOLD_MAX = 1000 };

static const int64_t breaker_levels[BREAKER_STATE_COUNT] = {
    [BREAKER_CLOSED] = 0, [BREAKER_HALF_OPEN] = 1, [BREAKER_OPEN] = 2};

static enum rc write_store(struct db *db, struct arena *arena, struct buf *to, struct err *err)
{
    struct run_counts runs;
    struct queue_counts *queues = NULL;
    struct queue_level_row *levels = NULL;
    size_t queue_count = 0, level_count = 0;
    int64_t last_seq = 0;
    struct breaker_row *breakers = NULL;
    size_t breaker_count = 0;
    enum rc rc = runs_count(db, &runs, err);
    if (rc == RC_OK)
        rc = jobs_count(db, arena, &queues, &queue_count, err);
    if (rc == RC_OK)
        rc = queue_levels_list(db, arena, &levels, &level_count, err);
    if (rc == RC_OK)
        rc = events_last_seq(db, &last_seq, err);
    if (rc == RC_OK)
        rc = breakers_list(db, NULL, BREAKERS_TOLD_MAX, arena, &breakers, &breaker_count, err);
    if (rc != RC_OK)
        return rc;
    family(to, "agent_runs", "gauge", "Runs, by status.");
    for (int i = 0; i < RUN_STATUS_COUNT; i++) {
        struct label label = {"status", run_status_name((enum run_status)i)};
        sample(to, "agent_runs", &label, 1, runs.by_status[i]);
    }
    family(to, "agent_job_queue_depth", "gauge", "Jobs, by queue and state.");
    for (size_t q = 0; q < queue_count; q++) {
        for (int s = 0; s < JOB_STATE_COUNT; s++) {
            struct label labels[] = {{"queue", queues[q].queue},
                                     {"state", job_state_name((enum job_state)s)}};
            sample(to, "agent_job_queue_depth", labels, COUNT_OF(labels), queues[q].by_state[s]);
        }
    }
    write_levels(queues, queue_count, levels, level_count, to);
    family(to, "drover_breaker_state", "gauge", "0: closed, 1: half-open, 2: open.");
    for (size_t i = 0; i < breaker_count; i++) {
        struct label label = {"name", breakers[i].name};
        sample(to, "drover_breaker_state", &label, 1, breaker_levels[breakers[i].life.state]);
    }
    single(to, "drover_event_log_seq", "gauge", "Last place in the log.", last_seq);
    return RC_OK;
}

/* What forges have left of their rate limits, as they said last. */
static enum rc write_forges(struct db *db, struct arena *arena, struct buf *to, struct err *err)
{
    struct forge_limit_row *rows = NULL;
    size_t count = 0;
    enum rc rc = forge_limits_list(db, arena, &rows, &count, err);
    if (rc != RC_OK || count == 0)
        return rc;
    family(to, "drover_forge_calls_limit", "gauge", "Calls of a forge's API in a window.");
    for (size_t i = 0; i < count; i++) {
        struct label labels[] = {{"host", rows[i].host},
                                 {"credential", rows[i].credential},
                                 {"resource", rows[i].resource}};
        if (rows[i].quota.limit >= 0)
            sample(to, "drover_forge_calls_limit", labels, COUNT_OF(labels), rows[i].quota.limit);
    }
    family(to, "drover_forge_calls_remaining", "gauge", "Calls that are left of them.");
    for (size_t i = 0; i < count; i++) {
        struct label labels[] = {{"host", rows[i].host},
                                 {"credential", rows[i].credential},
                                 {"resource", rows[i].resource}};
        if (rows[i].quota.remaining >= 0)
            sample(to, "drover_forge_calls_remaining", labels, COUNT_OF(labels),
                   rows[i].quota.remaining);
    }
    return RC_OK;
}

static enum rc write_trains(struct db *db, struct buf *to, struct err *err)
{
    struct train_counts counts;
    enum rc rc = trains_count(db, &counts, err);
    if (rc != RC_OK)
        return rc;
    single(to, "agent_train_cars", "gauge", "Pull requests in merge trains.", counts.cars);
    single(to, "agent_train_rounds_total", "counter",
           "How often trains were built on another commit of their target.", counts.rounds);
    single(to, "agent_train_verifications_total", "counter",
           "Positions of trains whose checks were run.", counts.verifications);
    single(to, "agent_train_landed_total", "counter", "Pull requests that trains landed.",
           counts.landed);
    single(to, "agent_train_rejected_total", "counter",
           "Pull requests that failed as they would have landed, or did not merge.",
           counts.rejected);
    return RC_OK;
}

static enum rc write_sinks(struct api *api, struct db *db, struct arena *arena, struct buf *to,
                           struct err *err)
{
    static const char lag[] = "drover_sink_lag", seconds[] = "drover_sink_lag_seconds";
    static const char refused[] = "drover_sink_dead_letters_total";
    const struct sink_configs *sinks = &api->sinks;
    struct sink_view views[SINKS_MAX];
    struct clock clock = control_clock(api->control);
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < sinks->count; i++)
        rc = sink_look(db, sinks->items[i].name, clock_now_us(&clock), arena, &views[i], err);
    if (rc != RC_OK || sinks->count == 0)
        return rc;
    family(to, lag, "gauge", "Places in the log that a sink is behind its end.");
    for (size_t i = 0; i < sinks->count; i++)
        sample(to, lag, &(struct label){"sink", sinks->items[i].name}, 1, views[i].lag);
    family(to, seconds, "gauge", "Age of the first event that a sink has not got.");
    for (size_t i = 0; i < sinks->count; i++)
        sample(to, seconds, &(struct label){"sink", sinks->items[i].name}, 1,
               views[i].lag_us / US_PER_SECOND);
    family(to, refused, "counter", "Events that a sink has refused for good.");
    for (size_t i = 0; i < sinks->count; i++)
        sample(to, refused, &(struct label){"sink", sinks->items[i].name}, 1,
               views[i].row.dead_letters);
    return RC_OK;
}

static void write_spool(const struct spool *spool, struct buf *to)
{
    struct spool_stats stats;
    spool_stats(spool, &stats);
    single(to, "drover_spool_files", "gauge", "Large request bodies on disk.", stats.files);
    single(to, "drover_spool_bytes", "gauge", "What they have.", stats.written);
    single(to, "drover_spool_reserved_bytes", "gauge", "What is reserved for them.",
           stats.reserved);
    single(to, "drover_spool_refused_total", "counter", "Refused for the budget of the spool.",
           stats.refused);
}

static void write_process(struct buf *to)
{
    long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file != NULL) {
        if (fscanf(file, "%*d %lld", &pages) != 1)
            pages = 0;
        (void)fclose(file);
    }
    single(to, "process_resident_memory_bytes", "gauge", "Resident memory in bytes.",
           (int64_t)pages * sysconf(_SC_PAGESIZE));
}

enum rc metrics_write(struct api *api, struct db *db, struct arena *arena, struct buf *to,
                      struct err *err)
{
    family(to, "drover_build_info", "gauge", "Which drover this is.");
    struct label version = {"version", DROVER_VERSION};
    sample(to, "drover_build_info", &version, 1, 1);
    enum rc rc = write_store(db, arena, to, err);
    if (rc == RC_OK)
        rc = write_forges(db, arena, to, err);
    if (rc == RC_OK)
        rc = write_trains(db, to, err);
    if (rc == RC_OK)
        rc = write_sinks(api, db, arena, to, err);
    if (rc != RC_OK && rc != RC_UNREACHABLE)
        return rc;
    /* Metrics matter most in an outage: those that need no store are still written. */
    single(to, "drover_store_up", "gauge", "1: the store answers.", rc == RC_OK);
    write_control(api, to);
    write_http(api, to);
    write_spool(api->spool, to);
    write_process(to);
    return RC_OK;
}
