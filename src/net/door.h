/*
 * door.h - a listening socket.
 *
 * A process without free descriptors cannot accept, and the connection stays pending: poll would
 * report it again at once, in a busy loop.  The door then rests: it is not polled for DOOR_REST_MS.
 */
#ifndef NET_DOOR_H
#define NET_DOOR_H
#include "base/rc.h"
#include <poll.h>
#include <stdint.h>

enum { DOOR_REST_MS = 100 };

struct door {
    int fd;          /* -1: none */
    int64_t rest_us; /* By clock_mono_us: not polled before; 0: it does not rest. */
};

/* A socket in the file system, replaced when it is there.  Every user that may enter its directory
   may connect: agents have users of their own.  The path may be long; RC_TOO_LARGE: its last name
   is. */
MUST_USE enum rc door_at_path(const char *path, struct door *ret_door, struct err *err);
/* A port of the loopback. */
MUST_USE enum rc door_at_port(int port, struct door *ret_door, struct err *err);
void door_close(struct door *door);

/* What poll should wait for, and for how long at most; -1: for ever. */
struct pollfd door_want(const struct door *door, int *ret_timeout_ms);
/* A non-blocking connection.  -1: there is none, or none can be opened; then errno says why, and
   the door rests. */
int door_accept(struct door *door);
#endif
