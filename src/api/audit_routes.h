/*
 * audit_routes.h - what the audit log calls each route that changes something.
 *
 * Every route that is not a GET has a row here (a test compares both tables), and a GET that takes
 * data out of the server as a whole.  Denials are recorded for all routes, with or without a row.
 */
#ifndef API_AUDIT_ROUTES_H
#define API_AUDIT_ROUTES_H
#include "http/router.h"

struct audit_route {
    const char *pattern;
    const char *action; /* What stands before the last dot is the type of the resource. */
    enum http_method method;
    /* Its calls are not recorded, only its denials: the job path and messages between programs,
       whose rows and events say who did what; reads; and routes that run others. */
    bool unrecorded;
};

const struct audit_route *audit_routes_all(size_t *ret_count);
/* NULL: none. */
const struct audit_route *audit_route_of(const struct route *route);
#endif
