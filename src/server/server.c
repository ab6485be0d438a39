/*
 * server.c - puts the process together, and takes it apart in an order that cannot deadlock.
 *
 * Stopping: workers still report to the committer, pool threads may wait for it, and both post
 * their last calls to the loop.  So workers and pool end first, then control, and the mailbox is
 * emptied when no thread is left that could post; only then is HTTP closed.
 */
#include "server/server.h"
#include "api/api.h"
#include "api/audit_calls.h"
#include "api/defaults_check.h"
#include "api/dispatch.h"
#include "api/event_wait.h"
#include "api/mcp/mcp.h"
#include "api/metrics.h"
#include "api/origins.h"
#include "api/routes.h"
#include "api/sse.h"
#include "api/throttle.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/log.h"
#include "control/watch/log_events.h"
#include "core/event_types.h"
#include "http/spool.h"
#include "server/audit_anchor.h"
#include "server/autoscale.h"
#include "server/own_files.h"
#include "server/port_local.h"
#include "store/artifacts.h"
#include "work/job/step.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { NODE_RANDOM_BYTES = 6, NODE_BYTES_MAX = 64, BOOT_ID_BYTES_MAX = 128 };
enum {
    POOL_THREADS = 4,
    POOL_QUEUE_MAX = 2048,
    COMMAND_QUEUE_MAX = 10000,
    HEAD_BYTES_MAX = 16 * 1024,
    TARGET_BYTES_MAX = 8 * 1024,
    HEADER_FIELDS_MAX = 100,
    IDLE_MS = 75000,
    UPLOAD_STALL_MS = 10000,
    DRAIN_MS = 5000,
    DRAIN_TICK_MS = 5,
    STOP_SECONDS_MAX = 9, /* Then the process ends as if killed: nothing acknowledged is lost. */
    LOCK_WAIT_MS = 2000,
    SLOTS_UP_STEP = 2,   /* Slots that are added at once when steps wait. */
    TOKEN_TICK_MS = 400, /* A token revoked on another node stays valid for at most a second. */
    OTHER_FDS = 256,     /* Beside connections: store, pipes of children, artifacts. */
    RESERVED_CONNECTIONS = 64, /* For health, workers and admins. */
    URL_BYTES = LISTEN_HOST_BYTES + 32
};

struct server {
    int lock_fd; /* Held on the data directory. */
    const struct server_options *options;
    struct arena arena;
    struct loop *loop;
    struct store *store;
    struct control *control;
    struct log_events *log_events; /* NULL: lines of the log are not kept. */
    struct api api;
    struct port_local port;
    struct audit_anchor *anchor; /* NULL: the audit log is not anchored. */
    struct autoscale *autoscale; /* NULL: the number of slots stays. */
    struct reconciler *reconciler;
    char url[URL_BYTES];
    const char *socket_path; /* For agents without a network; NULL: none. */
    const char *info_path;   /* server.json, once written. */
    struct own_files own_files;

    /* Runs that are to stop, received from the bus. */
    struct subscription *orders;
    struct loop_call orders_call;
    atomic_bool orders_posted;
    bool serving; /* The loop runs. */

    /* Another server has this node's name. */
    struct loop_call lost_call;
    struct err lost; /* Written before the call is posted. */

    /* Tokens that other nodes make and revoke. */
    struct event *token_tick;
    struct pool_work token_work;
    atomic_bool tokens_asked, tokens_unread;

    /* Stopping. */
    struct event *signals[2];
    struct event *drain;
    int64_t drain_until_us;
    int64_t tail_asked;       /* What was committed before the signal is published first, */
    int64_t publish_until_us; /* and not waited for any longer then. */
    pthread_t stopper;
    bool streams_closed, stopper_started;
    atomic_bool workers_stopped;
};

/* ---- Small parts of the start ---- */

