/*
 * diagnostic_sums.h - what is left of the diagnostic events of a run when they are deleted: how
 * many there were of each type, and which tools were called how often.  Pure.
 *
 *     {"events": 31, "firstAt": "...", "lastAt": "...",
 *      "types": {"agent.tool.call.completed": 12, ...},
 *      "tools": {"Bash": {"calls": 9, "failed": 1}, ...}, "otherTools": {...}}
 *
 * Turns, tokens and cost are not summed here: the last event that has them is kept (expiry.h).
 */
#ifndef CORE_RUN_DIAGNOSTIC_SUMS_H
#define CORE_RUN_DIAGNOSTIC_SUMS_H
#include "base/arena.h"
#include "base/js.h"
#include "base/jw.h"
#include "core/event.h"

enum { SUMMED_TOOLS_MAX = 64, SUMMED_TOOL_BYTES = 80, DIAGNOSTIC_SUMS_BYTES_MAX = 64 * 1024 };

struct tool_sum {
    char name[SUMMED_TOOL_BYTES]; /* Cut off where it is longer. */
    int64_t calls;                /* That ended. */
    int64_t failed;               /* Of these: failed, denied or out of time. */
};

struct diagnostic_sums { /* Zeroed: of no event. */
    int64_t events, first_us, last_us;
    int64_t by_type[EVENT_TYPE_COUNT];
    struct tool_sum tools[SUMMED_TOOLS_MAX]; /* By first call. */
    size_t tool_count;
    struct tool_sum others; /* Of tools beyond that. */
};

void diagnostic_sums_add(struct diagnostic_sums *sums, const struct event *event);
/* As members of an open object. */
void diagnostic_sums_write(struct jw *jw, const struct diagnostic_sums *sums);
/* What was written; types that are not known any more are left out of by_type. */
void diagnostic_sums_read(const struct js *object, struct diagnostic_sums *ret_sums);
#endif
