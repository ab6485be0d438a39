/*
 * intake.h - whether a queue takes a job that comes in, by its rules and its load: order, length,
 * shedding, swarms.
 *
 * Decides and writes nothing, so that a call that brings many is refused before the first of them
 * is written.
 */
#ifndef CONTROL_INTAKE_H
#define CONTROL_INTAKE_H
#include "control/cx.h"
#include "control/jobs.h"

struct intake_verdict {
    const char *ordering_key; /* As the queue's order has it. */
    bool dropped;             /* Turned away: code and retry_us say why, and when to come again. */
    bool deferred;
    const char *code; /* dropped: SHED or SWARM */
    int64_t retry_us;
    int64_t delay_us; /* deferred: for so long. */
    int64_t swarm;    /* A swarm has just begun, of so many; 0: none. */
};

/* RC_LIMIT QUEUE_FULL, RC_INVALID for a key that the queue's order has no use for. */
MUST_USE enum rc intake_decide(struct cx *cx, const struct job_spec *spec,
                               struct intake_verdict *ret_verdict);
/* The refusal of a call of which nothing was taken: RC_LIMIT, with the time to come again. */
enum rc intake_refuse(struct cx *cx, const char *queue, const struct intake_verdict *verdict);
/* What was decided does not happen: those that wait are counted anew. */
void intake_forget(struct cx *cx);
#endif
