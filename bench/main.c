/*
 * main.c - the benchmarks, one after the other.
 *
 *   bench --server PROGRAM --dir DIR --json FILE [--quick] [--repeat N] [PART...]
 *
 * PART is w1 to w6, growth, history, postgres, relays, retention or streams; none: all.  DIR must
 * be there and be on a disk; what is made in it is left to the caller (bench/run).
 */
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "bench/bench.h"
#include "bench/report.h"
#include "store/store.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

enum { REPEAT = 3, FLUSHES = 200, FLUSH_BYTES = 4096 };

/* ---- what all share ---- */

void bench_die(const char *fmt, ...)
{
    (void)fflush(stdout);
    (void)fputs("bench: ", stderr);
    va_list args;
    va_start(args, fmt);
    (void)vfprintf(stderr, fmt, args);
    va_end(args);
    (void)fputc('\n', stderr);
    _exit(1); /* Threads may be at work: nothing is taken apart. */
}

void bench_must(enum rc rc, const struct err *err, const char *what)
{
    if (rc != RC_OK)
        bench_die("%s: %s", what, err->text);
}

void bench_dir(const struct bench *bench, const char *name, char to[BENCH_PATH_BYTES])
{
    if (snprintf(to, BENCH_PATH_BYTES, "%s/%s", bench->dir, name) >= BENCH_PATH_BYTES)
        bench_die("%s/%s: the path is too long", bench->dir, name);
    struct err err = {0};
    bench_must(dir_remove(to, &err), &err, to);
    bench_must(dir_make(to, 0700, &err), &err, to);
}

bool bench_artifact_dir(const char *url, char to[BENCH_URL_BYTES])
{
    static const char sqlite[] = "sqlite:";
    const char *slash = strrchr(url, '/');
    if (strncmp(url, sqlite, sizeof sqlite - 1) != 0 || slash == NULL)
        return false;
    const char *dir = url + sizeof sqlite - 1;
    (void)snprintf(to, BENCH_URL_BYTES, "%.*s/artifacts", (int)(slash - dir), dir);
    return true;
}

void bench_sqlite_url(const char *dir, char to[BENCH_URL_BYTES])
{
    (void)snprintf(to, BENCH_URL_BYTES, "sqlite:%s/drover.db", dir);
}

double bench_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void bench_pause_ms(int ms)
{
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    (void)nanosleep(&pause, NULL);
}

static int by_value(const void *left, const void *right)
{
    double a, b;
    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    return (a > b) - (a < b);
}

double bench_percentile(double *values, size_t count, double share)
{
    qsort(values, count, sizeof *values, by_value);
    size_t at = (size_t)(share * (double)count);
    return values[at < count ? at : count - 1];
}

struct effort effort_since(const struct effort *before, const struct effort *after)
{
    return (struct effort){
        .commits = after->commits - before->commits,
        .retried = after->retried - before->retried,
        .flushes = after->flushes < 0 ? -1 : after->flushes - before->flushes,
        .cpu_us = after->cpu_us - before->cpu_us,
    };
}

double effort_batch(const struct effort *spent, int64_t commands)
{
    return (double)commands / (double)(spent->commits > 0 ? spent->commits : 1);
}

/* ---- where we are ---- */

/* The line of /proc/self/mountinfo whose device holds the directory. */
static void find_filesystem(const char *dir, char to[64])
{
    struct stat info;
    if (stat(dir, &info) != 0)
        bench_die("%s: %s", dir, strerror(errno));
    char device[32], line[4096];
    (void)snprintf(device, sizeof device, "%u:%u", major(info.st_dev), minor(info.st_dev));
    FILE *file = fopen("/proc/self/mountinfo", "re");
    text_copy(to, 64, "an unknown file system");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char here[32], type[24], source[32];
        const char *behind = strstr(line, " - ");
        if (sscanf(line, "%*d %*d %31s", here) != 1 || strcmp(here, device) != 0 ||
            behind == NULL || sscanf(behind, " - %23s %31s", type, source) != 2)
            continue;
        (void)snprintf(to, 64, "%s (%s)", type, source);
    }
    if (file != NULL)
        (void)fclose(file);
    if (strncmp(to, "tmpfs", 5) == 0)
        bench_die("%s is in memory: flushes cost nothing there; set BENCH_DIR to a disk", dir);
}

