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
#include "api/metrics_bus.h"
#include "api/metrics_text.h"
#include "api/routes.h"
#include "api/sinks.h"
#include "api/sse.h"
#include "base/clock.h"
#include "base/mem.h"
#include "http/spool.h"
#include "store/breakers.h"
#include "store/consumers.h"
#include "store/events.h"
#include "store/forge_limits.h"
#include "store/inbox.h"
#include "store/issue_states.h"
#include "store/jobs.h"
#include "store/queue_levels.h"
#include "store/retention_sums.h"
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

static void write_http(struct api *api, struct buf *to)
{
    static const char name[] = "drover_http_requests_total";
    size_t count = 0;
    const struct route *routes = routes_all(&count);
    metrics_family(to, name, "counter", "Requests answered, by route and status.");
    for (size_t i = 0; i <= count; i++) {
        for (size_t s = 0; s < STATUS_COUNT; s++) {
            int64_t value = atomic_load(&api->metrics->requests[i * STATUS_COUNT + s]);
            if (!value)
                continue;
            char status[8];
            (void)snprintf(status, sizeof status, "%d", statuses[s]);
            struct metrics_label labels[] = {
                {"method", i < count ? http_method_name(routes[i].method) : ""},
                {"route", i < count ? routes[i].pattern : ""},
                {"status", status}};
            metrics_sample(to, name, labels, COUNT_OF(labels), value);
        }
    }
    struct http_stats stats;
    http_stats(api->http, &stats);
    metrics_single(to, "drover_http_connections", "gauge", "Open connections.", stats.connections);
    metrics_single(to, "drover_http_connections_refused_total", "counter",
                   "Connections closed at once: there were too many.", stats.refused_connections);
    metrics_single(to, "drover_http_connections_evicted_total", "counter",
                   "Connections without a request that were closed to make room.",
                   stats.evicted_connections);
    metrics_single(to, "drover_http_streams", "gauge", "Open event streams.", sse_count(api->sse));
    metrics_single(to, "drover_mcp_messages", "gauge", "Messages of MCP in progress.",
                   atomic_load(&api->mcp_messages));
    metrics_single(to, "drover_mcp_streams", "gauge", "Open streams of MCP notifications.",
                   atomic_load(&api->mcp_streams));
    metrics_single(to, "drover_http_event_waits", "gauge", "Calls that wait for an event.",
                   event_waits_count(api->waits));
}

static void write_slots(struct api *api, struct buf *to)
{
    static const char slots[] = "drover_worker_slots", busy[] = "drover_worker_slots_busy";
    pthread_mutex_lock(&api->worker_lock);
    struct worker_load load = api->worker != NULL ? worker_load(api->worker)
                                                  : (struct worker_load){0};
    pthread_mutex_unlock(&api->worker_lock);
    metrics_family(to, slots, "gauge", "Slots of the workers in this process, by class of steps.");
    for (int i = 0; i < STEP_CLASS_COUNT; i++)
        metrics_sample(to, slots, &(struct metrics_label){"class", class_name((enum step_class)i)},
                       1, load.of[i].slots);
    metrics_family(to, busy, "gauge", "Slots that run a step, by class of steps.");
    for (int i = 0; i < STEP_CLASS_COUNT; i++)
        metrics_sample(to, busy, &(struct metrics_label){"class", class_name((enum step_class)i)},
                       1, load.of[i].busy);
}

static void write_timers(struct api *api, struct buf *to)
{
    struct timers_state timers;
    control_timers(api->control, &timers);
    metrics_single(to, "drover_timer_lag_milliseconds", "gauge",
                   "How late the oldest due time is that was not handled.",
                   timers.lag_us / US_PER_MS);
    metrics_single(to, "drover_timers_here", "gauge", "1: this node runs the timers.", timers.here);
    metrics_single(to, "drover_timers_since_seconds", "gauge",
                   "Since when the node that runs the timers does so; 0: not known.",
                   timers.since_us / US_PER_SECOND);
}

