/*
 * policies.h - evaluates policy in a command, and records the decision in the log.
 *
 *     agent.policy.evaluated           a person must approve, or policy denies; and once for each
 *                                      publication
 *     agent.policy.denied              with it, for a denial
 *     agent.policy.override.requested  a person may override the denial: approved, rejected
 */
#ifndef CONTROL_RUN_POLICIES_H
#define CONTROL_RUN_POLICIES_H
#include "control/run/flow.h"
#include "core/run/policy.h"

/* The decision as a JSON object. */
struct str policies_text(const struct policy_decision *decision, struct arena *arena);
/* Of the run. */
MUST_USE enum rc policies_emit(struct context *ctx, struct flow *flow,
                               const struct policy_decision *decision);
/* Of a task that is refused, and so has no row. */
MUST_USE enum rc policies_emit_refused(struct context *ctx, const struct id *task_id,
                                       const struct policy_decision *decision);
/* A row in the audit log: a person has overridden a policy. */
struct policy_override {
    const char *policy_id, *resource_type, *resource_id, *reason;
};
void policies_audit_override(struct context *ctx, const struct policy_override *override);
/* An admin submits a task that policy denies; the run keeps it in `overridden`. */
MUST_USE enum rc policies_override_mode(struct context *ctx, struct flow *flow, const char *reason);

/* May this run's patch be published in its task's mode?  Appends the decision as an event. */
MUST_USE enum rc policies_on_publish(struct context *ctx, struct flow *flow,
                                     enum policy_verdict *ret_verdict);
/*
 * The run has a patch: does it touch paths of policy.forbiddenPaths?  Then the run fails, or a
 * person has to approve (policy.override: ask), and *ret_stopped is true: the caller must not move
 * the run.
 * Paths that a person has approved before in this run are allowed.  forbidden_count: as counted by
 * the worker, which reads all paths and not only those that a result has room for.
 */
MUST_USE enum rc policies_on_patch(struct context *ctx, struct flow *flow, int64_t forbidden_count,
                                   bool *ret_stopped);
#endif
