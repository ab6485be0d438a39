/*
 * metrics.h - counters of HTTP requests, and the Prometheus text of all metrics.
 */
#ifndef API_METRICS_H
#define API_METRICS_H
#include "base/buf.h"
#include "base/rc.h"
#include "core/http/head.h"
#include <stddef.h>
#include <stdint.h>

struct metrics; /* Owned by its maker. */
struct api;
struct db;

/* route_count: indices that metrics_count takes; the index route_count stands for "no route". */
struct metrics *metrics_new(size_t route_count);
void metrics_free(struct metrics *metrics);
/* One request answered.  Any thread. */
void metrics_count(struct metrics *metrics, size_t route, int status);

/* Everything, in the text format 0.0.4. */
MUST_USE enum rc metrics_write(struct api *api, struct db *db, struct arena *arena, struct buf *to,
                               struct err *err);
#endif