/* As many connections as descriptors allow; the socket gets at most a third of them. */
static void fit_connections(struct http_options *options)
{
    struct rlimit limit;
    int64_t others = OTHER_FDS + options->reserve;
    rlim_t need = (rlim_t)(options->connections_max + options->socket_connections_max + others);
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= need)
        return;
    limit.rlim_cur = limit.rlim_max < need ? limit.rlim_max : need;
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= need)
        return;
    int64_t left = (int64_t)limit.rlim_cur - others;
    left = left < 2 ? 2 : left;
    int64_t socket = left / 3 > 0 ? left / 3 : 1;
    if (options->socket_connections_max > socket)
        options->socket_connections_max = socket;
    left -= options->socket_connections_max;
    if (options->connections_max > left)
        options->connections_max = left;
    LOG(LOG_WARN, "fewer connections than asked for: the limit of open files is too low",
        LOG_INT("connections", options->connections_max),
        LOG_INT("socketConnections", options->socket_connections_max),
        LOG_INT("openFiles", limit.rlim_cur));
}

/* Worktrees, socket and token have one owner, wherever the database is. */
static enum rc lock_data(struct server *server, struct err *err)
{
    const char *dir = server->options->data_dir;
    enum rc rc = dir_make_durable(dir, 0700, err);
    if (rc == RC_OK)
        rc = file_lock(arena_printf(&server->arena, "%s/server.lock", dir), LOCK_WAIT_MS,
                       &server->lock_fd, err);
    if (rc == RC_OK)
        return rc;
    if (rc != RC_CONFLICT)
        return err_wrap(err, rc, "the data directory cannot be used, --data DIR takes another");
    return err_set(err, rc, "DATA_IN_USE",
                   "another drover server already uses %s: stop it first, or give this one a data "
                   "directory of its own (--data)",
                   dir);
}

static enum rc open_store(struct server *server, struct err *err)
{
    const char *dir = server->options->data_dir;
    struct store_options options = {
        .url = server->options->db,
        .artifact_dir = arena_printf(&server->arena, "%s/artifacts", dir),
    };
    if (options.url == NULL)
        options.url = arena_printf(&server->arena, "sqlite:%s/drover.db", dir);
    return store_open(&options, &server->store, err);
}

/* On a shared store the name of a node is in a file; else it is in the store. */
static enum rc find_node(struct server *server, const char **ret_node, struct err *err)
{
    if (!store_is_shared(server->store))
        return RC_OK;
    const char *path = arena_printf(&server->arena, "%s/node", server->options->data_dir);
    CLEANUP(buf_release) struct buf name;
    buf_init(&name, NODE_BYTES_MAX);
    enum rc rc = file_read(path, &name, err);
    if (rc == RC_NOT_FOUND) {
        unsigned char random[NODE_RANDOM_BYTES];
        char hex[2 * NODE_RANDOM_BYTES + 1];
        secret_bytes(random, sizeof random);
        hex_encode(hex, random, sizeof random);
        err_clear(err);
        buf_clear(&name);
        buf_addf(&name, "node-%s\n", hex);
        rc = file_write_durable(path, name.data, name.len, 0600, err);
    }
    if (rc == RC_OK)
        *ret_node = arena_strndup(&server->arena, name.data, strcspn(buf_text(&name), "\n"));
    return rc;
}

/* A unique name for the lock on the data directory: a copy of the directory has another inode, a
   copy of the machine has another boot id. */
static const char *find_place(struct server *server)
{
    CLEANUP(buf_release) struct buf boot;
    buf_init(&boot, BOOT_ID_BYTES_MAX);
    struct stat lock;
    if (file_read("/proc/sys/kernel/random/boot_id", &boot, NULL) != RC_OK ||
        fstat(server->lock_fd, &lock) != 0)
        return NULL;
    return arena_printf(&server->arena, "%.*s:%jx:%jx", (int)strcspn(buf_text(&boot), "\n"),
                        buf_text(&boot), (uintmax_t)lock.st_dev, (uintmax_t)lock.st_ino);
}

