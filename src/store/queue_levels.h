/*
 * queue_levels.h - the load of queues: what is stored of each, and what is counted to determine
 * it.
 *
 * What is stored is in the row of a queue, beside its rules.  Counts are bounded by the caller, so
 * that counting a queue with a million jobs costs no more than counting one with a thousand.
 */
#ifndef STORE_QUEUE_LEVELS_H
#define STORE_QUEUE_LEVELS_H
#include "core/queue/level.h"
#include "store/db.h"

enum { QUEUE_LEVELS_MAX = 1000 }; /* Queues in one list. */

struct queue_level_row {
    const char *queue;
    struct str config; /* As it was set; empty: no row.  It and paused are never saved from here. */
    bool paused;
    enum level level;
    int64_t level_us; /* Since when. */
    bool dead_alert;  /* The alert about dead letters was sent; not again until there are fewer. */
    int64_t desired;  /* Workers. */
    int64_t desired_us;
};

/* One that has no row is at level normal. */
MUST_USE enum rc queue_levels_get(struct db *db, const char *queue, struct arena *arena,
                                  struct queue_level_row *ret_row, struct err *err);
/* All that have a row, by name. */
MUST_USE enum rc queue_levels_list(struct db *db, struct arena *arena,
                                   struct queue_level_row **ret_rows, size_t *ret_count,
                                   struct err *err);
/* That of one queue in such a list, or NULL. */
const struct queue_level_row *queue_levels_find(const struct queue_level_row *rows, size_t count,
                                                const char *queue);
/* Inserts the row when there is none; deletes one without rules when nothing else is to be kept. */
MUST_USE enum rc queue_levels_save(struct db *db, const struct queue_level_row *row, int64_t now_us,
                                   struct err *err);

struct queue_count {
    const char *queue;
    int64_t count;
};
/* Queues in which jobs wait (queued, or blocked behind others); without their counts. */
MUST_USE enum rc queue_levels_waiting(struct db *db, struct arena *arena,
                                      struct queue_count **ret_rows, size_t *ret_count,
                                      struct err *err);
/* Queues with dead letters that are not archived; without their counts. */
MUST_USE enum rc queue_levels_dead(struct db *db, struct arena *arena,
                                   struct queue_count **ret_rows, size_t *ret_count,
                                   struct err *err);
/* Jobs out on lease, by queue. */
MUST_USE enum rc queue_levels_leased(struct db *db, struct arena *arena,
                                     struct queue_count **ret_rows, size_t *ret_count,
                                     struct err *err);

struct queue_depth {
    int64_t queued, blocked; /* Each no further than the limit. */
    int64_t oldest_us;       /* Of those counted; 0: none is queued. */
};
MUST_USE enum rc queue_levels_depth(struct db *db, const char *queue, int64_t limit,
                                    struct queue_depth *ret_depth, struct err *err);
MUST_USE enum rc queue_levels_dead_count(struct db *db, const char *queue, int64_t limit,
                                         int64_t *ret_count, struct err *err);
/* Steps that are queued for an agent (agent, plan), no further than the limit. */
MUST_USE enum rc queue_levels_agents(struct db *db, int64_t limit, int64_t *ret_count,
                                     struct err *err);
#endif
