/*
 * issue_events.h - events about an issue: those whose data name it (data.issueId), and those of the
 * same correlation.
 */
#ifndef STORE_ISSUE_EVENTS_H
#define STORE_ISSUE_EVENTS_H
#include "core/conductor/lifecycle.h"
#include "store/events.h"

struct issue_page {
    const char *issue_id;
    int64_t after_seq;
    int64_t limit;
};
/* In order of seq; none: no event names the issue. */
MUST_USE enum rc issue_events_list(struct db *db, const struct issue_page *page,
                                   struct arena *arena, struct event **ret_events,
                                   size_t *ret_count, struct err *err);
/* For lifecycle_apply; texts live in the event or in the arena. */
struct lifecycle_event issue_event_of(const struct event *event, struct arena *arena);

/* How long agents took for issues that are done, from the assignment that held to the end. */
struct agent_work {
    const char *agent_id;
    int64_t issues;
    int64_t total_us;
};
enum { AGENT_WORK_MAX = 1000, AGENT_WORK_EVENTS_MAX = 2000000 };
/* The quickest on average first; at most AGENT_WORK_MAX agents, of the first AGENT_WORK_EVENTS_MAX
   events by issue: *ret_all false, there are more. */
MUST_USE enum rc issue_events_work(struct db *db, struct arena *arena, struct agent_work **ret_work,
                                   size_t *ret_count, bool *ret_all, struct err *err);
#endif
