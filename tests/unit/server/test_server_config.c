/* test_server_config.c - what the server is told: file, flags, addresses. */
#include "base/fd.h"
#include "server/server_config.h"
#include "tests/unit/suites.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct arena arena;

static void empty(void)
{
    arena_release(&arena);
}

START_TEST(the_defaults_are_good)
{
    struct server_options options = server_options_default();
    struct err err = {0};
    ck_assert_int_eq(server_options_check(&options, &err), RC_OK);
    ck_assert_str_eq(options.listen, "127.0.0.1:8717");
    ck_assert_int_eq(options.workers.min, 4);
    ck_assert_int_eq(options.workers.max, 4);
    ck_assert_int_eq(options.body_bytes_max, 1024 * 1024);
    ck_assert_int_eq(options.keep_days, 30);
    ck_assert_int_eq(options.disk_reserve_bytes, INT64_C(2) << 30);
    ck_assert(!options.sandbox_none);
}
END_TEST

START_TEST(retention_has_a_time_for_all_and_for_each_kind)
{
    static const struct {
        const char *yaml;
        int64_t tasks, jobs, events, diagnostics, unpublished, deliveries, letters, unread;
    } table[] = {
        {"retention: {}", 90, 90, 90, 14, 0, 30, 90, 30},
        {"retention: {days: 7}", 7, 7, 7, 14, 0, 30, 7, 30},
        {"retention: {days: 0}", 0, 0, 0, 14, 0, 30, 0, 30},
        {"retention: {days: 7, jobsDays: 1, diagnosticsDays: 0}", 7, 1, 7, 0, 0, 30, 7, 30},
        {"retention: {tasksDays: 365, unpublishedDays: 400, unreadDays: 0}", 365, 90, 90, 14, 400,
         30, 90, 0},
        {"retention: {days: 36500, eventsDays: 2, deliveriesDays: 3, deadLettersDays: 4}", 36500,
         36500, 2, 14, 0, 3, 4, 30},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct server_options options = server_options_default();
        struct err err = {0};
        enum rc rc = server_config_parse(str_of(table[i].yaml), &arena, &options, &err);
        ck_assert_msg(rc == RC_OK, "%s: %s", table[i].yaml, err.text);
        const struct expiry_rules *rules = &options.retention;
        ck_assert_int_eq(rules->tasks_us / US_PER_DAY, table[i].tasks);
        ck_assert_int_eq(rules->jobs_us / US_PER_DAY, table[i].jobs);
        ck_assert_int_eq(rules->events_us / US_PER_DAY, table[i].events);
        ck_assert_int_eq(rules->diagnostics_us / US_PER_DAY, table[i].diagnostics);
        ck_assert_int_eq(rules->unpublished_us / US_PER_DAY, table[i].unpublished);
        ck_assert_int_eq(rules->deliveries_us / US_PER_DAY, table[i].deliveries);
        ck_assert_int_eq(rules->dead_letters_us / US_PER_DAY, table[i].letters);
        ck_assert_int_eq(rules->unread_us / US_PER_DAY, table[i].unread);
    }
}
END_TEST

static void check_stops(const struct committer_limits *limits)
{
    ck_assert(limits->cost_per_day_stops);
    ck_assert_int_eq(limits->subtask_depth, 2);
    ck_assert_int_eq(limits->subtasks_per_task, 3);
    ck_assert_int_eq(limits->subtasks_per_tree, 4);
}

static void check_sinks(const struct server_options *options)
{
    ck_assert_uint_eq(options->sinks.count, 2); /* In order of name. */
    ck_assert_str_eq(options->sinks.items[0].name, "all");
    ck_assert_int_eq(options->sinks.items[0].from.kind, SINK_FROM_START);
    ck_assert(sink_wants(&options->sinks.items[0], "agent.task.accepted"));
    ck_assert_str_eq(options->sinks.items[1].name, "runs");
    ck_assert_int_eq(options->sinks.items[1].from.kind, SINK_FROM_END);
    ck_assert(sink_wants(&options->sinks.items[1], "agent.run.started"));
    ck_assert(!sink_wants(&options->sinks.items[1], "agent.task.accepted"));
}

