#include "control/watch/bus_subscriber.h"
#include <assert.h>

static const struct bus_default defaults[BUS_SUBSCRIBER_COUNT] = {
    [BUS_SSE_RUN] = {"sse.run", 4096, BUS_DROP_OLDEST, false},
    [BUS_SSE_EVENTS] = {"sse.events", 4096, BUS_DROP_OLDEST, false},
    [BUS_WAIT] = {"wait", 1, BUS_SIGNAL, true},
    [BUS_CONSUMER] = {"consumer", 1, BUS_SIGNAL, true},
    [BUS_MCP] = {"mcp", 1, BUS_SIGNAL, true},
    [BUS_ORDERS] = {"orders", 1024, BUS_DROP_OLDEST, false},
    [BUS_LOG_FILE] = {"log.file", 2048, BUS_BLOCK, false},
    [BUS_LOG_STORE] = {"log.store", 2048, BUS_BLOCK, false},
};

const char *const bus_overflow_names[] = {
    [BUS_DROP_OLDEST] = "drop-oldest", [BUS_COALESCE] = "coalesce", [BUS_BLOCK] = "block", NULL};

const struct bus_default *bus_default(enum bus_subscriber who)
{
    assert((size_t)who < BUS_SUBSCRIBER_COUNT);
    return &defaults[who];
}
