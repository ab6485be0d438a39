/*
 * report.h - reports the end of a step to the server, with retries.
 *
 * A report that the server cannot accept now is retried (retry.h).  If the lease expires meanwhile,
 * the server leases the job to another worker.
 */
#ifndef WORK_JOB_REPORT_H
#define WORK_JOB_REPORT_H
#include "work/job/port.h"
#include "work/job/stop.h"

enum step_end {
    STEP_COMPLETED,
    STEP_FAILED,
    STEP_RELEASED,  /* Given back in an orderly way. */
    STEP_PUT_OFF,   /* The same, until later. */
    STEP_DISCARDED, /* The lease is lost: nothing is reported. */
};

struct step_report {
    enum step_end kind;
    struct str result;           /* STEP_COMPLETED */
    struct port_failure failure; /* STEP_FAILED */
    struct port_wait wait;       /* STEP_PUT_OFF */
};

struct report_route {
    struct port *port;
    struct port_ref lease;
    const struct stop *shutdown; /* Once requested, only a few more tries are made. */
    struct port_next *next;      /* Wanted with STEP_COMPLETED; or NULL. */
};

/* RC_OK, RC_STALE when the lease was lost meanwhile, or the last answer of the server. */
MUST_USE enum rc report_send(const struct report_route *route, const struct step_report *report,
                             struct err *err);
#endif
