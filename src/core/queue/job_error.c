/*
 * job_error.c - a class that the worker names decides before its word on retrying.
 */
#include "core/queue/job_error.h"
#include <stddef.h>

const char *const error_class_names[] = {
    [CLASS_TRANSIENT] = "transient",
    [CLASS_PERMANENT] = "permanent",
    [CLASS_POLICY] = "policy",
    [CLASS_SECURITY] = "security",
    [CLASS_COUNT] = NULL,
};

bool error_class_is_guarded(enum error_class class)
{
    return class == CLASS_POLICY || class == CLASS_SECURITY;
}

struct retry_decision retry_as_reported(const struct reported_error *error)
{
    bool policy = error->classed && error_class_is_guarded(error->class);
    bool permanent = error->classed && error->class == CLASS_PERMANENT;
    bool transient = error->classed && error->class == CLASS_TRANSIENT;
    bool retryable = !policy && !permanent && (error->retryable || transient);
    return (struct retry_decision){.retryable = retryable, .policy = policy, .outside = retryable};
}
