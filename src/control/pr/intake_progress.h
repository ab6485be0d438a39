/*
 * intake_progress.h - how far the task of an issue is, in one comment there.
 *
 * The text follows from the rows as they are (core/pr/intake_text.h).  An event of the run sets a
 * timer; when it is due the text is made anew, and only another text than the last one makes a job.
 * Of those one waits at a time, and what it has written is compared with what is wanted by then: so
 * the latest text wins, and a comment is edited at most every few seconds.
 */
#ifndef CONTROL_PR_INTAKE_PROGRESS_H
#define CONTROL_PR_INTAKE_PROGRESS_H
#include "control/pr/repo_jobs.h"
#include "control/run/flow.h"
#include "store/intake.h"

#define TIMER_INTAKE "intake" /* Of a task: its progress is told. */

/* Makes the text anew and saves the row, with a job when it is another one.  help: with a list of
   commands. */
MUST_USE enum rc intake_tell(struct context *ctx, const struct repository_row *repository,
                             struct intake_row *row, bool help);
/* Keeps the text and saves the row; a text that could not be written gets a job again. */
MUST_USE enum rc intake_tell_again(struct context *ctx, const struct repository_row *repository,
                                   struct intake_row *row);
/* The timer, for due.c. */
MUST_USE enum rc intake_due(struct context *ctx, const struct id *task_id);
/* After every event of a run or task, for control/hooks.c. */
MUST_USE enum rc intake_event(struct context *ctx, const struct flow *flow, const char *type);
/* The job `comment` has completed, or failed for good. */
MUST_USE enum rc intake_told(struct context *ctx, const struct repo_job_end *end);
MUST_USE enum rc intake_not_told(struct context *ctx, const struct repo_job_end *end);
#endif
