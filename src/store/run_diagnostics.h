/*
 * run_diagnostics.h - runs whose diagnostic events were deleted, and what these added up to
 * (core/run/diagnostic_sums.h).  A row ends with its run.
 */
#ifndef STORE_RUN_DIAGNOSTICS_H
#define STORE_RUN_DIAGNOSTICS_H
#include "store/events.h"

struct run_diagnostics_row {
    struct id run_id;
    int64_t through_seq; /* Diagnostic events of the run up to this one are deleted, */
    int64_t removed;     /* so many, */
    struct str sums;     /* which were these: a JSON object. */
    int64_t updated_us;
};

/* RC_NOT_FOUND: none were deleted. */
MUST_USE enum rc run_diagnostics_get(struct db *db, const struct id *run_id, struct arena *arena,
                                     struct run_diagnostics_row *ret_row, struct err *err);
MUST_USE enum rc run_diagnostics_put(struct db *db, const struct run_diagnostics_row *row,
                                     struct err *err);
/* How many were deleted; 0: none. */
MUST_USE enum rc run_diagnostics_removed(struct db *db, const struct id *run_id,
                                         int64_t *ret_removed, struct err *err);

/* Events of the run behind a place in it, with what decides whether they go. */
struct diagnostic_event {
    struct event event; /* Type, run_seq, seq, time, source and data. */
    bool about_issue;
};
struct diagnostic_page {
    struct id run_id;
    int64_t after_seq, limit;
};
MUST_USE enum rc run_diagnostics_events(struct db *db, const struct diagnostic_page *page,
                                        struct arena *arena, struct diagnostic_event **ret_rows,
                                        size_t *ret_count, struct err *err);
/* The last event of the run with its usage, of any type: mostly its end.  0: there is none. */
MUST_USE enum rc run_diagnostics_usage(struct db *db, const struct id *run_id, int64_t *ret_seq,
                                       struct err *err);
/* By its place in the log. */
MUST_USE enum rc run_diagnostics_delete(struct db *db, int64_t seq, struct err *err);
#endif
