/*
 * log_lines.h - lines of the servers' own logs, kept for a while.  Not events: nothing is decided
 * by them, and they are deleted when there are too many, or when they are old.
 */
#ifndef STORE_LOG_LINES_H
#define STORE_LOG_LINES_H
#include "store/db.h"

struct log_line_row {
    int64_t seq; /* 0 until stored. */
    int64_t time_us;
    int64_t level;    /* enum log_level */
    const char *node; /* That wrote it. */
    struct id run_id; /* The field runId, or none. */
    const char *message;
    struct str fields; /* JSON object: the whole line. */
};

MUST_USE enum rc log_lines_insert(struct db *db, const struct log_line_row *row, struct err *err);

struct log_line_filter {
    int64_t after_seq;
    int64_t since_us, until_us; /* since <= time < until; 0: open */
    int64_t level;              /* This or worse. */
    struct id run_id;           /* none: any */
    int64_t limit;
};
/* In order of seq. */
MUST_USE enum rc log_lines_list(struct db *db, const struct log_line_filter *filter,
                                struct arena *arena, struct log_line_row **ret_rows,
                                size_t *ret_count, struct err *err);

struct log_line_limits {
    int64_t before_us; /* Older ones go, */
    int64_t rows_max;  /* and all but so many of the newest. */
    int64_t limit;     /* At most so many at once, for either reason. */
};
MUST_USE enum rc log_lines_prune(struct db *db, const struct log_line_limits *limits,
                                 int64_t *ret_removed, struct err *err);
#endif
