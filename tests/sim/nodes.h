/*
 * nodes.h - several nodes on one PostgreSQL, of which one at a time stands still: nodes.c.
 */
#ifndef TESTS_SIM_NODES_H
#define TESTS_SIM_NODES_H
#include <stdint.h>

struct sim_nodes_options {
    int64_t seed;         /* World k has the seed seed + k. */
    int64_t steps;        /* Until so many quarters of a second have passed, ... */
    int64_t batch;        /* ... so many in each world. */
    const char *postgres; /* The URL of a database to work in. */
};
void sim_nodes(const struct sim_nodes_options *options);
#endif
