/*
 * workers.h - the command by which a worker registers and reports that it is alive, and the one by
 * which it reports a changed number of slots.
 *
 * Workers report with every heartbeat.  A row is written when something has changed, or when it
 * was last written some seconds ago; otherwise the command only reads.
 */
#ifndef CONTROL_WATCH_WORKERS_H
#define CONTROL_WATCH_WORKERS_H
#include "base/clock.h"
#include "control/commit/command.h"
#include "store/workers.h"

enum { WORKER_NAME_MAX = 100, WORKER_SLOTS_MAX = 256 };
#define WORKER_SEEN_EVERY_US   (5 * US_PER_SECOND)
#define WORKER_FORGET_AFTER_US US_PER_DAY

bool worker_name_valid(const char *name); /* [a-zA-Z0-9._-]{1,100} */

struct cmd_worker_seen {
    struct command base;
    struct worker_row worker; /* Without its times. */
    bool left;                /* It shuts down in good order: the row is deleted. */
};
struct cmd_worker_seen *cmd_worker_seen_new(void);

struct cmd_workers_scaled {
    struct command base;
    const char *worker; /* By name. */
    int64_t from, to;   /* Slots. */
    const char *reason; /* backlog, idle */
};
struct cmd_workers_scaled *cmd_workers_scaled_new(void);
#endif
