/*
 * subscriptions.h - which queues get a copy of a published message: a pattern over topics, and the
 * queue that the copies go to.
 */
#ifndef STORE_SUBSCRIPTIONS_H
#define STORE_SUBSCRIPTIONS_H
#include "store/db.h"

enum { SUBSCRIPTIONS_MAX = 1000 };

struct subscription_row {
    const char *name;
    const char *pattern;
    const char *queue;
    int64_t created_us, updated_us;
};
/* Inserts, or replaces pattern and queue. */
MUST_USE enum rc subscriptions_put(struct db *db, const struct subscription_row *row,
                                   struct err *err);
MUST_USE enum rc subscriptions_get(struct db *db, const char *name, struct arena *arena,
                                   struct subscription_row *ret_row, struct err *err);
MUST_USE enum rc subscriptions_remove(struct db *db, const char *name, struct err *err);
/* By name, after `after` (NULL: from the start). */
MUST_USE enum rc subscriptions_list(struct db *db, const char *after, int64_t limit,
                                    struct arena *arena, struct subscription_row **ret_rows,
                                    size_t *ret_count, struct err *err);
MUST_USE enum rc subscriptions_count(struct db *db, int64_t *ret_count, struct err *err);
#endif
