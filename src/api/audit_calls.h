/*
 * audit_calls.h - calls over HTTP and MCP, on their way into the audit log.
 *
 *   call_own()           a recorded route's command gets a struct audit_call: its row is written
 *                        in the transaction of its change (control/commit/audit_trail.h)
 *   audit_calls_record() a query that changed something without a command of its own: before it is
 *                        answered
 *   audit_calls_end()    denials of any route, refusals and failures of recorded ones
 *
 * Refusals are gathered, so that a flood of them does not fill the disk.  The first one of an
 * actor, an action and a code is recorded at once.  Those that follow within a minute become one
 * row with their count; while they go on the time doubles, up to an hour.  At most GATHERED_MAX
 * kinds are gathered at a time; further ones are counted together.
 */
#ifndef API_AUDIT_CALLS_H
#define API_AUDIT_CALLS_H
#include "api/call.h"
#include "control/commit/audit_trail.h"

struct audit_calls; /* Owned by server.c; of the loop's thread but where a comment says so. */
struct audit_calls *audit_calls_new(struct api *api, const struct route *routes, size_t count);
void audit_calls_free(struct audit_calls *calls);

/* Of the call's route; NULL: its calls are not recorded.  Any thread. */
const char *audit_calls_action(const struct call *call);
/* Gives the call's command what its row needs, if the route is recorded. */
void audit_calls_attach(struct call *call);
/* The same under this name, for a route that is not recorded but for this command. */
void audit_calls_as(struct call *call, const char *action);
/* What the call is about, where the path does not have it; and details, as audit_details makes
   them.  After call_own; the texts live as long as the command. */
void audit_calls_about(struct call *call, const char *resource_id, const char *details);
/* After a query that succeeded, on its pool thread. */
MUST_USE enum rc audit_calls_record(struct call *call, struct err *err);
/* What a call wanted of a route, and was refused before it got there: a tool of MCP. */
struct audit_refusal {
    int status; /* As the route would have answered. */
    const char *code;
};
void audit_calls_refused(struct call *call, const struct route *route,
                         const struct audit_refusal *refusal);
/* The call has been answered. */
void audit_calls_end(struct call *call);
/* Writes rows of what was gathered.  all: also before its time, at the end of the server. */
void audit_calls_flush(struct audit_calls *calls, bool all);
#endif
