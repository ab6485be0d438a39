/*
 * gateway.h - the proxy through which an agent without a network reaches the hosts that its
 * repository lists (core/egress.h), and no others.
 *
 *     agent ──► 127.0.0.1:3128 in the sandbox (inside.h) ──► socket ──► this proxy ──► host
 *
 * CONNECT and plain HTTP.  Names are looked up here, and what they turn out to be is checked too.
 * The number of connections is bounded, and so is what each may hold; a thread serves each.
 */
#ifndef WORK_GATEWAY_H
#define WORK_GATEWAY_H
#include "base/rc.h"
#include <stdbool.h>
#include <stddef.h>

enum { GATEWAY_TEXT_BYTES = 320 };

struct gateway; /* Owned by its starter. */

/* socket_path is replaced when it is there. */
MUST_USE enum rc gateway_start(const char *const *rules, const char *socket_path,
                               struct gateway **ret_gateway, struct err *err);
/* Breaks what is open and removes the socket; NULL is fine. */
void gateway_stop(struct gateway *gateway);

/* The next refusal that was not told yet, one for each host: "host:port: why". */
bool gateway_next_refusal(struct gateway *gateway, char to[GATEWAY_TEXT_BYTES]);
#endif
