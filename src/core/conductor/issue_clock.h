/*
 * issue_clock.h - when an issue has waited too long.
 *
 *   clock     runs while                                    for            then
 *   sla       assigned, working, ci_failed, smoke_failed    label sla:...  AGENT_STUCK
 *   ci        in_ci                                         15 min         AGENT_STUCK
 *   silence   assigned to an agent outside drover           5 min          AGENT_STUCK
 *   gate      a human gate is open                          30 min, again  HUMAN_GATE_REMINDER
 *
 * Each is a timer of the issue (store/timers.h), set by the event that starts it.
 */
#ifndef CORE_CONDUCTOR_ISSUE_CLOCK_H
#define CORE_CONDUCTOR_ISSUE_CLOCK_H
#include "core/conductor/issue.h"

enum issue_clock {
    ISSUE_CLOCK_SLA,
    ISSUE_CLOCK_CI,
    ISSUE_CLOCK_SILENCE,
    ISSUE_CLOCK_GATE,
    ISSUE_CLOCK_COUNT
};

#define ISSUE_SLA_DEFAULT_US (45 * INT64_C(60000000))
#define ISSUE_CI_US          (15 * INT64_C(60000000))
#define ISSUE_SILENCE_US     (5 * INT64_C(60000000))
#define ISSUE_GATE_US        (30 * INT64_C(60000000))

/* By the first label sla:45m, sla:1h or the like; labels: a JSON array, or empty. */
int64_t issue_sla_of(struct str labels);
/* When the clock is due; 0: it does not run.  seen_us: the last heartbeat of its agent; 0: none. */
int64_t issue_clock_due(const struct issue_life *issue, enum issue_clock clock, int64_t seen_us);
/* The reason of AGENT_STUCK when this clock is due. */
const char *issue_clock_reason(enum issue_clock clock);
/* The period of a gate that now_us lies in: 0 before the first reminder. */
int64_t issue_gate_period(const struct issue_life *issue, int64_t now_us);
#endif