static void on_lost(void *ctx, const struct err *why);

static enum rc start_control(struct server *server, struct err *err)
{
    const char *node = NULL;
    enum rc rc = find_node(server, &node, err);
    if (rc != RC_OK)
        return rc;
    struct control_options options = {
        .store = server->store,
        .clock = clock_real(),
        .random = random_from_os(),
        .node = node,
        .place = find_place(server),
        .lost = on_lost,
        .lost_ctx = server,
        .limits = server->options->limits,
        .defaults = server->options->defaults,
        .channels = server->options->channels,
        .accounts = server->options->accounts,
        .sinks = server->options->sinks,
        .conductor = server->options->conductor,
        .sink_guard = {own_files_guard, &server->own_files},
        .bus = server->options->bus,
        .retention = server->options->retention,
        .lease_us = server->options->lease_ms * US_PER_MS,
        .queue_max = COMMAND_QUEUE_MAX,
    };
    return control_start(&options, &server->control, err);
}

static enum rc start_log_events(struct server *server, struct err *err)
{
    const struct log_events_options options = {
        .bus = control_bus(server->control),
        .committer = control_committer(server->control),
        .node = control_node(server->control),
        .file = server->options->log_file,
        .store = server->options->log_store,
    };
    return log_events_start(&options, &server->log_events, err);
}

static enum rc read_tokens(struct server *server, struct err *err)
{
    struct db *db = NULL;
    enum rc rc = store_reader_open(server->store, &db, err);
    if (rc != RC_OK)
        return rc;
    rc = auth_refresh(server->api.auth, db, err);
    store_reader_close(server->store, db);
    return rc;
}

static enum rc start_api(struct server *server, struct err *err)
{
    struct api *api = &server->api;
    size_t routes = 0;
    const struct route *table = routes_all(&routes);
    api->loop = server->loop;
    api->control = server->control;
    api->store = server->store;
    api->lease_ms = server->options->lease_ms;
    api->heartbeat_ms = server->options->heartbeat_ms;
    api->body_bytes_max = server->options->body_bytes_max;
    api->command_queue_max = COMMAND_QUEUE_MAX;
    api->data_dir = server->options->data_dir;
    api->defaults = server->options->defaults;
    api->channels = server->options->channels;
    api->slack = server->options->slack;
    api->accounts = server->options->accounts;
    api->sinks = server->options->sinks;
    api->audit_anchor = server->options->audit_anchor;
    api->keeps_log = server->options->log_store.on;
    api->sink_guard = (struct sink_guard){own_files_guard, &server->own_files};
    api->retention = server->options->retention;
    api->metrics = metrics_new(routes);
    api->sse = sse_new(api, &(struct sse_limits){.streams = server->options->caps.streams_max,
                                                 .bytes = server->options->stream_bytes_max});
    api->waits = event_waits_new(api);
    api->throttle = throttle_new(server->options->rates, server->options->rate_count);
    api->event_bytes = server->options->event_bytes;
    api->webhooks = server->options->webhooks;
    enum rc rc = auth_open(api->data_dir, server->control, &api->auth, err);
    if (rc == RC_OK)
        rc = read_tokens(server, err);
    if (rc != RC_OK)
        return rc;
    api->audit = audit_calls_new(api, table, routes);
    auth_watch(api->auth, dispatch_tokens_lost, api);
    api->site = server->options->site;
    rc = mcp_new(api, &(struct mcp_options){.fixtures = server->options->mcp_fixtures}, &api->mcp,
                 err);
    if (rc != RC_OK)
        return rc;
    struct pool_options pool = {
        .store = server->store, .threads = POOL_THREADS, .queue_max = POOL_QUEUE_MAX};
    return pool_new(&pool, &api->pool, err);
}

