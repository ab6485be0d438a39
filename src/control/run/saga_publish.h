/*
 * saga_publish.h - a publish that did not complete is undone, as a saga.
 *
 * Its steps are the parts of the publish (core/publish_parts.h) that were reported, up to the
 * one that failed; its compensations are jobs of the step unpublish, the last part first.  After a
 * worker that did not report, every part that can be undone counts as done: each compensation asks
 * the forge what is there.
 *
 * The saga is made when it is needed, not when publishing starts: a run that gets its pull request,
 * as nearly all do, writes nothing for it.  The run's own state machine stays the authority for the
 * run; the saga is about what the run left outside.
 */
#ifndef CONTROL_RUN_SAGA_PUBLISH_H
#define CONTROL_RUN_SAGA_PUBLISH_H
#include "control/run/flow.h"

/* The run fails without a pull request: agent.pr.creation.failed, if no worker has reported one
   because it was lost or out of time. */
MUST_USE enum rc saga_publish_failed(struct context *ctx, struct flow *flow);
/* The run ends without a pull request; job_id is that of its publish step.  Nothing is done when
   the job was never leased: then no worker can have read the run's fence. */
MUST_USE enum rc saga_undo_publish(struct context *ctx, struct flow *flow, const struct id *job_id);
#endif
