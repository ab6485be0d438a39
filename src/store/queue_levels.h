/*
 * queue_levels.h - how queues are doing: what is remembered of each, and what is counted to find
 * out.
 *
 * What is remembered stands in the row of a queue, beside its rules.  Counts are bounded by the
 * caller, so that a look at a queue with a million jobs costs no more than one at a thousand.
 */
#ifndef STORE_QUEUE_LEVELS_H
#define STORE_QUEUE_LEVELS_H
#include "core/level.h"
#include "store/db.h"

enum { QUEUE_LEVELS_MAX = 1000 }; /* Queues in one list. */

struct queue_level_row {
    const char *queue;
    struct str config; /* As it was set; empty: no row.  It and paused are never saved from here. */
    bool paused;
    enum level level;
    int64_t level_us; /* Since when. */
    bool dead_alert;  /* So many dead letters that it was said; not said again until fewer. */
    int64_t desired;  /* Workers. */
    int64_t desired_us;
};

/* One that has no row is calm. */
MUST_USE enum rc queue_levels_get(struct db *db, const char *queue, struct arena *arena,
                                  struct queue_level_row *ret_row, struct err *err);
/* All that have a row, by name. */
MUST_USE enum rc queue_levels_list(struct db *db, struct arena *arena,
                                   struct queue_level_row **ret_rows, size_t *ret_count,
                                   struct err *err);
/* That of one queue in such a list, or NULL. */
const struct queue_level_row *queue_levels_find(const struct queue_level_row *rows, size_t count,
                                                const char *queue);
/* Makes the row when there is none; one that is calm and has no rules goes. */
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
/* Queues with dead letters that nobody has put aside; without their counts. */
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
