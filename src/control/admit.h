/*
 * admit.h - starts as many queued runs as the limits allow, in order of rank.
 *
 * Slots are never counted in a column: the active runs are counted from their rows each time.
 */
#ifndef CONTROL_ADMIT_H
#define CONTROL_ADMIT_H
#include "control/cx.h"
#include "store/runs.h"

/* How far the walk along long lines has come, from one round to the next; zero: at the beginning.
   It decides when a run is looked at, never whether it may start: one that is lost does no harm.
   The lane puts it back when the round is rolled back. */
struct admit_walk {
    struct id repository_id;
    struct run_place place;
};

/* One round for the workspace.  Runs inside the batch that gave reason for it. */
MUST_USE enum rc admit_queued(struct cx *cx, struct admit_walk *walk);
#endif
