/*
 * acceptance.h - the checks before a task is accepted: policy, rate and cost, in the order of
 * core/run/admission.h.  The same for a new task and for a finished one that is retried.
 */
#ifndef CONTROL_ADMIT_ACCEPTANCE_H
#define CONTROL_ADMIT_ACCEPTANCE_H
#include "control/commit/context.h"
#include "core/run/admission.h"

struct acceptance {       /* The request to check. */
    const char *key_task; /* The task that took the idempotency key with another body, or NULL */
    const char *requested_by;
    const char *repository; /* Its name. */
    bool onboarded;
    enum mode mode;
    enum risk risk;
    enum approval_rule approval;
    bool overridden;
};
/* As admission_submit; a refusal carries the time of the next useful retry. */
MUST_USE enum rc acceptance_check(struct context *ctx, const struct acceptance *request);

/* What passes with time and holds back every task of this person: rate and cost. */
struct acceptance_wait {
    const char *reason; /* For people; NULL: nothing does. */
    int64_t retry_us;   /* The time of the next useful try; 0: not known. */
};
MUST_USE enum rc acceptance_wait(struct context *ctx, const char *requested_by,
                                 struct acceptance_wait *ret_wait);
#endif
