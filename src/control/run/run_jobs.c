/*
 * run_jobs.c - see run_jobs.h.
 */
#include "control/run/run_jobs.h"
#include "control/run/pull_limits.h"

enum rc run_job_claim(struct cx *cx, const struct job_row *job, void **ret_run)
{
    struct flow *flow = arena_alloc(cx->arena, sizeof *flow);
    *ret_run = flow;
    return flow_load_free(cx, &job->run_id, flow);
}

enum rc run_job_claimed(struct cx *cx, const struct job_row *job, void *run)
{
    enum rc rc = pipeline_started(cx, job, run);
    return rc == RC_OK ? pull_begun(cx, job) : rc;
}

void run_job_left(void *run)
{
    flow_release(run);
}

enum rc run_job_stops(struct cx *cx, const struct job_row *job, bool *ret_stop)
{
    struct run_row run;
    enum rc rc = runs_get(cx->db, &job->run_id, cx->arena, &run, cx->err);
    *ret_stop = rc == RC_OK && stop_reaches_step(&run, job->type);
    return rc;
}

enum rc run_job_check_result(struct cx *cx, const struct job_row *job, struct str result,
                             void **ret_checked)
{
    struct step_result *checked = arena_alloc(cx->arena, sizeof *checked);
    *ret_checked = checked;
    return pipeline_check_result(cx, job, result, checked);
}

void run_job_checked_free(void *checked)
{
    step_result_release(checked);
}

enum rc run_job_completed(struct cx *cx, const struct job_row *job, void *checked)
{
    return pipeline_completed(cx, job, checked);
}
