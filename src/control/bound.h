/*
 * bound.h - a token may be good for the jobs of some queues only.
 */
#ifndef CONTROL_BOUND_H
#define CONTROL_BOUND_H
#include "control/cx.h"
#include "control/jobs.h"

/* Jobs that a command speaks of: the first reference, the next lies stride bytes on. */
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
