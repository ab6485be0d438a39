/*
 * run_status.h - the states of a run.  The moves between them are in core/run/run.h.
 */
#ifndef CORE_RUN_STATUS_H
#define CORE_RUN_STATUS_H

enum run_status {
    RUN_QUEUED,
    RUN_PREPARING,
    RUN_CONTEXT_LOADING,
    RUN_PLANNING,
    RUN_RUNNING,
    RUN_VERIFYING,
    RUN_JUDGING,
    RUN_AWAITING_APPROVAL,
    RUN_CREATING_PR,
    RUN_COMPLETED,
    RUN_FAILED,
    RUN_CANCELLED,
    RUN_TIMED_OUT,
    RUN_STATUS_COUNT
};
#endif