static void write_url(struct server *server, const struct listen_address *address)
{
    bool any = text_same(address->host, "0.0.0.0") || text_same(address->host, "::");
    const char *host = any ? "127.0.0.1" : address->host;
    bool v6 = strchr(host, ':') != NULL;
    (void)snprintf(server->url, sizeof server->url, v6 ? "http://[%s]:%d" : "http://%s:%d", host,
                   http_port(server->api.http));
}

/* Absolute, since it is bound into sandboxes; NULL when it is too long for a socket. */
static const char *choose_socket_path(struct server *server)
{
    char real[PATH_MAX];
    if (realpath(server->options->data_dir, real) == NULL)
        return NULL;
    const char *path = arena_printf(&server->arena, "%s/drover.sock", real);
    if (strlen(path) < sizeof((struct sockaddr_un *)0)->sun_path)
        return path;
    LOG(LOG_WARN,
        "the data directory's path is too long for a socket: agents without a network "
        "cannot reach the server",
        LOG_STR("path", path));
    return NULL;
}

static enum rc start_http(struct server *server, struct err *err)
{
    struct api *api = &server->api;
    struct listen_address address;
    enum rc rc = listen_parse(server->options->listen, &address, err);
    if (rc != RC_OK)
        return rc;
    const char *spool_dir = arena_printf(&server->arena, "%s/spool", server->options->data_dir);
    rc = spool_new(spool_dir, server->options->spool_bytes_max, &api->spool, err);
    if (rc != RC_OK)
        return rc;
    server->socket_path = choose_socket_path(server);
    int64_t body_max = server->options->body_bytes_max;
    struct http_options options = {
        .loop = server->loop,
        .clock = clock_real(),
        .host = arena_strdup(&server->arena, address.host),
        .port = address.port,
        .socket_path = server->socket_path,
        .head = {.bytes_max = HEAD_BYTES_MAX,
                 .target_max = TARGET_BYTES_MAX,
                 .fields_max = HEADER_FIELDS_MAX},
        .body_bytes_max = body_max > ARTIFACT_BYTES_MAX ? body_max : ARTIFACT_BYTES_MAX,
        .connections_max = server->options->connections_max,
        .reserve = RESERVED_CONNECTIONS,
        .socket_connections_max = server->options->socket_connections_max,
        .caps = server->options->caps,
        .request_ms = server->options->request_ms,
        .stall_ms = UPLOAD_STALL_MS,
        .idle_ms = IDLE_MS,
        .unread_ms = server->options->unread_ms,
        .request_bytes = sizeof(struct call),
        .spool = api->spool,
        .claim = dispatch_claim,
        .privileged = dispatch_privileged,
        .gate = dispatch_gate,
        .handle = dispatch_handle,
        .finished = dispatch_finished,
        .ctx = api,
    };
    fit_connections(&options);
    rc = http_new(&options, &api->http, err);
    if (rc == RC_OK)
        write_url(server, &address);
    return rc;
}

static enum rc start_worker(struct server *server, struct err *err)
{
    const struct server_workers *workers = &server->options->workers;
    if (workers->max == 0)
        return RC_OK;
    port_local_init(&server->port, server->control, &server->api);
    struct slots slots = {.of = {[CLASS_AGENT] = (int)workers->max,
                                 [CLASS_CHECK] = (int)workers->check,
                                 [CLASS_SHORT] = (int)workers->short_steps}};
    struct step_queues queues = step_queues();
    slots_fill(&slots, 0, queues.names);
    slots.of[CLASS_AGENT] = (int)workers->min;
    struct worker_options options = {
        .port = &server->port.port,
        .clock = control_clock(server->control),
        .name = control_node(server->control),
        .slots = slots,
        .agents_max = (int)workers->max,
        .work_dir = arena_printf(&server->arena, "%s/work", server->options->data_dir),
        .server_url = server->url,
        .server_socket = server->socket_path,
        .lease_ms = server->options->lease_ms,
        .heartbeat_ms = server->options->heartbeat_ms,
        .keep_days = server->options->keep_days,
        .disk_reserve_bytes = server->options->disk_reserve_bytes,
        .ports = server->options->ports,
        .hidden = server->own_files.hidden,
        .sandbox_none = server->options->sandbox_none,
    };
    enum rc rc = worker_start(&options, &server->api.worker, err);
    if (rc != RC_OK || workers->min == workers->max)
        return rc;
    struct autoscale_options scaling = {
        .api = &server->api,
        .rule = {.min = workers->min,
                 .max = workers->max,
                 .jobs_per_worker = 1,
                 .up_us = workers->up_ms * US_PER_MS,
                 .down_us = workers->down_ms * US_PER_MS,
                 .up_step = SLOTS_UP_STEP,
                 .down_step = 1},
    };
    server->autoscale = autoscale_start(&scaling);
    return RC_OK;
}

