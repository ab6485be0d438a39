/*
 * server_config.c - reads and checks the server's configuration file.
 */
#include "server/server_config.h"
#include "base/fd.h"
#include "base/form.h"
#include "base/yaml.h"
#include "base/yaml_places.h"
#include "control/queue/jobs.h"
#include "core/config/repo_document.h"
#include "core/run/event_budget.h"
#include "store/artifacts.h"
#include "store/store.h"
#include "work/job/slots.h"
#include "work/worker.h"
#include <arpa/inet.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_LISTEN "127.0.0.1:8717"
#define DEFAULT_DATA   "drover-data"
enum {
    CONFIG_BYTES_MAX = 64 * 1024,
    PATH_BYTES_MAX = 1024,
    CONNECTIONS_MAX = 100000,
    BODY_BYTES_MIN = 1024,
    BODY_BYTES_MAX = 64 * 1024 * 1024,
    REQUEST_SECONDS_MAX = 600,
    STREAMS_MAX = 10000,
    STREAM_BYTES_MIN = 1024 * 1024,
    STREAM_BYTES_MAX = 1024 * 1024 * 1024,
    HELD_BYTES_MIN = 64 * 1024,
    HELD_BYTES_MAX = 1024 * 1024 * 1024,
    SOURCE_REQUESTS_MAX = 64, /* Of a client without a token: /readyz. */
    PORT_MAX = 65535,
    COOLDOWN_MS_MIN = 10,
    COOLDOWN_MS_MAX = 24 * 3600 * 1000,
    TASK_TYPES_MAX = 64,
    EVENT_BURST_MIN = 1024,
    /* An artifact fits into the quarter of the admins, and into half of the rest: one token's. */
    SPOOL_BYTES_MIN = 4 * ARTIFACT_BYTES_MAX,
};
#define COUNT_MAX           INT64_C(1000000)
#define EVENT_RATE_MAX      (INT64_C(1) << 40)
#define SPOOL_BYTES_DEFAULT (INT64_C(1) << 30)
#define SPOOL_BYTES_MAX     (INT64_C(1) << 50)
static const double cost_usd_max = 1e9;

struct server_options server_options_default(void)
{
    return (struct server_options){
        .listen = DEFAULT_LISTEN,
        .data_dir = DEFAULT_DATA,
        .workers = {.min = 4, .max = 4, .up_ms = 10000, .down_ms = 300000},
        .log_level = LOG_INFO,
        .log_format = LOG_FORMAT_AUTO,
        .limits = {.max_run_events = 5 * RUN_EVENTS_DEFAULT,
                   .max_run_event_bytes = 8 * RUN_EVENT_BYTES_DEFAULT},
        .event_bytes = {.per_second = 1024 * 1024, .burst = 8 * 1024 * 1024},
        .spool_bytes_max = SPOOL_BYTES_DEFAULT,
        .body_bytes_max = 1024 * 1024,
        .connections_max = 1024,
        .socket_connections_max = 512,
        .caps = {.max = {[CAPS_SOURCE] = {[CAPS_REQUESTS] = SOURCE_REQUESTS_MAX},
                         [CAPS_RUN] = {[CAPS_CONNECTIONS] = 32,
                                       [CAPS_STREAMS] = 16,
                                       [CAPS_REQUESTS] = 8,
                                       [CAPS_BYTES] = 4 * 1024 * 1024},
                         [CAPS_TOKEN] = {[CAPS_CONNECTIONS] = 512,
                                         [CAPS_STREAMS] = 64,
                                         [CAPS_REQUESTS] = 512,
                                         [CAPS_BYTES] = 64 * 1024 * 1024}},
                 .streams_max = 512},
        .stream_bytes_max = 32 * 1024 * 1024,
        .request_ms = 30000,
        .keep_days = WORKER_KEEP_DAYS_DEFAULT,
        .lease_ms = JOB_LEASE_MS_DEFAULT,
        .heartbeat_ms = 5000,
    };
}

void log_start(enum log_level level, enum log_format format)
{
    bool terminal = format == LOG_FORMAT_AUTO && isatty(STDERR_FILENO) == 1;
    log_configure(&(struct log_options){
        .fd = STDERR_FILENO,
        .level = level,
        .human = terminal || format == LOG_FORMAT_HUMAN,
    });
}

/* ---- The file ---- */

static void read_path(struct form *form, const char *key, struct arena *arena, const char **ret)
{
    const char *text = NULL;
    form_string(form, key, FORM_OPTIONAL, &(struct form_text){.min = 1, .max = PATH_BYTES_MAX},
                &text);
    if (text)
        *ret = arena_strdup(arena, text);
}

