/*
 * cmd_worker.c - `drover worker`: slots on this machine for a server on another one.
 *
 *     lock DATA --> announce to the server, retried until it answers --> work --> SIGTERM: drain
 *
 * Signals are blocked in all threads and taken here, one by one.  The first SIGTERM or SIGINT
 * stops steps and releases their jobs; the second ends the process at once, and its children
 * with it.
 */
#include "api/run_gate.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/random.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/paths.h"
#include "cli/signals.h"
#include "control/watch/workers.h"
#include "core/step_table.h"
#include "net/dial.h"
#include "net/relay.h"
#include "net/url.h"
#include "server/server_config.h"
#include "work/job/disk.h"
#include "work/job/port_http.h"
#include "work/job/retry.h"
#include "work/job/step.h"
#include "work/presence.h"
#include "work/worker.h"
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    SLOTS_DEFAULT = 4,
    HIDDEN_MAX = 2,
    LOCK_WAIT_MS = 2000,
    STOP_SECONDS_MAX = 9, /* As `drover serve`: then the leases expire. */
};

struct remote {
    struct cli *cli;
    const char *url, *token;
    const char *data_dir;
    const char *hidden[HIDDEN_MAX + 1]; /* From agents; NULL-terminated. */
    struct worker_options options;
    struct port_http *port;
    struct worker *worker;
    struct relay *relay; /* The server's socket for agents without a network; or NULL. */
    int lock_fd;
    sigset_t signals; /* USR1: the drain is done. */
};

/* ---- Options ---- */

/* "agent" or "drover.agent", among the steps that this program can run. */
static const char *find_queue(struct str name)
{
    const struct step_queues known = step_queues();
    for (size_t i = 0; known.names[i] != NULL; i++) {
        const char *step = known.names[i] + strlen(STEP_QUEUE_PREFIX);
        if (str_is(name, known.names[i]) || str_is(name, step))
            return known.names[i];
    }
    return NULL;
}

/* In the order of a run. */
static const char *queue_names(struct arena *arena)
{
    size_t count;
    const struct step_row *rows = step_table(&count);
    const char *text = "";
    for (size_t i = 0; i < count; i++)
        if (rows[i].queue != NULL)
            text = arena_printf(arena, "%s%s%s", text, *text != '\0' ? ", " : "", rows[i].name);
    return text;
}

static enum rc read_queues(struct remote *remote, const char *list, struct err *err)
{
    size_t count = 0;
    for (const char *at = list; at != NULL;
         at = strchr(at, ',') != NULL ? strchr(at, ',') + 1 : NULL) {
        struct str name = {at, strcspn(at, ",")};
        const char *queue = find_queue(name);
        if (queue == NULL || count == STEP_ROWS_MAX)
            return err_set(err, RC_MALFORMED, "INVALID_QUEUE",
                           "there is no queue %.*s for workers: they are %s", (int)name.len,
                           name.at, queue_names(&remote->cli->arena));
        remote->options.queues.names[count++] = queue;
    }
    return RC_OK;
}

/* The token's file, and the data of a server of the same user on this machine. */
static void choose_hidden(struct remote *remote)
{
    size_t count = 0;
    const char *token_file = args_text(&remote->cli->args, "token-file", NULL);
    const char *server_data = NULL;
    if (token_file != NULL)
        remote->hidden[count++] = token_file;
    if (cli_data_dir(NULL, &remote->cli->arena, &server_data, NULL) == RC_OK)
        remote->hidden[count++] = server_data;
    remote->options.hidden = remote->hidden;
}

/* After the queues. */
static enum rc read_slots(struct remote *remote, struct err *err)
{
    const char *text = args_text(&remote->cli->args, "slots", NULL);
    int plain = 0;
    enum rc rc = text != NULL ? slots_parse(text, &plain, &remote->options.slots, err) : RC_OK;
    if (rc == RC_OK)
        slots_fill(&remote->options.slots, plain > 0 ? plain : SLOTS_DEFAULT,
                   remote->options.queues.names);
    return rc == RC_INVALID ? RC_MALFORMED : rc;
}

