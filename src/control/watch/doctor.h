/*
 * doctor.h - proves the invariants from the rows: every run that is not finished has exactly one
 * thing that will move it on, statuses are projections, counts are right, sequences are gapless,
 * and the log folds to the rows.
 */
#ifndef CONTROL_WATCH_DOCTOR_H
#define CONTROL_WATCH_DOCTOR_H
#include "base/arena.h"
#include "base/jw.h"
#include "store/workers.h"

enum { DOCTOR_FINDINGS_MAX = 100, DOCTOR_WORKERS_MAX = 1000 };
struct doctor_check {
    const char *name;
    const char *title; /* For people. */
    int64_t looked_at;
    int64_t bad;
    const char *first; /* What is wrong, the first time; NULL when nothing is. */
};
struct doctor_report {
    struct doctor_check *checks;
    size_t check_count;
    bool healthy;
    int64_t kept_trees;               /* On this node's disk; for the caller to fill in. */
    const char *kept_path;            /* Where they are. */
    const struct worker_row *workers; /* Those that have unpublished work. */
    size_t worker_count;
    const struct worker_row *low; /* Those whose disk is low. */
    size_t low_count;
};
MUST_USE enum rc doctor_examine(struct db *db, struct arena *arena,
                                struct doctor_report *ret_report, struct err *err);
/* A check that was made elsewhere. */
void doctor_add(struct doctor_report *report, const struct doctor_check *check,
                struct arena *arena);
/* Without the end of the object: the caller may add members. */
void doctor_write_open(struct jw *jw, const struct doctor_report *report);
#endif
