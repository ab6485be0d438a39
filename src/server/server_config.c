/*
 * server_config.c - reads and checks the server's configuration file.
 */
#include "server/server_config.h"
#include "base/fd.h"
#include "base/fields.h"
#include "base/yaml.h"
#include "base/yaml_places.h"
#include "cli/span.h"
#include "control/admit/limit_fields.h"
#include "control/queue/jobs.h"
#include "core/config/repo_document.h"
#include "core/run/budget_tree.h"
#include "core/run/event_budget.h"
#include "net/url.h"
#include "store/artifacts.h"
#include "store/store.h"
#include "work/job/disk.h"
#include "work/job/slots.h"
#include "work/worker.h"
#include <arpa/inet.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_LISTEN "127.0.0.1:8717"
#define DEFAULT_DATA   "drover-data"
enum {
    CONFIG_BYTES_MAX = 64 * 1024,
    PATH_BYTES_MAX = 1024,
    CONNECTIONS_MAX = 100000,
    BODY_BYTES_MIN = 1024,
    WEBHOOKS_PER_SECOND = 100,
    WEBHOOK_BURSTS = 10,
    BODY_BYTES_MAX = 64 * 1024 * 1024,
    REQUEST_SECONDS_MAX = 600,
    STREAMS_MAX = 10000,
    STREAM_BYTES_MIN = 1024 * 1024,
    STREAM_BYTES_MAX = 1024 * 1024 * 1024,
    HELD_BYTES_MIN = 64 * 1024,
    HELD_BYTES_MAX = 1024 * 1024 * 1024,
    SOURCE_REQUESTS_MAX = 64, /* Of a client without a token: /readyz. */
    PORT_MAX = 65535,
    ALLOWED_HOSTS_MAX = 64,
    COOLDOWN_MS_MIN = 10,
    COOLDOWN_MS_MAX = 24 * 3600 * 1000,
    EVENT_BURST_MIN = 1024,
    /* An artifact fits into the quarter of the admins, and into half of the rest: one token's. */
    SPOOL_BYTES_MIN = 4 * ARTIFACT_BYTES_MAX,
};
#define ANCHOR_EVERY_US     US_PER_HOUR
#define EVENT_RATE_MAX      (INT64_C(1) << 40)
#define SPOOL_BYTES_DEFAULT (INT64_C(1) << 30)
#define SPOOL_BYTES_MAX     (INT64_C(1) << 50)

