/*
 * workers.h - the command by which a worker says that it is there, and the one that tells of slots
 * that came or went.
 *
 * Workers say so with every heartbeat.  A row is written when something has changed, or when it
 * was last written some seconds ago; otherwise the command only looks.
 */
#ifndef CONTROL_WORKERS_H
#define CONTROL_WORKERS_H
#include "base/clock.h"
#include "control/command.h"
#include "store/workers.h"

enum { WORKER_NAME_MAX = 100, WORKER_SLOTS_MAX = 256 };
#define WORKER_SEEN_EVERY_US   (5 * US_PER_SECOND)
#define WORKER_FORGET_AFTER_US US_PER_DAY

bool worker_name_valid(const char *name); /* [a-zA-Z0-9._-]{1,100} */

struct cmd_worker_seen {
    struct command base;
    struct worker_row worker; /* Without its times. */
    bool left;                /* It ends in good order: the row goes. */
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
