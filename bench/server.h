/*
 * server.h - a real `drover serve` in a directory of its own, and what can be seen of it from
 * outside.
 */
#ifndef BENCH_SERVER_H
#define BENCH_SERVER_H
#include "base/proc.h"
#include "bench/bench.h"

enum { TOKEN_BYTES = 256 };

struct server {
    struct proc proc;
    char dir[BENCH_PATH_BYTES];
    int port;
    char token[TOKEN_BYTES];
    double ready_ms; /* From the start of the process to the first 200 of /readyz. */
};

struct server_setup {
    const char *dir;     /* Its data directory; may have data. */
    int64_t connections; /* 0: the server's default. */
    int64_t streams;     /* The same. */
    int workers;         /* Slots in its process. */
};
void server_start(const struct bench *bench, const struct server_setup *setup,
                  struct server *ret_server);
void server_stop(struct server *server);

/* A value of /metrics. */
int64_t server_metric(const struct server *server, const char *name);
void server_effort(const struct server *server, struct effort *ret_effort);
double server_cpu_us(const struct server *server);
/* A line of /proc/PID/status, such as VmRSS, in MB. */
double server_memory_mb(const struct server *server, const char *name);
#endif
