/*
 * token_scope.h - a token may be limited to the jobs of some queues.
 */
#ifndef CONTROL_QUEUE_TOKEN_SCOPE_H
#define CONTROL_QUEUE_TOKEN_SCOPE_H
#include "control/commit/context.h"
#include "control/queue/jobs.h"

/* Jobs that a command refers to: the first reference, the next is stride bytes further. */
struct token_scope_refs {
    const struct job_ref *refs;
    size_t stride, count;
};
/* RC_DENIED, QUEUE_NOT_ALLOWED: one of them is of another queue.  Nothing is written. */
MUST_USE enum rc token_scope_check(struct context *ctx, const struct command *command,
                                   const struct token_scope_refs *refs);
/* The same for jobs that it would make. */
MUST_USE enum rc token_scope_check_specs(struct context *ctx, const struct command *command,
                                         const struct job_spec *specs, size_t count);
#endif