START_TEST(a_file_says_all_there_is_to_say)
{
    static const char text[] =
        "listen: '[::1]:0'\nallowRemote: true\ndata: /srv/d\ndb: sqlite:/srv/d/x.db\nworkers: 0\n"
        "log: {level: warn, format: json}\nsandbox: none\n"
        "limits: {maxActiveRuns: 1, maxActiveRunsPerUser: 2, tasksPerHourPerUser: 3,\n"
        "         maxActiveRunsPerWorkspace: 9, sandboxes: 8, costPerDayUsd: 2.5,\n"
        "         costPerRunUsd: 0.5, costPerDayAction: stop,\n"
        "         subtaskDepth: 2, subtasksPerTask: 3, subtasksPerTree: 4,\n"
        "         taskTypes: {upgrade: 2, style: 1},\n"
        "         bodyBytes: 4096, connections: 5, requestSeconds: 6, keepDays: 3,\n"
        "         socketConnections: 7, streams: 30, streamBytes: 2000000,\n"
        "         perRun: {connections: 1, streams: 2, requests: 3, bytes: 70000},\n"
        "         perToken: {streams: 4}}\n"
        "lease: {leaseMs: 7000, heartbeatMs: 800}\ndisk: {reserveBytes: 0}\n"
        "notifications: [{name: ops, on: [failed], type: slack, urlEnv: CHAT}]\n"
        "mcp: {allowedHosts: [a.example.com, b]}\n"
        "sinks: [{name: runs, type: file, path: /srv/runs.ndjson, types: [agent.run.*], from: "
        "end,\n"
        "         rotateBytes: 65536, keep: 3},\n"
        "        {name: all, type: file, path: /srv/all.ndjson}]\n";
    struct server_options options = server_options_default();
    struct err err = {0};
    enum rc rc = server_config_parse(STR(text), &arena, &options, &err);
    ck_assert_msg(rc == RC_OK, "%s", err.text);
    ck_assert_int_eq(server_options_check(&options, &err), RC_OK);
    check_sinks(&options);
    ck_assert_uint_eq(options.site.count, 2);
    ck_assert_str_eq(options.site.items[1], "b");
    ck_assert_str_eq(options.listen, "[::1]:0");
    ck_assert(options.allow_remote);
    ck_assert_str_eq(options.data_dir, "/srv/d");
    ck_assert_str_eq(options.db, "sqlite:/srv/d/x.db");
    ck_assert_int_eq(options.workers.max, 0);
    ck_assert(options.sandbox_none);
    ck_assert_int_eq(options.log_level, LOG_WARN);
    ck_assert_int_eq(options.log_format, LOG_FORMAT_JSON);
    ck_assert_int_eq(options.limits.max_active_runs, 1);
    ck_assert_int_eq(options.limits.max_active_runs_user, 2);
    ck_assert_int_eq(options.limits.tasks_per_hour_user, 3);
    ck_assert_int_eq(options.limits.max_active_runs_workspace, 9);
    ck_assert_int_eq(options.limits.sandboxes, 8);
    ck_assert_int_eq(options.limits.cost_per_day_microusd, 2500000);
    ck_assert_int_eq(options.limits.cost_per_run_microusd, 500000);
    check_stops(&options.limits);
    ck_assert_uint_eq(options.limits.task_type_count, 2);
    ck_assert_str_eq(options.limits.task_types[0].name, "upgrade");
    ck_assert_int_eq(options.limits.task_types[0].max, 2);
    ck_assert_int_eq(options.body_bytes_max, 4096);
    ck_assert_int_eq(options.connections_max, 5);
    ck_assert_int_eq(options.socket_connections_max, 7);
    ck_assert_int_eq(options.caps.streams_max, 30);
    ck_assert_int_eq(options.stream_bytes_max, 2000000);
    const int64_t *run = options.caps.max[CAPS_RUN], *token = options.caps.max[CAPS_TOKEN];
    ck_assert_int_eq(run[CAPS_CONNECTIONS], 1);
    ck_assert_int_eq(run[CAPS_STREAMS], 2);
    ck_assert_int_eq(run[CAPS_REQUESTS], 3);
    ck_assert_int_eq(run[CAPS_BYTES], 70000);
    ck_assert_int_eq(token[CAPS_STREAMS], 4);
    ck_assert_int_eq(token[CAPS_REQUESTS], 512); /* As it was. */
    ck_assert_int_eq(options.request_ms, 6000);
    ck_assert_int_eq(options.keep_days, 3);
    ck_assert_int_eq(options.disk_reserve_bytes, 0);
    ck_assert_int_eq(options.lease_ms, 7000);
    ck_assert_int_eq(options.heartbeat_ms, 800);
    ck_assert_uint_eq(options.channels.count, 1);
    ck_assert_str_eq(options.channels.items[0].url_env, "CHAT");
}
END_TEST

