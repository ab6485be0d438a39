/*
 * due.h - the command that turns what is due into what happens: leases that ran out, delayed jobs,
 * jobs past their time to live, deadlines of runs and approvals, schedules.
 *
 * On a shared store one node at a time does this.  The command carries the turn that it was posted
 * with, and enters it in its own transaction (leases.h): one that comes late is refused, RC_STALE.
 * Whatever finds or handles what is due asks for the proof.
 */
#ifndef CONTROL_DUE_H
#define CONTROL_DUE_H
#include "control/command.h"
#include "store/leases.h"

enum { DUE_BATCH_MAX = 200 };

struct cmd_due {
    struct command base;
    struct lease_fence turn; /* Of the node that posts it; none where the store is not shared. */
    bool prune;          /* Also forget old idempotency keys, workers, requests and dead letters. */
    int64_t grace_us;    /* Not 0: as in struct cmd_reclaim, after the store was away. */
    int64_t next_due_us; /* The answer: when to come again; 0: nothing waits. */
    bool more;           /* There was more than one round takes. */
};
struct cmd_due *cmd_due_new(void);
/* The earliest time at which something is due; 0: nothing waits. */
MUST_USE enum rc due_next(struct db *db, int64_t *ret_next_us, struct err *err);

struct cmd_reclaim { /* At the start of a node: its earlier in-process workers are gone. */
    struct command base;
    const char *node;
    /* Other workers could not renew while no server was there: their leases live at least so long
       from now on, and what they have made meanwhile is not lost. */
    int64_t grace_us;
    int64_t reclaimed; /* The answer. */
};
struct cmd_reclaim *cmd_reclaim_new(void);
#endif
