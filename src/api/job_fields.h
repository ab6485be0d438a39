/*
 * job_fields.h - decodes a job in the body of any request: {queue, type, payload, ...}.
 */
#ifndef API_JOB_FIELDS_H
#define API_JOB_FIELDS_H
#include "base/fields.h"
#include "control/queue/jobs.h"

/* Reads the fields of a job from an open form; the caller closes it.  Texts live in the tree, the
   payload in the arena. */
void fields_job(struct fields *fields, struct arena *arena, struct job_spec *ret_spec);
/* All but queue and type: for calls that take these from elsewhere. */
void fields_job_body(struct fields *fields, struct arena *arena, struct job_spec *ret_spec);
#endif
