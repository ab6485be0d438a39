/*
 * queues.h - what is stored of queues: their rules, and how far their rate has been used.
 *
 * A queue without a row has the defaults.  How many jobs it holds is never stored, only counted.
 */
#ifndef STORE_QUEUES_H
#define STORE_QUEUES_H
#include "store/db.h"

enum { QUEUES_MAX = 1000 };

struct queue_row {
    const char *name;
    struct str config; /* As it was set: JSON. */
    bool paused;
    const char *level; /* normal, warning, critical */
    int64_t level_us;
    int64_t desired; /* Workers that it should have. */
    int64_t version; /* Grows with every change of config or paused; 0: without rules. */
    int64_t updated_us;
};

/* RC_NOT_FOUND, without a text. */
MUST_USE enum rc queues_get(struct db *db, const char *name, struct arena *arena,
                            struct queue_row *ret_row, struct err *err);
/* config and paused; the version grows, the rest stays as it is.  RC_BUSY: it is not the version of
   the row any more (two calls at once that found no row, which none could lock). */
MUST_USE enum rc queues_put(struct db *db, const struct queue_row *row, struct err *err);
/* All of them by name, at most QUEUES_MAX. */
MUST_USE enum rc queues_list(struct db *db, struct arena *arena, struct queue_row **ret_rows,
                             size_t *ret_count, struct err *err);

/* Those that have rules of their own. */
MUST_USE enum rc queues_list_rules(struct db *db, struct arena *arena, struct queue_row **ret_rows,
                                   size_t *ret_count, struct err *err);

/* How much of its rate a queue has left.  Loading locks the row: no other transaction can
   claim from a queue with limits until this one ends. */
struct queue_flow {
    int64_t tokens; /* In millionths. */
    int64_t tokens_us;
};
MUST_USE enum rc queues_flow(struct db *db, const char *name, struct queue_flow *ret_flow,
                             struct err *err);
MUST_USE enum rc queues_flow_save(struct db *db, const char *name, const struct queue_flow *flow,
                                  struct err *err);

/* Jobs that wait (queued, scheduled, blocked), counted up to the limit. */
MUST_USE enum rc queues_waiting(struct db *db, const char *name, int64_t limit, int64_t *ret_count,
                                struct err *err);
/* Jobs out on lease. */
MUST_USE enum rc queues_leased(struct db *db, const char *name, int64_t *ret_count,
                               struct err *err);
#endif
