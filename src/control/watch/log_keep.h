/*
 * log_keep.h - the command that writes lines of the server's log into the database and deletes
 * those that are too many or too old.
 */
#ifndef CONTROL_WATCH_LOG_KEEP_H
#define CONTROL_WATCH_LOG_KEEP_H
#include "control/commit/command.h"
#include "store/log_lines.h"

struct cmd_log_keep {
    struct command base;
    const struct log_line_row *rows; /* In the arena. */
    size_t count;
    struct log_line_limits limits; /* limit 0: nothing is deleted. */
    int64_t removed;               /* Out. */
};
struct cmd_log_keep *cmd_log_keep_new(void);
#endif
