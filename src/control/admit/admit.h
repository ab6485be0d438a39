/*
 * admit.h - starts as many queued runs as the limits allow, in order of rank.
 *
 * Slots are never counted in a column: the active runs are counted from their rows each time.
 */
#ifndef CONTROL_ADMIT_ADMIT_H
#define CONTROL_ADMIT_ADMIT_H
#include "control/commit/context.h"
#include "store/runs.h"

/* How far the walk along long lines has come, from one round to the next; zero: at the beginning.
   It decides when a run is checked, never whether it may start: it may be lost without harm.
   The lane restores it when the round is rolled back. */
struct admit_walk {
    struct id repository_id;
    struct run_place place;
};

/* One round for the workspace, in the transaction of the batch that requested it. */
MUST_USE enum rc admit_queued(struct context *ctx, struct admit_walk *walk);
#endif
