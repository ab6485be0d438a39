/*
 * timeline.h - a run's events as lines of text for people, in groups:
 * Planning, Editing, Verification, Judging, Approval, PR, Outcome.
 *
 * Pure: its input is events in order, its output is groups with lines.  A group opens when the
 * phase changes, so a repair shows as a second Editing and Verification.
 */
#ifndef CORE_RUN_TIMELINE_H
#define CORE_RUN_TIMELINE_H
#include "base/arena.h"
#include "base/jw.h"
#include "core/event.h"
#include <stddef.h>

enum { TIMELINE_LINES_MAX = 2000 };

struct timeline_line {
    int64_t time_us;
    const char *type; /* The event's. */
    const char *text; /* "make test failed: 1 of 3 checks (exit 2)" */
    bool bad;         /* A failure: shown in red. */
};
struct timeline_group {
    const char *name;
    int64_t started_us, ended_us;
    struct timeline_line *lines;
    size_t line_count;
};
struct timeline {
    struct timeline_group *groups;
    size_t group_count;
    bool truncated; /* More than TIMELINE_LINES_MAX lines. */
};

/* Everything lives in the arena.  Events whose data cannot be read give a line with the type. */
void timeline_build(const struct event *events, size_t count, struct arena *arena,
                    struct timeline *ret_timeline);
void timeline_write(struct jw *jw, const struct timeline *timeline); /* {"groups":[...]} */
/* One event as one line, for `watch`: NULL when people need not see it. */
const char *timeline_text(const struct event *event, struct arena *arena);
/* The group an event belongs to, or NULL to stay in the current one. */
const char *timeline_group_of(const char *type);
#endif
