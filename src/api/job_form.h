/*
 * job_form.h - decodes a job in the body of any request: {queue, type, payload, ...}.
 */
#ifndef API_JOB_FORM_H
#define API_JOB_FORM_H
#include "base/form.h"
#include "control/queue/jobs.h"

/* Reads the fields of a job from an open form; the caller closes it.  Texts live in the tree, the
   payload in the arena. */
void form_job(struct form *form, struct arena *arena, struct job_spec *ret_spec);
/* All but queue and type: for calls that take these from elsewhere. */
void form_job_body(struct form *form, struct arena *arena, struct job_spec *ret_spec);
#endif
