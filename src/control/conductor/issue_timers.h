/*
 * issue_timers.h - clocks of issues that are due (core/conductor/issue_clock.h), for due.c.
 *
 * One node at a time runs the timers, and each takes effect under the lock of its issue: an event
 * is written once, however many nodes there are.  A clock that was set anew meanwhile, or whose
 * agent has sent a heartbeat, is set to its next time.
 */
#ifndef CONTROL_CONDUCTOR_ISSUE_TIMERS_H
#define CONTROL_CONDUCTOR_ISSUE_TIMERS_H
#include "control/conductor/issues.h"

MUST_USE enum rc issue_sla_due(struct context *ctx, const struct id *issue);
MUST_USE enum rc issue_ci_due(struct context *ctx, const struct id *issue);
MUST_USE enum rc issue_silence_due(struct context *ctx, const struct id *issue);
MUST_USE enum rc issue_gate_due(struct context *ctx, const struct id *issue);
#endif
