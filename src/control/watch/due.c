/*
 * due.c - see due.h.
 *
 * A row that cannot be handled does not stop the others (isolate.h): its run is failed, else the
 * row is put off.  Left as it is it would be due at once, again and again.
 */
#include "control/watch/due.h"
#include "control/admit/answer.h"
#include "control/admit/batch_flow.h"
#include "control/agents/kill.h"
#include "control/agents/launch.h"
#include "control/commit/isolate.h"
#include "control/commit/principal.h"
#include "control/conductor/issue_timers.h"
#include "control/messaging/consumers.h"
#include "control/messaging/requests.h"
#include "control/messaging/schedules.h"
#include "control/pr/intake_progress.h"
#include "control/pr/shepherd.h"
#include "control/pr/sync.h"
#include "control/pr/train.h"
#include "control/pr/train_jobs.h"
#include "control/queue/dead_letters.h"
#include "control/queue/settle.h"
#include "control/run/accounts.h"
#include "control/run/approval.h"
#include "control/run/candidates.h"
#include "control/run/day_budget.h"
#include "control/run/day_stop.h"
#include "control/run/ending.h"
#include "control/run/flow.h"
#include "control/run/overloads.h"
#include "control/run/pipeline.h"
#include "control/run/pull_limits.h"
#include "control/run/quarantine.h"
#include "control/run/results.h"
#include "control/run/run_batch.h"
#include "control/run/stop.h"
#include "control/run/subtasks.h"
#include "control/watch/workers.h"
#include "core/step_table.h"
#include "store/job_prune.h"
#include "store/timers.h"
#include <string.h>

/* A row that could not be handled is retried after this time, */
#define PUT_OFF_US US_PER_MINUTE
/* and one that could not even be put off after this. */
#define LEFT_AGAIN_US US_PER_SECOND

/* ---- jobs ---- */

static enum rc expire_lease(struct context *ctx, struct job_row *job)
{
    const char *worker = job->worker;
    struct settlement settlement = {
        .event = JOB_EV_EXPIRE,
        .code = "worker_lost",
        .message = "The worker's lease ran out or its process ended",
    };
    enum rc rc = settle(ctx, job, &settlement);
    if (rc == RC_OK && launch_job_is(job))
        return launch_lost(ctx, job);
    return rc == RC_OK ? pipeline_lost(ctx, job, worker) : rc;
}

/* Reads the row again: handling an earlier one may have moved it. */
static enum rc try_job(struct context *ctx, void *subject, const struct failure *why)
{
    (void)why;
    struct job_row job;
    enum rc rc = jobs_get(ctx->db, subject, ctx->arena, &job, ctx->err);
    if (rc != RC_OK || job_is_settled(job.life.state))
        return rc;
    if (job.life.state == JOB_LEASED)
        return job.life.due_us <= ctx->now_us ? expire_lease(ctx, &job) : RC_OK;
    if (job.life.expires_us > 0 && job.life.expires_us <= ctx->now_us)
        return settle(ctx, &job,
                      &(struct settlement){.event = JOB_EV_TTL,
                                           .code = "expired",
                                           .message = "Not taken within its time to live"});
    bool due = job.life.state == JOB_SCHEDULED && job.life.due_us <= ctx->now_us;
    return due ? settle_due(ctx, &job) : RC_OK;
}

/* Does the job move its run on? */
static enum rc is_mover(struct context *ctx, const struct job_row *job, bool *ret_mover)
{
    struct run_row run;
    *ret_mover = false;
    if (id_is_none(&job->run_id))
        return RC_OK;
    enum rc rc = runs_get(ctx->db, &job->run_id, ctx->arena, &run, ctx->err);
    *ret_mover = rc == RC_OK && !run_is_terminal(run.status) && id_same(&run.job_id, &job->id);
    return rc;
}

/* A job that moves no run becomes a dead letter, where it can be seen and replayed. */
static enum rc bury_job(struct context *ctx, struct job_row *job, const struct failure *why)
{
    if (job->life.state != JOB_LEASED)
        return err_set(ctx->err, why->rc, why->err.code, "%s", why->err.text);
    struct settlement settlement = {
        .event = JOB_EV_FAIL,
        .epoch = job->life.epoch,
        .owner = job->life.owner,
        .code = "control_error",
        .message = failure_text(ctx, why),
    };
    return settle(ctx, job, &settlement);
}

