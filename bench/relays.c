/*
 * relays.c - how fast the log is copied to a sink: the relay in process, from the store to the
 * confirmed event and its cursor, beside the client library alone in a loop (bare.h).
 *
 * Both have the same events, the same broker and the same promise: a file is flushed for every 1024
 * events, JetStream has acknowledged, all replicas of Kafka have, RabbitMQ has confirmed persistent
 * messages.  Kafka is librdkafka's mock cluster, in this process, in memory.
 */
#include "base/js.h"
#include "base/proc.h"
#include "bench/bare.h"
#include "bench/plant.h"
#include "bench/report.h"
#include "control/watch/sink_relay.h"
#include "store/events.h"
#include <arpa/inet.h>
#include <limits.h>
#include <netinet/in.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 20000, EVENTS_QUICK = 1000, RUNS = 200, TOOL_MS = 130 * 1000, PORTS = 3 };
enum { NAME_BYTES = 64, MEMBERS_BYTES = PATH_MAX + 64, NOT_INSTALLED = 3 };
#define GROUP     "relay"
#define SHARE_AIM 0.8
#define TOOL      "tools/broker"

struct load {
    const struct bench *bench;
    struct plant plant;
    struct arena arena;
    struct sink_record *records;
    size_t count;
    struct buf json;
};

/* ---- the log ---- */

/* Of so many runs in turn, each event with half a kilobyte of data. */
static const char sql_events[] =
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)"
    " INSERT INTO event_log (id, type, version, workspace_id, task_id, run_id, subject, time_us,"
    " run_seq, correlation_id, actor_type, actor_id, data)"
    " SELECT printf('%08x-%04x-7000-8002-%012x', i / 65536, i % 65536, i), 'agent.step.recorded', "
    "1,"
    " (SELECT id FROM workspaces LIMIT 1), printf('00000000-0000-7000-8000-%012x', i % ?2),"
    " printf('00000000-0000-7000-8001-%012x', i % ?2), 'run/x', i, 1 + i / ?2,"
    " printf('00000000-0000-7000-8000-%012x', i % ?2), 'agent', 'bench',"
    " '{\"text\":\"' || substr(hex(zeroblob(256)), 1, 480) || '\"}' FROM n";

static void insert_events(const char *dir, int64_t count)
{
    char path[BENCH_PATH_BYTES + 16];
    sqlite3 *db = NULL;
    sqlite3_stmt *insert = NULL;
    (void)snprintf(path, sizeof path, "%s/drover.db", dir);
    if (sqlite3_open(path, &db) != SQLITE_OK ||
        sqlite3_prepare_v2(db, sql_events, -1, &insert, NULL) != SQLITE_OK ||
        sqlite3_bind_int64(insert, 1, count) != SQLITE_OK ||
        sqlite3_bind_int64(insert, 2, RUNS) != SQLITE_OK || sqlite3_step(insert) != SQLITE_DONE ||
        sqlite3_finalize(insert) != SQLITE_OK || sqlite3_close(db) != SQLITE_OK)
        bench_die("events: %s", sqlite3_errmsg(db));
}

/* What the bare loops send: the texts that the relay makes. */
static void read_events(struct load *load, int64_t count)
{
    struct err err = {0};
    struct db *db = NULL;
    struct event *events = NULL;
    bench_must(store_reader_open(load->plant.store, &db, &err), &err, "reader");
    bench_must(events_list(db, &(struct event_filter){.limit = count + 1000}, &load->arena, &events,
                           &load->count, &err),
               &err, "events");
    store_reader_close(load->plant.store, db);
    size_t *ends = arena_array(&load->arena, load->count, sizeof *ends);
    load->records = arena_array(&load->arena, load->count, sizeof *load->records);
    buf_init(&load->json, (size_t)count * 4096 + 1024 * 1024);
    for (size_t i = 0; i < load->count; i++) {
        struct jw jw = jw_to(&load->json);
        event_write(&jw, &events[i]);
        ends[i] = load->json.len;
    }
    for (size_t i = 0, begin = 0; i < load->count; begin = ends[i++])
        load->records[i] = (struct sink_record){&events[i],
                                                {load->json.data + begin, ends[i] - begin}};
}

/* ---- the relay ---- */

static int64_t steady_now(void *ctx)
{
    (void)ctx;
    return clock_mono_us();
}

static enum rc call_committer(void *ctx, struct command *command)
{
    return committer_call(ctx, command);
}

