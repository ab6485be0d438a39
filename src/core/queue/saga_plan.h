/*
 * saga_plan.h - what a saga is made of, as clients describe it: decoded and checked.
 *
 *   [{name, queue, type, payload?, maxAttempts?, compensateFailed?,
 *     compensation?: {queue, type, payload?, maxAttempts?}}, ...]
 *
 * The document is kept as JSON bytes; this is its meaning.  Texts live in the document.
 */
#ifndef CORE_QUEUE_SAGA_PLAN_H
#define CORE_QUEUE_SAGA_PLAN_H
#include "base/arena.h"
#include "base/js.h"
#include <stdbool.h>
#include <stdint.h>

enum { SAGA_STEPS_MAX = 50, SAGA_PLAN_BYTES_MAX = 256 * 1024 };

/* A job, before it is made. */
struct saga_call {
    const char *queue, *type;
    const struct js *payload; /* or NULL */
    int64_t max_attempts;     /* 0: as the queue has it */
};

struct saga_plan_step {
    const char *name; /* No two of a plan are the same. */
    struct saga_call call;
    bool compensable;
    struct saga_call compensation;
    bool compensate_failed; /* The step may do half of its work and fail: it is undone even then. */
};

struct saga_plan {
    const struct saga_plan_step *steps;
    size_t count;
};

/* steps: the array.  RC_INVALID names the field, as "steps[2].queue". */
MUST_USE enum rc saga_plan_decode(const struct js *steps, struct arena *arena,
                                  struct saga_plan *ret_plan, struct err *err);
#endif
