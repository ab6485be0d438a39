/*
 * doctor_log.h - the log against the rows: events of a run are numbered gaplessly, they fold to its
 * row (core/run/run_fold.h), and to its snapshots.
 */
#ifndef CONTROL_WATCH_DOCTOR_LOG_H
#define CONTROL_WATCH_DOCTOR_LOG_H
#include "control/watch/doctor.h"
#include "store/runs.h"

/* What is wrong with one run; NULL: nothing.  In the arena. */
struct log_findings {
    const char *sequence, *fold, *snapshot;
};
/* db has a transaction open that has read the row. */
MUST_USE enum rc doctor_log(struct db *db, const struct run_row *run, struct arena *arena,
                            struct log_findings *ret_findings, struct err *err);

/* Every run of the store, by pages of their own transactions, so that no snapshot of the database
   is held for long; the check `history`. */
MUST_USE enum rc doctor_history(struct db *db, struct arena *arena, struct doctor_check *ret_check,
                                struct err *err);
#endif
