/*
 * decide.h - what people decide: approvals, and pull requests that were merged or closed.
 */
#ifndef CONTROL_ADMIT_DECIDE_H
#define CONTROL_ADMIT_DECIDE_H
#include "control/commit/command.h"

struct cmd_decide { /* approve or reject */
    struct command base;
    struct id approval_id;
    bool approve;
    const char *reason; /* or NULL */
    struct id run_id;   /* The answer. */
};
struct cmd_decide *cmd_decide_new(void);

struct cmd_merged { /* The forge has merged a pull request: record it. */
    struct command base;
    struct id pull_request_id;
    const char *merge_commit;
};
struct cmd_merged *cmd_merged_new(void);

struct cmd_closed { /* The forge has closed a pull request: record it. */
    struct command base;
    struct id pull_request_id;
    const char *reason; /* or NULL */
};
struct cmd_closed *cmd_closed_new(void);

/* The same inside another command.  The flow is that of the run that opened it. */
struct flow;
struct pull_request_row;
MUST_USE enum rc decide_merged(struct context *ctx, struct flow *flow, struct pull_request_row *row,
                               const char *merge_commit);
MUST_USE enum rc decide_closed(struct context *ctx, struct flow *flow, struct pull_request_row *row,
                               const char *reason);
#endif
