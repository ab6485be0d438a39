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

enum report_kind {
    REPORT_COMPLETE,
    REPORT_FAIL,
    REPORT_RELEASE, /* Given back in good order. */
    REPORT_NOTHING, /* The lease is lost: nobody listens. */
};

struct step_report {
    enum report_kind kind;
    struct str result;           /* REPORT_COMPLETE */
    struct port_failure failure; /* REPORT_FAIL */
};

struct report_route {
    struct port *port;
    struct port_ref lease;
    const struct stop *shutdown; /* Once asked, only a few more tries are made. */
};

/* RC_OK, RC_STALE when the lease was lost meanwhile, or what the server said last. */
MUST_USE enum rc report_send(const struct report_route *route, const struct step_report *report,
                             struct err *err);
#endif
