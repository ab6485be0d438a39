/*
 * assignment.h - what a worker receives for a step: the job row with its payload.
 *
 * The payload carries everything that the step needs (docs/PROTOCOL.md), so that a worker never
 * has to read the store.
 */
#ifndef CONTROL_RUN_ASSIGNMENT_H
#define CONTROL_RUN_ASSIGNMENT_H
#include "control/run/flow.h"

/*
 * How large a payload may become.  The share of a task and its configuration, as JSON, is checked
 * when the task is submitted (assignment_check); what its run adds is limited where it is
 * accepted:
 *
 *   128 KiB   results of custom steps (results_custom.c)
 *    64 KiB   the record of an agent elsewhere: a result of 10 KiB, its numbers written out in full
 *    48 KiB   notes of earlier runs: MEMORY_BYTES_MAX, all of it escaped
 *   288 KiB   unread messages: MESSAGES_UNREAD_BYTES_MAX, all of it escaped, and their frames
 *   160 KiB   answers to questions: ANSWERS_BYTES_MAX, the same
 *    16 KiB   ids, hashes, the branch, sums
 *
 * So no job of an accepted task can fail to be made for its size.
 */
enum {
    TASK_BYTES_MAX = 1024 * 1024,
    RUN_BYTES_MAX = 704 * 1024,
    CONFIG_BYTES_MAX = TASK_BYTES_MAX - 4 * 1024, /* With the smallest of tasks. */
};

/* RC_TOO_LARGE, TASK_TOO_LARGE: no job could hold the task.  Writes nothing. */
MUST_USE enum rc assignment_check(struct context *ctx, const struct flow *flow);

/* A job of a built-in step.  Writes nothing. */
MUST_USE enum rc assignment_make(struct context *ctx, struct flow *flow, enum step_kind kind,
                                 struct job_row *ret_job);
/* The same, stored: it becomes the run's mover. */
MUST_USE enum rc assignment_enqueue(struct context *ctx, struct flow *flow, enum step_kind kind);
/* The same for one of the repository's own steps. */
MUST_USE enum rc assignment_enqueue_custom(struct context *ctx, struct flow *flow,
                                           const struct custom_step *custom);

/* The name of the breaker of a repository's forge: by its host, or by itself on this machine. */
const char *forge_dependency(const char *url, const char *repository, struct arena *arena);
#endif
