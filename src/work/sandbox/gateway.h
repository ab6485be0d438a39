/*
 * gateway.h - the proxy through which an agent without a network reaches the hosts that its
 * repository lists (core/config/egress.h), and no others.
 *
 *     agent ──► 127.0.0.1:3128 in the sandbox (inside.h) ──► socket ──► this proxy ──► host
 *
 * CONNECT and plain HTTP, one request to a connection.  Heads are read as strictly as the server
 * reads its own (core/http/head.h), and plain HTTP gets a new one: the host sees one Host, the one
 * that was allowed, and no byte behind the request.  Names are looked up here, once: the addresses
 * that were checked are those that are connected to.
 * The number of connections is bounded, and so is what each may hold; a thread serves each.
 */
#ifndef WORK_SANDBOX_GATEWAY_H
#define WORK_SANDBOX_GATEWAY_H
#include "base/rc.h"
#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>

enum { GATEWAY_TEXT_BYTES = 320 };

struct gateway; /* Owned by its starter. */

struct gateway_options {
    const char *const *rules; /* Copied. */
    const char *socket_path;  /* Copied; replaced when it is there. */
    /* As getaddrinfo, whose results it gives; NULL: getaddrinfo. */
    int (*lookup)(const char *host, const char *port, const struct addrinfo *hints,
                  struct addrinfo **ret_found);
};
MUST_USE enum rc gateway_start(const struct gateway_options *options, struct gateway **ret_gateway,
                               struct err *err);
/* Breaks what is open and removes the socket; NULL is fine. */
void gateway_stop(struct gateway *gateway);

/* The next refusal that was not returned yet, one for each host: "host:port: why". */
bool gateway_next_refusal(struct gateway *gateway, char to[GATEWAY_TEXT_BYTES]);
#endif
