#include "control/hooks.h"
#include "base/log.h"
#include "control/admit/admit.h"
#include "control/agents/launch.h"
#include "control/conductor/issues.h"
#include "control/messaging/sagas.h"
#include "control/pr/intake.h"
#include "control/pr/intake_progress.h"
#include "control/pr/repo_jobs.h"
#include "control/pr/shepherd.h"
#include "control/pr/sync.h"
#include "control/pr/train_jobs.h"
#include "control/queue/job_hooks.h"
#include "control/run/notify.h"
#include "control/run/run_batch.h"
#include "control/run/run_jobs.h"
#include "core/run/retry_rule.h"
#include "core/step_kind.h"
#include "store/job_marks.h"

/* ---- jobs about a repository ---- */

/* What follows from their end, by the kind of their step.  A row each. */
static const struct repo_job_row repo_job_rows[] = {
    {STEP_ISSUE, intake_read, NULL},
    {STEP_COMMENT, intake_told, intake_not_told},
    {STEP_TRAIN, train_job_completed, train_job_failed},
    {STEP_SYNC, sync_completed, sync_failed},
};
static const struct repo_job_table repo_jobs = {repo_job_rows, COUNT_OF(repo_job_rows)};

static enum rc check_result(struct context *ctx, const struct job_row *job, struct str result,
                            void **ret_checked)
{
    bool bare = repo_job_is(job) || launch_job_is(job);
    enum rc rc = bare ? repo_job_check_result(ctx, job, result) : RC_OK;
    return rc == RC_OK ? run_job_check_result(ctx, job, result, ret_checked) : rc;
}

static enum rc refused(struct context *ctx, const struct job_row *job, const struct err *why)
{
    if (!repo_job_is(job) && !launch_job_is(job))
        return pipeline_refused(ctx, job, why);
    LOG(LOG_WARN, "the result of a step was refused", LOG_STR("step", job->type),
        LOG_STR("jobId", job->id.text), LOG_STR("worker", job->worker),
        LOG_STR("field", why->field), LOG_STR("error", why->text));
    return RC_OK;
}

static enum rc completed(struct context *ctx, const struct job_row *job, void *checked)
{
    if (shepherd_job_is(job))
        return shepherd_job_completed(ctx, job, ((struct step_result *)checked)->tree);
    return repo_job_is(job) ? repo_job_completed(ctx, &repo_jobs, job)
                            : run_job_completed(ctx, job, checked);
}

static enum rc job_settled(struct context *ctx, const struct job_row *job)
{
    enum rc rc = saga_job_settled(ctx, job);
    if (rc == RC_OK && step_is(job->type, STEP_PULL))
        rc = job_marks_drop(ctx->db, &job->id, ctx->err);
    if (rc == RC_OK && shepherd_job_is(job) && job->life.state != JOB_SUCCEEDED)
        return shepherd_job_gone(ctx, job);
    if (rc == RC_OK && repo_job_is(job))
        return repo_job_settled(ctx, &repo_jobs, job);
    if (rc == RC_OK && launch_job_is(job))
        return launch_ended(ctx, job);
    return rc == RC_OK ? notify_job_settled(ctx, job) : rc;
}

static enum rc job_released(struct context *ctx, struct job_row *job)
{
    return launch_job_is(job) ? launch_lost(ctx, job) : pipeline_released(ctx, job);
}

static const struct job_hooks job_hooks = {
    .claim = run_job_claim,
    .claimed = run_job_claimed,
    .left = run_job_left,
    .read_ahead = run_job_read_ahead,
    .retry = retry_of_step,
    .orders = run_job_orders,
    .broken = stop_failed,
    .check_result = check_result,
    .checked_free = run_job_checked_free,
    .refused = refused,
    .completed = completed,
    .failed = pipeline_failed,
    .released = job_released,
    .settled = job_settled,
    .may_replay = saga_allows_replay,
};

static enum rc run_event(struct context *ctx, const struct flow *flow, const char *type)
{
    enum rc rc = intake_event(ctx, flow, type);
    return rc == RC_OK ? run_batch_event(ctx, flow, type) : rc;
}

static enum rc admit(struct context *ctx, void *state)
{
    return admit_queued(ctx, state);
}

const struct control_hooks control_hooks = {
    .admit = admit,
    .admit_state_bytes = sizeof(struct admit_walk),
    .read_owners = run_jobs_read_owners,
    .jobs = &job_hooks,
    .run_event = run_event,
    .issue_event = issue_event_of_client,
};
