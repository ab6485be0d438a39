/*
 * server_config.h - the options of `drover serve`: defaults, then a YAML file, then flags.
 *
 *     listen: 127.0.0.1:8717        # "host:port", "[::1]:8717"; port 0 takes any free one
 *     allowRemote: false            # needed for an address that is not this machine's own
 *     data: /var/lib/drover          # without it: see cli/paths.h
 *     db: sqlite:/var/lib/drover/drover.db
 *     workers: 4                    # agents at the same time in this process; 0: no workers
 *     workers: {agent: 4, check: 2, short: 2}                    # slots by class, work/job/slots.h
 *     workers: {min: 2, max: 8, upCooldownMs: 10000, downCooldownMs: 300000}    # or as many slots
 *                                   # for agents as it takes, between two bounds
 *     sandbox: bubblewrap           # none: agents and checks run unconfined
 *     log:    {level: info, format: auto,                        # auto | json | human
 *              file: {path: PATH, level: info, maxBytes: 16777216, keep: 5},    # log_file.h
 *              store: {level: info, keepDays: 7, maxRows: 100000}}              # log_store.h
 *     limits: {maxActiveRuns: 0, maxActiveRunsPerUser: 0, maxActiveRunsPerWorkspace: 0,
 *              sandboxes: 0, taskTypes: {upgrade: 2}, tasksPerHourPerUser: 0, costPerDayUsd: 0,
 *              costPerDayAction: finish, costPerRunUsd: 0, subtaskDepth: 4, subtasksPerTask: 32,
 *              subtasksPerTree: 256, maxRunEvents: 100000, maxRunEventBytes: 268435456,
 *              eventBytesPerSecond: 1048576, eventBytesBurst: 8388608, spoolBytes: 1073741824,
 *              bodyBytes: 1048576, connections: 1024, requestSeconds: 30, unreadSeconds: 75,
 *              keepDays: 30, socketConnections: 512, streams: 512, streamBytes: 33554432,
 *              webhooksPerSecond: 100,
 *              perRun: {connections: 32, streams: 16, requests: 8, bytes: 4194304},
 *              perToken: {connections: 512, streams: 64, requests: 512, bytes: 67108864},
 *              rates: [{route: "POST /v1/tasks", perSecond: 10, burst: 20}]}    # throttle.h
 *     disk:   {reserveBytes: 2147483648}                         # 0: off; work/job/disk.h
 *     ports:  20000-29999           # what runs may lease; work/job/scratch_book.h
 *     lease:  {leaseMs: 15000, heartbeatMs: 5000}
 *     defaults: {agent: {adapter: claude}, limits: {maxTurns: 100}}   # under every repository's
 *     notifications: [...]          # core/config/notify.h
 *     slack: {...}                  # core/config/slack_config.h
 *     sinks: [...]                  # sink/sink.h
 *     conductor: {enabled: true, agents: [...]}   # core/conductor/conductor_config.h
 *     accounts: [...]               # core/config/account_config.h
 *     bus:    {...}                 # control/watch/bus_rules.h
 *     retention: {days: 90, diagnosticsDays: 14, tasksDays: 90, unpublishedDays: 0, jobsDays: 90,
 *                 eventsDays: 90, deadLettersDays: 90, deliveriesDays: 30, unreadDays: 30}
 *                                   # core/run/expiry.h; 0: never
 *     audit:  {anchor: {key: FILE, file: PATH, webhook: URL, every: 1h}}   # audit_anchor.h
 *     mcp:    {allowedHosts: [drover.example.com]}   # names of this server, core/http/site.h
 *
 * Unknown fields are refused by name.
 */
#ifndef SERVER_SERVER_CONFIG_H
#define SERVER_SERVER_CONFIG_H
#include "api/throttle.h"
#include "base/arena.h"
#include "base/log.h"
#include "base/rc.h"
#include "control/commit/committer.h"
#include "control/watch/bus_rules.h"
#include "control/watch/log_events.h"
#include "core/audit/audit_note.h"
#include "core/conductor/conductor_config.h"
#include "core/config/slack_config.h"
#include "core/expiry_rules.h"
#include "core/http/site.h"
#include "http/caps.h"
#include "sink/sink.h"
#include "work/job/scratch_book.h"
#include <stdbool.h>
#include <stdint.h>

enum { LISTEN_HOST_BYTES = 256, SERVER_WORKERS_MAX = 256 };

enum log_format { LOG_FORMAT_AUTO, LOG_FORMAT_JSON, LOG_FORMAT_HUMAN };

/* Strings are static, or live in the arena that was given. */
struct server_options {
    const char *listen;
    bool allow_remote;
    const char *data_dir;
    const char *db;         /* NULL: sqlite:DATA/drover.db */
    const char *config;     /* The file that was read, or NULL: it may hold a password. */
    bool sandbox_none;      /* `sandbox: none` */
    struct server_workers { /* Slots for agents, between two bounds that may be the same. */
        int64_t min, max;
        int64_t check, short_steps; /* Slots beside them; 0: by slots_fill(). */
        int64_t up_ms, down_ms;     /* No more slots so soon after a change, no fewer. */
    } workers;
    enum log_level log_level;
    enum log_format log_format;
    struct log_file_config log_file;
    struct log_store_config log_store;
    struct committer_limits limits;
    struct bucket_rule event_bytes; /* Of each token; per_second 0: no limit. */
    struct bucket_rule webhooks;    /* Of each address; per_second 0: no limit. */
    int64_t spool_bytes_max;
    int64_t body_bytes_max;
    int64_t connections_max;
    int64_t socket_connections_max;
    struct caps_limits caps; /* perRun, perToken and streams. */
    int64_t stream_bytes_max;
    int64_t request_ms;
    int64_t unread_ms; /* limits.unreadSeconds */
    const struct rate_rule *rates;
    size_t rate_count;
    int64_t lease_ms, heartbeat_ms;
    int64_t disk_reserve_bytes; /* work/job/disk.h */
    struct port_range ports;    /* work/job/scratch_book.h; zeroes: the usual one. */
    int64_t keep_days;          /* Of published snapshots here; work/tree/retention.h. */
    struct str defaults;        /* JSON: a repository's document without a url; or empty. */
    struct notify_channels channels;
    struct slack_config slack;
    struct sink_configs sinks;
    struct account_configs accounts;
    struct conductor_config conductor;
    struct audit_anchor_config audit_anchor;
    struct bus_rules bus;
    struct expiry_rules retention;
    struct site_names site; /* mcp.allowedHosts */
    bool mcp_fixtures;      /* --mcp-fixtures */
};

struct server_options server_options_default(void);
/* Logs go to stderr: for people on a terminal, as JSON elsewhere, unless format is set. */
void log_start(enum log_level level, enum log_format format);

/* Overrides *options with the values of the file; untouched on failure. */
MUST_USE enum rc server_config_read(const char *path, struct arena *arena,
                                    struct server_options *options, struct err *err);
MUST_USE enum rc server_config_parse(struct str yaml, struct arena *arena,
                                     struct server_options *options, struct err *err);

/* "4" or "2-8". */
MUST_USE enum rc workers_parse(const char *text, struct server_workers *workers, struct err *err);

/* Checks all values together, flags included. */
MUST_USE enum rc server_options_check(const struct server_options *options, struct err *err);

struct listen_address {
    char host[LISTEN_HOST_BYTES]; /* Without brackets. */
    int port;
    bool loopback;
};
/* "host:port", "[v6]:port" or ":port" (this machine only). */
MUST_USE enum rc listen_parse(const char *text, struct listen_address *ret_address,
                              struct err *err);
#endif
