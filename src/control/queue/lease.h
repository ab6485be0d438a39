/*
 * lease.h - whether a lease still holds its job, for commands of the lease's holder.
 */
#ifndef CONTROL_QUEUE_LEASE_H
#define CONTROL_QUEUE_LEASE_H
#include "control/commit/context.h"
#include "control/queue/jobs.h"

/* The job, when this lease still holds it and is the caller's; else the answer has the reason. */
MUST_USE enum rc lease_load(struct context *ctx, const struct command *command,
                            const struct job_ref *ref, struct job_row *ret_job,
                            struct job_answer *ret_answer);
#endif
