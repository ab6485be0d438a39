/*
 * intake.h - issues become tasks: core/pr/intake.h decides, this does.
 *
 *   look_at_issue -> intake_look -> job `issue` -> intake_read: decides and acts, in the commit of
 *   the job's completion.  What was decided is in the row (store/intake.h), so that it is decided
 *   once.  What people are told is in intake_progress.h.
 */
#ifndef CONTROL_PR_INTAKE_H
#define CONTROL_PR_INTAKE_H
#include "control/pr/repo_jobs.h"

/* The issue is read again, unless the repository takes none in. */
MUST_USE enum rc intake_look(struct context *ctx, const struct repository_row *repository,
                             int64_t number);
/* The job `issue` has completed, for control/hooks.c. */
MUST_USE enum rc intake_read(struct context *ctx, const struct repo_job_end *end);
#endif
