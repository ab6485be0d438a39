/*
 * retry_rule.h - what is done about an error: one table from its code to retry, repair, stop or
 * quarantine, and why.
 *
 *   retry        the same again, after a pause: infrastructure failed, not the patch or the agent
 *   repair       back to the agent with what went wrong, as long as the budget lasts
 *   stop         it would be the same again, or it must not happen again
 *   quarantine   stop, and start nothing more of this repository until a person lifts it
 *
 * Nothing of the policy or security class is ever retried or repaired, even if a worker reports
 * it as retryable.
 */
#ifndef CORE_RUN_RETRY_RULE_H
#define CORE_RUN_RETRY_RULE_H
#include "core/queue/job_error.h"
#include <stddef.h>

enum retry_action { RETRY_AGAIN, RETRY_REPAIR, RETRY_STOP, RETRY_QUARANTINE, RETRY_ACTION_COUNT };

/* Where an error comes from: one and the same word may mean different things. */
enum retry_place {
    RETRY_OF_STEP,  /* A worker reports that a step failed. */
    RETRY_OF_RESULT /* A step has done its work, and this is what it found. */
};

struct retry_rule {
    const char *code;
    enum retry_place place;
    enum retry_action action;
    enum error_class class;
    bool as_reported; /* retry: only if the worker reports it as retryable. */
    bool outside;     /* Counts against what the step depends on. */
    const char *why;
};

/* NULL: not in the table. */
const struct retry_rule *retry_rule_find(enum retry_place place, const char *code);
/* All of them, for docs and tests. */
const struct retry_rule *retry_rules(size_t *ret_count);

/* For a step of drover's own pipeline: by the table, where it has the code, and by what the worker
   reports. */
struct retry_decision retry_of_step(const struct reported_error *error);
#endif
