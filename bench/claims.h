/*
 * claims.h - claimers of several nodes on one queue with enough work, and how often one of them
 * goes away empty.
 */
#ifndef BENCH_CLAIMS_H
#define BENCH_CLAIMS_H
#include "bench/port.h"

enum { CLAIM_NODES_MAX = 2 };

struct claim_trial {
    struct port *nodes[CLAIM_NODES_MAX];
    size_t node_count;
    size_t claimers; /* Of all nodes. */
    int max;         /* Jobs per lease. */
    int64_t total;   /* Claims that are counted ... */
    int64_t reserve; /* ... and jobs that wait behind them, so that there is work to the end. */
};
struct claim_outcome {
    double rate;  /* Jobs per second. */
    double empty; /* Of 100 leases. */
    double batch; /* Commands per commit. */
};
void claims_run(const struct claim_trial *trial, struct claim_outcome *ret_outcome);
#endif