START_TEST(the_log_is_kept_where_it_is_said)
{
    static const char text[] =
        "log: {level: warn, file: {path: /var/log/d, maxBytes: 8192, keep: 2},\n"
        "      store: {level: debug, keepDays: 3, maxRows: 500}}\n"
        "bus: {drainMs: 7, types: [{type: agent.tool.>, overflow: coalesce}]}\n"
        "limits: {unreadSeconds: 9}\n";
    struct server_options options = server_options_default();
    struct err err = {0};
    ck_assert_ptr_null(options.log_file.path);
    ck_assert(!options.log_store.on);
    ck_assert_int_eq(options.unread_ms, 75000);
    enum rc rc = server_config_parse(STR(text), &arena, &options, &err);
    ck_assert_msg(rc == RC_OK, "%s", err.text);
    ck_assert_str_eq(options.log_file.path, "/var/log/d");
    ck_assert_int_eq(options.log_file.level, LOG_WARN); /* As the log. */
    ck_assert_int_eq(options.log_file.max_bytes, 8192);
    ck_assert_int_eq(options.log_file.keep, 2);
    ck_assert(options.log_store.on);
    ck_assert_int_eq(options.log_store.level, LOG_DEBUG);
    ck_assert_int_eq(options.log_store.keep_days, 3);
    ck_assert_int_eq(options.log_store.rows_max, 500);
    ck_assert_int_eq(bus_rules_drain_us(&options.bus), 7000);
    ck_assert_uint_eq(options.bus.types.count, 1);
    ck_assert_int_eq(options.unread_ms, 9000);
}
END_TEST

START_TEST(defaults_are_a_repository_without_a_url)
{
    static const struct {
        const char *yaml, *json, *field; /* field: refused there. */
    } rows[] = {
        {"defaults: {}", "", NULL},
        {"defaults: {limits: {maxTurns: 5}}", "{\"limits\":{\"maxTurns\":5}}", NULL},
        {"defaults: {agent: {compute: remote}}", "{\"agent\":{\"compute\":\"remote\"}}", NULL},
        {"defaults: {agent: {compute: pull, queue: q}}",
         "{\"agent\":{\"compute\":\"pull\",\"queue\":\"q\"}}", NULL},
        {"defaults: []", NULL, "defaults"},
        {"defaults: {url: /x}", NULL, "defaults.url"},
        {"defaults: {limits: {maxTurns: 501}}", NULL, "defaults.limits.maxTurns"},
        {"defaults: {limits: {maxTurns: 0}}", "{\"limits\":{\"maxTurns\":0}}", NULL},
        {"defaults: {agent: {egress: ['a b']}}", NULL, "defaults.agent.egress[0]"},
        {"defaults: {verify: [{name: a}]}", NULL, "defaults.verify[0].command"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct server_options options = server_options_default();
        struct err err = {0};
        enum rc rc = server_config_parse(str_of(rows[i].yaml), &arena, &options, &err);
        ck_assert_msg(rc == (rows[i].field != NULL ? RC_INVALID : RC_OK), "%s: %s", rows[i].yaml,
                      err.text);
        if (rc == RC_OK)
            ck_assert(str_is(options.defaults, rows[i].json));
        else
            ck_assert_str_eq(err.field, rows[i].field);
    }
}
END_TEST

START_TEST(workers_may_have_bounds)
{
    static const struct {
        const char *flag;
        int64_t min, max; /* -1: refused */
    } flags[] = {
        {"0", 0, 0},    {"3", 3, 3},   {"2-8", 2, 8},  {"1-256", 1, 256}, {"5-5", 5, 5},
        {"8-2", -1, 0}, {"-2", -1, 0}, {"2-", -1, 0},  {"2-257", -1, 0},  {"1234567-2", -1, 0},
        {"", -1, 0},    {"x", -1, 0},  {"2-x", -1, 0},
    };
    struct err err = {0};
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        struct server_workers workers = {0};
        enum rc rc = workers_parse(flags[i].flag, &workers, &err);
        ck_assert_msg((rc == RC_OK) == (flags[i].min >= 0), "%s", flags[i].flag);
        if (rc != RC_OK)
            continue;
        ck_assert_int_eq(workers.min, flags[i].min);
        ck_assert_int_eq(workers.max, flags[i].max);
    }
    struct server_options options = server_options_default();
    struct str yaml = STR("workers: {min: 2, max: 8, upCooldownMs: 20, downCooldownMs: 30}");
    ck_assert_int_eq(server_config_parse(yaml, &arena, &options, &err), RC_OK);
    ck_assert_int_eq(server_options_check(&options, &err), RC_OK);
    ck_assert_int_eq(options.workers.min, 2);
    ck_assert_int_eq(options.workers.max, 8);
    ck_assert_int_eq(options.workers.up_ms, 20);
    ck_assert_int_eq(options.workers.down_ms, 30);
    yaml = STR("workers: {agent: 6, check: 5, short: 3}");
    ck_assert_int_eq(server_config_parse(yaml, &arena, &options, &err), RC_OK);
    ck_assert_int_eq(options.workers.min, 6);
    ck_assert_int_eq(options.workers.max, 6);
    ck_assert_int_eq(options.workers.check, 5);
    ck_assert_int_eq(options.workers.short_steps, 3);
    yaml = STR("workers: {agent: 6, min: 2, max: 8}");
    ck_assert_int_eq(server_config_parse(yaml, &arena, &options, &err), RC_INVALID);
    ck_assert_str_eq(err.field, "workers.agent");
    options.workers.max = 1;
    ck_assert_int_eq(server_options_check(&options, &err), RC_INVALID);
    options.workers.min = 0;
    ck_assert_int_eq(server_options_check(&options, &err), RC_INVALID);
}
END_TEST

