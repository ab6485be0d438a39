/*
 * levels.h - monitors the queues: their level, their dead letters, and how many workers they need.
 *
 *   look (a connection for reading, beside the lanes) --> changes --> one command that writes them
 *   and appends events
 *
 * A look counts no further than the rules of a queue need.  Nothing is written while nothing
 * changes, and while no job waits a look reads almost no rows.
 */
#ifndef CONTROL_QUEUE_LEVELS_H
#define CONTROL_QUEUE_LEVELS_H
#include "base/clock.h"
#include "control/commit/committer.h"
#include "store/leases.h"
#include "store/queue_levels.h"

#define LEVELS_EVERY_US US_PER_SECOND

struct levels; /* Owned by the ticker; of one thread. */
struct levels *levels_new(struct committer *committer, struct store *store, struct clock clock);
void levels_free(struct levels *levels);
/* A look, unless the last one was just now.  Returns when the next is due; 0: no queue is busy. */
int64_t levels_watch(struct levels *levels, const struct lease_fence *turn);

/* ---- Its parts ---- */

struct level_change {
    struct queue_level_row before, after;
    int64_t depth, oldest_ms, leased; /* Jobs that wait and the age of the oldest; on lease. */
    int64_t dead, dead_alert_at;
};
struct cmd_levels {
    struct command base;
    struct lease_fence turn;      /* As in struct cmd_due. */
    struct level_change *changes; /* In the command's arena. */
    size_t count;
};
struct cmd_levels *cmd_levels_new(void);

/* Fills the command.  *ret_busy: jobs wait in a queue, or its level or its desired number of
   workers is still raised. */
MUST_USE enum rc levels_look(struct db *db, int64_t now_us, struct cmd_levels *cmd, bool *ret_busy,
                             struct err *err);
#endif
