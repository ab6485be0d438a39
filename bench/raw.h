/*
 * raw.h - the limit: the rows that drover writes, written straight to SQLite by one thread that
 * does nothing else.  The same tables and indexes, the same settings, batches of the same size;
 * no reads, no decisions, no JSON, no protocol.
 */
#ifndef BENCH_RAW_H
#define BENCH_RAW_H
#include "bench/bench.h"

struct raw;
struct raw *raw_open(const struct bench *bench, const char *name);
void raw_close(struct raw *raw);

/* Each gives operations per second; `each` is how many of them share a commit. */
double raw_enqueue(struct raw *raw, int64_t jobs, int64_t each);
double raw_drain(struct raw *raw, int64_t jobs, int64_t each); /* Of what raw_enqueue left. */
double raw_combined(struct raw *raw, int64_t jobs, int64_t each);

struct raw_runs {
    int64_t runs;
    int64_t at_once;     /* Runs that go through their commands side by side. */
    int64_t each;        /* Commands that share a commit. */
    const char *payload; /* Of a step's job. */
};
double raw_run(struct raw *raw, const struct raw_runs *runs);
#endif
