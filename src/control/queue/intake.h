/*
 * intake.h - whether a queue accepts a new job, by its rules and its load: order, length, shedding,
 * swarms.
 *
 * Decides and writes nothing, so that a call with many jobs is refused before the first of them is
 * written.
 */
#ifndef CONTROL_QUEUE_INTAKE_H
#define CONTROL_QUEUE_INTAKE_H
#include "control/commit/context.h"
#include "control/queue/jobs.h"

struct intake_verdict {
    const char *ordering_key; /* By the queue's order. */
    bool dropped;             /* Refused: code is the reason, retry_us when to retry. */
    bool deferred;
    const char *code; /* dropped: SHED or SWARM */
    int64_t retry_us;
    int64_t delay_us; /* deferred: for so long. */
    int64_t swarm;    /* A swarm has just begun, of so many; 0: none. */
};

/* RC_LIMIT QUEUE_FULL, RC_INVALID for an ordering key that the queue's order does not allow. */
MUST_USE enum rc intake_decide(struct context *ctx, const struct job_spec *spec,
                               struct intake_verdict *ret_verdict);
/* The refusal of a call of which no job was accepted: RC_LIMIT, with the time to retry. */
enum rc intake_refuse(struct context *ctx, const char *queue, const struct intake_verdict *verdict);
/* The decided jobs are not written: waiting jobs are counted anew. */
void intake_forget(struct context *ctx);
#endif
