/*
 * cluster.h - a private PostgreSQL that flushes, as tools/postgres makes it, in the directory of
 * the benchmark.  bench/run stops it when we do not get to it.
 */
#ifndef BENCH_CLUSTER_H
#define BENCH_CLUSTER_H
#include "bench/bench.h"

struct cluster {
    char dir[BENCH_PATH_BYTES];
    char url[BENCH_URL_BYTES];
    char durability[256]; /* As the server says. */
};
/* False, with a word why, where there is no PostgreSQL. */
bool cluster_start(const struct bench *bench, struct cluster *ret_cluster, struct err *err);
void cluster_stop(struct cluster *cluster);

/* The URL of a schema of that name, made anew: a database of its own as far as drover can see. */
void cluster_schema(const struct cluster *cluster, const char *name, char to[BENCH_URL_BYTES]);
#endif