struct server_options server_options_default(void)
{
    const struct subtask_limits subtasks = subtask_limits_default();
    return (struct server_options){
        .listen = DEFAULT_LISTEN,
        .data_dir = DEFAULT_DATA,
        .workers = {.min = 4, .max = 4, .up_ms = 10000, .down_ms = 300000},
        .log_level = LOG_INFO,
        .log_format = LOG_FORMAT_AUTO,
        .conductor = conductor_config_default(),
        .limits = {.max_run_events = 5 * RUN_EVENTS_DEFAULT,
                   .max_run_event_bytes = 8 * RUN_EVENT_BYTES_DEFAULT,
                   .subtask_depth = subtasks.depth,
                   .subtasks_per_task = subtasks.per_task,
                   .subtasks_per_tree = subtasks.per_tree},
        .event_bytes = {.per_second = 1024 * 1024, .burst = 8 * 1024 * 1024},
        .webhooks = {.per_second = WEBHOOKS_PER_SECOND,
                     .burst = WEBHOOK_BURSTS * WEBHOOKS_PER_SECOND},
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
        .unread_ms = 75000,
        .keep_days = WORKER_KEEP_DAYS_DEFAULT,
        .retention = expiry_rules_default(),
        .disk_reserve_bytes = DISK_RESERVE_DEFAULT,
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

static void read_path(struct fields *fields, const char *key, struct arena *arena, const char **ret)
{
    const char *text = NULL;
    fields_string(fields, key, FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = PATH_BYTES_MAX}, &text);
    if (text != NULL)
        *ret = arena_strdup(arena, text);
}

/* Of a place where lines are kept; errors that end the server are errors there. */
static void read_kept_level(struct fields *fields, enum log_level *ret_level)
{
    static const char *const levels[] = {"debug", "info", "warn", "error", NULL};
    int level = (int)(*ret_level < LOG_FATAL ? *ret_level : LOG_ERROR);
    fields_choice(fields, "level", FIELD_OPTIONAL, levels, &level);
    *ret_level = (enum log_level)level;
}

static enum rc read_log_file(const struct js *object, struct arena *arena,
                             struct server_options *options, struct err *err)
{
    struct log_file_config file = {.level = options->log_level,
                                   .max_bytes = LOG_FILE_BYTES_DEFAULT,
                                   .keep = LOG_FILE_KEEP_DEFAULT};
    struct fields fields;
    if (object == NULL)
        return RC_OK;
    fields_open(&fields, object, "log.file", err);
    read_path(&fields, "path", arena, &file.path);
    if (file.path == NULL || file.path[0] != '/')
        fields_fail(&fields, "path", "path must be the absolute path of a file");
    read_kept_level(&fields, &file.level);
    fields_int(&fields, "maxBytes", FIELD_OPTIONAL,
               &(struct field_range){LOG_FILE_BYTES_MIN, LOG_FILE_BYTES_MAX}, &file.max_bytes);
    fields_int(&fields, "keep", FIELD_OPTIONAL, &(struct field_range){1, LOG_FILE_KEEP_MAX},
               &file.keep);
    options->log_file = file;
    return fields_close(&fields);
}

static enum rc read_log_store(const struct js *object, struct server_options *options,
                              struct err *err)
{
    struct log_store_config store = {.on = true,
                                     .level = options->log_level,
                                     .keep_days = LOG_STORE_DAYS_DEFAULT,
                                     .rows_max = LOG_STORE_ROWS_DEFAULT};
    struct fields fields;
    if (object == NULL)
        return RC_OK;
    fields_open(&fields, object, "log.store", err);
    read_kept_level(&fields, &store.level);
    fields_int(&fields, "keepDays", FIELD_OPTIONAL, &(struct field_range){1, LOG_STORE_DAYS_MAX},
               &store.keep_days);
    fields_int(&fields, "maxRows", FIELD_OPTIONAL,
               &(struct field_range){LOG_STORE_ROWS_MIN, LOG_STORE_ROWS_MAX}, &store.rows_max);
    options->log_store = store;
    return fields_close(&fields);
}

static enum rc read_log(const struct js *log, struct arena *arena, struct server_options *options,
                        struct err *err)
{
    static const char *const formats[] = {"auto", "json", "human", NULL};
    if (log == NULL)
        return RC_OK;
    struct fields fields;
    const struct js *file = NULL, *store = NULL;
    const char *level = NULL;
    int format = (int)options->log_format;
    fields_open(&fields, log, "log", err);
    fields_string(&fields, "level", FIELD_OPTIONAL, &(struct field_text){.min = 1, .max = 16},
                  &level);
    fields_choice(&fields, "format", FIELD_OPTIONAL, formats, &format);
    fields_object(&fields, "file", FIELD_OPTIONAL, &file);
    fields_object(&fields, "store", FIELD_OPTIONAL, &store);
    if (level != NULL && !log_level_parse(level, &options->log_level))
        fields_fail(&fields, "level", "level must be debug, info, warn, error or fatal, not %s",
                    level);
    options->log_format = (enum log_format)format;
    enum rc rc = fields_close(&fields);
    if (rc == RC_OK)
        rc = read_log_file(file, arena, options, err);
    return rc == RC_OK ? read_log_store(store, options, err) : rc;
}

/* Limits of what workers and agents store. */
static void read_quotas(struct fields *fields, struct server_options *options)
{
    struct bucket_rule *rate = &options->event_bytes;
    fields_int(fields, "maxRunEvents", FIELD_OPTIONAL,
               &(struct field_range){RUN_EVENTS_MIN, RUN_EVENTS_MAX},
               &options->limits.max_run_events);
    fields_int(fields, "maxRunEventBytes", FIELD_OPTIONAL,
               &(struct field_range){RUN_EVENT_BYTES_MIN, RUN_EVENT_BYTES_MAX},
               &options->limits.max_run_event_bytes);
    fields_int(fields, "eventBytesPerSecond", FIELD_OPTIONAL,
               &(struct field_range){0, EVENT_RATE_MAX}, &rate->per_second);
    fields_int(fields, "eventBytesBurst", FIELD_OPTIONAL,
               &(struct field_range){EVENT_BURST_MIN, EVENT_RATE_MAX}, &rate->burst);
    fields_int(fields, "spoolBytes", FIELD_OPTIONAL,
               &(struct field_range){SPOOL_BYTES_MIN, SPOOL_BYTES_MAX}, &options->spool_bytes_max);
}

/* {connections: 32, streams: 16, requests: 16, bytes: 4194304} */
static enum rc read_caps(const struct js *caps, const char *path, int64_t *max, struct err *err)
{
    if (caps == NULL)
        return RC_OK;
    const struct field_range count = {1, CONNECTIONS_MAX};
    struct fields fields;
    fields_open(&fields, caps, path, err);
    fields_int(&fields, "connections", FIELD_OPTIONAL, &count, &max[CAPS_CONNECTIONS]);
    fields_int(&fields, "streams", FIELD_OPTIONAL, &(struct field_range){1, STREAMS_MAX},
               &max[CAPS_STREAMS]);
    fields_int(&fields, "requests", FIELD_OPTIONAL, &count, &max[CAPS_REQUESTS]);
    fields_int(&fields, "bytes", FIELD_OPTIONAL,
               &(struct field_range){HELD_BYTES_MIN, HELD_BYTES_MAX}, &max[CAPS_BYTES]);
    return fields_close(&fields);
}

struct held_limits {
    const struct js *per_run, *per_token;
};

/* What clients may hold open. */
static void read_held(struct fields *fields, struct server_options *options,
                      struct held_limits *ret_held)
{
    const struct field_range connections = {1, CONNECTIONS_MAX};
    fields_int(fields, "connections", FIELD_OPTIONAL, &connections, &options->connections_max);
    fields_int(fields, "socketConnections", FIELD_OPTIONAL, &connections,
               &options->socket_connections_max);
    fields_int(fields, "streams", FIELD_OPTIONAL, &(struct field_range){1, STREAMS_MAX},
               &options->caps.streams_max);
    fields_int(fields, "streamBytes", FIELD_OPTIONAL,
               &(struct field_range){STREAM_BYTES_MIN, STREAM_BYTES_MAX},
               &options->stream_bytes_max);
    fields_object(fields, "perRun", FIELD_OPTIONAL, &ret_held->per_run);
    fields_object(fields, "perToken", FIELD_OPTIONAL, &ret_held->per_token);
}

/* Ten seconds' worth at once: a forge sends what a push causes in one go. */
static void read_webhooks(struct fields *fields, struct bucket_rule *rule)
{
    fields_int(fields, "webhooksPerSecond", FIELD_OPTIONAL, &(struct field_range){0, 100000},
               &rule->per_second);
    rule->burst = WEBHOOK_BURSTS * rule->per_second;
}

static enum rc read_limits(const struct js *limits, struct arena *arena,
                           struct server_options *options, struct err *err)
{
    if (limits == NULL)
        return RC_OK;
    struct fields fields;
    const struct js *rates = NULL;
    struct held_limits held = {0};
    int64_t seconds = options->request_ms / 1000, unread = options->unread_ms / 1000;
    fields_open(&fields, limits, "limits", err);
    limit_fields_read(&fields, arena, &options->limits);
    read_quotas(&fields, options);
    fields_int(&fields, "bodyBytes", FIELD_OPTIONAL,
               &(struct field_range){BODY_BYTES_MIN, BODY_BYTES_MAX}, &options->body_bytes_max);
    read_webhooks(&fields, &options->webhooks);
    read_held(&fields, options, &held);
    fields_int(&fields, "requestSeconds", FIELD_OPTIONAL,
               &(struct field_range){1, REQUEST_SECONDS_MAX}, &seconds);
    fields_int(&fields, "unreadSeconds", FIELD_OPTIONAL,
               &(struct field_range){1, REQUEST_SECONDS_MAX}, &unread);
    fields_int(&fields, "keepDays", FIELD_OPTIONAL, &(struct field_range){0, WORKER_KEEP_DAYS_MAX},
               &options->keep_days);
    fields_array(&fields, "rates", FIELD_OPTIONAL, RATE_RULES_MAX, &rates);
    options->request_ms = seconds * 1000;
    options->unread_ms = unread * 1000;
    enum rc rc = fields_close(&fields);
    if (rc == RC_OK)
        rc = read_caps(held.per_run, "limits.perRun", options->caps.max[CAPS_RUN], err);
    if (rc == RC_OK)
        rc = read_caps(held.per_token, "limits.perToken", options->caps.max[CAPS_TOKEN], err);
    if (rc != RC_OK || rates == NULL)
        return rc;
    struct rate_rule *rules = NULL;
    rc = rate_rules_decode(rates, "limits.rates", arena, &rules, &options->rate_count, err);
    options->rates = rules;
    return rc;
}

static enum rc read_disk(const struct js *disk, struct server_options *options, struct err *err)
{
    if (disk == NULL)
        return RC_OK;
    struct fields fields;
    fields_open(&fields, disk, "disk", err);
    fields_int(&fields, "reserveBytes", FIELD_OPTIONAL, &(struct field_range){0, DISK_RESERVE_MAX},
               &options->disk_reserve_bytes);
    return fields_close(&fields);
}

static enum rc read_lease(const struct js *lease, struct server_options *options, struct err *err)
{
    if (lease == NULL)
        return RC_OK;
    const struct field_range range = {JOB_LEASE_MS_MIN, JOB_LEASE_MS_MAX};
    struct fields fields;
    fields_open(&fields, lease, "lease", err);
    fields_int(&fields, "leaseMs", FIELD_OPTIONAL, &range, &options->lease_ms);
    fields_int(&fields, "heartbeatMs", FIELD_OPTIONAL, &range, &options->heartbeat_ms);
    return fields_close(&fields);
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

static const struct field_range worker_range = {0, SERVER_WORKERS_MAX};

static void read_worker_count(struct fields *fields, struct server_workers *workers)
{
    int64_t count = workers->min;
    fields_int(fields, "workers", FIELD_OPTIONAL, &worker_range, &count);
    workers->min = workers->max = count;
}

static enum rc read_workers(const struct js *document, struct server_workers *workers,
                            struct err *err)
{
    const struct field_range wait = {COOLDOWN_MS_MIN, COOLDOWN_MS_MAX};
    const struct field_range slots = {1, CLASS_SLOTS_MAX};
    int64_t agents = 0;
    struct fields fields;
    fields_open(&fields, document, "workers", err);
    fields_int(&fields, "agent", FIELD_OPTIONAL, &slots, &agents);
    fields_int(&fields, "check", FIELD_OPTIONAL, &slots, &workers->check);
    fields_int(&fields, "short", FIELD_OPTIONAL, &slots, &workers->short_steps);
    bool bounds = js_get(document, "min") != NULL || js_get(document, "max") != NULL;
    if (agents > 0 && bounds)
        fields_fail(&fields, "agent", "workers has either agent or min and max, not both");
    if (agents > 0)
        workers->min = workers->max = agents;
    fields_int(&fields, "min", bounds ? FIELD_REQUIRED : FIELD_OPTIONAL, &worker_range,
               &workers->min);
    fields_int(&fields, "max", bounds ? FIELD_REQUIRED : FIELD_OPTIONAL, &worker_range,
               &workers->max);
    fields_int(&fields, "upCooldownMs", FIELD_OPTIONAL, &wait, &workers->up_ms);
    fields_int(&fields, "downCooldownMs", FIELD_OPTIONAL, &wait, &workers->down_ms);
    return fields_close(&fields);
}

static void read_ports(struct fields *fields, struct server_options *options)
{
    const char *text = NULL;
    struct err err = {0};
    fields_string(fields, "ports", FIELD_OPTIONAL, &(struct field_text){.min = 1, .max = 40},
                  &text);
    if (text != NULL && port_range_parse(text, &options->ports, &err) != RC_OK)
        fields_fail(fields, "ports", "%s", err.text);
}

static void read_sandbox(struct fields *fields, struct server_options *options)
{
    static const char *const kinds[] = {"bubblewrap", "none", NULL};
    int kind = options->sandbox_none;
    fields_choice(fields, "sandbox", FIELD_OPTIONAL, kinds, &kind);
    options->sandbox_none = kind == 1;
}

/* Names that clients know this server by, for routes that refuse others. */
static enum rc read_mcp(const struct js *object, struct arena *arena,
                        struct server_options *options, struct err *err)
{
    const struct js *hosts = NULL;
    struct fields fields;
    if (object == NULL)
        return RC_OK;
    fields_open(&fields, object, "mcp", err);
    fields_strings(&fields, "allowedHosts", FIELD_OPTIONAL, ALLOWED_HOSTS_MAX,
                   &(struct field_text){.min = 1, .max = LISTEN_HOST_BYTES - 1}, &hosts);
    enum rc rc = fields_close(&fields);
    size_t count = rc == RC_OK ? js_count(hosts) : 0;
    const char **items = count > 0 ? arena_array(arena, count, sizeof *items) : NULL;
    for (size_t i = 0; i < count; i++)
        items[i] = arena_strdup(arena, js_str(js_at(hosts, i), ""));
    if (count > 0)
        options->site = (struct site_names){.items = items, .count = count};
    return rc;
}

static enum rc read_anchor(const struct js *object, struct arena *arena,
                           struct audit_anchor_config *anchor, struct err *err)
{
    struct audit_anchor_config read = {.every_us = ANCHOR_EVERY_US};
    const char *every = NULL;
    struct fields fields;
    fields_open(&fields, object, "audit.anchor", err);
    read_path(&fields, "key", arena, &read.key);
    read_path(&fields, "file", arena, &read.file);
    read_path(&fields, "webhook", arena, &read.webhook);
    fields_string(&fields, "every", FIELD_OPTIONAL, &(struct field_text){.min = 1, .max = 16},
                  &every);
    if (every != NULL && (!span_parse(every, &read.every_us) || read.every_us < US_PER_SECOND))
        fields_fail(&fields, "every", "every is a time of at least 1s, like 90s, 15m, 1h or 1d");
    if (read.key == NULL)
        fields_fail(&fields, "key", "key is the file of a private key: drover audit key makes one");
    if (read.file == NULL && read.webhook == NULL)
        fields_fail(&fields, "file", "file or webhook says where the notes go");
    enum rc rc = fields_close(&fields);
    struct url url;
    struct err why = {0};
    if (rc == RC_OK && read.webhook != NULL && url_parse(read.webhook, &url, &why) != RC_OK)
        rc = err_field(err, RC_INVALID, "INVALID_FIELD", "audit.anchor.webhook", "webhook: %s",
                       why.text);
    if (rc == RC_OK)
        *anchor = read;
    return rc;
}

static enum rc read_audit(const struct js *object, struct arena *arena,
                          struct server_options *options, struct err *err)
{
    const struct js *anchor = NULL;
    struct fields fields;
    if (object == NULL)
        return RC_OK;
    fields_open(&fields, object, "audit", err);
    fields_object(&fields, "anchor", FIELD_OPTIONAL, &anchor);
    enum rc rc = fields_close(&fields);
    return rc == RC_OK && anchor != NULL ? read_anchor(anchor, arena, &options->audit_anchor, err)
                                         : rc;
}

/* `days` stands for all kinds that are not named; those whose time is another one say so. */
static enum rc read_retention(const struct js *object, struct server_options *options,
                              struct err *err)
{
    struct expiry_rules *rules = &options->retention;
    const struct {
        const char *key;
        int64_t *us;
        bool by_days;
    } kinds[] = {
        {"tasksDays", &rules->tasks_us, true},
        {"jobsDays", &rules->jobs_us, true},
        {"eventsDays", &rules->events_us, true},
        {"deadLettersDays", &rules->dead_letters_us, true},
        {"diagnosticsDays", &rules->diagnostics_us, false},
        {"unpublishedDays", &rules->unpublished_us, false},
        {"deliveriesDays", &rules->deliveries_us, false},
        {"unreadDays", &rules->unread_us, false},
    };
    const struct field_range range = {0, EXPIRY_DAYS_MAX};
    int64_t days = -1;
    struct fields fields;
    if (object == NULL)
        return RC_OK;
    fields_open(&fields, object, "retention", err);
    fields_int(&fields, "days", FIELD_OPTIONAL, &range, &days);
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        int64_t own = kinds[i].by_days && days >= 0 ? days : *kinds[i].us / US_PER_DAY;
        fields_int(&fields, kinds[i].key, FIELD_OPTIONAL, &range, &own);
        *kinds[i].us = own * US_PER_DAY;
    }
    return fields_close(&fields);
}

static enum rc decode(const struct js *document, struct arena *arena,
                      struct server_options *options, struct err *err)
{
    struct fields fields;
    const struct js *workers = NULL, *log = NULL, *limits = NULL, *lease = NULL, *disk = NULL;
    const struct js *defaults = NULL;
    const struct js *channels = NULL, *sinks = NULL, *accounts = NULL, *mcp = NULL, *audit = NULL;
    const struct js *conductor = NULL;
    const struct js *bus = NULL;
    const struct js *slack = NULL;
    const struct js *retention = NULL;
    fields_open(&fields, document, "", err);
    read_path(&fields, "listen", arena, &options->listen);
    fields_bool(&fields, "allowRemote", FIELD_OPTIONAL, &options->allow_remote);
    read_path(&fields, "data", arena, &options->data_dir);
    read_path(&fields, "db", arena, &options->db);
    fields_any(&fields, "workers", FIELD_OPTIONAL, &workers);
    if (workers != NULL && js_type(workers) != JS_OBJECT)
        read_worker_count(&fields, &options->workers);
    read_sandbox(&fields, options);
    read_ports(&fields, options);
    fields_object(&fields, "log", FIELD_OPTIONAL, &log);
    fields_object(&fields, "limits", FIELD_OPTIONAL, &limits);
    fields_object(&fields, "lease", FIELD_OPTIONAL, &lease);
    fields_object(&fields, "disk", FIELD_OPTIONAL, &disk);
    fields_object(&fields, "defaults", FIELD_OPTIONAL, &defaults);
    fields_array(&fields, "notifications", FIELD_OPTIONAL, NOTIFY_CHANNELS_MAX, &channels);
    fields_array(&fields, "sinks", FIELD_OPTIONAL, SINKS_MAX, &sinks);
    fields_array(&fields, "accounts", FIELD_OPTIONAL, ACCOUNTS_MAX, &accounts);
    fields_object(&fields, "mcp", FIELD_OPTIONAL, &mcp);
    fields_object(&fields, "conductor", FIELD_OPTIONAL, &conductor);
    fields_object(&fields, "audit", FIELD_OPTIONAL, &audit);
    fields_object(&fields, "bus", FIELD_OPTIONAL, &bus);
    fields_object(&fields, "slack", FIELD_OPTIONAL, &slack);
    fields_object(&fields, "retention", FIELD_OPTIONAL, &retention);
    enum rc rc = fields_close(&fields);
    if (rc == RC_OK && js_type(workers) == JS_OBJECT)
        rc = read_workers(workers, &options->workers, err);
    if (rc == RC_OK)
        rc = read_log(log, arena, options, err);
    if (rc == RC_OK)
        rc = read_limits(limits, arena, options, err);
    if (rc == RC_OK)
        rc = read_lease(lease, options, err);
    if (rc == RC_OK)
        rc = read_disk(disk, options, err);
    if (rc == RC_OK)
        rc = read_defaults(defaults, arena, options, err);
    if (rc == RC_OK)
        rc = read_mcp(mcp, arena, options, err);
    if (rc == RC_OK)
        rc = read_audit(audit, arena, options, err);
    if (rc == RC_OK && bus != NULL)
        rc = bus_rules_decode(bus, "bus", arena, &options->bus, err);
    if (rc == RC_OK)
        rc = read_retention(retention, options, err);
    if (rc == RC_OK && channels != NULL)
        rc = notify_channels_decode(channels, "notifications", arena, &options->channels, err);
    if (rc == RC_OK && slack != NULL)
        rc = slack_config_decode(slack, "slack", arena, &options->slack, err);
    if (rc == RC_OK && sinks != NULL)
        rc = sink_configs_decode(sinks, "sinks", arena, &options->sinks, err);
    if (rc == RC_OK && accounts != NULL)
        rc = account_configs_decode(accounts, "accounts", arena, &options->accounts, err);
    if (rc == RC_OK && conductor != NULL)
        rc = conductor_config_decode(conductor, arena, &options->conductor, err);
    return rc;
}

/* Nothing but comments and blank lines? */
static bool is_blank(struct str text)
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
    if (is_blank(yaml))
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
    if (colon == NULL || !text_to_i64(colon + 1, &port) || port < 0 || port > PORT_MAX)
        return err_field(err, RC_INVALID, "INVALID_FIELD", "listen",
                         "listen must be host:port, not %s", text);
    struct str host = {text, (size_t)(colon - text)};
    bool brackets = host.len >= 2 && host.at[0] == '[' && host.at[host.len - 1] == ']';
    if (brackets)
        host = (struct str){host.at + 1, host.len - 2};
    if (host.len == 0)
        host = STR("127.0.0.1");
    if (host.len >= sizeof address.host || (!brackets && memchr(host.at, ':', host.len) != NULL))
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
    size_t len = dash != NULL ? (size_t)(dash - text) : strlen(text);
    int64_t min = -1, max = -1;
    if (len < sizeof first) {
        memcpy(first, text, len);
        first[len] = '\0';
        if (!text_to_i64(first, &min) || !text_to_i64(dash != NULL ? dash + 1 : first, &max))
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
                         "workers.min must be at least 1, or workers 0: one worker has to run "
                         "to see that more are needed");
    if (options->db != NULL && !store_url_known(options->db))
        return err_field(err, RC_INVALID, "INVALID_FIELD", "db",
                         "db must be sqlite:PATH or postgres://...");
    return RC_OK;
}
