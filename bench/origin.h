/*
 * origin.h - what benchmarks with whole runs share: a repository to work on, and single calls.
 */
#ifndef BENCH_ORIGIN_H
#define BENCH_ORIGIN_H
#include "base/str.h"
#include "bench/server.h"

/* A bare repository with one file, answer.txt, on main. */
void origin_make(const char *path);
/* One call on a connection of its own, which must be answered with success. */
void server_call(const struct server *server, const char *method, const char *path,
                 struct str body);
#endif
