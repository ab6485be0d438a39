/*
 * intake.h - what a queue under load does with a new job.
 */
#ifndef CORE_QUEUE_INTAKE_H
#define CORE_QUEUE_INTAKE_H
#include "core/queue/queue_config.h"

enum intake {
    INTAKE_TAKE,
    INTAKE_DEFER, /* Taken, and put off for a while. */
    INTAKE_DROP,  /* Refused, with an error to the sender. */
    INTAKE_FULL   /* There is no room for a job of any priority. */
};

/* waiting: jobs that wait in the queue, this one not among them. */
enum intake intake_of(const struct queue_config *config, int64_t priority, int64_t waiting);
/* Does the decision depend on how many wait?  If so, up to how many is it worth counting? */
int64_t intake_count_up_to(const struct queue_config *config); /* 0: not at all */
#endif
