/*
 * log_store.h - the server's log in the database: rows of log_lines, written in batches through the
 * committer and pruned by age and number.
 */
#ifndef CONTROL_WATCH_LOG_STORE_H
#define CONTROL_WATCH_LOG_STORE_H
#include "control/commit/committer.h"
#include "control/watch/log_sink.h"

enum { LOG_STORE_DAYS_DEFAULT = 7, LOG_STORE_DAYS_MAX = 3650 };
enum { LOG_STORE_ROWS_DEFAULT = 100000, LOG_STORE_ROWS_MIN = 100, LOG_STORE_ROWS_MAX = 10000000 };

struct log_store_config {
    bool on;
    enum log_level level;
    int64_t keep_days, rows_max;
};

struct log_store_options {
    struct log_store_config config;
    struct bus *bus;
    struct committer *committer;
    const char *node; /* Must live on. */
};
struct log_store; /* Owned by its starter. */

MUST_USE enum rc log_store_start(const struct log_store_options *options,
                                 struct log_store **ret_store, struct err *err);
/* See log_sink_stop.  The committer must still run. */
int64_t log_store_stop(struct log_store *store, int64_t until_us);
#endif
