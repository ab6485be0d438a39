/*
 * listener.h - a listening socket.
 *
 * A process without free descriptors cannot accept, and the connection stays pending: poll would
 * report it again at once, in a busy loop.  The listener then pauses: it is not polled for
 * LISTENER_PAUSE_MS.
 */
#ifndef NET_LISTENER_H
#define NET_LISTENER_H
#include "base/rc.h"
#include <poll.h>
#include <stdint.h>

enum { LISTENER_PAUSE_MS = 100 };

struct listener {
    int fd;                  /* -1: none */
    int64_t paused_until_us; /* By clock_mono_us: not polled before; 0: it does not pause. */
};

/* A socket in the file system, replaced when it is there.  Every user that may enter its directory
   may connect: agents have users of their own.  The path may be long; RC_TOO_LARGE: its last name
   is. */
MUST_USE enum rc listener_at_path(const char *path, struct listener *ret_listener, struct err *err);
/* A port of the loopback. */
MUST_USE enum rc listener_at_port(int port, struct listener *ret_listener, struct err *err);
void listener_close(struct listener *listener);

/* What poll should wait for, and for how long at most; -1: for ever. */
struct pollfd listener_want(const struct listener *listener, int *ret_timeout_ms);
/* A non-blocking connection.  -1: there is none, or none can be opened; then errno says why, and
   the listener pauses. */
int listener_accept(struct listener *listener);
#endif
