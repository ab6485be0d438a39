/*
 * queue_gate.h - how many jobs of a queue a lease may take now: none while it is paused, no more
 * than its concurrency leaves, no more than its rate allows.
 *
 *     gate_open(ctx, queue, want, &gate);  claim up to gate.granted;  gate_close(ctx, &gate, n);
 *
 * Jobs out on lease are counted from their rows, so that nothing leaks when a worker dies.
 */
#ifndef CONTROL_QUEUE_QUEUE_GATE_H
#define CONTROL_QUEUE_QUEUE_GATE_H
#include "control/commit/context.h"
#include "core/queue/bucket.h"

struct gate {
    const struct queue_rules *rules;
    struct bucket bucket;
    int64_t granted;
    int64_t look_us; /* The rate granted less than wanted: when it grants more.  0: else. */
};
MUST_USE enum rc gate_open(struct context *ctx, const char *queue, int64_t want,
                           struct gate *ret_gate);
/* What was taken counts against the rate. */
MUST_USE enum rc gate_close(struct context *ctx, struct gate *gate, int64_t taken);
#endif