static const struct {
    const char *yaml;
    enum rc rc;
    const char *field;
} mistakes[] = {
    {"listen: [", RC_MALFORMED, ""},
    {"- a", RC_INVALID, ""},
    {"frob: 1", RC_INVALID, "frob"},
    {"listen: 1", RC_INVALID, "listen"},
    {"data: ''", RC_INVALID, "data"},
    {"workers: 257", RC_INVALID, "workers"},
    {"workers: {min: 2}", RC_INVALID, "workers.max"},
    {"workers: {min: 2, max: 257}", RC_INVALID, "workers.max"},
    {"workers: {min: 2, max: 3, more: 1}", RC_INVALID, "workers.more"},
    {"limits: {streams: 0}", RC_INVALID, "limits.streams"},
    {"limits: {streamBytes: 1000}", RC_INVALID, "limits.streamBytes"},
    {"limits: {socketConnections: 0}", RC_INVALID, "limits.socketConnections"},
    {"limits: {perRun: 5}", RC_INVALID, "limits.perRun"},
    {"limits: {perRun: {streams: 0}}", RC_INVALID, "limits.perRun.streams"},
    {"limits: {perToken: {bytes: 5}}", RC_INVALID, "limits.perToken.bytes"},
    {"limits: {perToken: {sockets: 5}}", RC_INVALID, "limits.perToken.sockets"},
    {"limits: {rates: 5}", RC_INVALID, "limits.rates"},
    {"limits: {rates: [{perSecond: 1}]}", RC_INVALID, "limits.rates[0].route"},
    {"limits: {rates: [{route: '*'}]}", RC_INVALID, "limits.rates[0].perSecond"},
    {"limits: {rates: [{route: '*', perSecond: 0}]}", RC_INVALID, "limits.rates[0].perSecond"},
    {"limits: {rates: [{route: '/v1/tasks', perSecond: 1}]}", RC_INVALID, "limits.rates[0].route"},
    {"limits: {rates: [{route: 'PUT /v1/tasks', perSecond: 1}]}", RC_INVALID,
     "limits.rates[0].route"},
    {"limits: {rates: [{route: '*', perSecond: 1, actor: ci}]}", RC_INVALID,
     "limits.rates[0].actor"},
    {"limits: {rates: [{route: '*', perSecond: 1, actor: 'role:king'}]}", RC_INVALID,
     "limits.rates[0].actor"},
    {"limits: {rates: [{route: '*', perSecond: 1, per: 1}]}", RC_INVALID, "limits.rates[0].per"},
    {"workers: many", RC_INVALID, "workers"},
    {"retention: 90", RC_INVALID, "retention"},
    {"retention: {days: -1}", RC_INVALID, "retention.days"},
    {"retention: {days: 36501}", RC_INVALID, "retention.days"},
    {"retention: {days: 90d}", RC_INVALID, "retention.days"},
    {"retention: {diagnosticsDays: 1.5}", RC_INVALID, "retention.diagnosticsDays"},
    {"retention: {auditDays: 1}", RC_INVALID, "retention.auditDays"},
    {"log: info", RC_INVALID, "log"},
    {"log: {level: loud}", RC_INVALID, "log.level"},
    {"log: {format: xml}", RC_INVALID, "log.format"},
    {"log: {frob: 1}", RC_INVALID, "log.frob"},
    {"limits: {connections: 0}", RC_INVALID, "limits.connections"},
    {"limits: {bodyBytes: 1}", RC_INVALID, "limits.bodyBytes"},
    {"limits: {frob: 1}", RC_INVALID, "limits.frob"},
    {"limits: {costPerDayUsd: -1}", RC_INVALID, "limits.costPerDayUsd"},
    {"limits: {costPerDayAction: pause}", RC_INVALID, "limits.costPerDayAction"},
    {"limits: {subtaskDepth: 9}", RC_INVALID, "limits.subtaskDepth"},
    {"limits: {subtasksPerTask: 0}", RC_INVALID, "limits.subtasksPerTask"},
    {"limits: {subtasksPerTree: 1}", RC_INVALID, "limits.subtasksPerTree"},
    {"limits: {costPerRunUsd: x}", RC_INVALID, "limits.costPerRunUsd"},
    {"limits: {sandboxes: many}", RC_INVALID, "limits.sandboxes"},
    {"limits: {taskTypes: 3}", RC_INVALID, "limits.taskTypes"},
    {"limits: {taskTypes: {upgrade: -1}}", RC_INVALID, "limits.taskTypes"},
    {"limits: {taskTypes: {upgrade: few}}", RC_INVALID, "limits.taskTypes"},
    {"lease: {leaseMs: 1}", RC_INVALID, "lease.leaseMs"},
    {"lease: {frob: 1}", RC_INVALID, "lease.frob"},
    {"notifications: {}", RC_INVALID, "notifications"},
    {"notifications: [{name: a, on: [failed], type: slack}]", RC_INVALID, "notifications[0].url"},
    {"mcp: []", RC_INVALID, "mcp"},
    {"mcp: {allowedHosts: a}", RC_INVALID, "mcp.allowedHosts"},
    {"mcp: {allowedHosts: ['']}", RC_INVALID, "mcp.allowedHosts[0]"},
    {"mcp: {frob: 1}", RC_INVALID, "mcp.frob"},
    {"sinks: {}", RC_INVALID, "sinks"},
    {"sinks: [{type: file, path: /x}]", RC_INVALID, "sinks[0].name"},
    {"sinks: [{name: a/b, type: file, path: /x}]", RC_INVALID, "sinks[0].name"},
    {"sinks: [{name: a, type: pigeon, path: /x}]", RC_INVALID, "sinks[0].type"},
    {"sinks: [{name: a, type: file}]", RC_INVALID, "sinks[0].path"},
    {"sinks: [{name: a, type: file, path: x}]", RC_INVALID, "sinks[0].path"},
    {"sinks: [{name: a, type: file, path: /x, from: now}]", RC_INVALID, "sinks[0].from"},
    {"sinks: [{name: a, type: file, path: /x, types: agent}]", RC_INVALID, "sinks[0].types"},
    {"sinks: [{name: a, type: file, path: /x, rotateBytes: 1}]", RC_INVALID,
     "sinks[0].rotateBytes"},
    {"sinks: [{name: a, type: file, path: /x, rotateBytes: 4096, keep: 3},"
     " {name: b, type: file, path: /x.3}]",
     RC_INVALID, "sinks[1]"},
    {"sinks: [{name: a, type: file, path: /x, keep: 0}]", RC_INVALID, "sinks[0].keep"},
    {"sinks: [{name: a, type: file, path: /x, frob: 1}]", RC_INVALID, "sinks[0].frob"},
    {"sinks: [{name: a, type: file, path: /x}, {name: a, type: file, path: /y}]", RC_INVALID,
     "sinks[1]"},
    {"sinks: [{name: a, type: file, path: /x}, {name: b, type: file, path: /x}]", RC_INVALID,
     "sinks[1]"},
};

