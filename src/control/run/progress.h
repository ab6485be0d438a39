/*
 * progress.h - the command by which workers report the progress of their steps.
 */
#ifndef CONTROL_RUN_PROGRESS_H
#define CONTROL_RUN_PROGRESS_H
#include "control/queue/jobs.h"

struct job_progress {
    struct job_ref ref;
    const struct js *events; /* Array of {type, data}; checked: known progress types only. */
};
struct cmd_progress {
    struct command base;
    const struct job_progress *jobs;
    size_t count;
    struct job_answer *answers;
};
struct cmd_progress *cmd_progress_new(void);

/* The progress of one job, inside a command that does more.  Writes nothing if it is refused. */
MUST_USE enum rc progress_take(struct context *ctx, const struct command *command,
                               const struct job_progress *progress, struct job_answer *ret_answer);
#endif
