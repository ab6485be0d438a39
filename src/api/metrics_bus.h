/*
 * metrics_bus.h - the bus in Prometheus text: what was published, delivered, dropped, and how long
 * delivery took, by type of event and by subscriber.  Pairs that had no event are left out.
 */
#ifndef API_METRICS_BUS_H
#define API_METRICS_BUS_H
#include "base/buf.h"
#include "control/watch/bus.h"

void metrics_bus_write(struct bus *bus, struct buf *to);
#endif
