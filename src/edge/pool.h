/*
 * pool.h - a few threads that read the store, each on a connection of its own.
 *
 * Work is intrusive and bounded in number.  What may take seconds (a merge, the doctor) is marked
 * slow and never occupies more than half of the threads.
 */
#ifndef EDGE_POOL_H
#define EDGE_POOL_H
#include "base/rc.h"
#include "store/store.h"
#include <stdbool.h>
#include <stddef.h>

struct pool; /* Owned by its maker. */

struct pool_work {
    struct pool_work *next;
    void (*run)(struct pool_work *work, struct db *db); /* On a pool thread. */
    bool slow;
};
struct pool_options {
    struct store *store; /* Not owned. */
    int threads;         /* At least 2. */
    size_t queue_max;
};

MUST_USE enum rc pool_new(const struct pool_options *options, struct pool **ret_pool,
                          struct err *err);
/* RC_BUSY when the queue is full: run() is not called then. */
MUST_USE enum rc pool_post(struct pool *pool, struct pool_work *work);
/* Finishes what was posted, ends the threads. */
void pool_free(struct pool *pool);
#endif
