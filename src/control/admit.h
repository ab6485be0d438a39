/*
 * admit.h - starts as many queued runs as the limits allow, in order of rank.
 *
 * Slots are never counted in a column: the active runs are counted from their rows each time.
 */
#ifndef CONTROL_ADMIT_H
#define CONTROL_ADMIT_H
#include "control/cx.h"

/* One round for the workspace.  Runs inside the batch that gave reason for it. */
MUST_USE enum rc admit_queued(struct cx *cx);
#endif