/* So that the CLI on this machine finds the server. */
static enum rc write_info(struct server *server, struct err *err)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 1024);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "url", server->url);
    jw_kint(&jw, "pid", getpid());
    jw_kstr(&jw, "version", DROVER_VERSION);
    jw_end(&jw, '}');
    buf_addc(&text, '\n');
    const char *path = arena_printf(&server->arena, "%s/server.json", server->options->data_dir);
    enum rc rc = file_write_durable(path, text.data, text.len, 0600, err);
    if (rc == RC_OK)
        server->info_path = path;
    return rc;
}

/* ---- What workers are told ---- */

#define STOP_EVENTS EV_RUN_CANCEL_REQUESTED, EV_RUN_CANCELLED, EV_RUN_FAILED, EV_RUN_TIMED_OUT

/* On the bus's thread. */
static void wake_orders(void *arg)
{
    struct server *server = arg;
    if (!atomic_exchange(&server->orders_posted, true))
        loop_post(server->loop, &server->orders_call);
}

static void pass_on(struct worker *worker, const struct envelope *envelope)
{
    static const char *const stops[] = {STOP_EVENTS};
    for (size_t i = 0; i < COUNT_OF(stops); i++) {
        if (text_same(stops[i], envelope->traits.type)) {
            worker_cancel_run(worker, &envelope->run_id);
            return;
        }
    }
    worker_steer_run(worker, &envelope->run_id);
}

static void pass_orders_on(struct loop_call *call)
{
    struct server *server = (struct server *)((char *)call - offsetof(struct server, orders_call));
    struct api *api = &server->api;
    atomic_store(&server->orders_posted, false);
    struct envelope *envelope;
    while (server->orders != NULL && (envelope = subscription_take(server->orders)) != NULL) {
        pthread_mutex_lock(&api->worker_lock);
        if (api->worker != NULL && text_same(envelope->traits.type, EV_AGENT_KILLED))
            worker_steer_run(api->worker, NULL); /* The job of its process is gone. */
        else if (api->worker != NULL && !id_is_none(&envelope->run_id))
            pass_on(api->worker, envelope);
        pthread_mutex_unlock(&api->worker_lock);
        envelope_unref(envelope);
    }
}

/* A hint for speed: an event that is lost here is repeated by the next heartbeat. */
static void listen_for_orders(struct server *server)
{
    server->orders_call.run = pass_orders_on;
    struct subscription_options options = {
        .who = BUS_ORDERS,
        .filter = {.selector = {.types = {STOP_EVENTS, EV_RUN_PAUSED, EV_RUN_RESUMED,
                                          EV_MESSAGE_SENT, "agent.question.*", EV_AGENT_KILLED}}},
        .wake = wake_orders,
        .ctx = server,
    };
    server->orders = bus_subscribe(control_bus(server->control), &options);
}

/* ---- Tokens ---- */

/* On a pool thread. */
static void refresh_tokens(struct pool_work *work, struct db *db)
{
    struct server *server = (struct server *)((char *)work - offsetof(struct server, token_work));
    struct err err = {0};
    enum rc rc = auth_refresh(server->api.auth, db, &err);
    if (rc != RC_OK && !atomic_exchange(&server->tokens_unread, true))
        LOG(LOG_WARN, "cannot read the tokens: those that are known stay valid",
            LOG_STR("error", err.text));
    if (rc == RC_OK)
        atomic_store(&server->tokens_unread, false);
    atomic_store(&server->tokens_asked, false);
}

