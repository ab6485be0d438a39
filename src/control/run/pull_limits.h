/*
 * pull_limits.h - the clocks and limits of an agent that leases its work.
 *
 * No worker of drover supervises it, so the server does.  From the lease on it has timeoutMs of its
 * payload for its work and idleMs between two reports of progress; heartbeats only keep the lease.
 * The usage that it reports is compared with maxTurns, maxBudgetUsd and maxTokens.  Past a limit it
 * is asked to stop, as a cancelled one is: cancel in the answers to heartbeat and progress, and
 * cancelMs later its job is taken away.
 *
 *   timeouts.agentMs, timeouts.idleMs          the run ends: agent_timed_out, agent_idle_timed_out
 *   limits.maxTurns, .maxBudgetUsd, .maxTokens what it has done by then is collected: with its pull
 *                                              request open it has done its work
 *
 * The clocks are rows in timers, and the limit that was passed is the run's stop_by: both survive a
 * restart.  A clock that runs out while the job is not leased is ignored.
 */
#ifndef CONTROL_RUN_PULL_LIMITS_H
#define CONTROL_RUN_PULL_LIMITS_H
#include "control/run/ending.h"
#include "control/run/flow.h"

/* It has leased its work: both clocks begin.  Jobs of other types have none. */
MUST_USE enum rc pull_begun(struct context *ctx, const struct run_row *run,
                            const struct job_row *job);
/* It has reported: the idle clock begins anew.  sums: what it has used, or NULL.  *ret_stop: its
   usage is past a limit, it is to stop. */
MUST_USE enum rc pull_reported(struct context *ctx, const struct run_row *run,
                               const struct job_row *job, const struct js *sums, bool *ret_stop);
/* No server ran, so that no agent could report: idle clocks are extended. */
MUST_USE enum rc pull_grant(struct context *ctx, int64_t grace_us);

/* For due.c. */
MUST_USE enum rc pull_deadline(struct context *ctx, const struct id *run_id);
MUST_USE enum rc pull_idle(struct context *ctx, const struct id *run_id);

/* Was the run asked to stop by such a limit?  Then this is how it ends. */
const struct ending *pull_ending(const struct run_row *run);
/* Was it a limit on turns or cost?  Then it is collected, not ended. */
bool pull_is_cut_off(const struct run_row *run);
/* The stop request is withdrawn: the agent completed after all, and the run continues with its
   result. */
MUST_USE enum rc pull_continue(struct context *ctx, struct flow *flow);
/* The run continues with what a worker collects of the agent's work. */
MUST_USE enum rc pull_collect(struct context *ctx, struct flow *flow);
#endif
