/*
 * log_file.h - the server's log in a file: one JSON object a line, as on standard error.  A file
 * that would grow beyond max_bytes is renamed (base/rotation.h).
 */
#ifndef CONTROL_WATCH_LOG_FILE_H
#define CONTROL_WATCH_LOG_FILE_H
#include "control/watch/log_sink.h"

enum { LOG_FILE_KEEP_DEFAULT = 5, LOG_FILE_KEEP_MAX = 1000, LOG_FILE_BYTES_MIN = 4096 };
#define LOG_FILE_BYTES_DEFAULT (INT64_C(16) << 20)
#define LOG_FILE_BYTES_MAX     (INT64_C(1) << 40)

struct log_file_config {
    const char *path; /* NULL: no file. */
    enum log_level level;
    int64_t max_bytes, keep;
};

struct log_file; /* Owned by its starter. */

/* RC_CONFLICT, LOCKED: another process writes to it. */
MUST_USE enum rc log_file_start(const struct log_file_config *config, struct bus *bus,
                                struct log_file **ret_file, struct err *err);
int64_t log_file_stop(struct log_file *file, int64_t until_us); /* See log_sink_stop. */
#endif
