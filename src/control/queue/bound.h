/*
 * bound.h - a token may be limited to the jobs of some queues.
 */
#ifndef CONTROL_QUEUE_BOUND_H
#define CONTROL_QUEUE_BOUND_H
#include "control/commit/cx.h"
#include "control/queue/jobs.h"

/* Jobs that a command refers to: the first reference, the next is stride bytes further. */
struct bound_refs {
    const struct job_ref *refs;
    size_t stride, count;
};
/* RC_DENIED, QUEUE_NOT_ALLOWED: one of them is of another queue.  Nothing is written. */
MUST_USE enum rc bound_check(struct cx *cx, const struct command *command,
                             const struct bound_refs *refs);
/* The same for jobs that it would make. */
MUST_USE enum rc bound_check_specs(struct cx *cx, const struct command *command,
                                   const struct job_spec *specs, size_t count);
#endif
