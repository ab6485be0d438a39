/*
 * timers.h - everything that must happen later and is not a job's own due time.
 * One timer per (kind, subject).
 */
#ifndef STORE_TIMERS_H
#define STORE_TIMERS_H
#include "store/db.h"
#include "store/leases.h"

struct timer_row {
    const char *kind; /* run_deadline, queue_deadline, stop_deadline, approval_expiry */
    struct id subject;
    int64_t due_us;
};
MUST_USE enum rc timers_set(struct db *db, const struct timer_row *row, struct err *err);
MUST_USE enum rc timers_clear(struct db *db, const char *kind, const struct id *subject,
                              struct err *err);
/* Deletes a timer that has fired, unless it was set to another time meanwhile. */
MUST_USE enum rc timers_done(struct db *db, const struct timer_row *row, struct err *err);
MUST_USE enum rc timers_clear_subject(struct db *db, const struct id *subject, struct err *err);
/*
 * A timer that stands still is never due: its due time is TIMER_STILL_US plus what was left.
 * Nothing happens to one that is not there, or stands, or goes, already.
 */
#define TIMER_STILL_US (INT64_C(1) << 60)
MUST_USE enum rc timers_stand(struct db *db, const char *kind, const struct id *subject,
                              int64_t now_us, struct err *err);
MUST_USE enum rc timers_go(struct db *db, const char *kind, const struct id *subject,
                           int64_t now_us, struct err *err);
bool timer_stands(const struct timer_row *timer);
/* Timers of the kind that are due before then become due then. */
MUST_USE enum rc timers_put_off(struct db *db, const char *kind, int64_t until_us, struct err *err);
MUST_USE enum rc timers_due(struct db *db, const struct due_ask *ask, struct arena *arena,
                            struct timer_row **ret_rows, size_t *ret_count, struct err *err);
MUST_USE enum rc timers_next_due(struct db *db, int64_t *ret_due_us, struct err *err);
MUST_USE enum rc timers_of(struct db *db, const struct id *subject, struct arena *arena,
                           struct timer_row **ret_rows, size_t *ret_count, struct err *err);
#endif
