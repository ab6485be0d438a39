/*
 * report.h - what became of a step, told to the server, with patience.
 *
 * A server that cannot answer just now is asked again for up to a minute; after that the lease
 * runs out and the job is somebody else's.
 */
#ifndef WORK_REPORT_H
#define WORK_REPORT_H
#include "work/port.h"
#include "work/stop.h"

enum step_end {
    STEP_COMPLETED,
    STEP_FAILED,
    STEP_RELEASED,  /* Given back in good order. */
    STEP_DISCARDED, /* The lease is lost: nobody listens. */
};

struct step_report {
    enum step_end kind;
    struct str result;           /* STEP_COMPLETED */
    struct port_failure failure; /* STEP_FAILED */
};

struct report_route {
    struct port *port;
    struct port_ref lease;
    const struct stop *shutdown; /* Once asked, only a few more tries are made. */
    struct port_next *next;      /* Wanted with STEP_COMPLETED; or NULL. */
};

/* RC_OK, RC_STALE when the lease was lost meanwhile, or what the server said last. */
MUST_USE enum rc report_send(const struct report_route *route, const struct step_report *report,
                             struct err *err);
#endif
