/*
 * enqueue.h - one job comes in, inside the command at hand: for whatever makes jobs, from the calls
 * of producers to schedules, topics and sagas.
 */
#ifndef CONTROL_ENQUEUE_H
#define CONTROL_ENQUEUE_H
#include "control/cx.h"
#include "control/jobs.h"

/* What the spec leaves open (0, NULL) is as the queue's rules have it. */
MUST_USE enum rc enqueue_one(struct cx *cx, const struct job_spec *spec,
                             struct enqueue_answer *ret_answer);
/* The same for many: all is decided before the first is written.  RC_LIMIT when all of them would
   be dropped. */
MUST_USE enum rc enqueue_many(struct cx *cx, const struct job_spec *specs, size_t count,
                              struct enqueue_answer *answers);
/* Writes a row that is decided: it enters its key, and waits or can be claimed. */
MUST_USE enum rc enqueue_insert(struct cx *cx, struct job_row *row);
#endif