static enum rc read_log(const struct js *log, struct server_options *options, struct err *err)
{
    static const char *const formats[] = {"auto", "json", "human", NULL};
    if (!log)
        return RC_OK;
    struct form form;
    const char *level = NULL;
    int format = (int)options->log_format;
    form_open(&form, log, "log", err);
    form_string(&form, "level", FORM_OPTIONAL, &(struct form_text){.min = 1, .max = 16}, &level);
    form_choice(&form, "format", FORM_OPTIONAL, formats, &format);
    if (level && !log_level_parse(level, &options->log_level))
        form_fail(&form, "level", "level must be debug, info, warn, error or fatal, not %s", level);
    options->log_format = (enum log_format)format;
    return form_close(&form);
}

/* {upgrade: 2, ...} */
static void read_task_types(struct form *form, struct arena *arena, struct committer_limits *limits)
{
    const struct js *types = NULL, *value;
    const char *name;
    form_object(form, "taskTypes", FORM_OPTIONAL, &types);
    if (js_count(types) > TASK_TYPES_MAX)
        form_fail(form, "taskTypes", "taskTypes must have at most %d members", TASK_TYPES_MAX);
    if (!types || form->rc != RC_OK)
        return;
    struct task_type_limit *rows = arena_array(arena, js_count(types), sizeof *rows);
    limits->task_type_count = 0;
    for (size_t at = 0; js_next(types, &at, &name, &value);) {
        int64_t max = js_int(value, -1);
        if (max < 0 || max > COUNT_MAX)
            form_fail(form, "taskTypes", "taskTypes.%.64s must be a number from 0 to %lld", name,
                      (long long)COUNT_MAX);
        rows[limits->task_type_count++] = (struct task_type_limit){arena_strdup(arena, name), max};
    }
    limits->task_types = rows;
}

static void read_run_limits(struct form *form, struct arena *arena, struct committer_limits *limits)
{
    const struct form_range count = {0, COUNT_MAX};
    double usd = (double)limits->cost_per_day_microusd / 1e6;
    form_int(form, "maxActiveRuns", FORM_OPTIONAL, &count, &limits->max_active_runs);
    form_int(form, "maxActiveRunsPerUser", FORM_OPTIONAL, &count, &limits->max_active_runs_user);
    form_int(form, "maxActiveRunsPerWorkspace", FORM_OPTIONAL, &count,
             &limits->max_active_runs_workspace);
    form_int(form, "sandboxes", FORM_OPTIONAL, &count, &limits->sandboxes);
    form_int(form, "tasksPerHourPerUser", FORM_OPTIONAL, &count, &limits->tasks_per_hour_user);
    form_real(form, "costPerDayUsd", FORM_OPTIONAL, &(struct form_real){0, cost_usd_max}, &usd);
    limits->cost_per_day_microusd = llround(usd * 1e6);
    usd = (double)limits->cost_per_run_microusd / 1e6;
    form_real(form, "costPerRunUsd", FORM_OPTIONAL, &(struct form_real){0, cost_usd_max}, &usd);
    limits->cost_per_run_microusd = llround(usd * 1e6);
    read_task_types(form, arena, limits);
}

/* Limits of what workers and agents store. */
static void read_quotas(struct form *form, struct server_options *options)
{
    struct bucket_rule *rate = &options->event_bytes;
    form_int(form, "maxRunEvents", FORM_OPTIONAL,
             &(struct form_range){RUN_EVENTS_MIN, RUN_EVENTS_MAX}, &options->limits.max_run_events);
    form_int(form, "maxRunEventBytes", FORM_OPTIONAL,
             &(struct form_range){RUN_EVENT_BYTES_MIN, RUN_EVENT_BYTES_MAX},
             &options->limits.max_run_event_bytes);
    form_int(form, "eventBytesPerSecond", FORM_OPTIONAL, &(struct form_range){0, EVENT_RATE_MAX},
             &rate->per_second);
    form_int(form, "eventBytesBurst", FORM_OPTIONAL,
             &(struct form_range){EVENT_BURST_MIN, EVENT_RATE_MAX}, &rate->burst);
    form_int(form, "spoolBytes", FORM_OPTIONAL,
             &(struct form_range){SPOOL_BYTES_MIN, SPOOL_BYTES_MAX}, &options->spool_bytes_max);
}

