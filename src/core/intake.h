/*
 * intake.h - what a queue under load does with a job that comes in.
 */
#ifndef CORE_INTAKE_H
#define CORE_INTAKE_H
#include "core/queue_config.h"

enum intake {
    INTAKE_TAKE,
    INTAKE_DEFER, /* Taken, and put off for a while. */
    INTAKE_DROP,  /* Turned away, with notice to the sender. */
    INTAKE_FULL   /* There is no room for anybody. */
};

/* waiting: jobs that wait in the queue, this one not among them. */
enum intake intake_of(const struct queue_config *config, int64_t priority, int64_t waiting);
/* Does the answer depend on how many wait?  If so, up to how many is it worth counting? */
int64_t intake_count_up_to(const struct queue_config *config); /* 0: not at all */
#endif
