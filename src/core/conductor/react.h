/*
 * react.h - what the Conductor does about an issue, from the issue alone.
 *
 *   smoke_failed, for an external dependency      ESCALATED
 *   smoke_failed, three times in code             AGENT_STUCK
 *   smoke_failed, its agent is drover's own       a task for the fix
 *   stuck                                         ISSUE_UNASSIGNED
 *   escalated, and still assigned                 ISSUE_UNASSIGNED
 *   waiting, two agents were stuck on it          ESCALATED
 *   waiting, too many branches were abandoned     ESCALATED
 *   waiting                                       ISSUE_ASSIGNED, if there is an agent (choose.h)
 *
 * It looks at what is, not at what has happened: an event that is late, lost or repeated leads to
 * the same, and what was done already is not done again.
 */
#ifndef CORE_CONDUCTOR_REACT_H
#define CORE_CONDUCTOR_REACT_H
#include "core/conductor/issue.h"

enum reaction_kind { REACT_NOTHING, REACT_WRITE, REACT_FIX, REACT_ASSIGN };
struct reaction {
    enum reaction_kind kind;
    enum issue_kind event; /* REACT_WRITE */
    const char *reason;
};
/* One step; after it is done, ask again. */
struct reaction issue_react(const struct issue_life *issue);
enum { REACTIONS_MAX = 4 }; /* Until nothing is left, an assignment included. */
#endif
