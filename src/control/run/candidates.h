/*
 * candidates.h - best of N: several agents work on one task, one patch is published.
 *
 *   task with best_of ──┬── candidate 1   a sub-task of mode patch_only, with its own agent
 *     its run is        ├── candidate 2   prepared, verified and judged like any task
 *     queued and waits  └── candidate 3
 *     (candidates_running)
 *            │ all have ended               after the first usable one the others have
 *            v                              timeouts.candidateGraceMs left, then they are cancelled
 *     the best patch by core/run/candidates.h becomes that of the run, which is admitted,
 *     verifies and judges it once more for a certificate of its own, and publishes it
 *
 * 1. The run of the task is moved by admission only, like every queued run: it holds no slot while
 *    it waits, so candidates can never wait for the slot of their own task.
 * 2. The choice is one transaction: chosen_id, patch and event, or nothing.
 * 3. Candidates are never published themselves.  Their patches stay as artifacts.
 */
#ifndef CONTROL_RUN_CANDIDATES_H
#define CONTROL_RUN_CANDIDATES_H
#include "control/run/flow.h"
#include "core/run/candidates.h"
#include "store/candidates.h"

#define TIMER_CANDIDATE_GRACE "candidate_grace" /* Of the task. */

/* The evidence of each row, for core. */
struct candidate candidate_of(const struct candidate_row *row);

enum candidates_gate { CANDIDATES_PASS, CANDIDATES_HOLD, CANDIDATES_FAILED };
/* For admission, of a queued run: PASS when its task has no candidates, or one was chosen, now if
   need be.  HOLD: *ret_detail says what it waits for.  FAILED: none is usable, the run has ended
   and is saved. */
MUST_USE enum rc candidates_gate(struct context *ctx, struct flow *flow,
                                 enum candidates_gate *ret_gate, const char **ret_detail);
/* Do candidates do the work of the run's first attempt, or have they done it?  Then its own agent
   works only if their patch must be repaired. */
bool candidates_work(const struct flow *flow);
/* Has the run a patch of a candidate that it has not begun to verify?  Later attempts, which repair
   it, are its own agent's. */
bool candidates_patch_waits(const struct flow *flow);

/* For due.c: the grace is over, unfinished candidates are cancelled. */
MUST_USE enum rc candidates_grace_over(struct context *ctx, const struct id *task_id);
#endif
