/*
 * assignment.h - what a worker is told about a step: the job row with its payload.
 *
 * The payload carries everything that the step needs (docs/PROTOCOL.md), so that a worker never
 * has to read the store.
 */
#ifndef CONTROL_ASSIGNMENT_H
#define CONTROL_ASSIGNMENT_H
#include "control/flow.h"

MUST_USE enum rc assignment_make(struct cx *cx, struct flow *flow, const char *step,
                                 struct job_row *ret_job);
#endif
