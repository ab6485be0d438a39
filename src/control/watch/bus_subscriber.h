/*
 * bus_subscriber.h - the kinds of subscribers of the bus: a closed set, so that metrics and rules
 * have few names.  Each has a name and what its channels are like unless a rule says otherwise.
 */
#ifndef CONTROL_WATCH_BUS_SUBSCRIBER_H
#define CONTROL_WATCH_BUS_SUBSCRIBER_H
#include <stdbool.h>
#include <stddef.h>

enum bus_subscriber {
    BUS_SSE_RUN,    /* The stream of a run. */
    BUS_SSE_EVENTS, /* The stream of all events. */
    BUS_WAIT,       /* A call that waits for the next event. */
    BUS_CONSUMER,   /* The same of a durable consumer. */
    BUS_MCP,        /* A notification of MCP. */
    BUS_ORDERS,     /* What the workers in this process are told. */
    BUS_LOG_FILE,   /* The file of the server's log. */
    BUS_LOG_STORE,  /* The same in the database. */
    BUS_SUBSCRIBER_COUNT
};

/* What becomes of an event that finds a channel full. */
enum bus_overflow {
    BUS_DROP_OLDEST, /* It takes the place of the oldest one. */
    BUS_COALESCE,    /* One of a type per run is enough: a newer one always replaces it. */
    BUS_BLOCK,       /* The sender waits for room, within a budget; then as BUS_DROP_OLDEST. */
    BUS_SIGNAL       /* One event is the sign that there are some: the first stays. */
};

struct bus_default {
    const char *name;
    size_t capacity;
    enum bus_overflow overflow;
    bool fixed; /* It relies on that: no rule changes it. */
};

const struct bus_default *bus_default(enum bus_subscriber who);
extern const char *const bus_overflow_names[]; /* Those that rules may name; NULL-terminated. */
#endif