/* {connections: 32, streams: 16, requests: 16, bytes: 4194304} */
static enum rc read_caps(const struct js *caps, const char *path, int64_t *max, struct err *err)
{
    if (!caps)
        return RC_OK;
    const struct form_range count = {1, CONNECTIONS_MAX};
    struct form form;
    form_open(&form, caps, path, err);
    form_int(&form, "connections", FORM_OPTIONAL, &count, &max[CAPS_CONNECTIONS]);
    form_int(&form, "streams", FORM_OPTIONAL, &(struct form_range){1, STREAMS_MAX},
             &max[CAPS_STREAMS]);
    form_int(&form, "requests", FORM_OPTIONAL, &count, &max[CAPS_REQUESTS]);
    form_int(&form, "bytes", FORM_OPTIONAL, &(struct form_range){HELD_BYTES_MIN, HELD_BYTES_MAX},
             &max[CAPS_BYTES]);
    return form_close(&form);
}

struct held_limits {
    const struct js *per_run, *per_token;
};

/* What clients may hold open. */
static void read_held(struct form *form, struct server_options *options,
                      struct held_limits *ret_held)
{
    const struct form_range connections = {1, CONNECTIONS_MAX};
    form_int(form, "connections", FORM_OPTIONAL, &connections, &options->connections_max);
    form_int(form, "socketConnections", FORM_OPTIONAL, &connections,
             &options->socket_connections_max);
    form_int(form, "streams", FORM_OPTIONAL, &(struct form_range){1, STREAMS_MAX},
             &options->caps.streams_max);
    form_int(form, "streamBytes", FORM_OPTIONAL,
             &(struct form_range){STREAM_BYTES_MIN, STREAM_BYTES_MAX}, &options->stream_bytes_max);
    form_object(form, "perRun", FORM_OPTIONAL, &ret_held->per_run);
    form_object(form, "perToken", FORM_OPTIONAL, &ret_held->per_token);
}

static enum rc read_limits(const struct js *limits, struct arena *arena,
                           struct server_options *options, struct err *err)
{
    if (!limits)
        return RC_OK;
    struct form form;
    const struct js *rates = NULL;
    struct held_limits held = {0};
    int64_t seconds = options->request_ms / 1000;
    form_open(&form, limits, "limits", err);
    read_run_limits(&form, arena, &options->limits);
    read_quotas(&form, options);
    form_int(&form, "bodyBytes", FORM_OPTIONAL,
             &(struct form_range){BODY_BYTES_MIN, BODY_BYTES_MAX}, &options->body_bytes_max);
    read_held(&form, options, &held);
    form_int(&form, "requestSeconds", FORM_OPTIONAL, &(struct form_range){1, REQUEST_SECONDS_MAX},
             &seconds);
    form_int(&form, "keepDays", FORM_OPTIONAL, &(struct form_range){0, WORKER_KEEP_DAYS_MAX},
             &options->keep_days);
    form_array(&form, "rates", FORM_OPTIONAL, RATE_RULES_MAX, &rates);
    options->request_ms = seconds * 1000;
    enum rc rc = form_close(&form);
    if (rc == RC_OK)
        rc = read_caps(held.per_run, "limits.perRun", options->caps.max[CAPS_RUN], err);
    if (rc == RC_OK)
        rc = read_caps(held.per_token, "limits.perToken", options->caps.max[CAPS_TOKEN], err);
    if (rc != RC_OK || !rates)
        return rc;
    struct rate_rule *rules = NULL;
    rc = rate_rules_decode(rates, "limits.rates", arena, &rules, &options->rate_count, err);
    options->rates = rules;
    return rc;
}

static enum rc read_lease(const struct js *lease, struct server_options *options, struct err *err)
{
    if (!lease)
        return RC_OK;
    const struct form_range range = {JOB_LEASE_MS_MIN, JOB_LEASE_MS_MAX};
    struct form form;
    form_open(&form, lease, "lease", err);
    form_int(&form, "leaseMs", FORM_OPTIONAL, &range, &options->lease_ms);
    form_int(&form, "heartbeatMs", FORM_OPTIONAL, &range, &options->heartbeat_ms);
    return form_close(&form);
}

static enum rc read_defaults(const struct js *defaults, struct arena *arena,
                             struct server_options *options, struct err *err)
{
    if (js_count(defaults) == 0)
        return RC_OK;
    struct faults faults = {0};
    enum rc rc = repo_defaults_check(defaults, arena, &faults, err);
    if (rc == RC_OK)
        options->defaults = str_of(js_text(defaults, arena));
    if (rc != RC_INVALID)
        return rc;
    struct err found = *err;
    bool named = text_starts(found.text, found.field);
    return err_field(err, rc, found.code, arena_printf(arena, "defaults.%s", found.field),
                     "defaults.%s%s%s", named ? "" : found.field, named ? "" : ": ", found.text);
}

