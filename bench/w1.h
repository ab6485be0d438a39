/*
 * w1.h - the job protocol under load, through any port, beside a bare loop that sets the limit.
 */
#ifndef BENCH_W1_H
#define BENCH_W1_H
#include "bench/port.h"
#include "bench/raw.h"

enum jobs_kind { ENQUEUE, DRAIN, COMBINED };

/* Jobs per second of a loop that does nothing else; `each` of them share a commit. */
struct jobs_limit {
    double (*rate)(void *ctx, enum jobs_kind kind, int64_t jobs, int64_t each);
    void *ctx;
};
struct jobs_limit jobs_limit_sqlite(struct raw *raw);

struct jobs_trial {
    const char *group, *how;
    struct port *port;
    struct jobs_limit limit;
    int64_t total;    /* Jobs. */
    bool loads;       /* Leave out what one client does alone. */
    double share_aim; /* Of the limit; 0: none. */
};
/* Jobs per second with all lanes, once, and nothing beside it. */
double w1_rate(struct port *port, enum jobs_kind kind, int64_t total);
void w1_measure(const struct bench *bench, const struct jobs_trial *trial);
#endif
