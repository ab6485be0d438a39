/*
 * levels.h - watches how the queues are doing: their level, their dead letters, and how many
 * workers they deserve.
 *
 *   look (a connection for reading, beside the lanes) --> what has changed --> one command, that
 *   writes it down and tells of it
 *
 * A look counts no further than the rules of a queue need.  Nothing is written while nothing
 * changes, and while nothing waits there is hardly anything to look at.
 */
#ifndef CONTROL_LEVELS_H
#define CONTROL_LEVELS_H
#include "base/clock.h"
#include "control/committer.h"
#include "store/leases.h"
#include "store/queue_levels.h"

#define LEVELS_EVERY_US US_PER_SECOND

struct levels; /* Owned by the ticker; of one thread. */
struct levels *levels_new(struct committer *committer, struct store *store, struct clock clock);
void levels_free(struct levels *levels);
/* A look, unless the last one was just now.  When to come again; 0: when something happens. */
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

/* Fills the command.  *ret_busy: something waits, or comes down from where it was. */
MUST_USE enum rc levels_look(struct db *db, int64_t now_us, struct cmd_levels *cmd, bool *ret_busy,
                             struct err *err);
#endif
