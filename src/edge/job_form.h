/*
 * job_form.h - a job as clients describe it, wherever they do: {queue, type, payload, ...}.
 */
#ifndef EDGE_JOB_FORM_H
#define EDGE_JOB_FORM_H
#include "base/form.h"
#include "control/jobs.h"

/* Reads the fields of a job from an open form; the caller closes it.  Texts live in the tree, the
   payload in the arena. */
void form_job(struct form *form, struct arena *arena, struct job_spec *ret_spec);
/* All but queue and type: for calls that name these otherwise. */
void form_job_body(struct form *form, struct arena *arena, struct job_spec *ret_spec);
#endif
