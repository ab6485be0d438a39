/*
 * log_sink.h - a place for lines of the server's log: a subscription of the bus and a thread that
 * writes what it brings.
 *
 *   wait for a line --> gather for a moment --> write them --> wait
 *                             ^                    | cannot be written
 *                             +---- try again <----+ (once more when it stops)
 *
 * What it logs itself reaches the terminal only (log_hide_thread), so that a sink that fails makes
 * no lines for itself.
 */
#ifndef CONTROL_WATCH_LOG_SINK_H
#define CONTROL_WATCH_LOG_SINK_H
#include "base/log.h"
#include "control/watch/bus.h"

struct log_sink; /* Owned by its starter. */

struct log_sink_spec {
    struct bus *bus;
    enum bus_subscriber who;
    enum log_level level; /* This or worse. */
    int64_t gather_us;    /* After the first line, so that one write has more. */
    int64_t idle_us;      /* Called without a line so often; 0: never. */
    /* On the thread of the sink; lines are whole JSON (envelope->data).  RC_OK: written. */
    enum rc (*write)(void *ctx, struct envelope *const *lines, size_t count, struct err *err);
    void *ctx;
};

MUST_USE enum rc log_sink_start(const struct log_sink_spec *spec, struct log_sink **ret_sink,
                                struct err *err);
/* Writes what is there, until then at most (clock_mono_us); how many lines were left.  NULL is
   fine. */
int64_t log_sink_stop(struct log_sink *sink, int64_t until_us);
#endif
