/*
 * issue_reading.h - reads an issue from any forge as intake and prompts need it: with what its
 * authors are to the repository, who asked for it, and the issues that it names.
 */
#ifndef WORK_STEPS_ISSUE_READING_H
#define WORK_STEPS_ISSUE_READING_H
#include "core/pr/issue_view.h"
#include "work/job/step.h"

struct issue_wanted {
    int64_t number;
    bool acts;  /* Who has labelled it: for intake. */
    bool links; /* Linked issues in any case; else only when it is asked for. */
};

/* RC_NOT_FOUND: there is no such issue.  In the step's arena. */
MUST_USE enum rc issue_reading(struct step *step, const struct issue_wanted *wanted,
                               struct issue_view *ret_view, struct err *err);
#endif
