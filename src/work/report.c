/*
 * report.c - complete, fail and release, tried again while that may help.
 */
#include "work/report.h"
#include "work/retry.h"

enum { LAST_TRIES = 5 };

static enum rc send_once(const struct report_route *route, const struct step_report *report,
                         struct err *err)
{
    struct port *port = route->port;
    switch (report->kind) {
    case REPORT_COMPLETE:
        return port->ops->complete(port, &route->lease, report->result, err);
    case REPORT_FAIL:
        return port->ops->fail(port, &route->lease, &report->failure, err);
    case REPORT_RELEASE:
        return port->ops->release(port, &route->lease, err);
    case REPORT_NOTHING:
        break;
    }
    return RC_OK;
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
