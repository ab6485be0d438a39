/*
 * train_jobs.h - the jobs of a train: what they are given, and what their results mean.
 *
 * A result counts only while the train waits for that job: one that was given up, or comes twice,
 * changes nothing.
 */
#ifndef CONTROL_PR_TRAIN_JOBS_H
#define CONTROL_PR_TRAIN_JOBS_H
#include "control/pr/repo_jobs.h"
#include "control/pr/train_flow.h"

/* A test of the position of the first `count` cars; the landing of these. */
MUST_USE enum rc train_job_test(struct context *ctx, const struct train_flow *flow, size_t count,
                                struct id *ret_job_id);
MUST_USE enum rc train_job_land(struct context *ctx, const struct train_flow *flow, size_t count,
                                struct id *ret_job_id);
/* Leaves the merge to the forge. */
MUST_USE enum rc train_job_hand(struct context *ctx, const struct repository_row *repository,
                                const struct pull_request_row *pr);

/* For control/hooks.c. */
MUST_USE enum rc train_job_completed(struct context *ctx, const struct repo_job_end *end);
MUST_USE enum rc train_job_failed(struct context *ctx, const struct repo_job_end *end);

/* For due.c. */
MUST_USE enum rc train_due(struct context *ctx, const struct id *train_id);
MUST_USE enum rc train_car_due(struct context *ctx, const struct id *car_id);
#endif
