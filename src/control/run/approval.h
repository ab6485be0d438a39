/*
 * approval.h - what a person has to approve before a run continues.
 */
#ifndef CONTROL_RUN_APPROVAL_H
#define CONTROL_RUN_APPROVAL_H
#include "control/run/flow.h"

/* Asks a person; the run waits for the decision, or for its expiry. */
struct approval_request {
    const char *kind;    /* plan, patch, override; merge, shepherd, rule of a pull request */
    const char *reason;  /* Why it is asked. */
    const char *summary; /* What is asked about, or NULL. */
    struct str detail;   /* JSON object, or empty. */
};
MUST_USE enum rc approval_ask(struct context *ctx, struct flow *flow,
                              const struct approval_request *request);
/* Does a run wait for an approval of this kind?  Those of a shepherd (merge, shepherd, rule) are
   about a pull request: control/pr/shepherd_ask.c. */
bool approval_moves_run(const char *kind);
/* Its timers: it expired without a decision; a reminder is due while it has none. */
MUST_USE enum rc approval_expired(struct context *ctx, const struct id *approval_id);
MUST_USE enum rc approval_remind(struct context *ctx, const struct id *approval_id);
#endif
