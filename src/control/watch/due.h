/*
 * due.h - the command that handles what is due: expired leases, delayed jobs, jobs past their time
 * to live, deadlines of runs and approvals, schedules.
 *
 * On a shared store one node at a time does this.  The command carries the turn that it was posted
 * with, and enters it in its own transaction (leases.h): one whose turn is over is refused with
 * RC_STALE.  Every function that finds or handles what is due takes the proof as an argument.
 */
#ifndef CONTROL_WATCH_DUE_H
#define CONTROL_WATCH_DUE_H
#include "control/commit/command.h"
#include "store/leases.h"

enum { DUE_BATCH_MAX = 200 };

struct cmd_due {
    struct command base;
    struct lease_fence turn; /* Of the node that posts it; none where the store is not shared. */
    bool prune;              /* Also delete old idempotency keys, workers, requests, receipts of
                            deliveries and dead letters. */
    int64_t grace_us;        /* Not 0: as in struct cmd_reclaim, after the store was unreachable. */
    int64_t next_due_us;     /* The answer: the next due time; 0: none. */
    bool more;               /* More is due than one round handles. */
};
struct cmd_due *cmd_due_new(void);
/* The earliest due time; 0: none. */
MUST_USE enum rc due_next(struct db *db, int64_t *ret_next_us, struct err *err);

struct cmd_reclaim { /* At the start of a node: its earlier in-process workers are gone. */
    struct command base;
    const char *node;
    /* Other workers could not renew while no server ran: their leases last at least so long from
       now on, so that the work they did meanwhile is not lost. */
    int64_t grace_us;
    int64_t reclaimed; /* The answer. */
};
struct cmd_reclaim *cmd_reclaim_new(void);
#endif
