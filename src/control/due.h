/*
 * due.h - the command that turns what is due into what happens: leases that ran out, delayed jobs,
 * jobs past their time to live, deadlines of runs and approvals, schedules.
 */
#ifndef CONTROL_DUE_H
#define CONTROL_DUE_H
#include "control/command.h"

enum { DUE_BATCH_MAX = 200 };

struct cmd_due {
    struct command base;
    bool prune;          /* Also forget old idempotency keys, workers, requests and dead letters. */
    int64_t grace_us;    /* Not 0: as in struct cmd_reclaim, after the store was away. */
    int64_t next_due_us; /* The answer: when to come again; 0: nothing waits. */
    bool more;           /* There was more than one round takes. */
};
struct cmd_due *cmd_due_new(void);

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
