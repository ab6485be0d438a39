/*
 * append_event.h - events of a client become events of the log, once for their source and id; with
 * a task or a run, events of theirs.  All of a command, or none.
 *
 * The data of one whose type has a schema must fit it (schemas.h).
 *
 * Events of issues (conductor.*) have rules of their own: they go to a hook.
 *
 * A fact is recorded in every state of its run: a deployment may end long after it.  A run takes
 * no more of them than its budget of events leaves (core/run/event_budget.h).
 */
#ifndef CONTROL_RUN_APPEND_EVENT_H
#define CONTROL_RUN_APPEND_EVENT_H
#include "control/commit/command.h"
#include "core/cloud_event.h"

/* What the client's token allows it to write about issues (control/conductor/issues.h). */
struct issue_claim {
    unsigned writers;  /* A set of enum issue_writer. */
    const char *agent; /* The only agent that it may act for; NULL: any. */
};

struct cmd_append_events {
    struct command base;
    const struct cloud_event *events; /* In the arena. */
    size_t count;
    bool is_batch;       /* Errors name the place in it. */
    struct id agent_run; /* Of the agent that sends them: its run; none: another client. */
    struct issue_claim claim;
    size_t accepted; /* Out: written; the others were there already. */
};
struct cmd_append_events *cmd_append_events_new(void);

/* Puts the place in a batch before what is wrong with one event of it. */
void append_events_place(struct err *err, size_t place);
#endif
