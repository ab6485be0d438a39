/*
 * instance.h - the life of one agent of the registry, as a pure function.
 *
 *   registered --LAUNCH--> starting --BEGIN--> active --MISS--> late
 *       |                   ^  ^ |               |  ^            |
 *       |                   |  | |               |  +--- BEAT ---+
 *       |                   |  +-|----- LOSE ----+---------------+    (starting, restarting: too)
 *       |                   |    |               |               |
 *       |                   |    +-----+---------+---------------+
 *       +-- BEAT --> active |          |
 *                           |          +-- END -----> restarting --BEGIN--> active
 *                           |          +-- STOP ----> stopped
 *                           |          +-- GIVE_UP -> failed
 *                           +-- LAUNCH: registered, stopped, failed, killed
 *
 *   KILL -> killed, from every other state.
 *
 * An agent that was not launched by drover is registered, active, late or killed: it is alive as
 * long as it claims, or sends heartbeats.  One that was launched also begins and ends with its
 * process.  What the end of a process means is decided by the rule of its restarts.
 *
 * Invariants (instance_check):
 *   1. Only a launched agent is starting, restarting, stopped or failed.
 *   2. In a row of failures there are no more than the rule's bound, unless it has failed.
 */
#ifndef CORE_AGENT_INSTANCE_H
#define CORE_AGENT_INSTANCE_H
#include "base/rc.h"
#include <stdbool.h>
#include <stdint.h>

enum instance_state {
    INSTANCE_REGISTERED, /* Not heard of yet. */
    INSTANCE_STARTING,   /* A worker is to start its process. */
    INSTANCE_ACTIVE,
    INSTANCE_LATE,       /* No heartbeat within its limit. */
    INSTANCE_RESTARTING, /* Its process has ended and is started again after a pause. */
    INSTANCE_STOPPED,    /* Its process has ended, as its rule has it. */
    INSTANCE_FAILED,     /* Its process has failed too often. */
    INSTANCE_KILLED,
    INSTANCE_STATE_COUNT
};

enum instance_event {
    INSTANCE_EV_LAUNCH,
    INSTANCE_EV_BEGIN, /* A worker starts its process. */
    INSTANCE_EV_BEAT,
    INSTANCE_EV_MISS,
    INSTANCE_EV_END, /* Its process has ended: */
    INSTANCE_EV_STOP,
    INSTANCE_EV_GIVE_UP,
    INSTANCE_EV_LOSE, /* The worker with its process is gone, or gave it back. */
    INSTANCE_EV_KILL,
    INSTANCE_EV_COUNT
};

enum restart_policy { RESTART_NEVER, RESTART_ON_FAILURE, RESTART_ALWAYS, RESTART_POLICY_COUNT };

/* What becomes of the work that it has claimed when it is killed. */
enum kill_policy { KILL_REQUEUE, KILL_FAIL, KILL_POLICY_COUNT };

enum {
    INSTANCE_CAPACITY_MAX = 1000,
    RESTARTS_MAX = 1000,
    RESTARTS_DEFAULT = 5,
    RESTART_BACKOFF_MS_DEFAULT = 1000,
    RESTART_BACKOFF_MS_MAX = 5 * 60 * 1000,
    INSTANCE_HEARTBEAT_MS_MIN = 100,
    INSTANCE_HEARTBEAT_MS_MAX = 24 * 3600 * 1000,
    INSTANCE_HEARTBEAT_MS_DEFAULT = 120 * 1000,
    /* A process that lived so long has not failed in a row with the one before it. */
    INSTANCE_HEALTHY_MS = 60 * 1000,
};

struct restart_rule {
    enum restart_policy policy;
    int64_t max;        /* Failures in a row; one more and it has failed. */
    int64_t backoff_ms; /* The first pause; twice as long after each. */
};

struct instance {
    enum instance_state state;
    bool launched;    /* drover starts its process. */
    int64_t failures; /* In a row. */
    struct restart_rule rule;
};

const char *instance_state_name(enum instance_state state);
bool instance_state_parse(const char *name, enum instance_state *ret_state);
const char *restart_policy_name(enum restart_policy policy);
bool restart_policy_parse(const char *name, enum restart_policy *ret_policy);
const char *kill_policy_name(enum kill_policy policy);
bool kill_policy_parse(const char *name, enum kill_policy *ret_policy);
extern const char *const restart_policy_names[]; /* NULL-terminated */
extern const char *const kill_policy_names[];

/* May it claim work? */
bool instance_may_claim(enum instance_state state);
/* Has it a process, or will it have one without another launch? */
bool instance_has_process(enum instance_state state);

/* RC_CONFLICT: it cannot happen in this state; *ret_next is untouched. */
MUST_USE enum rc instance_step(const struct instance *instance, enum instance_event event,
                               struct instance *ret_next);

/* The end of a process: what follows from it, and after which pause. */
struct process_end {
    bool ok; /* It ended by itself, with status 0. */
    int64_t lived_ms;
    uint64_t random;
};
struct process_verdict {
    enum instance_event event; /* END, STOP or GIVE_UP */
    int64_t failures;          /* In a row, with this one. */
    int64_t pause_ms;          /* END: the next start is after it. */
};
struct process_verdict instance_ended(const struct instance *instance,
                                      const struct process_end *end);
#endif