static void on_token_tick(void *arg)
{
    struct server *server = arg;
    if (atomic_exchange(&server->tokens_asked, true))
        return; /* The last refresh is still in progress. */
    server->token_work = (struct pool_work){.run = refresh_tokens};
    if (pool_post(server->api.pool, &server->token_work) != RC_OK)
        atomic_store(&server->tokens_asked, false);
}

/* ---- Stopping ---- */

static void *stop_workers(void *arg)
{
    struct server *server = arg;
    pthread_mutex_lock(&server->api.worker_lock);
    struct worker *worker = server->api.worker;
    server->api.worker = NULL;
    pthread_mutex_unlock(&server->api.worker_lock);
    worker_stop(worker);
    atomic_store(&server->workers_stopped, true);
    return NULL;
}

/* Streams and waits get what was committed before the signal, then they end. */
static void close_streams(struct server *server)
{
    bool published = control_tail_served(server->control, server->tail_asked) ||
                     clock_mono_us() > server->publish_until_us;
    if (!published || server->streams_closed)
        return;
    server->streams_closed = true;
    sse_close(server->api.sse);
    mcp_close(server->api.mcp);
    event_waits_close(server->api.waits);
}

static void on_drain_tick(void *arg)
{
    struct server *server = arg;
    close_streams(server);
    bool quiet = server->streams_closed && http_busy(server->api.http) == 0 &&
                 atomic_load(&server->workers_stopped);
    bool over = clock_mono_us() > server->drain_until_us;
    if (over) {
        server->publish_until_us = 0;
        close_streams(server);
    }
    if (quiet || over)
        loop_stop(server->loop);
}

static void on_stop_signal(void *arg)
{
    struct server *server = arg;
    if (server->drain != NULL) { /* The second signal cuts the wait short. */
        server->publish_until_us = 0;
        close_streams(server);
        loop_stop(server->loop);
        return;
    }
    LOG(LOG_INFO, "stopping", LOG_INT("openRequests", http_busy(server->api.http)));
    (void)alarm(STOP_SECONDS_MAX);
    server->api.stopping = 1;
    http_drain(server->api.http);
    server->tail_asked = control_tail_ask(server->control);
    server->publish_until_us = clock_mono_us() + bus_rules_drain_us(&server->options->bus);
    committer_drain(control_committer(server->control), "");
    server->stopper_started = pthread_create(&server->stopper, NULL, stop_workers, server) == 0;
    server->drain_until_us = clock_mono_us() + DRAIN_MS * US_PER_MS;
    server->drain = loop_every(server->loop, DRAIN_TICK_MS, on_drain_tick, server);
}

static void stop_lost(struct loop_call *call)
{
    struct server *server = (struct server *)((char *)call - offsetof(struct server, lost_call));
    if (server->serving && server->drain == NULL)
        on_stop_signal(server);
}

/* On a thread of control. */
static void on_lost(void *ctx, const struct err *why)
{
    struct server *server = ctx;
    server->lost = *why;
    server->lost_call.run = stop_lost;
    loop_post(server->loop, &server->lost_call);
}

