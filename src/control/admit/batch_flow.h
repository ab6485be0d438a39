/*
 * batch_flow.h - moves a batch: which members become tasks, when it stops, and how it ends
 * (core/run/batch.h decides).
 *
 *     submitted, paused, cancelled (batch_commands.h) ----+
 *     a member's task ends or is retried: TIMER_BATCH ----+--> a turn: batch_advance
 *     money is spent: TIMER_BATCH_SPENT ------------------+       | members become tasks, in order,
 *     BATCH_NET_US after the last turn: TIMER_BATCH_NET --+       | are skipped, refused, dropped
 *                                                                 v
 *     TIMER_BATCH_STOP <-- it stops with onStop: cancel, for its budget, or was cancelled
 *
 * Invariants:
 *   1. A member and its task are written in one transaction, behind the lock of the batch's row: a
 *      crash leaves both or neither, and no second task is ever made for a member.
 *   2. A batch that has not ended has a timer.  A turn does not touch TIMER_BATCH before its end,
 *      and then deletes it only if it is the one that fired: a member that ends meanwhile, on
 *      another lane or node, sets it to another time, and there will be another turn.
 *   3. Members that are cancelled are rows of other commands: TIMER_BATCH_STOP locks their runs, in
 *      a turn of its own and without the lock of the batch.
 */
#ifndef CONTROL_ADMIT_BATCH_FLOW_H
#define CONTROL_ADMIT_BATCH_FLOW_H
#include "control/commit/context.h"
#include "control/commit/event_body.h"
#include "store/batches.h"

#define BATCH_NET_US (30 * US_PER_SECOND)

/* Takes the batch as far as it goes now, and saves it; *row is locked, and may have been changed
   since it was read as *stored. */
MUST_USE enum rc batch_advance(struct context *ctx, struct batch_row *row,
                               const struct batch_row *stored);
/* Appends an event of the batch; the caller saves the row. */
MUST_USE enum rc batch_emit(struct context *ctx, struct batch_row *row, const char *type,
                            struct event_body *body);
/* {"counts": ..., "costUsd": ...} as members of the body. */
void batch_write_counts(struct jw *jw, const struct batch_counts *counts, int64_t cost_microusd);

/* The timers, for due.c: TIMER_BATCH and TIMER_BATCH_SPENT; TIMER_BATCH_STOP. */
MUST_USE enum rc batch_due(struct context *ctx, const struct id *batch_id);
MUST_USE enum rc batch_stop_due(struct context *ctx, const struct id *batch_id);

/* A task that is to become a member of a batch by its own submission. */
struct batch_joining {
    struct batch_row row;
    int64_t no;
};
/* Locks the batch.  RC_INVALID: there is no such batch; RC_CONFLICT, BATCH_FINISHED: it takes no
   members any more; RC_LIMIT, BATCH_FULL.  Writes nothing. */
MUST_USE enum rc batch_join_check(struct context *ctx, const struct id *batch_id,
                                  struct batch_joining *ret_joining);
struct task_row;
MUST_USE enum rc batch_join(struct context *ctx, const struct batch_joining *joining,
                            const struct task_row *task);
#endif