START_TEST(mistakes_are_named_and_change_nothing)
{
    for (size_t i = 0; i < COUNT_OF(mistakes); i++) {
        struct server_options options = server_options_default();
        struct server_options before = options;
        struct err err = {0};
        enum rc rc = server_config_parse(str_of(mistakes[i].yaml), &arena, &options, &err);
        ck_assert_msg(rc == mistakes[i].rc, "%s: %s", mistakes[i].yaml, err.text);
        ck_assert_str_eq(err.field, mistakes[i].field);
        ck_assert_mem_eq(&options, &before, sizeof options);
    }
}
END_TEST

START_TEST(a_file_is_read_and_named_when_it_is_wrong)
{
    char path[] = "/tmp/drover-config-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    struct err err = {0};
    struct server_options options = server_options_default();
    ck_assert_int_eq(fd_write_all(fd, "# nothing\n", 10, &err), RC_OK);
    ck_assert_int_eq(server_config_read(path, &arena, &options, &err), RC_OK);
    ck_assert_int_eq(fd_write_all(fd, "frob: 1\n", 8, &err), RC_OK);
    ck_assert_int_eq(server_config_read(path, &arena, &options, &err), RC_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, path));
    fd_close(fd);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(server_config_read(path, &arena, &options, &err), RC_NOT_FOUND);
}
END_TEST

