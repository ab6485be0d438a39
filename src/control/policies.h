/*
 * policies.h - policy asked by a command, and told to the log.
 *
 *     agent.policy.evaluated           somebody is asked, or denied; and once for each publication
 *     agent.policy.denied              with it, for a denial
 *     agent.policy.override.requested  a person may say yes to what was denied: approved, rejected
 */
#ifndef CONTROL_POLICIES_H
#define CONTROL_POLICIES_H
#include "control/flow.h"
#include "core/policy.h"

/* The decision as a JSON object. */
struct str policies_text(const struct policy_decision *decision, struct arena *arena);
/* Of the run. */
MUST_USE enum rc policies_tell(struct cx *cx, struct flow *flow,
                               const struct policy_decision *decision);
/* Of a task that is not let in, and so has no row. */
MUST_USE enum rc policies_tell_refused(struct cx *cx, const struct id *task_id,
                                       const struct policy_decision *decision);
/* An admin lets a task in that policy denies; the run keeps it in `overridden`. */
MUST_USE enum rc policies_override_mode(struct cx *cx, struct flow *flow, const char *reason);

/* May this run's patch be published as its task wants?  Tells the decision. */
MUST_USE enum rc policies_on_publish(struct cx *cx, struct flow *flow,
                                     enum policy_verdict *ret_verdict);
/*
 * A patch has come: does it touch what policy.forbiddenPaths names?  Then the run fails, or a
 * person is asked (policy.override: ask), and *ret_stopped is true: nothing else may be done with
 * the run.
 * Paths that a person has passed before in this run are passed.  forbidden_count: as the worker has
 * counted them, who sees all paths and not only those that a result has room for.
 */
MUST_USE enum rc policies_on_patch(struct cx *cx, struct flow *flow, int64_t forbidden_count,
                                   bool *ret_stopped);
#endif
