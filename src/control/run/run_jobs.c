/*
 * run_jobs.c - see run_jobs.h.
 */
#include "control/run/run_jobs.h"
#include "control/run/pull_limits.h"

enum rc run_job_claim(struct context *ctx, const struct job_row *job, void **ret_run)
{
    struct flow *flow = arena_alloc(ctx->arena, sizeof *flow);
    *ret_run = flow;
    return flow_load_free(ctx, &job->run_id, flow);
}

enum rc run_job_claimed(struct context *ctx, const struct job_row *job, void *run)
{
    enum rc rc = pipeline_started(ctx, job, run);
    return rc == RC_OK ? pull_begun(ctx, job) : rc;
}

void run_job_left(void *run)
{
    flow_release(run);
}

enum rc run_job_stops(struct context *ctx, const struct job_row *job, bool *ret_stop)
{
    struct run_row run;
    enum rc rc = runs_get(ctx->db, &job->run_id, ctx->arena, &run, ctx->err);
    *ret_stop = rc == RC_OK && stop_reaches_step(&run, job->type);
    return rc;
}

enum rc run_job_check_result(struct context *ctx, const struct job_row *job, struct str result,
                             void **ret_checked)
{
    struct step_result *checked = arena_alloc(ctx->arena, sizeof *checked);
    *ret_checked = checked;
    return pipeline_check_result(ctx, job, result, checked);
}

void run_job_checked_free(void *checked)
{
    step_result_release(checked);
}

enum rc run_job_completed(struct context *ctx, const struct job_row *job, void *checked)
{
    return pipeline_completed(ctx, job, checked);
}