static const struct form_range worker_range = {0, SERVER_WORKERS_MAX};

static void read_worker_count(struct form *form, struct server_workers *workers)
{
    int64_t count = workers->min;
    form_int(form, "workers", FORM_OPTIONAL, &worker_range, &count);
    workers->min = workers->max = count;
}

static enum rc read_workers(const struct js *document, struct server_workers *workers,
                            struct err *err)
{
    const struct form_range wait = {COOLDOWN_MS_MIN, COOLDOWN_MS_MAX};
    const struct form_range slots = {1, CLASS_SLOTS_MAX};
    int64_t agents = 0;
    struct form form;
    form_open(&form, document, "workers", err);
    form_int(&form, "agent", FORM_OPTIONAL, &slots, &agents);
    form_int(&form, "check", FORM_OPTIONAL, &slots, &workers->check);
    form_int(&form, "short", FORM_OPTIONAL, &slots, &workers->short_steps);
    bool bounds = js_get(document, "min") != NULL || js_get(document, "max") != NULL;
    if (agents > 0 && bounds)
        form_fail(&form, "agent", "workers has either agent or min and max, not both");
    if (agents > 0)
        workers->min = workers->max = agents;
    form_int(&form, "min", bounds ? FORM_REQUIRED : FORM_OPTIONAL, &worker_range, &workers->min);
    form_int(&form, "max", bounds ? FORM_REQUIRED : FORM_OPTIONAL, &worker_range, &workers->max);
    form_int(&form, "upCooldownMs", FORM_OPTIONAL, &wait, &workers->up_ms);
    form_int(&form, "downCooldownMs", FORM_OPTIONAL, &wait, &workers->down_ms);
    return form_close(&form);
}

static void read_sandbox(struct form *form, struct server_options *options)
{
    static const char *const kinds[] = {"bubblewrap", "none", NULL};
    int kind = options->sandbox_none;
    form_choice(form, "sandbox", FORM_OPTIONAL, kinds, &kind);
    options->sandbox_none = kind == 1;
}

static enum rc decode(const struct js *document, struct arena *arena,
                      struct server_options *options, struct err *err)
{
    struct form form;
    const struct js *workers = NULL, *log = NULL, *limits = NULL, *lease = NULL;
    const struct js *defaults = NULL;
    const struct js *channels = NULL;
    form_open(&form, document, "", err);
    read_path(&form, "listen", arena, &options->listen);
    form_bool(&form, "allowRemote", FORM_OPTIONAL, &options->allow_remote);
    read_path(&form, "data", arena, &options->data_dir);
    read_path(&form, "db", arena, &options->db);
    form_any(&form, "workers", FORM_OPTIONAL, &workers);
    if (workers && js_type(workers) != JS_OBJECT)
        read_worker_count(&form, &options->workers);
    read_sandbox(&form, options);
    form_object(&form, "log", FORM_OPTIONAL, &log);
    form_object(&form, "limits", FORM_OPTIONAL, &limits);
    form_object(&form, "lease", FORM_OPTIONAL, &lease);
    form_object(&form, "defaults", FORM_OPTIONAL, &defaults);
    form_array(&form, "notifications", FORM_OPTIONAL, NOTIFY_CHANNELS_MAX, &channels);
    enum rc rc = form_close(&form);
    if (rc == RC_OK && js_type(workers) == JS_OBJECT)
        rc = read_workers(workers, &options->workers, err);
    if (rc == RC_OK)
        rc = read_log(log, options, err);
    if (rc == RC_OK)
        rc = read_limits(limits, arena, options, err);
    if (rc == RC_OK)
        rc = read_lease(lease, options, err);
    if (rc == RC_OK)
        rc = read_defaults(defaults, arena, options, err);
    if (rc == RC_OK && channels)
        rc = notify_channels_decode(channels, "notifications", arena, &options->channels, err);
    return rc;
}

/* Nothing but comments and blank lines? */
static bool says_nothing(struct str text)
{
    bool comment = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (c == '\n')
            comment = false;
        else if (c == '#')
            comment = true;
        else if (!comment && c != ' ' && c != '\t' && c != '\r')
            return false;
    }
    return true;
}

enum rc server_config_parse(struct str yaml, struct arena *arena, struct server_options *options,
                            struct err *err)
{
    if (says_nothing(yaml))
        return RC_OK;
    CLEANUP(js_freep) struct js *document = NULL;
    struct server_options changed = *options;
    enum rc rc = yaml_parse(yaml.at, yaml.len, &document, err);
    if (rc == RC_OK)
        rc = decode(document, arena, &changed, err);
    if (rc == RC_OK)
        *options = changed;
    return rc;
}

