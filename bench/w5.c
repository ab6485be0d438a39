/*
 * w5.c - the pipeline: whole runs with an agent that does next to nothing, with git and sandbox.
 *
 * A run of one change starts about thirty processes (git, bubblewrap, the agent, the check), which
 * start as many again, and they take nearly all of its time.  What counts here is what drover
 * itself adds: the processor time of the server, which is also the worker, without its children.
 */
#include "base/arena.h"
#include "base/jw.h"
#include "bench/client.h"
#include "bench/origin.h"
#include "bench/report.h"
#include "bench/server.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WORKERS = 2,
    RUNS = 60,
    RUNS_QUICK = 4,
    WARM_UP = 2,
    BODY_BYTES_MAX = 8192,
    RUN_SECONDS_MAX = 30,
    LOOK_MS = 200, /* Looking costs the server time too. */
};

static const char agent[] = "echo 42 >answer.txt; printf '{\"status\":\"success\"}' "
                            ">\"$DROVER_RESULT\"";

/* ---- talking to the server ---- */

static void repository_add(const struct server *server, const char *origin)
{
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, BODY_BYTES_MAX);
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "url", origin);
    jw_kraw(&jw, "verify", STR("[{\"name\":\"unit\",\"command\":\"grep -q 42 answer.txt\"}]"));
    jw_key(&jw, "agent");
    jw_begin(&jw, '{');
    jw_key(&jw, "command");
    jw_begin(&jw, '[');
    jw_str(&jw, "/bin/sh");
    jw_str(&jw, "-c");
    jw_str(&jw, agent);
    jw_end(&jw, ']');
    jw_end(&jw, '}');
    jw_end(&jw, '}');
    server_call(server, "PUT", "/v1/repositories/bench", buf_str(&body));
}

static void runs_wait(const struct server *server, int64_t count)
{
    double end = bench_seconds() + (double)count * RUN_SECONDS_MAX;
    while (server_metric(server, "agent_runs{status=\"completed\"}") < count) {
        if (bench_seconds() > end)
            bench_die("runs do not complete: see %s/log", server->dir);
        bench_pause_ms(LOOK_MS);
    }
}

static void runs_submit(const struct server *server, int64_t count)
{
    static const char body[] =
        "{\"repository\":\"bench\",\"description\":\"Make the answer right.\"}";
    for (int64_t i = 0; i < count; i++)
        server_call(server, "POST", "/v1/tasks", STR(body));
}

/* ---- the measurement ---- */

struct times {       /* Processor time so far, in microseconds. */
    double user;     /* The server's own, outside the kernel. */
    double children; /* Of those that have ended and were waited for, and of theirs. */
};

static struct times times_of(const struct server *server)
{
    char path[64], text[1024];
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)server->proc.pid);
    FILE *file = fopen(path, "re");
    unsigned long own_user = 0, user = 0, system = 0;
    bool read = file != NULL && fgets(text, sizeof text, file) != NULL;
    if (file != NULL)
        (void)fclose(file);
    const char *rest = read ? strrchr(text, ')') : NULL;
    if (rest == NULL ||
        sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %*u %lu %lu", &own_user,
               &user, &system) != 3)
        bench_die("cannot read %s", path);
    double tick_us = 1e6 / (double)sysconf(_SC_CLK_TCK);
    return (struct times){(double)own_user * tick_us, (double)(user + system) * tick_us};
}

static struct figure figure_of(const char *what, const char *unit, enum better better, double aim)
{
    struct figure figure = {.group = "W5", .better = better, .aim = aim};
    (void)snprintf(figure.what, sizeof figure.what, "%s", what);
    (void)snprintf(figure.how, sizeof figure.how, "%d slots, git and sandbox", WORKERS);
    (void)snprintf(figure.unit, sizeof figure.unit, "%s", unit);
    return figure;
}

struct figures {
    struct figure rate, own, user, children, share;
};

static void add_value(struct figure *figure, double value)
{
    figure->values[figure->count++] = value;
}

static void measure(const struct bench *bench, const struct server *server, int64_t done,
                    struct figures *figures)
{
    int64_t count = bench->quick ? RUNS_QUICK : RUNS;
    double own_us = server_cpu_us(server);
    struct times before = times_of(server);
    double begin = bench_seconds();
    runs_submit(server, count);
    runs_wait(server, done + count);
    double took = bench_seconds() - begin;
    own_us = (server_cpu_us(server) - own_us) / (double)count;
    struct times after = times_of(server);
    double children_us = (after.children - before.children) / (double)count;
    add_value(&figures->rate, (double)count / took);
    add_value(&figures->own, own_us / 1000);
    add_value(&figures->user, (after.user - before.user) / (double)count / 1000);
    add_value(&figures->children, children_us / 1000);
    add_value(&figures->share, own_us / (own_us + children_us) * 100);
}

void w5_run(const struct bench *bench)
{
    char dir[BENCH_PATH_BYTES], real[PATH_MAX], origin[PATH_MAX + 16];
    bench_dir(bench, "w5", dir);
    if (realpath(dir, real) == NULL)
        bench_die("%s: %s", dir, strerror(errno));
    (void)snprintf(origin, sizeof origin, "%s/origin.git", real);
    origin_make(origin);
    report_group(bench->report, "W5: whole runs with an agent that does next to nothing");
    struct figures figures = {
        .rate = figure_of("runs", "runs/s", MORE_IS_BETTER, 0),
        .own = figure_of("drover's own time a run", "ms", LESS_IS_BETTER, 5),
        .user = figure_of("of it outside the kernel", "ms", LESS_IS_BETTER, 0),
        .children = figure_of("time of git, sandbox, agent, check", "ms", LESS_IS_BETTER, 0),
        .share = figure_of("share of drover itself", "%", LESS_IS_BETTER, 0),
    };
    struct server server;
    server_start(bench, &(struct server_setup){.dir = dir, .workers = WORKERS}, &server);
    repository_add(&server, origin);
    runs_submit(&server, WARM_UP);
    runs_wait(&server, WARM_UP);
    int64_t count = bench->quick ? RUNS_QUICK : RUNS;
    for (int i = 0; i < bench->repeat; i++)
        measure(bench, &server, WARM_UP + i * count, &figures);
    server_stop(&server);
    report_add(bench->report, &figures.rate);
    report_add(bench->report, &figures.own);
    report_add(bench->report, &figures.user);
    report_add(bench->report, &figures.children);
    report_add(bench->report, &figures.share);
}