static enum rc read_ports(struct remote *remote, struct err *err)
{
    const char *text = args_text(&remote->cli->args, "ports", NULL);
    enum rc rc = text != NULL ? port_range_parse(text, &remote->options.ports, err) : RC_OK;
    return rc == RC_INVALID ? RC_MALFORMED : rc;
}

static enum rc read_options(struct remote *remote, struct err *err)
{
    struct cli *cli = remote->cli;
    const struct args *args = &cli->args;
    const char *queues = args_text(args, "queues", NULL);
    const char *data = args_text(args, "data", NULL);
    remote->url = args_text(args, "server", getenv("DROVER_URL"));
    remote->options.name = args_text(args, "name", cli_own_name(&cli->arena));
    remote->options.keep_days = args_int(args, "keep-days", WORKER_KEEP_DAYS_DEFAULT);
    remote->options.disk_reserve_bytes = args_int(args, "disk-reserve", DISK_RESERVE_DEFAULT);
    remote->options.clock = clock_real();
    remote->options.sandbox_none = text_same(args_text(args, "sandbox", ""), "none");
    remote->options.sandbox_required = true;
    choose_hidden(remote);
    if (text_empty(remote->url))
        return err_set(err, RC_MALFORMED, "NO_SERVER",
                       "say which server to work for: --server URL, or $DROVER_URL");
    if (!worker_name_valid(remote->options.name))
        return err_set(err, RC_MALFORMED, "INVALID_NAME",
                       "a worker's name has letters, digits, '.', '_' and '-', at most %d",
                       WORKER_NAME_MAX);
    enum rc rc = RC_OK;
    if (queues != NULL)
        rc = read_queues(remote, queues, err);
    else
        remote->options.queues = step_queues();
    if (rc == RC_OK)
        rc = read_slots(remote, err);
    if (rc == RC_OK)
        rc = read_ports(remote, err);
    if (rc == RC_OK && data != NULL)
        remote->data_dir = data;
    else if (rc == RC_OK && (rc = cli_data_dir(NULL, &cli->arena, &data, err)) == RC_OK)
        remote->data_dir = arena_printf(&cli->arena, "%s/worker", data);
    if (rc == RC_OK)
        rc = cli_token_for(cli, remote->url, &remote->token, err);
    return rc;
}

static void start_log(const struct args *args)
{
    enum log_level level = LOG_INFO;
    const char *format = args_text(args, "log-format", NULL);
    bool known = log_level_parse(args_text(args, "log-level", "info"), &level);
    assert(known); /* The table lists them all. */
    (void)known;
    log_start(level, format == NULL              ? LOG_FORMAT_AUTO
                     : text_same(format, "json") ? LOG_FORMAT_JSON
                                                 : LOG_FORMAT_HUMAN);
}

/* ---- Beginning ---- */

/* Worktrees and mirrors have one owner, be it a worker or a server. */
static enum rc lock_data(struct remote *remote, struct err *err)
{
    enum rc rc = dir_make_durable(remote->data_dir, 0700, err);
    if (rc == RC_OK)
        rc = file_lock(arena_printf(&remote->cli->arena, "%s/server.lock", remote->data_dir),
                       LOCK_WAIT_MS, &remote->lock_fd, err);
    if (rc == RC_OK)
        return rc;
    if (rc != RC_CONFLICT)
        return err_wrap(err, rc, "the data directory cannot be used, --data DIR takes another");
    return err_set(err, rc, "DATA_IN_USE",
                   "another worker or server already uses %s: stop it first, or give this one a "
                   "data directory of its own (--data)",
                   remote->data_dir);
}

