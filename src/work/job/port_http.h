/*
 * port_http.h - the lease port over HTTP, for a worker on another machine.
 *
 * Any thread may call.  Connections are kept and shared; a call that finds none free makes one.
 * Return codes are those of port.h: a missing answer is RC_UNREACHABLE for any reason, and only the
 * server's own answer is RC_STALE.
 */
#ifndef WORK_JOB_PORT_HTTP_H
#define WORK_JOB_PORT_HTTP_H
#include "work/job/port.h"

struct port_http; /* Owned by its maker. */

struct port_http_options {
    const char *url;
    const char *token; /* or NULL */
};

MUST_USE enum rc port_http_new(const struct port_http_options *options, struct port_http **ret_port,
                               struct err *err);
/* No thread may be in a call any more.  NULL is fine. */
void port_http_free(struct port_http *port);

struct port *port_http_port(struct port_http *port); /* What the worker gets. */
const char *port_http_url(const struct port_http *port);

/* Answers a request that waits for it, with any JSON.  RC_NOT_FOUND, RC_CONFLICT: no requester
   waits any more. */
MUST_USE enum rc port_http_reply(struct port_http *port, const char *reply_to, struct str payload,
                                 struct err *err);

/* The lease times that this server requires. */
struct port_terms {
    int64_t lease_ms, heartbeat_ms;
};
/* The first call: is the server reachable, does it accept this worker, with which lease times? */
MUST_USE enum rc port_http_hello(struct port_http *port, const struct port_worker *worker,
                                 struct port_terms *ret_terms, struct err *err);
#endif