static enum rc fail_job(struct context *ctx, void *subject, const struct failure *why)
{
    struct job_row job;
    bool mover;
    enum rc rc = jobs_get(ctx->db, subject, ctx->arena, &job, ctx->err);
    if (rc == RC_OK)
        rc = is_mover(ctx, &job, &mover);
    if (rc != RC_OK)
        return rc;
    return mover ? stop_failed(ctx, &job.run_id, why) : bury_job(ctx, &job, why);
}

static enum rc put_off_job(struct context *ctx, void *subject, const struct failure *why)
{
    (void)why;
    return jobs_put_off(ctx->db, subject, ctx->now_us + PUT_OFF_US, ctx->err);
}

/* Its row is damaged: it stays as it is, is logged in every round, and the others continue. */
static enum rc leave(struct context *ctx, void *subject, const struct failure *why)
{
    (void)subject;
    (void)why;
    ctx->round->left_due = true;
    return RC_OK;
}

static enum rc handle_job(struct context *ctx, struct id *job_id)
{
    static isolate_try *const tries[] = {try_job, fail_job, put_off_job, leave, NULL};
    const struct isolated one = {"job", job_id->text, job_id, tries};
    return isolate(ctx, &one);
}

/* ---- timers ---- */

static enum rc run_deadline(struct context *ctx, const struct id *run_id)
{
    CLEANUP(flow_release) struct flow flow = {0};
    enum rc rc = flow_load(ctx, run_id, &flow);
    if (rc != RC_OK || run_is_terminal(flow.run.status))
        return rc;
    /* Its clock was stopped or set anew while this command waited for the lock of the run. */
    bool still = flow.run.deadline_us == 0 || flow.run.still_us > 0;
    if (still || flow.run.deadline_us > ctx->now_us)
        return RC_OK;
    struct stop_request request = {.kind = RUN_STOP_TIMEOUT,
                                   .by = "drover",
                                   .reason = id_is_none(&flow.run.parent_run_id)
                                                 ? "The run passed its time limit (timeouts.runMs)"
                                                 : "The run passed its time limit (timeouts.runMs, "
                                                   "or that of its parent task)"};
    bool stopping;
    return stop_run(ctx, &flow, &request, &stopping);
}

static enum rc queue_deadline(struct context *ctx, const struct id *run_id)
{
    CLEANUP(flow_release) struct flow flow = {0};
    enum rc rc = flow_load(ctx, run_id, &flow);
    if (rc != RC_OK || flow.run.status != RUN_QUEUED || flow.run.still_us > 0)
        return rc;
    struct ending ending = {
        .event = RUN_EV_TIME_OUT,
        .code = "queue_timed_out",
        .message = arena_printf(ctx->arena, "Waited too long to start (timeouts.queueMs)%s%s",
                                flow.run.deferred_reason != NULL ? ": " : "",
                                flow.run.deferred_reason != NULL ? flow.run.deferred_reason : ""),
    };
    rc = flow_end(ctx, &flow, &ending);
    return rc == RC_OK ? flow_save(ctx, &flow) : rc;
}

static enum rc stop_deadline(struct context *ctx, const struct id *run_id)
{
    CLEANUP(flow_release) struct flow flow = {0};
    enum rc rc = flow_load(ctx, run_id, &flow);
    if (rc != RC_OK || run_is_terminal(flow.run.status))
        return rc;
    return stop_by_force(ctx, &flow);
}

