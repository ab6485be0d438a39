/*
 * port.c - what both ports share.
 */
#include "bench/port.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

void port_close(struct port *port)
{
    if (port != NULL)
        port->ops->close(port);
}

void port_lane(struct port *port, struct lane *lane, size_t index)
{
    assert(index < PORT_LANES_MAX);
    *lane = (struct lane){.port = port};
    port->ops->attach(port, lane, index);
}

static void lane_begin(struct lane *lane)
{
    assert(!lane->busy);
    lane->busy = true;
    lane->port->commands++;
}

void lane_enqueue(struct lane *lane, int count)
{
    lane_begin(lane);
    lane->port->ops->enqueue(lane, count);
}

void lane_lease(struct lane *lane, int max, int wait_ms)
{
    assert(max <= LANE_JOBS_MAX);
    lane_begin(lane);
    lane->port->ops->lease(lane, max, wait_ms);
}

void lane_complete(struct lane *lane)
{
    assert(lane->job_count > 0);
    lane_begin(lane);
    lane->port->ops->complete(lane);
}

const char *port_payload(void)
{
    static char payload[PAYLOAD_BYTES + 1];
    if (payload[0] == '\0') {
        static const char front[] = "{\"note\":\"", back[] = "\"}";
        memset(payload, 'x', PAYLOAD_BYTES);
        memcpy(payload, front, strlen(front));
        memcpy(payload + PAYLOAD_BYTES - strlen(back), back, strlen(back));
    }
    return payload;
}
