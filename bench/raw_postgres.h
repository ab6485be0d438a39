/*
 * raw_postgres.h - the limit on PostgreSQL: the statements of drover's commands (raw_text.h), sent
 * by bare libpq loops, one connection and thread for each lane.  Prepared, in a pipeline, in two
 * round trips for a batch:
 *
 *   BEGIN, the loads of all commands of the batch  ──►  rows
 *   all their writes, COMMIT                       ──►  done
 *
 * The same tables and indexes, batches of the same size; no decisions, no JSON, no events told.
 */
#ifndef BENCH_RAW_POSTGRES_H
#define BENCH_RAW_POSTGRES_H
#include "bench/w1.h"

struct raw_pg;
struct raw_pg *raw_pg_open(const char *url, size_t lanes);
void raw_pg_close(struct raw_pg *raw);

/* Jobs per second, as raw_enqueue and its kin. */
struct jobs_limit jobs_limit_pg(struct raw_pg *raw);
/* The claims of what was enqueued: each transaction takes so many of the first that wait and are
   not locked. */
double raw_pg_claim(struct raw_pg *raw, int64_t jobs, int64_t each);

struct raw_pg_runs {
    int64_t runs;
    int64_t at_once;     /* Runs that go through their commands side by side, of all lanes. */
    int64_t each;        /* Commands that share a commit. */
    const char *payload; /* Of a step's job. */
};
double raw_pg_whole(struct raw_pg *raw, const struct raw_pg_runs *runs); /* Runs per second. */
double raw_pg_moves(struct raw_pg *raw, const struct raw_pg_runs *runs); /* Commands per second. */
#endif
