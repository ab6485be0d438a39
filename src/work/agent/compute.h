/*
 * compute.h - where an agent runs, behind one interface.
 *
 *     ready ──► start ──► poll, poll, ... ──► collect          release, always
 *                          │    ▲
 *                          └ stop  (cancelled, too long, over a limit)
 *
 * steps/agent.c drives it and checks what all kinds have in common: the stop request, the wall
 * clock, the limits of turns and cost.  A kind checks what only it can measure, such as how long
 * the agent has printed nothing.
 *
 *     child     a sandboxed command of this worker (compute_child.c); it dies with the worker
 *     remote    a session behind an HTTP address (compute_remote.c); it outlives the worker, and
 *               another worker continues polling it
 *
 * An agent that leases its work itself (`pull`) needs no worker before it is done: control puts its
 * job on a queue of the agents'.  What remote and pull agents left is collected by steps/collect.c.
 */
#ifndef WORK_AGENT_COMPUTE_H
#define WORK_AGENT_COMPUTE_H
#include "base/rc.h"
#include "work/agent/compute_process.h"
#include "work/job/port.h"
#include <stdbool.h>
#include <stdint.h>

struct attempt;

/* Every function but stop and release may set the step's failure (step_fail) and return what is not
   RC_OK; then only release is called. */
struct compute_ops {
    const char *name;
    /* Everything that the agent needs before it can begin. */
    enum rc (*ready)(struct attempt *attempt, struct err *err);
    /* Begins the agent, or finds the one again that an earlier worker began. */
    enum rc (*start)(struct attempt *attempt, struct err *err);
    /* Waits until something has happened, a stop is requested (step->stop), or until_us is reached
       (by clock_mono_us).  *ret_ended: attempt->ended says how. */
    enum rc (*poll)(struct attempt *attempt, int64_t until_us, bool *ret_ended, struct err *err);
    /* Requests that the agent ends; poll reports when it has, which is soon.  A second request is
       fine, the first reason counts. */
    void (*stop)(struct attempt *attempt, enum compute_end why);
    /* Pauses the agent, or lets it go on; NULL: it cannot be, only its clocks stand still. */
    void (*hold)(struct attempt *attempt, enum port_hold hold);
    /* Its own report, its log and its patch. */
    enum rc (*collect)(struct attempt *attempt, struct err *err);
    /* After a failure at any point too; what still runs is ended. */
    void (*release)(struct attempt *attempt);
};
extern const struct compute_ops compute_child, compute_remote;
#endif