/* RC_CANCELLED: stopped before the server answered. */
static enum rc announce(struct remote *remote, struct port_terms *terms, struct err *err)
{
    const struct port_worker self = worker_presence(&remote->options);
    struct random random = random_from_os();
    for (int64_t failures = 1;; failures++) {
        enum rc rc = port_http_hello(remote->port, &self, terms, err);
        if (rc == RC_OK || !retry_may_help(rc))
            return rc;
        if (failures == 1)
            LOG(LOG_WARN, "cannot reach the server; trying again",
                LOG_STR("server", port_http_url(remote->port)), LOG_STR("error", err->text));
        if (cli_signals_wait(&remote->signals, retry_pause_ms(failures, &random)))
            return RC_CANCELLED;
    }
}

/* Plain HTTP only: of an agent's bytes no more than the head is read. */
static void start_relay(struct remote *remote)
{
    struct url url;
    char real[PATH_MAX];
    struct err err = {0};
    enum rc rc = url_parse(remote->url, &url, &err);
    if (rc == RC_OK && (url.tls || url.prefix[0] != '\0'))
        rc = err_set(&err, RC_INVALID, "NOT_PLAIN", "only http://HOST:PORT can be passed on");
    if (rc == RC_OK && realpath(remote->data_dir, real) == NULL)
        rc = err_set(&err, RC_IO, "IO_ERROR", "%.300s: %s", remote->data_dir, strerror(errno));
    if (rc == RC_OK) {
        const struct relay_options options = {
            .socket_path = arena_printf(&remote->cli->arena, "%s/drover.sock", real),
            .host = url.host,
            .port = url.port,
            .dial = dial_host,
            .admit = run_gate_admit,
        };
        rc = relay_start(&options, &remote->relay, &err);
        remote->options.server_socket = rc == RC_OK ? options.socket_path : NULL;
    }
    if (rc != RC_OK)
        LOG(LOG_WARN, "agents without a network cannot reach the server",
            LOG_STR("error", err.text));
}

static enum rc start(struct remote *remote, struct err *err)
{
    const struct port_http_options options = {.url = remote->url, .token = remote->token};
    struct port_terms terms = {0};
    enum rc rc = lock_data(remote, err);
    if (rc == RC_OK)
        rc = port_http_new(&options, &remote->port, err);
    if (rc == RC_OK)
        rc = announce(remote, &terms, err);
    if (rc != RC_OK)
        return rc;
    remote->options.port = port_http_port(remote->port);
    remote->options.work_dir = arena_printf(&remote->cli->arena, "%s/work", remote->data_dir);
    remote->options.server_url = port_http_url(remote->port);
    remote->options.lease_ms = terms.lease_ms;
    remote->options.heartbeat_ms = terms.heartbeat_ms;
    start_relay(remote);
    return worker_start(&remote->options, &remote->worker, err);
}

/* ---- Ending ---- */

static void *drain(void *ctx)
{
    struct remote *remote = ctx;
    worker_stop(remote->worker);
    (void)kill(getpid(), SIGUSR1);
    return NULL;
}

static void work_until_stopped(struct remote *remote)
{
    pthread_t drainer;
    const struct slots *slots = &remote->options.slots;
    LOG(LOG_INFO, "working", LOG_STR("worker", remote->options.name),
        LOG_STR("server", port_http_url(remote->port)), LOG_INT("agents", slots->of[CLASS_AGENT]),
        LOG_INT("checks", slots->of[CLASS_CHECK]), LOG_INT("shortSteps", slots->of[CLASS_SHORT]),
        LOG_STR("data", remote->data_dir), LOG_STR("version", DROVER_VERSION));
    while (cli_signals_wait(&remote->signals, 60000) == 0) {
    }
    LOG(LOG_INFO, "stopping", LOG_INT("busy", worker_load(remote->worker).busy));
    if (pthread_create(&drainer, NULL, drain, remote) != 0) {
        worker_stop(remote->worker);
        return;
    }
    if (cli_signals_wait(&remote->signals, STOP_SECONDS_MAX * 1000) != SIGUSR1) {
        /* Sandboxes end with this process, leases expire. */
        LOG(LOG_WARN, "stopped before all was given back");
        _exit(CLI_DONE);
    }
    (void)pthread_join(drainer, NULL);
}