static void write_conductor(struct api *api, struct buf *to)
{
    struct conductor_view view;
    if (!control_conductor(api->control, &view))
        return;
    metrics_single(to, "drover_conductor_acts", "gauge", "1: the Conductor of this node acts.",
                   view.acts);
    metrics_single(to, "drover_conductor_turns_total", "counter", "Turns of the Conductor.",
                   view.turns);
    metrics_single(to, "drover_conductor_events_total", "counter", "Events that it has written.",
                   view.written);
    metrics_single(to, "drover_conductor_assignments_total", "counter",
                   "Issues that it has assigned.", view.assigned);
}

static void write_control(struct api *api, struct buf *to)
{
    struct committer_stats stats;
    committer_stats(control_committer(api->control), &stats);
    metrics_single(to, "drover_committer_commands_total", "counter", "Commands applied.",
                   stats.commands);
    metrics_single(to, "drover_committer_batches_total", "counter", "Transactions committed.",
                   stats.batches);
    metrics_single(to, "drover_committer_refused_total", "counter",
                   "Commands refused on their merits.", stats.refused);
    metrics_single(to, "drover_committer_retried_total", "counter",
                   "Batches rolled back and run one by one.", stats.retried);
    metrics_single(to, "drover_committer_busy_total", "counter",
                   "Commands turned away: the queue was full.", stats.busy);
    metrics_single(to, "drover_jobs_shed_total", "counter",
                   "Jobs that queues under load turned away.", stats.shed);
    metrics_single(to, "drover_committer_queue_length", "gauge", "Commands that wait.",
                   stats.queue_length);
    metrics_single(to, "drover_committer_parked", "gauge", "Leases that wait for work.",
                   stats.parked);
    metrics_bus_write(control_bus(api->control), to);
    metrics_single(to, "drover_event_log_published_seq", "gauge",
                   "Place in the log up to which events are published.",
                   control_tail_seq(api->control));
    write_timers(api, to);
    write_slots(api, to);
}