static const struct timer_kind {
    const char *kind;
    enum rc (*fire)(struct context *ctx, const struct id *subject);
    bool ends_run; /* The subject is a run, whose time is over. */
} timer_kinds[] = {
    {TIMER_RUN_DEADLINE, run_deadline, true},
    {TIMER_QUEUE_DEADLINE, queue_deadline, true},
    {TIMER_STOP_DEADLINE, stop_deadline, true},
    {TIMER_PULL_DEADLINE, pull_deadline, true},
    {TIMER_PULL_IDLE, pull_idle, true},
    {TIMER_APPROVAL_EXPIRY, approval_expired, false},
    {TIMER_APPROVAL_REMINDER, approval_remind, false},
    {TIMER_QUESTION_EXPIRY, question_expired, false},
    {TIMER_QUESTION_REMINDER, question_remind, false},
    {TIMER_QUARANTINE, quarantine_sweep, false},
    {TIMER_ACCOUNT_RESET, accounts_reset, false},
    {TIMER_RUN_HELD, accounts_release, false},
    {TIMER_RUN_OVERLOADED, overloads_over, false},
    {TIMER_SUBTASKS_END, subtasks_end, false},
    {TIMER_SUBTASKS_BUDGET, subtasks_budget, false},
    {TIMER_DAY_BUDGET, day_stop, false},
    {TIMER_SHEPHERD, shepherd_due, false},
    {TIMER_CANDIDATE_GRACE, candidates_grace_over, false},
    {TIMER_INTAKE, intake_due, false},
    {TIMER_TRAIN, train_due, false},
    {TIMER_TRAIN_CAR, train_car_due, false},
    {TIMER_SYNC, sync_due, false},
    {TIMER_AGENT_BEAT, agent_beat_due, false},
    {TIMER_AGENT_SETTLE, agent_settle_due, false},
    {TIMER_BATCH, batch_due, false},
    {TIMER_BATCH_NET, batch_due, false},
    {TIMER_BATCH_SPENT, batch_due, false},
    {TIMER_BATCH_STOP, batch_stop_due, false},
    {TIMER_ISSUE_SLA, issue_sla_due, false},
    {TIMER_ISSUE_CI, issue_ci_due, false},
    {TIMER_ISSUE_SILENCE, issue_silence_due, false},
    {TIMER_ISSUE_GATE, issue_gate_due, false},
};

/* NULL: written by a version that has more kinds. */
static const struct timer_kind *kind_of(const struct timer_row *timer)
{
    for (size_t i = 0; i < COUNT_OF(timer_kinds); i++)
        if (strcmp(timer_kinds[i].kind, timer->kind) == 0)
            return &timer_kinds[i];
    return NULL;
}

/* A command that sets or clears a timer has locked its subject before, so the timer is locked last
   here, too.  One that was set anew is due later, and stays. */
static enum rc try_timer(struct context *ctx, void *subject, const struct failure *why)
{
    (void)why;
    const struct timer_row *timer = subject;
    const struct timer_kind *kind = kind_of(timer);
    enum rc rc = kind != NULL ? kind->fire(ctx, &timer->subject) : RC_OK;
    return rc == RC_OK ? timers_done(ctx->db, timer, ctx->err) : rc;
}

static enum rc fail_timer(struct context *ctx, void *subject, const struct failure *why)
{
    const struct timer_row *timer = subject;
    const struct timer_kind *kind = kind_of(timer);
    if (kind == NULL || !kind->ends_run)
        return err_set(ctx->err, why->rc, why->err.code, "%s", why->err.text);
    enum rc rc = stop_failed(ctx, &timer->subject, why);
    return rc == RC_OK ? timers_done(ctx->db, timer, ctx->err) : rc;
}

static enum rc put_off_timer(struct context *ctx, void *subject, const struct failure *why)
{
    (void)why;
    struct timer_row timer = *(const struct timer_row *)subject;
    timer.due_us = ctx->now_us + PUT_OFF_US;
    return timers_set(ctx->db, &timer, ctx->err);
}

static enum rc handle_timer(struct context *ctx, struct timer_row *timer)
{
    static isolate_try *const tries[] = {try_timer, fail_timer, put_off_timer, leave, NULL};
    const char *id = arena_printf(ctx->arena, "%s/%s", timer->kind, timer->subject.text);
    const struct isolated one = {"timer", id, timer, tries};
    return isolate(ctx, &one);
}

/* ---- the commands ---- */

