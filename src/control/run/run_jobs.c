/*
 * run_jobs.c - what a job of a run reads, and which rules apply to it.
 */
#include "control/run/run_jobs.h"
#include "control/commit/read_ahead.h"
#include "control/run/pull_limits.h"
#include "core/run/retry_rule.h"
#include "store/runs.h"
#include "store/tasks.h"

enum rc run_job_claim(struct context *ctx, const struct job_row *job, void **ret_run,
                      bool *ret_held)
{
    struct flow *flow = arena_alloc(ctx->arena, sizeof *flow);
    *ret_run = flow;
    enum rc rc = flow_load_claim(ctx, &job->run_id, flow);
    *ret_held = rc == RC_OK && flow->run.paused_us > 0 && id_same(&flow->run.job_id, &job->id);
    return rc;
}

enum rc run_job_claimed(struct context *ctx, const struct job_row *job, void *run)
{
    struct flow *flow = run;
    enum rc rc = pipeline_started(ctx, job, flow);
    return rc == RC_OK ? pull_begun(ctx, &flow->run, job) : rc;
}

void run_job_left(void *run)
{
    flow_release(run);
}

enum rc run_job_orders(struct context *ctx, const struct job_row *job, struct job_answer *answer)
{
    struct run_row run;
    enum rc rc = runs_get(ctx->db, &job->run_id, ctx->arena, &run, ctx->err);
    if (rc == RC_OK)
        stop_orders(&run, job->type, answer);
    return rc;
}

/* Of a job without a run: there is nothing to check, and most jobs are such. */
static struct step_result no_result;

enum rc run_job_check_result(struct context *ctx, const struct job_row *job, struct str result,
                             void **ret_checked)
{
    if (id_is_none(&job->run_id)) {
        *ret_checked = &no_result;
        return RC_OK;
    }
    struct step_result *checked = arena_alloc(ctx->arena, sizeof *checked);
    *ret_checked = checked;
    return pipeline_check_result(ctx, job, result, checked);
}

void run_job_checked_free(void *checked)
{
    if (checked != &no_result)
        step_result_release(checked);
}

enum rc run_job_completed(struct context *ctx, const struct job_row *job, void *checked)
{
    return pipeline_completed(ctx, job, checked);
}

/* The runs of the jobs and of the tasks, the roots of their budget trees, and the tasks of the runs
   of the jobs. */
static enum rc find_owners(struct read_ahead *read_ahead, struct read_ahead_ids *runs,
                           struct db *db, struct err *err)
{
    size_t task_count = read_ahead->owners.count;
    struct job_owner owner;
    struct task_runs of_task;
    enum rc rc = read_ahead_each(&read_ahead->jobs, db, jobs_owner_read_ahead, err);
    if (rc == RC_OK)
        rc = read_ahead_each(&read_ahead->owners, db, tasks_runs_read_ahead, err);
    for (size_t i = 0; rc == RC_OK && i < read_ahead->jobs.count; i++) {
        rc = jobs_owner(db, &read_ahead->jobs.ids[i], &owner, err);
        if (rc == RC_OK) {
            read_ahead_add(runs, &owner.run_id, read_ahead->arena);
            read_ahead_add(runs, &owner.root_run_id, read_ahead->arena);
            read_ahead_add(&read_ahead->owners, &owner.task_id, read_ahead->arena);
        }
        rc = rc == RC_NOT_FOUND ? RC_OK : rc;
    }
    for (size_t i = 0; rc == RC_OK && i < task_count; i++) {
        rc = tasks_runs(db, &read_ahead->owners.ids[i], &of_task, err);
        if (rc == RC_OK) {
            read_ahead_add(runs, &of_task.latest_run_id, read_ahead->arena);
            read_ahead_add(runs, &of_task.root_run_id, read_ahead->arena);
        }
        rc = rc == RC_NOT_FOUND ? RC_OK : rc;
    }
    return rc;
}

enum rc run_jobs_read_owners(struct read_ahead *read_ahead, struct db *db, struct err *err)
{
    struct read_ahead_ids runs = {0};
    enum rc rc = find_owners(read_ahead, &runs, db, err);
    if (rc == RC_OK)
        rc = read_ahead_each(&runs, db, runs_read_ahead, err);
    return rc == RC_OK ? read_ahead_each(&read_ahead->owners, db, tasks_read_ahead, err) : rc;
}

enum rc run_job_read_ahead(struct db *db, const struct job_row *job, struct err *err)
{
    return runs_read_ahead_claim(db, &job->run_id, err);
}
