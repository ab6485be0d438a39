/*
 * conduct.h - one turn of the Conductor: a command that reacts to a piece of the log.
 *
 * The Conductor is a consumer of the log under the name CONDUCTOR_CONSUMER.  One turn is one
 * transaction: what it writes about issues, the tasks that it submits, and its place in the log.  A
 * Conductor that dies in between has done nothing of the turn; the next one begins at the place.
 *
 * Of several nodes one acts: the turn enters the lease CONDUCTOR_LEASE, and its place must be the
 * one that is stored, so that a piece of the log is never taken twice.
 *
 *   RC_STALE   another Conductor was here, or has the lease: read the place again
 */
#ifndef CONTROL_CONDUCTOR_CONDUCT_H
#define CONTROL_CONDUCTOR_CONDUCT_H
#include "control/commit/command.h"
#include "core/conductor/conductor_config.h"
#include "store/leases.h"

#define CONDUCTOR_CONSUMER "conductor"
#define CONDUCTOR_LEASE    "conductor"

/* An event that may concern an issue. */
struct conduct_notice {
    struct id event_id;
    const char *type;
    struct id issue; /* Its correlation, of an event of issues; none: of a task. */
    struct id task_id;
    struct str data; /* Of one of a task. */
};

struct cmd_conduct {
    struct command base;
    struct lease_fence turn; /* none where the store is not shared */
    const struct conductor_config *config;
    const struct conduct_notice *notices; /* In the arena of the command. */
    size_t count;
    int64_t from_seq, to_seq; /* Its place before and after; begin: both are where it begins. */
    bool begin;               /* It has no place yet. */
    bool sweep;               /* Also looks at all issues that wait for the Conductor. */
    int64_t written;          /* Out: events, */
    int64_t assigned;         /* and issues that were assigned. */
};
struct cmd_conduct *cmd_conduct_new(void);
#endif