static void find_cpu(char to[96])
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "re");
    text_copy(to, 96, "an unknown processor");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL)
            continue;
        text_copy(to, 96, colon + 2);
        to[strcspn(to, "\n")] = '\0';
        break;
    }
    if (file != NULL)
        (void)fclose(file);
}

/* The median of appending a page to a file and flushing it. */
static double measure_flush(const char *dir)
{
    static const char page[FLUSH_BYTES] = {1};
    char path[BENCH_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/flush", dir);
    CLEANUP(fd_closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    double took[FLUSHES];
    for (size_t i = 0; i < FLUSHES; i++) {
        double begin = bench_seconds();
        if (write(fd, page, sizeof page) != FLUSH_BYTES || fdatasync(fd) != 0)
            bench_die("%s: %s", path, strerror(errno));
        took[i] = (bench_seconds() - begin) * 1000;
    }
    (void)unlink(path);
    return bench_percentile(took, FLUSHES, 0.5);
}

/* 10,000 connections need as many descriptors. */
static void raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* ---- the command line ---- */

static const struct part {
    const char *name;
    void (*run)(const struct bench *bench);
} parts[] = {{"w1", w1_run},           {"w2", w2_run},
             {"w3", w3_run},           {"w4", w4_run},
             {"w5", w5_run},           {"w6", w6_run},
             {"growth", growth_run},   {"postgres", postgres_run},
             {"relays", relays_run},   {"history", history_run},
             {"streams", streams_run}, {"retention", retention_run}};

struct wish {
    struct bench bench;
    const char *json;
    bool wanted[COUNT_OF(parts)];
};

static void want_part(struct wish *wish, const char *name)
{
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        if (strcmp(parts[i].name, name) == 0) {
            wish->wanted[i] = true;
            return;
        }
    }
    bench_die("there is no part %s: w1 to w6, growth, history, postgres, relays, retention and "
              "streams are",
              name);
}

static void read_arguments(int argc, char **argv, struct wish *wish)
{
    bool any = false;
    int64_t repeat = 0;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--quick") == 0) {
            wish->bench.quick = true;
        } else if (argv[i][0] != '-') {
            want_part(wish, argv[i]);
            any = true;
        } else if (strcmp(argv[i], "--server") == 0) {
            wish->bench.server = argv[++i];
        } else if (strcmp(argv[i], "--dir") == 0) {
            wish->bench.dir = argv[++i];
        } else if (strcmp(argv[i], "--json") == 0) {
            wish->json = argv[++i];
        } else if (strcmp(argv[i], "--repeat") == 0 && text_to_i64(value, &repeat)) {
            i++;
        } else {
            bench_die("%s is not an option", argv[i]);
        }
    }
    if (wish->bench.server == NULL || wish->bench.dir == NULL || wish->json == NULL)
        bench_die("--server, --dir and --json are needed: start it through bench/run");
    wish->bench.repeat = repeat > 0 && repeat <= BENCH_REPEAT_MAX ? (int)repeat
                         : wish->bench.quick                      ? 1
                                                                  : REPEAT;
    for (size_t i = 0; !any && i < COUNT_OF(parts); i++)
        wish->wanted[i] = true;
}

int main(int argc, char **argv)
{
    struct wish wish = {0};
    read_arguments(argc, argv, &wish);
    (void)signal(SIGPIPE, SIG_IGN);
    log_configure(&(struct log_options){.fd = STDERR_FILENO, .level = LOG_WARN});
    raise_descriptors();
    struct place place = {.cores = sysconf(_SC_NPROCESSORS_ONLN),
                          .durability = "sqlite WAL synchronous=FULL",
                          .repeat = wish.bench.repeat,
                          .quick = wish.bench.quick};
    find_cpu(place.cpu);
    find_filesystem(wish.bench.dir, place.filesystem);
    (void)getloadavg(&place.load, 1);
    place.flush_ms = measure_flush(wish.bench.dir);
    wish.bench.report = report_new(&place);
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if (wish.wanted[i])
            parts[i].run(&wish.bench);
    report_close(wish.bench.report, wish.json);
    report_free(wish.bench.report);
    return 0;
}
