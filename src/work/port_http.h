/*
 * port_http.h - the lease port over HTTP: what a worker on another machine has of the server.
 *
 * Any thread may call.  Connections are kept and shared; a call that finds none free makes one.
 * What a call means for the work is told by port.h: an answer that did not come is
 * RC_UNREACHABLE, whatever the reason, and only the server's own word is RC_STALE.
 */
#ifndef WORK_PORT_HTTP_H
#define WORK_PORT_HTTP_H
#include "work/port.h"

struct port_http; /* Owned by its maker. */

struct port_http_options {
    const char *url;
    const char *token; /* or NULL */
};

MUST_USE enum rc port_http_new(const struct port_http_options *options, struct port_http **ret_port,
                               struct err *err);
/* Nobody may be in a call any more.  NULL is fine. */
void port_http_free(struct port_http *port);

struct port *port_http_port(struct port_http *port); /* What the worker gets. */
const char *port_http_url(const struct port_http *port);

/* Answers a request that waits for it, with any JSON.  RC_NOT_FOUND, RC_CONFLICT: nobody does any
   more. */
MUST_USE enum rc port_http_reply(struct port_http *port, const char *reply_to, struct str payload,
                                 struct err *err);

/* How this server wants its leases. */
struct port_terms {
    int64_t lease_ms, heartbeat_ms;
};
/* The first word to the server: is it there, does it take us, on which terms? */
MUST_USE enum rc port_http_hello(struct port_http *port, const struct port_worker *worker,
                                 struct port_terms *ret_terms, struct err *err);
#endif