static double run_relay(struct load *load, const char *name, const char *members)
{
    struct arena arena = {0};
    struct err err = {0};
    CLEANUP(js_freep) struct js *array = NULL;
    struct sink_configs configs;
    const char *text = arena_printf(&arena, "[{\"name\":\"%s\",%s}]", name, members);
    bench_must(js_parse(text, strlen(text), &array, &err), &err, text);
    bench_must(sink_configs_decode(array, "sinks", &arena, &configs, &err), &err, text);
    struct sink_relay *relay = sink_relay_new(&(struct sink_relay_options){
        .config = &configs.items[0],
        .store = load->plant.store,
        .clock = {steady_now, NULL},
        .random = random_from_os(),
        .call = call_committer,
        .ctx = control_committer(load->plant.control),
    });
    double begin = bench_seconds();
    int64_t wait_us;
    do {
        wait_us = sink_relay_round(relay);
    } while (wait_us == 0);
    double took = bench_seconds() - begin;
    if (wait_us < US_PER_MINUTE) /* It does not wait for more events, but for the sink. */
        bench_die("the sink %s failed", name);
    sink_relay_free(relay);
    arena_release(&arena);
    return (double)load->count / took;
}

/* ---- servers ---- */

static void pick_ports(int ports[PORTS])
{
    int fds[PORTS];
    for (size_t i = 0; i < PORTS; i++) {
        struct sockaddr_in address = {.sin_family = AF_INET,
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t len = sizeof address;
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fds[i] < 0 || bind(fds[i], (struct sockaddr *)&address, len) != 0 ||
            getsockname(fds[i], (struct sockaddr *)&address, &len) != 0)
            bench_die("no free port");
        ports[i] = ntohs(address.sin_port);
    }
    for (size_t i = 0; i < PORTS; i++)
        (void)close(fds[i]);
}

/* False: it is not installed. */
static bool run_tool(const struct bench *bench, const char *kind, const char *action,
                     const int *ports)
{
    char dir[BENCH_PATH_BYTES], texts[PORTS][16];
    (void)snprintf(dir, sizeof dir, "%s/broker-%s", bench->dir, kind);
    const char *argv[5 + PORTS] = {TOOL, kind, action, dir};
    size_t count = ports == NULL ? 0 : strcmp(kind, "nats") == 0 ? 1 : PORTS;
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "%d", ports[i]);
        argv[4 + i] = texts[i];
    }
    struct proc_result result;
    struct err err = {0};
    bench_must(proc_run(&(struct proc_spec){.argv = argv}, (struct str){0}, NULL, NULL,
                        &(struct proc_limits){.timeout_ms = TOOL_MS}, &result, &err),
               &err, TOOL);
    if (result.exit.code != 0 && result.exit.code != NOT_INSTALLED)
        bench_die("%s %s %s fails", TOOL, kind, action);
    return result.exit.code == 0;
}

/* ---- the kinds ---- */

struct place_of {
    const struct load *load;
    int port;
    struct bare_kafka *kafka;
};

/* A sink's path is absolute. */
static const char *file_path(const struct place_of *at, const char *name, char to[PATH_MAX])
{
    char dir[PATH_MAX];
    if (realpath(at->load->bench->dir, dir) == NULL ||
        snprintf(to, PATH_MAX, "%s/%s.ndjson", dir, name) >= PATH_MAX)
        bench_die("%s: no such path", at->load->bench->dir);
    return to;
}

static void file_members(const struct place_of *at, const char *name, char to[MEMBERS_BYTES])
{
    char path[PATH_MAX];
    (void)snprintf(to, MEMBERS_BYTES, "\"type\":\"file\",\"path\":\"%s\"",
                   file_path(at, name, path));
}

static void file_bare(const struct place_of *at, const struct bare_load *load, const char *name)
{
    char path[PATH_MAX];
    bare_file(load, file_path(at, name, path));
}

static void nats_members(const struct place_of *at, const char *name, char to[MEMBERS_BYTES])
{
    (void)snprintf(to, MEMBERS_BYTES,
                   "\"type\":\"nats\",\"servers\":[\"nats://127.0.0.1:%d\"],\"stream\":\"%s\","
                   "\"subject\":\"%s\"",
                   at->port, name, name);
}

static void nats_bare(const struct place_of *at, const struct bare_load *load, const char *name)
{
    bare_nats(load, at->port, name);
}

