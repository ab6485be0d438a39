/*
 * run_jobs.h - jobs that are steps of runs, as the queue's hooks see them (queue/job_hooks.h).
 */
#ifndef CONTROL_RUN_RUN_JOBS_H
#define CONTROL_RUN_RUN_JOBS_H
#include "control/commit/read_ahead.h"
#include "control/run/pipeline.h"
#include "control/run/stop.h"

MUST_USE enum rc run_job_claim(struct context *ctx, const struct job_row *job, void **ret_run,
                               bool *ret_held);
MUST_USE enum rc run_job_claimed(struct context *ctx, const struct job_row *job, void *run);
void run_job_left(void *run);
MUST_USE enum rc run_job_read_ahead(struct db *db, const struct job_row *job, struct err *err);
/* Runs and tasks of the jobs; the owners that a command names are tasks. */
MUST_USE enum rc run_jobs_read_owners(struct read_ahead *read_ahead, struct db *db,
                                      struct err *err);
MUST_USE enum rc run_job_orders(struct context *ctx, const struct job_row *job,
                                struct job_answer *answer);
MUST_USE enum rc run_job_check_result(struct context *ctx, const struct job_row *job,
                                      struct str result, void **ret_checked);
void run_job_checked_free(void *checked);
MUST_USE enum rc run_job_completed(struct context *ctx, const struct job_row *job, void *checked);
#endif