static int run_worker(struct cli *cli)
{
    struct err err = {0};
    struct remote remote = {.cli = cli, .lock_fd = -1};
    enum rc rc = read_options(&remote, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    start_log(&cli->args);
    remote.signals = cli_signals_block();
    rc = start(&remote, &err);
    if (rc == RC_OK) {
        work_until_stopped(&remote);
        LOG(LOG_INFO, "stopped");
    }
    relay_stop(remote.relay);
    port_http_free(remote.port);
    fd_close(remote.lock_fd);
    return rc == RC_OK || rc == RC_CANCELLED ? CLI_DONE : cli_fail(cli, rc, &err);
}

static const char *const level_names[] = {"debug", "info", "warn", "error", "fatal", NULL};
static const char *const format_names[] = {"json", "human", NULL};
static const char *const sandbox_names[] = {"bubblewrap", "none", NULL};

static const struct arg_option worker_options[] = {
    {"server", "URL", "the server to work for (default: $DROVER_URL)", ARG_TEXT, 0, 0, NULL},
    {"name", "NAME", "how the server calls it (default: HOST-PID)", ARG_TEXT, 0, 0, NULL},
    {"slots", "N|CLASS=N,...",
     "agents at the same time (default 4), or slots by class: agent=8,check=4,short=2", ARG_TEXT, 0,
     0, NULL},
    {"queues", "A,B",
     "only these steps: prepare, hydrate, plan, agent, collect, custom, verify, judge, publish, "
     "unpublish, clean, notify, issue, comment, train, sync, observe, attend, rebase, "
     "launch",
     ARG_TEXT, 0, 0, NULL},
    {"token-file", "FILE", "read the token there (default: $DROVER_TOKEN); role worker", ARG_TEXT,
     0, 0, NULL},
    {"data", "DIR",
     "keep mirrors, worktrees and unpublished work here (default: ~/.local/state/drover/worker)",
     ARG_TEXT, 0, 0, NULL},
    {"keep-days", "N", "remove snapshots that the origin has after so long (default 30; 0: never)",
     ARG_INT, 0, WORKER_KEEP_DAYS_MAX, NULL},
    {"disk-reserve", "BYTES",
     "with less free space lease no steps that need some (default 2147483648; 0: off)", ARG_INT, 0,
     DISK_RESERVE_MAX, NULL},
    {"ports", "FROM-TO", "ports that runs may lease here (default 20000-29999)", ARG_TEXT, 0, 0,
     NULL},
    {"sandbox", "KIND",
     "bubblewrap (default), or none: agents and checks run unconfined, as this user", ARG_CHOICE, 0,
     0, sandbox_names},
    {"log-level", "LEVEL", "debug, info, warn, error or fatal", ARG_CHOICE, 0, 0, level_names},
    {"log-format", "FORMAT", "json or human (default: human on a terminal)", ARG_CHOICE, 0, 0,
     format_names},
    {0},
};

const struct cli_command cli_worker_commands[] = {
    {"worker", "run steps on this machine for a server elsewhere",
     "--server URL [--name NAME] [--slots N|CLASS=N,...]\n"
     "                     [--queues A,B] [--token-file FILE] [--data DIR] [--keep-days N]\n"
     "                     [--disk-reserve BYTES] [--ports FROM-TO] [--sandbox KIND] "
     "[--log-level LEVEL]\n"
     "                     [--log-format FORMAT]",
     worker_options, "drover worker --server https://drover.example.org --token-file worker.token",
     NULL, 0, 0, 0, run_worker},
    {0},
};
