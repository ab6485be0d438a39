/*
 * issues.h - events of issues are written: checked against the row of the issue, appended to the
 * log and applied to the row, in one transaction.
 *
 *   a client    POST /v1/events, append_event, drover event append   issue_event_of_client (hook)
 *   drover      a command, a timer, the Conductor                    issue_append
 *
 * An event that breaks a rule is refused with RC_CONFLICT and the code issue.RULE
 * (core/conductor/issue.h), one that its writer may not write with RC_DENIED and issue.writer.
 *
 * HEARTBEAT is stored in a table of its own and never in the log; MILESTONE_COMPLETE is about a
 * milestone.  Both are written in the same way.
 */
#ifndef CONTROL_CONDUCTOR_ISSUES_H
#define CONTROL_CONDUCTOR_ISSUES_H
#include "control/commit/context.h"
#include "control/run/append_event.h"
#include "core/conductor/issue.h"
#include "store/issue_states.h"

/* Clocks of an issue (core/conductor/issue_clock.h); the subject is the id of its row. */
#define TIMER_ISSUE_SLA     "issue_sla"
#define TIMER_ISSUE_CI      "issue_ci"
#define TIMER_ISSUE_SILENCE "issue_silence"
#define TIMER_ISSUE_GATE    "issue_gate"

struct issue_writing {
    struct issue_event event; /* time_us is set here; an agent that is left out is the assigned. */
    enum issue_writer writer;
    const struct js *given;           /* Members of its data beside those of the event; or NULL. */
    struct id cause;                  /* none: the last event of the issue */
    const struct cloud_event *client; /* As a client has sent it; NULL: drover's own. */
};
/* *ret_new false: an event of a client that is there already.  ret_row may be NULL: the issue after
   the event, as far as it has one. */
MUST_USE enum rc issue_append(struct context *ctx, const struct issue_writing *writing,
                              struct issue_row *ret_row, bool *ret_new);

/* The hook of append_event.c. */
MUST_USE enum rc issue_event_of_client(struct context *ctx, const struct cloud_event *given,
                                       const struct issue_claim *claim, bool *ret_new);

/* What an event is refused with. */
enum rc issue_refuse(struct context *ctx, enum issue_rule rule, const struct issue_event *event,
                     const struct issue_life *life);

/* Deletes heartbeats that are older than a day, some at a time. */
MUST_USE enum rc issues_prune(struct context *ctx, bool *ret_more);
#endif
