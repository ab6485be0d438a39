/*
 * pause.h - a person pauses a run, and resumes it.
 *
 *   queued                          it is not admitted (core/run/admission.h)
 *   its job waits                   no worker gets it: it is held when one asks for it (lease.c)
 *   a worker has its agent          told with the next heartbeat to stop the process (stop_orders)
 *   a worker has another step       that one ends; the step after it is held
 *   awaiting_approval               a decision is taken, the step after it is held
 *
 * A flag, not a state: the run is where it was when it is resumed.  Its clocks stand still
 * (run_clock.h).  Cancelling works as ever.
 */
#ifndef CONTROL_RUN_PAUSE_H
#define CONTROL_RUN_PAUSE_H
#include "control/commit/command.h"
#include "control/run/flow.h"

/* RC_CONFLICT: RUN_FINISHED, RUN_STOPPING.  Twice is once. */
struct cmd_pause {
    struct command base;
    struct id run_id;
    const char *reason; /* or NULL */
    struct run_row run; /* The answer. */
};
struct cmd_pause *cmd_pause_new(void);
struct cmd_pause *cmd_resume_new(void);

/* May people still steer it?  RC_CONFLICT otherwise; to_do: "be paused". */
MUST_USE enum rc steer_check(struct context *ctx, const struct flow *flow, const char *to_do);
/* Loads it; RC_NOT_FOUND RUN_NOT_FOUND. */
MUST_USE enum rc steer_load(struct context *ctx, const struct id *run_id, struct flow *ret_flow);
#endif