/* Stops all parts that were started, also after a start that failed half way. */
static void server_stop(struct server *server)
{
    struct api *api = &server->api;
    if (server->stopper_started)
        pthread_join(server->stopper, NULL);
    else
        (void)stop_workers(server);
    if (server->info_path != NULL)
        (void)unlink(server->info_path);
    if (server->orders != NULL) {
        bus_unsubscribe(control_bus(server->control), server->orders);
        server->orders = NULL;
    }
    pool_free(api->pool);
    if (api->audit != NULL)
        audit_calls_flush(api->audit, true);
    log_events_stop(server->log_events, bus_rules_drain_us(&server->options->bus));
    if (server->control != NULL) {
        committer_stop(control_committer(server->control));
        loop_drain(server->loop); /* Commands that answers post now are refused. */
        control_stop(server->control);
    }
    if (server->loop != NULL)
        loop_drain(server->loop);
    autoscale_free(server->autoscale);
    audit_anchor_free(server->anchor);
    reconciler_free(server->reconciler);
    http_free(api->http);
    spool_free(api->spool);
    throttle_free(api->throttle);
    sse_free(api->sse);
    mcp_free(api->mcp);
    event_waits_free(api->waits);
    metrics_free(api->metrics);
    audit_calls_free(api->audit);
    auth_free(api->auth);
    store_close(server->store);
    fd_close(server->lock_fd);
    for (size_t i = 0; i < COUNT_OF(server->signals); i++)
        loop_event_free(server->signals[i]);
    loop_event_free(server->drain);
    loop_event_free(server->token_tick);
    loop_free(server->loop);
    pthread_mutex_destroy(&api->worker_lock);
    arena_release(&server->arena);
    (void)alarm(0);
}

static enum rc server_start(struct server *server, struct err *err)
{
    enum rc rc = server_options_check(server->options, err);
    if (rc == RC_OK)
        rc = lock_data(server, err);
    if (rc == RC_OK)
        rc = own_files_check(&server->own_files, err);
    if (rc == RC_OK)
        rc = api_backup_clear(server->options->data_dir, err);
    if (rc == RC_OK)
        rc = loop_new(&server->loop, err);
    if (rc == RC_OK)
        rc = open_store(server, err);
    if (rc == RC_OK)
        rc = start_control(server, err);
    if (rc == RC_OK)
        rc = start_log_events(server, err);
    if (rc == RC_OK)
        rc = defaults_check(server->store, server->options->defaults, err);
    if (rc == RC_OK)
        rc = start_api(server, err);
    if (rc == RC_OK)
        rc = start_http(server, err);
    if (rc != RC_OK)
        return rc;
    server->signals[0] = loop_on_signal(server->loop, SIGTERM, on_stop_signal, server);
    server->signals[1] = loop_on_signal(server->loop, SIGINT, on_stop_signal, server);
    if (store_is_shared(server->store)) /* Else tokens change only here. */
        server->token_tick = loop_every(server->loop, TOKEN_TICK_MS, on_token_tick, server);
    rc = start_worker(server, err);
    if (rc == RC_OK)
        rc = write_info(server, err);
    if (rc != RC_OK)
        return rc;
    rc = audit_anchor_start(&server->api, &server->arena, &server->anchor, err);
    if (rc != RC_OK)
        return rc;
    listen_for_orders(server);
    server->reconciler = reconciler_start(&server->api);
    return RC_OK;
}

enum rc server_run(const struct server_options *options, struct err *err)
{
    struct server server = {.options = options, .lock_fd = -1};
    server.own_files = own_files_of(options, &server.arena);
    pthread_mutex_init(&server.api.worker_lock, NULL);
    log_start(options->log_level, options->log_format);
    (void)signal(SIGPIPE, SIG_IGN);
    enum rc rc = server_start(&server, err);
    if (rc == RC_OK) {
        LOG(LOG_INFO, "listening", LOG_STR("url", server.url), LOG_STR("data", options->data_dir),
            LOG_INT("workers", options->workers.min),
            LOG_STR("store", store_durability(server.store)), LOG_STR("version", DROVER_VERSION));
        server.serving = true;
        loop_run(server.loop);
        server.serving = false;
    }
    server_stop(&server);
    if (rc == RC_OK && server.lost.code[0] != '\0') {
        *err = server.lost;
        rc = RC_CONFLICT;
    }
    if (rc == RC_OK)
        LOG(LOG_INFO, "stopped");
    return rc;
}
