/*
 * report.c - complete, fail and release, tried again while that may help.
 */
#include "work/job/report.h"
#include "base/fault.h"
#include "work/job/retry.h"

enum { LAST_TRIES = 5 };

static enum rc deliver(const struct report_route *route, const struct step_report *report,
                       struct err *err)
{
    struct port *port = route->port;
    switch (report->kind) {
    case STEP_COMPLETED:
        return port->ops->complete(port, &route->lease, report->result, route->next, err);
    case STEP_FAILED:
        return port->ops->fail(port, &route->lease, &report->failure, err);
    case STEP_RELEASED:
        return port->ops->release(port, &route->lease, err);
    case STEP_PUT_OFF:
        return port->ops->put_off(port, &route->lease, &report->wait, err);
    case STEP_DISCARDED:
        break;
    }
    return RC_OK;
}

static enum rc send_once(const struct report_route *route, const struct step_report *report,
                         struct err *err)
{
    enum rc rc = fault_point("step.report", err);
    if (rc == RC_OK)
        rc = deliver(route, report, err);
    return rc == RC_OK ? fault_point("step.reported", err) : rc;
}

enum rc report_send(const struct report_route *route, const struct step_report *report,
                    struct err *err)
{
    struct retry retry = retry_begin(route->shutdown);
    retry.last_tries = LAST_TRIES;
    enum rc rc;
    do
        rc = send_once(route, report, err);
    while (retry_again(&retry, rc));
    return rc;
}
