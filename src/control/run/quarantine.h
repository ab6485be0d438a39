/*
 * quarantine.h - no run works on a repository until a person releases it.
 *
 * Begun by the result of a step or by a person.  New tasks and retries are refused, queued runs
 * fail at admission, and active ones fail by a timer, some at a time, however many there are.
 */
#ifndef CONTROL_RUN_QUARANTINE_H
#define CONTROL_RUN_QUARANTINE_H
#include "control/run/flow.h"
#include "store/repositories.h"

#define TIMER_QUARANTINE "quarantine"

/* Nothing happens when it is quarantined already: the first reason stays. */
MUST_USE enum rc quarantine_begin(struct context *ctx, const struct id *repository_id,
                                  const char *reason);
/* RC_DENIED REPO_QUARANTINED, with what to do; RC_OK when it is not quarantined. */
MUST_USE enum rc quarantine_check(struct context *ctx, const struct repository_row *repository);
/* Ends a run of a quarantined repository; the caller's flow is saved. */
MUST_USE enum rc quarantine_end_run(struct context *ctx, struct flow *flow,
                                    const struct repository_row *repository);
/* The timer. */
MUST_USE enum rc quarantine_sweep(struct context *ctx, const struct id *repository_id);

struct cmd_quarantine {
    struct command base;
    const char *name;
    const char *reason;        /* or NULL */
    struct repository_row row; /* The answer. */
};
struct cmd_quarantine *cmd_quarantine_new(void);
struct cmd_quarantine *cmd_quarantine_release_new(void);
#endif
