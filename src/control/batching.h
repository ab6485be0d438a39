/*
 * batching.h - jobs of one type that come in a short time, gathered into one.
 *
 * The job that gathers is scheduled for the end of the window; its payload is the array of theirs,
 * its header `batch` says how many.  It goes out early when it is full.  While it takes more, its
 * dedup key says so, which makes it the only one of its kind:  batch/<type>[/<ordering key>]
 */
#ifndef CONTROL_BATCHING_H
#define CONTROL_BATCHING_H
#include "control/cx.h"
#include "control/jobs.h"

/* Not for jobs with a dedup key, a delay or headers: each of these is for itself. */
bool batching_wants(const struct cx *cx, const struct job_spec *spec);
/* The row as it would be written alone; *ret_id is the job that has it now. */
MUST_USE enum rc batching_add(struct cx *cx, struct job_row *row, struct id *ret_id);
#endif