static const struct {
    const char *text;
    const char *host; /* NULL: refused */
    int port;
    bool loopback;
} addresses[] = {
    {"127.0.0.1:8717", "127.0.0.1", 8717, true},
    {"127.8.9.10:0", "127.8.9.10", 0, true},
    {"localhost:1", "localhost", 1, true},
    {"[::1]:65535", "::1", 65535, true},
    {":80", "127.0.0.1", 80, true},
    {"0.0.0.0:80", "0.0.0.0", 80, false},
    {"[::]:80", "::", 80, false},
    {"10.0.0.1:80", "10.0.0.1", 80, false},
    {"example.org:80", "example.org", 80, false},
    {"127.0.0.1", NULL, 0, false},
    {"127.0.0.1:", NULL, 0, false},
    {"127.0.0.1:65536", NULL, 0, false},
    {"127.0.0.1:-1", NULL, 0, false},
    {"127.0.0.1:x", NULL, 0, false},
    {"::1:80", NULL, 0, false},
    {"", NULL, 0, false},
};

START_TEST(addresses_are_read_and_told_apart)
{
    for (size_t i = 0; i < COUNT_OF(addresses); i++) {
        struct listen_address address = {0};
        struct err err = {0};
        enum rc rc = listen_parse(addresses[i].text, &address, &err);
        ck_assert_msg((rc == RC_OK) == (addresses[i].host != NULL), "%s", addresses[i].text);
        if (rc != RC_OK)
            continue;
        ck_assert_str_eq(address.host, addresses[i].host);
        ck_assert_int_eq(address.port, addresses[i].port);
        ck_assert_msg(address.loopback == addresses[i].loopback, "%s", addresses[i].text);
    }
}
END_TEST

START_TEST(another_machine_is_let_in_only_on_purpose)
{
    struct server_options options = server_options_default();
    struct err err = {0};
    options.listen = "0.0.0.0:8717";
    ck_assert_int_eq(server_options_check(&options, &err), RC_DENIED);
    ck_assert_ptr_nonnull(strstr(err.text, "--allow-remote"));
    options.allow_remote = true;
    ck_assert_int_eq(server_options_check(&options, &err), RC_OK);
}
END_TEST

START_TEST(a_lease_outlives_its_heartbeat)
{
    struct server_options options = server_options_default();
    struct err err = {0};
    options.heartbeat_ms = options.lease_ms;
    ck_assert_int_eq(server_options_check(&options, &err), RC_INVALID);
    ck_assert_str_eq(err.field, "lease.heartbeatMs");
}
END_TEST

Suite *server_config_suite(void)
{
    Suite *suite = suite_create("server_config");
    TCase *tests = tcase_create("server_config");
    tcase_add_checked_fixture(tests, NULL, empty);
    tcase_add_test(tests, the_defaults_are_good);
    tcase_add_test(tests, retention_has_a_time_for_all_and_for_each_kind);
    tcase_add_test(tests, a_file_says_all_there_is_to_say);
    tcase_add_test(tests, the_log_is_kept_where_it_is_said);
    tcase_add_test(tests, defaults_are_a_repository_without_a_url);
    tcase_add_test(tests, workers_may_have_bounds);
    tcase_add_test(tests, mistakes_are_named_and_change_nothing);
    tcase_add_test(tests, a_file_is_read_and_named_when_it_is_wrong);
    tcase_add_test(tests, addresses_are_read_and_told_apart);
    tcase_add_test(tests, another_machine_is_let_in_only_on_purpose);
    tcase_add_test(tests, a_lease_outlives_its_heartbeat);
    suite_add_tcase(suite, tests);
    return suite;
}