/* Of queues that hold jobs; an empty queue is at level normal. */
static void write_levels(const struct queue_counts *queues, size_t count,
                         const struct queue_level_row *levels, size_t level_count, struct buf *to)
{
    static const char level_of[] = "drover_queue_level", desired[] = "drover_queue_desired_workers";
    metrics_family(to, level_of, "gauge", "How a queue is doing: 0 normal, 1 warning, 2 critical.");
    for (size_t q = 0; q < count; q++) {
        struct metrics_label label = {"queue", queues[q].queue};
        const struct queue_level_row *row = queue_levels_find(levels, level_count, label.value);
        metrics_sample(to, level_of, &label, 1, row != NULL ? (int64_t)row->level : 0);
    }
    metrics_family(to, desired, "gauge", "Workers that a queue deserves: for scalers outside.");
    for (size_t q = 0; q < count; q++) {
        struct metrics_label label = {"queue", queues[q].queue};
        const struct queue_level_row *row = queue_levels_find(levels, level_count, label.value);
        metrics_sample(to, desired, &label, 1, row != NULL ? row->desired : 0);
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
    metrics_family(to, "agent_runs", "gauge", "Runs, by status.");
    for (int i = 0; i < RUN_STATUS_COUNT; i++) {
        struct metrics_label label = {"status", run_status_name((enum run_status)i)};
        metrics_sample(to, "agent_runs", &label, 1, runs.by_status[i]);
    }
    metrics_family(to, "agent_job_queue_depth", "gauge", "Jobs, by queue and state.");
    for (size_t q = 0; q < queue_count; q++) {
        for (int s = 0; s < JOB_STATE_COUNT; s++) {
            struct metrics_label labels[] = {{"queue", queues[q].queue},
                                             {"state", job_state_name((enum job_state)s)}};
            metrics_sample(to, "agent_job_queue_depth", labels, COUNT_OF(labels),
                           queues[q].by_state[s]);
        }
    }
    write_levels(queues, queue_count, levels, level_count, to);
    metrics_family(to, "drover_breaker_state", "gauge", "0: closed, 1: half-open, 2: open.");
    for (size_t i = 0; i < breaker_count; i++) {
        struct metrics_label label = {"name", breakers[i].name};
        metrics_sample(to, "drover_breaker_state", &label, 1,
                       breaker_levels[breakers[i].life.state]);
    }
    metrics_single(to, "drover_event_log_seq", "gauge", "Last place in the log.", last_seq);
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
    metrics_family(to, "drover_forge_calls_limit", "gauge", "Calls of a forge's API in a window.");
    for (size_t i = 0; i < count; i++) {
        struct metrics_label labels[] = {{"host", rows[i].host},
                                         {"credential", rows[i].credential},
                                         {"resource", rows[i].resource}};
        if (rows[i].quota.limit >= 0)
            metrics_sample(to, "drover_forge_calls_limit", labels, COUNT_OF(labels),
                           rows[i].quota.limit);
    }
    metrics_family(to, "drover_forge_calls_remaining", "gauge", "Calls that are left of them.");
    for (size_t i = 0; i < count; i++) {
        struct metrics_label labels[] = {{"host", rows[i].host},
                                         {"credential", rows[i].credential},
                                         {"resource", rows[i].resource}};
        if (rows[i].quota.remaining >= 0)
            metrics_sample(to, "drover_forge_calls_remaining", labels, COUNT_OF(labels),
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
    metrics_single(to, "agent_train_cars", "gauge", "Pull requests in merge trains.", counts.cars);
    metrics_single(to, "agent_train_rounds_total", "counter",
                   "How often trains were built on another commit of their target.", counts.rounds);
    metrics_single(to, "agent_train_verifications_total", "counter",
                   "Positions of trains whose checks were run.", counts.verifications);
    metrics_single(to, "agent_train_landed_total", "counter", "Pull requests that trains landed.",
                   counts.landed);
    metrics_single(to, "agent_train_rejected_total", "counter",
                   "Pull requests that failed as they would have landed, or did not merge.",
                   counts.rejected);
    return RC_OK;
}

static enum rc write_issues(struct db *db, struct buf *to, struct err *err)
{
    static const char name[] = "drover_issues";
    int64_t counts[STAGE_COUNT];
    enum rc rc = issue_states_count(db, counts, err);
    if (rc != RC_OK)
        return rc;
    metrics_family(to, name, "gauge", "Issues on their way to production, by stage.");
    for (int i = STAGE_NEW + 1; i < STAGE_COUNT; i++)
        metrics_sample(to, name,
                       &(struct metrics_label){"stage", issue_stage_name((enum issue_stage)i)}, 1,
                       counts[i]);
    return RC_OK;
}

static enum rc write_inbox(struct db *db, struct arena *arena, struct buf *to, struct err *err)
{
    static const char name[] = "drover_inbox_items";
    const struct clock clock = clock_real();
    struct inbox_filter filter = {.now_us = clock_now_us(&clock)};
    struct inbox_row *rows = NULL;
    size_t count = 0;
    bool more = false;
    int64_t counts[INBOX_KIND_COUNT] = {0}, oldest_us = 0;
    for (int kind = 0; kind < INBOX_KIND_COUNT; kind++)
        filter.kinds[kind] = true;
    enum rc rc = inbox_list(db, &filter, arena, &rows, &count, &more, err);
    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < count; i++) {
        counts[rows[i].kind]++;
        if (filter.now_us - rows[i].since_us > oldest_us)
            oldest_us = filter.now_us - rows[i].since_us;
    }
    metrics_family(to, name, "gauge",
                   "What needs a person, by kind; of each at most 500 are counted.");
    for (int kind = 0; kind < INBOX_KIND_COUNT; kind++) {
        struct metrics_label label = {"kind", inbox_kind_names[kind]};
        metrics_sample(to, name, &label, 1, counts[kind]);
    }
    metrics_single(to, "drover_inbox_oldest_seconds", "gauge", "Since when the oldest of it waits.",
                   oldest_us / US_PER_SECOND);
    return RC_OK;
}

static enum rc write_consumers(struct db *db, struct arena *arena, struct buf *to, struct err *err)
{
    static const char lag[] = "drover_consumer_lag";
    struct consumer_row *rows = NULL;
    size_t count = 0;
    int64_t last = 0;
    enum rc rc = consumers_list(db, NULL, CONSUMERS_MAX, arena, &rows, &count, err);
    if (rc == RC_OK)
        rc = events_last_seq(db, &last, err);
    if (rc != RC_OK || count == 0)
        return rc;
    metrics_family(to, lag, "gauge", "Places in the log that a consumer is behind its end.");
    for (size_t i = 0; i < count; i++)
        metrics_sample(to, lag, &(struct metrics_label){"consumer", rows[i].name}, 1,
                       last > rows[i].cursor_seq ? last - rows[i].cursor_seq : 0);
    return RC_OK;
}

/* What retention has deleted, given back and kept, as the store has it: the same on all nodes. */
static enum rc write_retention(struct db *db, struct arena *arena, struct buf *to, struct err *err)
{
    static const char expired[] = "drover_retention_expired_total";
    static const char kept[] = "drover_retention_kept_tasks";
    static const struct {
        const char *sum, *name, *type, *help;
        int64_t unit;
    } singles[] = {
        {MARK_GIVEN_BACK, "drover_retention_given_back_bytes_total", "counter",
         "Bytes of the database and of artifacts that were given back to the file system.", 1},
        {MARK_UNREAD, "drover_retention_unread_events_total", "counter",
         "Events that were deleted before a sink or consumer had read them.", 1},
        {MARK_ROUND_US, "drover_retention_last_round_timestamp_seconds", "gauge",
         "When the last round of retention ended; 0: none has.", US_PER_SECOND},
        {MARK_ROUND_TOOK_US, "drover_retention_last_round_milliseconds", "gauge",
         "How long it took.", US_PER_MS},
    };
    struct retention_sum *sums;
    size_t count = 0;
    enum rc rc = retention_sums_list(db, RETENTION_EXPIRED, arena, &sums, &count, err);
    if (rc != RC_OK)
        return rc;
    metrics_family(to, expired, "counter", "Rows that were deleted after their time, by kind.");
    for (size_t i = 0; i < count; i++)
        metrics_sample(to, expired,
                       &(struct metrics_label){"kind", sums[i].name + sizeof RETENTION_EXPIRED - 1},
                       1, sums[i].value);
    rc = retention_sums_list(db, RETENTION_KEPT, arena, &sums, &count, err);
    if (rc != RC_OK)
        return rc;
    metrics_family(to, kept, "gauge",
                   "Tasks past their time that the last round has kept, by reason.");
    for (size_t i = 0; i < count; i++)
        metrics_sample(to, kept,
                       &(struct metrics_label){"reason", sums[i].name + sizeof RETENTION_KEPT - 1},
                       1, sums[i].value);
    for (size_t i = 0; rc == RC_OK && i < COUNT_OF(singles); i++) {
        int64_t value = 0;
        rc = retention_sums_get(db, singles[i].sum, &value, err);
        metrics_single(to, singles[i].name, singles[i].type, singles[i].help,
                       value / singles[i].unit);
    }
    return rc;
}

static int64_t sink_lag(const struct sink_view *view)
{
    return view->lag;
}

static int64_t sink_lag_seconds(const struct sink_view *view)
{
    return view->lag_us / US_PER_SECOND;
}

static int64_t sink_delivered(const struct sink_view *view)
{
    return view->row.delivered;
}

static int64_t sink_refused(const struct sink_view *view)
{
    return view->row.refused;
}

static int64_t sink_retries(const struct sink_view *view)
{
    return view->row.retries;
}

static int64_t sink_dead_letters(const struct sink_view *view)
{
    return view->row.dead_letters;
}

static int64_t sink_paused(const struct sink_view *view)
{
    return view->state == SINK_PAUSED;
}

static int64_t sink_breaker(const struct sink_view *view)
{
    return view->row.breaker_open;
}

static const struct sink_metric {
    const char *name, *type, *help;
    int64_t (*value)(const struct sink_view *view);
} sink_metrics[] = {
    {"agent_outbox_lag_seconds", "gauge", "Age of the first event that a sink has not got.",
     sink_lag_seconds},
    {"drover_sink_lag_seconds", "gauge", "The same.", sink_lag_seconds},
    {"drover_sink_lag", "gauge", "Places in the log that a sink is behind its end.", sink_lag},
    {"drover_sink_delivered_total", "counter", "Events that a sink has got.", sink_delivered},
    {"drover_sink_refused_total", "counter", "Events that a sink has refused for good.",
     sink_refused},
    {"drover_sink_retries_total", "counter", "Deliveries to a sink that failed.", sink_retries},
    {"drover_sink_dead_letters", "gauge", "Refused events that were not replayed or discarded.",
     sink_dead_letters},
    {"drover_sink_paused", "gauge", "1: the sink is paused.", sink_paused},
    {"drover_sink_breaker_open", "gauge", "1: the sink has failed often, and is only probed.",
     sink_breaker},
};

static enum rc write_sinks(struct api *api, struct db *db, struct arena *arena, struct buf *to,
                           struct err *err)
{
    struct sink_entry *entries = NULL;
    size_t count = 0;
    enum rc rc = sink_entries(api, db, arena, &entries, &count, err);
    for (size_t i = 0; rc == RC_OK && i < COUNT_OF(sink_metrics) && count > 0; i++) {
        const struct sink_metric *metric = &sink_metrics[i];
        metrics_family(to, metric->name, metric->type, metric->help);
        for (size_t j = 0; j < count; j++)
            metrics_sample(to, metric->name, &(struct metrics_label){"sink", entries[j].name}, 1,
                           metric->value(&entries[j].view));
    }
    return rc;
}

static void write_spool(const struct spool *spool, struct buf *to)
{
    struct spool_stats stats;
    spool_stats(spool, &stats);
    metrics_single(to, "drover_spool_files", "gauge", "Large request bodies on disk.", stats.files);
    metrics_single(to, "drover_spool_bytes", "gauge", "What they have.", stats.written);
    metrics_single(to, "drover_spool_reserved_bytes", "gauge", "What is reserved for them.",
                   stats.reserved);
    metrics_single(to, "drover_spool_refused_total", "counter",
                   "Refused for the budget of the spool.", stats.refused);
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
    metrics_single(to, "process_resident_memory_bytes", "gauge", "Resident memory in bytes.",
                   (int64_t)pages * sysconf(_SC_PAGESIZE));
}

enum rc metrics_write(struct api *api, struct db *db, struct arena *arena, struct buf *to,
                      struct err *err)
{
    metrics_family(to, "drover_build_info", "gauge", "Which drover this is.");
    struct metrics_label version = {"version", DROVER_VERSION};
    metrics_sample(to, "drover_build_info", &version, 1, 1);
    enum rc rc = write_store(db, arena, to, err);
    if (rc == RC_OK)
        rc = write_forges(db, arena, to, err);
    if (rc == RC_OK)
        rc = write_trains(db, to, err);
    if (rc == RC_OK)
        rc = write_issues(db, to, err);
    if (rc == RC_OK)
        rc = write_inbox(db, arena, to, err);
    if (rc == RC_OK)
        rc = write_sinks(api, db, arena, to, err);
    if (rc == RC_OK)
        rc = write_consumers(db, arena, to, err);
    if (rc == RC_OK)
        rc = write_retention(db, arena, to, err);
    if (rc != RC_OK && rc != RC_UNREACHABLE)
        return rc;
    /* Metrics matter most in an outage: those that need no store are still written. */
    metrics_single(to, "drover_store_up", "gauge", "1: the store answers.", rc == RC_OK);
    write_control(api, to);
    write_conductor(api, to);
    write_http(api, to);
    write_spool(api->spool, to);
    write_process(to);
    return RC_OK;
}