enum rc server_config_read(const char *path, struct arena *arena, struct server_options *options,
                           struct err *err)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, CONFIG_BYTES_MAX);
    enum rc rc = file_read(path, &text, err);
    if (rc == RC_OK)
        rc = server_config_parse(buf_str(&text), arena, options, err);
    if (rc == RC_OK)
        return RC_OK;
    struct yaml_place place = {.path = err != NULL ? err->field : ""};
    if (rc == RC_INVALID)
        yaml_locate(buf_str(&text), &place, 1);
    if (place.line == 0)
        return err_wrap(err, rc, path);
    return err_wrap(err, rc, arena_printf(arena, "%s:%zu:%zu", path, place.line, place.column));
}

/* ---- Addresses ---- */

static bool is_loopback(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    if (inet_pton(AF_INET6, host, &v6) == 1)
        return IN6_IS_ADDR_LOOPBACK(&v6);
    return text_same(host, "localhost");
}

enum rc listen_parse(const char *text, struct listen_address *ret_address, struct err *err)
{
    struct listen_address address = {0};
    const char *colon = strrchr(text, ':');
    int64_t port = 0;
    if (!colon || !text_to_i64(colon + 1, &port) || port < 0 || port > PORT_MAX)
        return err_field(err, RC_INVALID, "INVALID_FIELD", "listen",
                         "listen must be host:port, not %s", text);
    struct str host = {text, (size_t)(colon - text)};
    bool brackets = host.len >= 2 && host.at[0] == '[' && host.at[host.len - 1] == ']';
    if (brackets)
        host = (struct str){host.at + 1, host.len - 2};
    if (host.len == 0)
        host = STR("127.0.0.1");
    if (host.len >= sizeof address.host || (!brackets && memchr(host.at, ':', host.len)))
        return err_field(err, RC_INVALID, "INVALID_FIELD", "listen",
                         "listen must be host:port with an IPv6 address in brackets, not %s", text);
    memcpy(address.host, host.at, host.len);
    address.port = (int)port;
    address.loopback = is_loopback(address.host);
    *ret_address = address;
    return RC_OK;
}

enum rc workers_parse(const char *text, struct server_workers *workers, struct err *err)
{
    char first[sizeof "256"];
    const char *dash = strchr(text, '-');
    size_t len = dash ? (size_t)(dash - text) : strlen(text);
    int64_t min = -1, max = -1;
    if (len < sizeof first) {
        memcpy(first, text, len);
        first[len] = '\0';
        if (!text_to_i64(first, &min) || !text_to_i64(dash ? dash + 1 : first, &max))
            min = -1;
    }
    if (min < 0 || max < min || max > SERVER_WORKERS_MAX)
        return err_field(err, RC_INVALID, "INVALID_FIELD", "workers",
                         "workers must be N or MIN-MAX, up to %d, not %s", SERVER_WORKERS_MAX,
                         text);
    workers->min = min;
    workers->max = max;
    return RC_OK;
}

enum rc server_options_check(const struct server_options *options, struct err *err)
{
    struct listen_address address;
    enum rc rc = listen_parse(options->listen, &address, err);
    if (rc != RC_OK)
        return rc;
    if (!address.loopback && !options->allow_remote)
        return err_field(err, RC_DENIED, "REMOTE_NOT_ALLOWED", "listen",
                         "%s is not this machine's own address: everybody who reaches it can try "
                         "tokens, and they travel in the clear. If that is wanted, say so with "
                         "--allow-remote or allowRemote: true",
                         address.host);
    if (options->heartbeat_ms >= options->lease_ms)
        return err_field(err, RC_INVALID, "INVALID_FIELD", "lease.heartbeatMs",
                         "heartbeatMs must be smaller than leaseMs");
    const struct server_workers *workers = &options->workers;
    if (workers->min < 0 || workers->max > SERVER_WORKERS_MAX || workers->min > workers->max)
        return err_field(err, RC_INVALID, "INVALID_FIELD", "workers",
                         "workers must be between 0 and %d, min not above max", SERVER_WORKERS_MAX);
    if (workers->min == 0 && workers->max > 0)
        return err_field(err, RC_INVALID, "INVALID_FIELD", "workers.min",
                         "workers.min must be at least 1, or workers 0: somebody has to be there "
                         "to see that more are needed");
    if (options->db && !store_url_known(options->db))
        return err_field(err, RC_INVALID, "INVALID_FIELD", "db",
                         "db must be sqlite:PATH or postgres://...");
    return RC_OK;
}
