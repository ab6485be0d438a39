/*
 * retention_sums.h - what was deleted so far, how far the rounds have come, and what they have
 * kept: numbers by name, in the transactions that they are about.
 *
 *   expired.KIND     rows that were deleted, for metrics: expired.tasks, expired.events
 *   log.TYPE         events of a type that were deleted; runs.STATUS, runs that were: the doctor
 *                    compares the log with the rows, and counts these on their sides
 *   kept.REASON      tasks past their time that the last round has kept; the note names one
 *   mark.NAME        places and times
 */
#ifndef STORE_RETENTION_SUMS_H
#define STORE_RETENTION_SUMS_H
#include "store/db.h"

#define RETENTION_EXPIRED  "expired."
#define RETENTION_LOG      "log."
#define RETENTION_RUNS     "runs."
#define RETENTION_KEPT     "kept."
#define MARK_TASKS_US      "mark.tasks_us"      /* Tasks from before then may be gone. */
#define MARK_EVENTS_SEQ    "mark.events_seq"    /* Events without a task: handled up to here. */
#define MARK_FLOOR_SEQ     "mark.floor_seq"     /* No event up to here is still to be committed. */
#define MARK_DIAGNOSTICS   "mark.diagnostics"   /* Diagnostic events: handled up to here. */
#define MARK_ROUND_US      "mark.round_us"      /* The last round ended then, */
#define MARK_ROUND_TOOK_US "mark.round_took_us" /* and took so long. */
#define MARK_SWEEP_US      "mark.sweep_us"      /* All contents were looked at then. */
#define MARK_UNREAD        "mark.unread"        /* Events that a reader of the log had not read. */
#define MARK_GIVEN_BACK    "mark.given_back"    /* Bytes, of the database and of contents. */

struct retention_sum {
    const char *name;
    int64_t value;
    const char *note; /* or NULL */
};

/* All whose name begins so, by name; prefix "": all. */
MUST_USE enum rc retention_sums_list(struct db *db, const char *prefix, struct arena *arena,
                                     struct retention_sum **ret_rows, size_t *ret_count,
                                     struct err *err);
/* 0: there is none. */
MUST_USE enum rc retention_sums_get(struct db *db, const char *name, int64_t *ret_value,
                                    struct err *err);
MUST_USE enum rc retention_sums_add(struct db *db, const char *name, int64_t more, struct err *err);
MUST_USE enum rc retention_sums_set(struct db *db, const struct retention_sum *row,
                                    struct err *err);
/* Of a place or a time: it only grows. */
MUST_USE enum rc retention_sums_raise(struct db *db, const char *name, int64_t value,
                                      struct err *err);
#endif
