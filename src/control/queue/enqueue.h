/*
 * enqueue.h - enqueues jobs: the command of producers, and the same inside another command, for
 * schedules, topics and sagas.
 */
#ifndef CONTROL_QUEUE_ENQUEUE_H
#define CONTROL_QUEUE_ENQUEUE_H
#include "control/queue/jobs.h"

struct context;

struct cmd_enqueue {
    struct command base;
    const struct job_spec *jobs;
    size_t count;
    struct enqueue_answer *answers;
};
struct cmd_enqueue *cmd_enqueue_new(void);

/* Members that the spec leaves open (0, NULL) are taken from the queue's rules. */
MUST_USE enum rc enqueue_one(struct context *ctx, const struct job_spec *spec,
                             struct enqueue_answer *ret_answer);
/* The same for many: all is decided before the first is written.  RC_LIMIT when all of them would
   be dropped. */
MUST_USE enum rc enqueue_many(struct context *ctx, const struct job_spec *specs, size_t count,
                              struct enqueue_answer *answers);
/* Writes a row that was accepted: it enters its ordering key, and waits or can be claimed. */
MUST_USE enum rc enqueue_insert(struct context *ctx, struct job_row *row);
#endif
