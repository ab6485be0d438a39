/*
 * log.h - structured logs in five levels: one JSON object a line, or a human
 * form on a terminal.
 *
 *     LOG(LOG_WARN, "lease lost", LOG_STR("jobId", id), LOG_INT("epoch", epoch));
 *
 * Log once, where the failure is handled (control, work, edge, main).  Thread-safe;
 * a line is one write.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H
#include "base/clock.h"
#include "base/rc.h"
#include "base/str.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_FATAL };

struct log_field {
    const char *key;
    const char *text; /* NULL: number. */
    int64_t number;
};
/* A function, so that the text may be an array or NULL, and is evaluated once. */
static inline struct log_field log_str(const char *key, const char *text)
{
    return (struct log_field){.key = key, .text = text != NULL ? text : ""};
}
#define LOG_STR(k, v) log_str((k), (v))
#define LOG_INT(k, v) ((struct log_field){.key = (k), .number = (int64_t)(v)})
#define LOG(level, message, ...)  \
    log_write((level), (message), \
              (const struct log_field[]){__VA_ARGS__ __VA_OPT__(, ){.key = NULL}})

struct log_options {
    int fd; /* Not owned. */
    enum log_level level;
    bool human; /* Colours and local shape; otherwise JSON. */
};
void log_configure(const struct log_options *options); /* Default: stderr, info, JSON. */

/* A second reader of the log: gets each line of its level or worse as JSON, without a line feed, on
   the thread that writes it; must be quick and must not log.  One at a time; {0}: none.  When this
   returns the tap before it is not called any more. */
struct log_line {
    enum log_level level;
    int64_t time_us;
    const struct log_field *fields; /* The last has no key. */
    struct str json;
};
struct log_tap {
    enum log_level level;
    void (*line)(void *ctx, const struct log_line *line);
    void *ctx;
};
void log_set_tap(const struct log_tap *tap);
/* Lines of the calling thread do not reach the tap: for threads that do its work. */
void log_hide_thread(void);
bool log_enabled(enum log_level level);
MUST_USE bool log_level_parse(const char *name, enum log_level *ret_level);
const char *log_level_name(enum log_level level);
void log_write(enum log_level level, const char *message, const struct log_field *fields);
#endif
