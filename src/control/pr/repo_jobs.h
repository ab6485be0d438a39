/*
 * repo_jobs.h - jobs about a repository rather than a run: sync, issue, comment, train.
 *
 * Their payload is {"repository": name, "repositoryId": id, "config": effective configuration,
 * ...}; their steps are `bare` (core/step_kind.h) and begin with repo_step_open
 * (work/job/repo_step.h).
 */
#ifndef CONTROL_PR_REPO_JOBS_H
#define CONTROL_PR_REPO_JOBS_H
#include "base/jw.h"
#include "control/commit/context.h"
#include "core/step_kind.h"
#include "store/jobs.h"
#include "store/repositories.h"

struct repo_job {
    enum step_kind kind;
    const struct repository_row *repository;
    const char *dedup_key;                      /* One such job at a time; or NULL. */
    int64_t delay_ms;                           /* Ready after that. */
    int64_t priority;                           /* 0: PRIORITY_NORMAL */
    void (*write)(struct jw *jw, const void *); /* Its further members; or NULL. */
    const void *subject;                        /* Passed to write. */
};
/* *ret_job_id, which may be NULL: of the job, or of the one that is there with this key. */
MUST_USE enum rc repo_job_enqueue(struct context *ctx, const struct repo_job *job,
                                  struct id *ret_job_id);

/* Of a job that such a job was made for: its payload's members, checked.  RC_CORRUPT. */
MUST_USE enum rc repo_job_owner(struct context *ctx, const struct job_row *job,
                                struct repository_row *ret_repository, struct js **ret_payload);

/* A job of one of these steps completed, failed for good, or was settled: for control/hooks.c. */
MUST_USE enum rc repo_job_completed(struct context *ctx, const struct job_row *job);
MUST_USE enum rc repo_job_failed(struct context *ctx, const struct job_row *job, const char *code,
                                 const char *message);
#endif
