/*
 * server.c - see server.h.
 *
 * The server is found through DIR/server.json and DIR/admin.token, as the CLI finds it; its log
 * goes to DIR/log.  bench/run ends servers that were left behind, by the pid in server.json.
 */
#include "bench/server.h"
#include "base/arena.h"
#include "base/fd.h"
#include "base/js.h"
#include "bench/client.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    START_SECONDS_MAX = 10,
    LOOK_US = 100,
    STOP_MS = 15000,
    FILE_BYTES_MAX = 4096,
    METRICS_BYTES_MAX = 4 * 1024 * 1024,
};

static const char *path_in(const struct server *server, const char *name, char to[BENCH_PATH_BYTES])
{
    if (snprintf(to, BENCH_PATH_BYTES, "%s/%s", server->dir, name) >= BENCH_PATH_BYTES)
        bench_die("%s/%s: the path is too long", server->dir, name);
    return to;
}

static void write_config(const struct server *server, const struct server_setup *setup)
{
    char path[BENCH_PATH_BYTES], text[128];
    int len = snprintf(text, sizeof text,
                       "limits: {connections: %" PRId64 ", streams: %" PRId64 "}\n",
                       setup->connections > 0 ? setup->connections : 1024,
                       setup->streams > 0 ? setup->streams : 512);
    struct err err = {0};
    bench_must(
        file_write_durable(path_in(server, "bench.yaml", path), text, (size_t)len, 0600, &err),
        &err, path);
}

/* False while the server has not written it. */
static bool find_port(struct server *server)
{
    char path[BENCH_PATH_BYTES];
    CLEANUP(buf_release) struct buf text;
    CLEANUP(js_freep) struct js *tree = NULL;
    buf_init(&text, FILE_BYTES_MAX);
    struct err err = {0};
    if (file_read(path_in(server, "server.json", path), &text, &err) != RC_OK ||
        js_parse(text.data, text.len, &tree, &err) != RC_OK)
        return false;
    const char *url = js_get_str(tree, "url", ""), *colon = strrchr(url, ':');
    int64_t port = 0;
    if (colon == NULL || !text_to_i64(colon + 1, &port))
        bench_die("%s names no port", path);
    server->port = (int)port;
    return true;
}

static void read_token(struct server *server)
{
    char path[BENCH_PATH_BYTES];
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, TOKEN_BYTES - 1);
    struct err err = {0};
    bench_must(file_read(path_in(server, "admin.token", path), &text, &err), &err, path);
    text_copy(server->token, sizeof server->token, buf_text(&text));
    server->token[strcspn(server->token, "\r\n")] = '\0';
}

static void wait_until_ready(struct server *server, double begin)
{
    char path[BENCH_PATH_BYTES];
    while (!find_port(server)) {
        if (bench_seconds() - begin > START_SECONDS_MAX)
            bench_die("the server does not start: see %s", path_in(server, "log", path));
        (void)usleep(LOOK_US);
    }
    read_token(server);
    for (;;) {
        CLEANUP(buf_release) struct buf body;
        buf_init(&body, FILE_BYTES_MAX);
        if (client_get(server->port, "/readyz", server->token, &body) == 200)
            break;
        if (bench_seconds() - begin > START_SECONDS_MAX)
            bench_die("the server does not become ready: %s", buf_text(&body));
        (void)usleep(LOOK_US);
    }
    server->ready_ms = (bench_seconds() - begin) * 1000;
}

void server_start(const struct bench *bench, const struct server_setup *setup,
                  struct server *ret_server)
{
    struct server server = {0};
    char config[BENCH_PATH_BYTES], log[BENCH_PATH_BYTES], workers[16];
    (void)snprintf(workers, sizeof workers, "%d", setup->workers);
    text_copy(server.dir, sizeof server.dir, setup->dir);
    write_config(&server, setup);
    CLEANUP(fd_closep)
    int log_fd = open(path_in(&server, "log", log), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                      0600);
    const char *const argv[] = {
        bench->server, "serve",       "--config", path_in(&server, "bench.yaml", config),
        "--listen",    "127.0.0.1:0", "--data",   server.dir,
        "--workers",   workers,       NULL};
    struct proc_spec spec = {
        .argv = argv, .stdin_fd = -1, .stdout_fd = log_fd, .stderr_fd = log_fd};
    struct err err = {0};
    double begin = bench_seconds();
    bench_must(proc_spawn(&spec, &server.proc, &err), &err, bench->server);
    wait_until_ready(&server, begin);
    *ret_server = server;
}

void server_stop(struct server *server)
{
    proc_stop(&server->proc, STOP_MS);
}

int64_t server_metric(const struct server *server, const char *name)
{
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, METRICS_BYTES_MAX);
    if (client_get(server->port, "/metrics", server->token, &body) != 200)
        bench_die("/metrics: %s", buf_text(&body));
    size_t len = strlen(name);
    for (const char *line = buf_text(&body); line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, len) == 0 && line[len] == ' ')
            return strtoll(line + len, NULL, 10);
    }
    bench_die("/metrics has no %s", name);
}

double server_cpu_us(const struct server *server)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)server->proc.pid);
    DIR *tasks = opendir(path);
    if (tasks == NULL)
        bench_die("the server is gone: see %s/log", server->dir);
    double sum_ns = 0;
    for (const struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
        char name[sizeof path + 280];
        (void)snprintf(name, sizeof name, "%s/%s/schedstat", path, entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(name, "re");
        double ns;
        if (file != NULL && fscanf(file, "%lf", &ns) == 1)
            sum_ns += ns;
        if (file != NULL)
            (void)fclose(file);
    }
    (void)closedir(tasks);
    return sum_ns / 1000;
}

void server_effort(const struct server *server, struct effort *ret_effort)
{
    *ret_effort = (struct effort){
        .commits = server_metric(server, "drover_committer_batches_total"),
        .flushes = -1,
        .cpu_us = server_cpu_us(server),
    };
}

double server_memory_mb(const struct server *server, const char *name)
{
    char path[64], line[256];
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)server->proc.pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        bench_die("the server is gone: see %s/log", server->dir);
    double kb = -1;
    size_t len = strlen(name);
    while (kb < 0 && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, len) == 0 && line[len] == ':')
            kb = strtod(line + len + 1, NULL);
    (void)fclose(file);
    if (kb < 0)
        bench_die("%s has no %s", path, name);
    return kb / 1024;
}