static void kafka_members(const struct place_of *at, const char *name, char to[MEMBERS_BYTES])
{
    (void)snprintf(to, MEMBERS_BYTES, "\"type\":\"kafka\",\"brokers\":[\"%s\"],\"topic\":\"%s\"",
                   bare_kafka_brokers(at->kafka), name);
}

static void kafka_bare(const struct place_of *at, const struct bare_load *load, const char *name)
{
    bare_kafka(load, at->kafka, name);
}

static void rabbitmq_members(const struct place_of *at, const char *name, char to[MEMBERS_BYTES])
{
    bare_rabbitmq_bind(at->port, name);
    (void)snprintf(to, MEMBERS_BYTES,
                   "\"type\":\"rabbitmq\",\"host\":\"127.0.0.1\",\"port\":%d,\"exchange\":\"%s\"",
                   at->port, name);
}

static void rabbitmq_bare(const struct place_of *at, const struct bare_load *load, const char *name)
{
    bare_rabbitmq_bind(at->port, name);
    bare_rabbitmq(load, at->port, name);
}

static const struct kind {
    const char *name, *promise;
    bool server, slow; /* To start. */
    void (*members)(const struct place_of *at, const char *name, char to[MEMBERS_BYTES]);
    void (*bare)(const struct place_of *at, const struct bare_load *load, const char *name);
} kinds[] = {
    {"file", "fsync per 1024 events", false, false, file_members, file_bare},
    {"nats", "JetStream, file storage, acks", true, false, nats_members, nats_bare},
    {"kafka", "mock in memory, idempotent, acks=all", false, false, kafka_members, kafka_bare},
    {"rabbitmq", "persistent, durable queue, confirms", true, true, rabbitmq_members,
     rabbitmq_bare},
};

static void measure(struct load *load, const struct kind *kind, const struct place_of *at)
{
    const struct bare_load bare = {load->records, load->count};
    struct figure figure = {.group = GROUP, .unit = "events/s", .better = MORE_IS_BETTER};
    (void)snprintf(figure.what, sizeof figure.what, "relay to %s", kind->name);
    text_copy(figure.how, sizeof figure.how, kind->promise);
    for (int i = 0; i < load->bench->repeat; i++) {
        char name[NAME_BYTES], members[MEMBERS_BYTES];
        (void)snprintf(name, sizeof name, "%s-relay-%d", kind->name, i);
        kind->members(at, name, members);
        figure.values[figure.count++] = run_relay(load, name, members);
        (void)snprintf(name, sizeof name, "%s-bare-%d", kind->name, i);
        double begin = bench_seconds();
        kind->bare(at, &bare, name);
        double rate = (double)load->count / (bench_seconds() - begin);
        if (rate > figure.raw)
            figure.raw = rate;
    }
    figure.aim = SHARE_AIM * figure.raw;
    report_add(load->bench->report, &figure);
}

/* False: the server is not there, or takes seconds to start for a smoke test. */
static bool start_server(const struct bench *bench, const struct kind *kind, struct place_of *at)
{
    int ports[PORTS];
    if (!kind->server)
        return true;
    if (bench->quick && kind->slow) {
        report_note(bench->report, "%s: left out by --quick", kind->name);
        return false;
    }
    pick_ports(ports);
    at->port = ports[0];
    bool started = run_tool(bench, kind->name, "start", ports);
    if (!started)
        report_note(bench->report, "%s: left out, as its server is not installed", kind->name);
    return started;
}

static void run_kind(struct load *load, const struct kind *kind)
{
    struct place_of at = {.load = load};
    if (!start_server(load->bench, kind, &at))
        return;
    if (kind->bare == kafka_bare)
        at.kafka = bare_kafka_open();
    measure(load, kind, &at);
    if (at.kafka != NULL)
        bare_kafka_close(at.kafka);
    if (kind->server)
        (void)run_tool(load->bench, kind->name, "stop", NULL);
}

void relays_run(const struct bench *bench)
{
    char dir[BENCH_PATH_BYTES];
    struct load load = {.bench = bench};
    int64_t count = bench->quick ? EVENTS_QUICK : EVENTS;
    report_group(bench->report,
                 "relay: the log to a sink, beside its client library in a bare loop");
    bench_dir(bench, "relays", dir);
    plant_open_dir(&load.plant, dir);
    plant_close(&load.plant);
    insert_events(dir, count);
    plant_open_dir(&load.plant, dir);
    read_events(&load, count);
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        run_kind(&load, &kinds[i]);
    plant_close(&load.plant);
    buf_release(&load.json);
    arena_release(&load.arena);
}
