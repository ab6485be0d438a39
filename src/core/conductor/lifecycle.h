/*
 * lifecycle.h - the way of an issue from its approval to production, folded from its events.
 *
 * Counts events of every writer, clients' own types included (issue_kind_guess), and refuses none:
 * it answers questions.  Which event may come next is decided by issue.h, which has the same facts.
 * Pure: events come in in the order of the log.
 */
#ifndef CORE_CONDUCTOR_LIFECYCLE_H
#define CORE_CONDUCTOR_LIFECYCLE_H
#include "base/arena.h"
#include "core/conductor/issue_kind.h"
#include <stdint.h>

enum { LIFECYCLE_AGENT_MAX = 200 }; /* A longer agentId is cut. */

struct lifecycle {
    const char *status;      /* The name of the last event that is a step; NULL: none */
    int64_t status_us;       /* Its time. */
    const char *assigned_to; /* The last of ISSUE_ASSIGNED and ISSUE_UNASSIGNED; NULL: to none */
    int64_t assigned_us;     /* Of the assignment that holds; 0: none */
    int64_t approved_us;     /* The first approval; 0: none */
    int64_t done_us;         /* The last ISSUE_DONE; 0: none */
    int64_t assignments, unassignments;
    int64_t reassignments; /* Assignments after an unassignment. */
};

struct lifecycle_event {
    enum issue_kind kind; /* ISSUE_EV_COUNT: no event of an issue's way. */
    const char *agent_id; /* data.agentId; NULL: it names none */
    int64_t time_us;
};
/* From a zeroed one; texts are copied into the arena. */
void lifecycle_apply(struct lifecycle *life, const struct lifecycle_event *event,
                     struct arena *arena);
/* From the first approval to the last ISSUE_DONE; -1: one of them is missing. */
int64_t lifecycle_duration_us(const struct lifecycle *life);
/* From the assignment that holds to the last ISSUE_DONE; -1: it is not done, or not assigned. */
int64_t lifecycle_work_us(const struct lifecycle *life);
#endif
