/*
 * door.h - a socket at which others knock.
 *
 * Who has no descriptors left cannot open, and the knock does not go away: poll would tell of it
 * again at once, and again.  The door then rests for a moment.
 */
#ifndef NET_DOOR_H
#define NET_DOOR_H
#include "base/rc.h"
#include <poll.h>
#include <stdint.h>

enum { DOOR_REST_MS = 100 };

struct door {
    int fd;          /* -1: none */
    int64_t rest_us; /* By clock_mono_us: not looked at before; 0: it does not rest. */
};

/* A socket in the file system, replaced when it is there.  Everybody may connect who may enter its
   directory: agents have users of their own.  The path may be long; RC_TOO_LARGE: its last name
   is. */
MUST_USE enum rc door_at_path(const char *path, struct door *ret_door, struct err *err);
/* A port of the loopback. */
MUST_USE enum rc door_at_port(int port, struct door *ret_door, struct err *err);
void door_close(struct door *door);

/* What poll should look for, and for how long at most; -1: for ever. */
struct pollfd door_want(const struct door *door, int *ret_timeout_ms);
/* A non-blocking connection.  -1: there is none, or none can be opened; then errno says why, and
   the door rests. */
int door_accept(struct door *door);
#endif
