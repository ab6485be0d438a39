/*
 * bus_filter.h - which envelopes a subscription gets.
 */
#ifndef CONTROL_WATCH_BUS_FILTER_H
#define CONTROL_WATCH_BUS_FILTER_H
#include "control/watch/envelope.h"

struct bus_filter {
    struct event_selector selector;
    struct id task_id, run_id; /* none: any */
    bool with_task;            /* With both ids: events of the task without a run too. */
    bool lines;                /* Lines of the server's own log, and no events. */
    int64_t after_seq;         /* Only later events. */
};

bool bus_filter_match(const struct bus_filter *filter, const struct envelope *envelope);
#endif
