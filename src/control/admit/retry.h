/*
 * retry.h - one more run of a task that has ended.
 */
#ifndef CONTROL_ADMIT_RETRY_H
#define CONTROL_ADMIT_RETRY_H
#include "control/commit/command.h"

struct retry_request {
    struct id task_id;
    const char *requested_by; /* Counts for the limits on rate and cost. */
};
struct retried {
    struct id run_id;
    int64_t run_no;
};
/* Retries a task inside a command.  RC_CONFLICT: it has not ended, or has completed.  A refusal has
   written nothing. */
MUST_USE enum rc retry_latest(struct context *ctx, const struct retry_request *request,
                              struct retried *ret);

struct cmd_retry {
    struct command base;
    struct id task_id;
    struct id run_id; /* The answer. */
    int64_t run_no;
};
struct cmd_retry *cmd_retry_new(void);
#endif
