/*
 * doctor_issues.h - rows of issues are what their events come to, each of which its rules allowed.
 */
#ifndef CONTROL_WATCH_DOCTOR_ISSUES_H
#define CONTROL_WATCH_DOCTOR_ISSUES_H
#include "store/db.h"

enum { DOCTOR_ISSUES_MAX = 2000 };
struct issue_findings {
    int64_t looked_at, bad;
    const char *first; /* What is wrong, the first time, in the arena; or NULL. */
};
/* Of the newest DOCTOR_ISSUES_MAX. */
MUST_USE enum rc doctor_issues(struct db *db, struct arena *arena,
                               struct issue_findings *ret_findings, struct err *err);
#endif