enum rc due_next(struct db *db, int64_t *ret_next_us, struct err *err)
{
    static enum rc (*const sources[])(struct db * db, int64_t * ret_due_us, struct err * err) = {
        jobs_next_due, timers_next_due, schedules_next_due};
    int64_t next_us = 0;
    for (size_t i = 0; i < COUNT_OF(sources); i++) {
        int64_t due_us = 0;
        enum rc rc = sources[i](db, &due_us, err);
        if (rc != RC_OK && rc != RC_NOT_FOUND)
            return rc;
        if (due_us > 0 && (next_us == 0 || due_us < next_us))
            next_us = due_us;
    }
    *ret_next_us = next_us;
    return RC_OK;
}

static enum rc handle_jobs(struct context *ctx, const struct lease_proof *proof, size_t *ret_count)
{
    struct job_row *jobs;
    struct due_ask ask = {proof, ctx->now_us, DUE_BATCH_MAX};
    enum rc rc = jobs_due(ctx->db, &ask, ctx->arena, &jobs, ret_count, ctx->err);
    for (size_t i = 0; rc == RC_OK && i < *ret_count; i++)
        rc = handle_job(ctx, &jobs[i].id);
    return rc;
}

static enum rc handle_timers(struct context *ctx, const struct lease_proof *proof,
                             size_t *ret_count)
{
    struct timer_row *timers;
    struct due_ask ask = {proof, ctx->now_us, DUE_BATCH_MAX};
    enum rc rc = timers_due(ctx->db, &ask, ctx->arena, &timers, ret_count, ctx->err);
    for (size_t i = 0; rc == RC_OK && i < *ret_count; i++)
        rc = handle_timer(ctx, &timers[i]);
    return rc;
}

static enum rc prune_keys(struct context *ctx, void *more, const struct failure *why)
{
    (void)more;
    (void)why;
    return idempotency_prune(ctx->db, ctx->now_us, ctx->err);
}

static enum rc prune_workers(struct context *ctx, void *more, const struct failure *why)
{
    (void)more;
    (void)why;
    return workers_prune(ctx->db, ctx->now_us - WORKER_FORGET_AFTER_US, ctx->err);
}

static enum rc prune_requests(struct context *ctx, void *more, const struct failure *why)
{
    (void)more;
    (void)why;
    return requests_prune(ctx->db, ctx->now_us - REQUEST_FORGET_MINUTES * US_PER_MINUTE, ctx->err);
}

static enum rc prune_receipts(struct context *ctx, void *more, const struct failure *why)
{
    (void)why;
    return sync_prune(ctx, more);
}

static enum rc prune_cars(struct context *ctx, void *more, const struct failure *why)
{
    (void)why;
    return train_prune(ctx, more);
}

static enum rc prune_beats(struct context *ctx, void *more, const struct failure *why)
{
    (void)why;
    return issues_prune(ctx, more);
}

static enum rc prune_processed(struct context *ctx, void *more, const struct failure *why)
{
    (void)why;
    return consumers_prune(ctx, more);
}

/* Of steps that are made again and again. */
static enum rc prune_jobs(struct context *ctx, void *more, const struct failure *why)
{
    (void)why;
    size_t steps;
    const struct step_row *rows = step_table(&steps);
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < steps; i++) {
        const struct job_prune prune = {
            .queue = rows[i].queue, .before_us = ctx->now_us - US_PER_DAY, .limit = DUE_BATCH_MAX};
        int64_t count = 0;
        if (rows[i].routine)
            rc = jobs_prune(ctx->db, &prune, ctx->arena, &count, ctx->err);
        *(bool *)more |= count == DUE_BATCH_MAX;
    }
    return rc;
}

static enum rc prune(struct context *ctx, bool *ret_more)
{
    static const struct {
        const char *what;
        isolate_try *tries[3];
    } parts[] = {
        {"idempotency keys", {prune_keys, leave, NULL}},
        {"workers", {prune_workers, leave, NULL}},
        {"requests", {prune_requests, leave, NULL}},
        {"receipts of deliveries", {prune_receipts, leave, NULL}},
        {"jobs of routine steps", {prune_jobs, leave, NULL}},
        {"cars of trains", {prune_cars, leave, NULL}},
        {"processed events", {prune_processed, leave, NULL}},
        {"heartbeats of issues", {prune_beats, leave, NULL}},
    };
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < COUNT_OF(parts); i++) {
        const struct isolated one = {"prune", parts[i].what, ret_more, parts[i].tries};
        rc = isolate(ctx, &one);
    }
    return rc == RC_OK ? dead_letters_expire(ctx, ret_more) : rc;
}

