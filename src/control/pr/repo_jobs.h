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
    /* One such job waits at a time, and one is worked on; or NULL.  One that is asked for while
       another is worked on runs after it: what that one has read may be old. */
    const char *dedup_key;
    int64_t delay_ms;                           /* Ready after that. */
    int64_t priority;                           /* 0: PRIORITY_NORMAL */
    void (*write)(struct jw *jw, const void *); /* Its further members; or NULL. */
    const void *subject;                        /* Passed to write. */
};
/* *ret_job_id, which may be NULL: of the job, or of the one that is there with this key. */
MUST_USE enum rc repo_job_enqueue(struct context *ctx, const struct repo_job *job,
                                  struct id *ret_job_id);

/* A job of one of these steps that has ended, for the function of its kind in control/hooks.c. */
struct repo_job_end {
    const struct job_row *job;
    const struct repository_row *repository; /* Also one that was removed since: check the flag. */
    const struct js *payload;
    const struct js *result; /* NULL: it failed for good. */
    const char *code;        /* Then: why. */
    const char *message;
};
typedef enum rc repo_job_fn(struct context *ctx, const struct repo_job_end *end);
struct repo_job_row {
    enum step_kind kind;
    repo_job_fn *completed;
    repo_job_fn *failed; /* Not when it is tried again; NULL: nothing is to be done. */
};
struct repo_job_table {
    const struct repo_job_row *rows;
    size_t count;
};
/* Is it a job of such a step? */
bool repo_job_is(const struct job_row *job);
/* RC_INVALID: the result lacks what its step always reports, or has it in another form. */
MUST_USE enum rc repo_job_check_result(struct context *ctx, const struct job_row *job,
                                       struct str result);
/* It completed: calls the function of its kind.  One that fails is logged, and changes nothing: the
   repository is looked at again in time. */
MUST_USE enum rc repo_job_completed(struct context *ctx, const struct repo_job_table *table,
                                    const struct job_row *job);
/* It is settled in any way: its key is free, and one that failed for good is told. */
MUST_USE enum rc repo_job_settled(struct context *ctx, const struct repo_job_table *table,
                                  const struct job_row *job);
#endif
