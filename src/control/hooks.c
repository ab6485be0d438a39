#include "control/hooks.h"
#include "control/admit/admit.h"
#include "control/messaging/sagas.h"
#include "control/queue/job_hooks.h"
#include "control/run/notify.h"
#include "control/run/run_jobs.h"
#include "core/run/retry_rule.h"

static enum rc job_settled(struct context *ctx, const struct job_row *job)
{
    enum rc rc = saga_job_settled(ctx, job);
    return rc == RC_OK ? notify_job_settled(ctx, job) : rc;
}

static const struct job_hooks job_hooks = {
    .claim = run_job_claim,
    .claimed = run_job_claimed,
    .left = run_job_left,
    .read_ahead = run_job_read_ahead,
    .retry = retry_of_step,
    .orders = run_job_orders,
    .broken = stop_failed,
    .check_result = run_job_check_result,
    .checked_free = run_job_checked_free,
    .refused = pipeline_refused,
    .completed = run_job_completed,
    .failed = pipeline_failed,
    .released = pipeline_released,
    .settled = job_settled,
    .may_replay = saga_allows_replay,
};

static enum rc admit(struct context *ctx, void *state)
{
    return admit_queued(ctx, state);
}

const struct control_hooks control_hooks = {
    .admit = admit,
    .admit_state_bytes = sizeof(struct admit_walk),
    .read_owners = run_jobs_read_owners,
    .jobs = &job_hooks,
};
