/*
 * append_event.h - an event of a client becomes one of the log, once for its source and id; with a
 * task or a run, one of theirs.
 *
 * A fact is recorded in every state of its run: a deployment may end long after it.  A run takes
 * no more of them than its budget of events leaves (core/run/event_budget.h).
 */
#ifndef CONTROL_RUN_APPEND_EVENT_H
#define CONTROL_RUN_APPEND_EVENT_H
#include "control/commit/command.h"
#include "core/cloud_event.h"

struct cmd_append_event {
    struct command base;
    struct cloud_event event;
    struct id agent_run; /* Of the agent that sends it: its run; none: another client. */
    bool is_new;         /* Out: false, it was there already, and nothing was written. */
};
struct cmd_append_event *cmd_append_event_new(void);
#endif
