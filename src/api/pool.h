/*
 * pool.h - a few threads that read the store, each on a connection of its own.
 *
 * Work is intrusive and bounded in number.  Its class limits how many threads it may occupy: slow
 * work (a merge, the doctor) and the reading of streams may take half of them each, and together
 * all but one, so that there is always a thread for quick queries.  Slow work is served by turns of
 * its owners: many slow queries of one client hold up another client for the length of one of them.
 */
#ifndef API_POOL_H
#define API_POOL_H
#include "base/rc.h"
#include "store/store.h"
#include <stdbool.h>
#include <stddef.h>

struct pool; /* Owned by its maker. */

enum pool_class { POOL_QUICK, POOL_SLOW, POOL_STREAM, POOL_CLASS_COUNT };

struct pool_work {
    struct pool_work *next;
    void (*run)(struct pool_work *work, struct db *db); /* On a pool thread. */
    enum pool_class class;
    const void *owner; /* Compared only: the client that it is for; NULL: the server itself. */
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
/* Runs all posted work, then ends the threads. */
void pool_free(struct pool *pool);
#endif
