/*
 * pump.h - two connected sockets, joined: what is read from one is written to the other.
 *
 *     end 0 --> flow 0 --> end 1          a flow reads from its own end and writes to the other;
 *     end 0 <-- flow 1 <-- end 1          while it holds bytes it reads none
 *
 * The end of one direction is passed on as such; the pump is done when both have ended, or one
 * end has failed.  Both sockets must be non-blocking.
 */
#ifndef NET_PUMP_H
#define NET_PUMP_H
#include "base/str.h"
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

enum { PUMP_FLOW_BYTES = 16 * 1024 };

struct pump_flow {
    size_t at, len; /* What waits to be written. */
    bool ended;     /* Its end has no more to read. */
    bool passed_on; /* And the other end was shut down for writing. */
    /* How many of the bytes that were read are passed on, from the front; the rest is dropped.
       NULL: all.  false: the pump ends. */
    bool (*sieve)(void *ctx, struct str bytes, size_t *ret_len);
    void *sieve_ctx;
    char bytes[PUMP_FLOW_BYTES];
};

struct pump {
    int ends[2]; /* Not owned. */
    struct pump_flow flows[2];
};

/* What poll should wait for at both ends. */
void pump_want(const struct pump *pump, struct pollfd looks[2]);
/* After poll; false: it is done. */
bool pump_serve(struct pump *pump, const struct pollfd seen[2]);
#endif
