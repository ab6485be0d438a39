/*
 * retry.h - one more run of a task that has ended.
 */
#ifndef CONTROL_ADMIT_RETRY_H
#define CONTROL_ADMIT_RETRY_H
#include "control/commit/command.h"

struct cmd_retry {
    struct command base;
    struct id task_id;
    struct id run_id; /* The answer. */
    int64_t run_no;
};
struct cmd_retry *cmd_retry_new(void);
#endif
