/*
 * relay.h - a socket whose connections are passed on to another address, byte for byte.
 *
 * Agents in a sandbox without a network reach the server through it: a socket in the file system
 * outside, and inside a port of the loopback.  One thread, a bounded number of connections, a
 * bounded buffer for each direction; a connection that finds no room waits in the listen queue.
 */
#ifndef NET_RELAY_H
#define NET_RELAY_H
#include "base/buf.h"
#include "base/rc.h"
#include "base/str.h"
#include <stdbool.h>

struct relay; /* Owned by its starter. */

struct relay_options {
    const char *socket_path; /* As of listener.h; NULL: listen_port */
    int listen_port;         /* Of the loopback. */
    const char *target_path; /* Where it leads: a socket; NULL: host and port. */
    const char *host;        /* A name or an address; resolved for every connection. */
    int port;
    int (*dial)(const char *host, int port); /* With a host: dial_host (dial.h). */
    /* NULL: bytes pass as they are.  Else the head of the first HTTP request is read before the
       connection is passed on: true and in *to the head to send instead, or false and in *to the
       answer to give before it is closed.  On the relay's thread. */
    bool (*admit)(struct str head, struct buf *to);
};

/* RC_TOO_LARGE: the path is too long for a socket. */
MUST_USE enum rc relay_start(const struct relay_options *options, struct relay **ret_relay,
                             struct err *err);
void relay_stop(struct relay *relay); /* Breaks what is open, removes the socket; NULL is fine. */
#endif
