/*
 * batching.h - jobs of one type that are enqueued within a short time, gathered into one.
 *
 * The job that gathers is scheduled for the end of the window; its payload is the array of their
 * payloads, its header `batch` their number.  It becomes ready early when it is full.  While it can
 * take more it has a dedup key, which makes it the only one of its kind:
 * batch/<type>[/<ordering key>]
 */
#ifndef CONTROL_QUEUE_BATCHING_H
#define CONTROL_QUEUE_BATCHING_H
#include "control/commit/context.h"
#include "control/queue/jobs.h"

/* Not for jobs with a dedup key, a delay or headers: each of these is for itself. */
bool batching_wants(const struct context *ctx, const struct job_spec *spec);
/* row: as it would be written alone; *ret_id is the job that holds its payload now. */
MUST_USE enum rc batching_add(struct context *ctx, struct job_row *row, struct id *ret_id);
#endif
