/*
 * metrics_text.h - lines of the Prometheus text format 0.0.4: see metrics.c.
 */
#ifndef API_METRICS_TEXT_H
#define API_METRICS_TEXT_H
#include "base/buf.h"
#include <stdint.h>

struct metrics_label {
    const char *name, *value;
};

/* HELP and TYPE: counter, gauge or histogram. */
void metrics_family(struct buf *to, const char *name, const char *type, const char *help);
void metrics_sample(struct buf *to, const char *name, const struct metrics_label *labels,
                    size_t count, int64_t value);
/* The same in seconds. */
void metrics_seconds(struct buf *to, const char *name, const struct metrics_label *labels,
                     size_t count, int64_t value_us);
/* A family of one. */
void metrics_single(struct buf *to, const char *name, const char *type, const char *help,
                    int64_t value);
#endif
