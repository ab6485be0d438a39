/*
 * job_error.h - the error that a worker reports of a job, and whether the job is retried for it.
 *
 * Nothing of the policy or security class is ever retried, even if a worker reports it as
 * retryable.  What the errors of drover's own steps mean is in core/run/retry_rule.h.
 */
#ifndef CORE_QUEUE_JOB_ERROR_H
#define CORE_QUEUE_JOB_ERROR_H
#include <stdbool.h>

enum error_class {
    CLASS_TRANSIENT, /* May well pass by itself. */
    CLASS_PERMANENT,
    CLASS_POLICY,
    CLASS_SECURITY,
    CLASS_COUNT
};
extern const char *const error_class_names[]; /* In the order of the enum, NULL-terminated. */
bool error_class_is_guarded(enum error_class class); /* Never retried. */

struct reported_error {
    const char *code;
    bool retryable; /* As the worker reports. */
    bool classed;   /* It named a class. */
    enum error_class class;
};
struct retry_decision {
    bool retryable;
    bool policy;     /* Dead letter policy_blocked. */
    bool outside;    /* Counts against the dependency. */
    bool quarantine; /* The owner of the job gets no more work: see its hook. */
};
struct retry_decision retry_as_reported(const struct reported_error *error);
#endif
