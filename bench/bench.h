/*
 * bench.h - what all benchmarks share: where they work, how often, and where figures go.
 *
 * A benchmark that cannot go on ends the process with a word (bench_die); bench/run, which started
 * it, takes the servers and the directory away.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H
#include "base/rc.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_PRINCIPAL "node/bench" /* That leases of benchmarks belong to. */
enum { BENCH_PATH_BYTES = 512, BENCH_URL_BYTES = 1024, BENCH_REPEAT_MAX = 20 };

struct report;

struct bench {
    const char *server; /* The program to measure. */
    const char *dir;    /* Where databases live: on a disk, or flushes cost nothing. */
    bool quick;         /* A smoke test: everything, but little of it. */
    int repeat;
    struct report *report;
};

_Noreturn void bench_die(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* Ends the process unless RC_OK. */
void bench_must(enum rc rc, const struct err *err, const char *what);

/* dir/name, emptied and made anew. */
void bench_dir(const struct bench *bench, const char *name, char to[BENCH_PATH_BYTES]);
/* Of dir/drover.db. */
void bench_sqlite_url(const char *dir, char to[BENCH_URL_BYTES]);
/* Beside the file of a bench_sqlite_url; false for other engines. */
bool bench_artifact_dir(const char *url, char to[BENCH_URL_BYTES]);

double bench_seconds(void); /* On the monotonic clock. */
void bench_pause_ms(int ms);
/* Sorts the values; share is 0.5 for the median. */
double bench_percentile(double *values, size_t count, double share);

/* What a stretch of work has cost the side that is measured. */
struct effort {
    int64_t commits;
    int64_t retried; /* Batches that were rolled back and tried again. */
    int64_t flushes; /* fsync and fdatasync; -1: cannot be seen from outside. */
    double cpu_us;
};
struct effort effort_since(const struct effort *before, const struct effort *after);
/* Commands per commit.  A commit may be counted a moment after its answers came. */
double effort_batch(const struct effort *spent, int64_t commands);

/* Flushes of this process so far. */
int64_t flushes_count(void);

/* Each part of the suite: prints and records its figures. */
void w1_run(const struct bench *bench);
void w2_run(const struct bench *bench);
void w3_run(const struct bench *bench);
void w4_run(const struct bench *bench);
void w5_run(const struct bench *bench);
void w6_run(const struct bench *bench);
void growth_run(const struct bench *bench);
void history_run(const struct bench *bench);
void postgres_run(const struct bench *bench);
void relays_run(const struct bench *bench);
void streams_run(const struct bench *bench);
void retention_run(const struct bench *bench);
#endif