/* The server or its store was unreachable, and no worker could renew a lease or report. */
static enum rc grant(struct context *ctx, int64_t grace_us)
{
    enum rc rc = jobs_grant(ctx->db, ctx->now_us + grace_us, ctx->err);
    return rc == RC_OK ? pull_grant(ctx, grace_us) : rc;
}

static enum rc apply_due(struct context *ctx, struct command *command)
{
    struct cmd_due *cmd = (struct cmd_due *)command;
    size_t jobs = 0, timers = 0, schedules = 0;
    cmd->more = false;
    struct lease_proof proof;
    enum rc rc = leases_enter(ctx->db, &cmd->turn, &proof, ctx->err);
    if (rc == RC_OK && cmd->grace_us > 0)
        rc = grant(ctx, cmd->grace_us);
    if (rc == RC_OK)
        rc = handle_jobs(ctx, &proof, &jobs);
    if (rc == RC_OK)
        rc = handle_timers(ctx, &proof, &timers);
    if (rc == RC_OK)
        rc = schedules_fire(ctx, &proof, DUE_BATCH_MAX, &schedules);
    if (rc == RC_OK && cmd->prune)
        rc = prune(ctx, &cmd->more);
    if (rc == RC_OK)
        rc = due_next(ctx->db, &cmd->next_due_us, ctx->err);
    cmd->more |= jobs == DUE_BATCH_MAX || timers == DUE_BATCH_MAX || schedules == DUE_BATCH_MAX;
    if (ctx->round->left_due && cmd->next_due_us <= ctx->now_us)
        cmd->next_due_us = ctx->now_us + LEFT_AGAIN_US; /* Not at once again. */
    return rc;
}

static const struct command_ops due_ops = {.name = "due", .apply = apply_due};

struct cmd_due *cmd_due_new(void)
{
    return command_new(&due_ops, sizeof(struct cmd_due));
}

/* Reads the row again, now under its lock. */
static enum rc try_reclaim(struct context *ctx, void *subject, const struct failure *why)
{
    (void)why;
    const struct job_row *seen = subject;
    struct job_row job;
    enum rc rc = jobs_get(ctx->db, &seen->id, ctx->arena, &job, ctx->err);
    if (rc != RC_OK || job.life.state != JOB_LEASED || job.life.epoch != seen->life.epoch)
        return rc;
    return expire_lease(ctx, &job);
}

static enum rc fail_reclaim(struct context *ctx, void *subject, const struct failure *why)
{
    return fail_job(ctx, &((struct job_row *)subject)->id, why);
}

/* The lease expires later, as any other. */
static enum rc put_off_reclaim(struct context *ctx, void *subject, const struct failure *why)
{
    return put_off_job(ctx, &((struct job_row *)subject)->id, why);
}

static enum rc reclaim_one(struct context *ctx, struct job_row *seen)
{
    static isolate_try *const tries[] = {try_reclaim, fail_reclaim, put_off_reclaim, leave, NULL};
    const struct isolated one = {"job", seen->id.text, seen, tries};
    return isolate(ctx, &one);
}

static enum rc apply_reclaim(struct context *ctx, struct command *command)
{
    struct cmd_reclaim *cmd = (struct cmd_reclaim *)command;
    struct job_row *jobs;
    size_t count;
    struct principal earlier = principal_of_node(cmd->node);
    enum rc rc = jobs_leased_to(ctx->db, earlier.text, ctx->arena, &jobs, &count, ctx->err);
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        rc = reclaim_one(ctx, &jobs[i]);
    if (rc == RC_OK && cmd->grace_us > 0)
        rc = grant(ctx, cmd->grace_us);
    cmd->reclaimed = (int64_t)count;
    ctx->round->admit = true;
    return rc;
}

static const struct command_ops reclaim_ops = {.name = "reclaim", .apply = apply_reclaim};

struct cmd_reclaim *cmd_reclaim_new(void)
{
    return command_new(&reclaim_ops, sizeof(struct cmd_reclaim));
}
