/*
 * events.h - the append-only log.
 */
#ifndef STORE_EVENTS_H
#define STORE_EVENTS_H
#include "core/event.h"
#include "core/event_selector.h"
#include "store/db.h"
#include "store/scan.h"

enum { EVENT_ISSUE_MAX = 200 }; /* A longer data.issueId names no issue. */

struct event_filter {
    int64_t after_seq;        /* Only later ones, */
    int64_t until_seq;        /* up to this one; 0: open */
    struct id run_id;         /* Of this run ... */
    struct id task_id;        /* ... or of this task (all its runs). */
    bool with_task;           /* With run_id: also the events of its task that have no run. */
    const char *type_pattern; /* "agent.run.*"; NULL: any */
    const struct event_selector *selector; /* Also by other traits; or NULL. */
    int64_t since_us, until_us;            /* since <= time < until; 0: open.  See EVENT_SKEW_US. */
    int64_t limit;
    struct scan *scan; /* scan.h, or NULL: to the end */
};

/* In the whole log a time is searched only near its expected place: events whose clock was off by
   more than this may be missed. */
#define EVENT_SKEW_US (3600 * INT64_C(1000000))

MUST_USE enum rc events_append(struct db *db, const struct event *event, struct err *err);
/* One with a source: once for source and source_id.  *ret_new false: it is there already, also from
   another writer a moment ago. */
MUST_USE enum rc events_append_once(struct db *db, const struct event *event, bool *ret_new,
                                    struct err *err);
/* The place of the one with this source and source_id: RC_NOT_FOUND. */
MUST_USE enum rc events_find_source(struct db *db, const struct event *event, int64_t *ret_seq,
                                    struct err *err);
/* In order of seq. */
MUST_USE enum rc events_list(struct db *db, const struct event_filter *filter, struct arena *arena,
                             struct event **ret_events, size_t *ret_count, struct err *err);
/* How many of drover's own events have each of these types, at most EVENT_TYPES_COUNTED; reads the
   whole log. */
enum { EVENT_TYPES_COUNTED = 8 };
MUST_USE enum rc events_count_types(struct db *db, const char *const *types, size_t count,
                                    int64_t *ret_counts, struct err *err);
MUST_USE enum rc events_last_seq(struct db *db, int64_t *ret_seq, struct err *err);

/* How far a cursor is behind the end of the log. */
struct event_lag {
    int64_t places;   /* Numbers of events; those that a filter leaves out count too. */
    int64_t first_us; /* The time of the first event behind the cursor; 0: there is none. */
};
MUST_USE enum rc events_lag(struct db *db, int64_t after_seq, struct event_lag *ret_lag,
                            struct err *err);
#endif
