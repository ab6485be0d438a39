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
#include <stdbool.h>
#include <stddef.h>

enum retry_action { RETRY_AGAIN, RETRY_REPAIR, RETRY_STOP, RETRY_QUARANTINE, RETRY_ACTION_COUNT };

enum error_class {
    CLASS_TRANSIENT, /* May well pass by itself. */
    CLASS_PERMANENT,
    CLASS_POLICY,
    CLASS_SECURITY,
    CLASS_COUNT
};

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
    bool as_told; /* retry: only if the worker reports it as retryable. */
    bool outside; /* Counts against what the step depends on. */
    const char *why;
};

/* NULL: not in the table. */
const struct retry_rule *retry_rule_find(enum retry_place place, const char *code);
/* All of them, for docs and tests. */
const struct retry_rule *retry_rules(size_t *ret_count);

/* What a worker reports of a failed job. */
struct told_error {
    const char *code;
    bool own_step;  /* Of drover's own pipeline: the table decides. */
    bool retryable; /* As the worker reports. */
    bool classed;   /* It named a class. */
    enum error_class class;
};
struct retry_decision {
    bool retryable;
    bool policy;     /* Dead letter policy_blocked. */
    bool outside;    /* Counts against the dependency. */
    bool quarantine; /* The repository. */
};
struct retry_decision retry_decide(const struct told_error *told);

extern const char *const error_class_names[]; /* In the order of the enum, NULL-terminated. */
#endif
