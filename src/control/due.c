/*
 * due.c - see due.h.
 */
#include "control/due.h"
#include "control/accounts.h"
#include "control/dead_letters.h"
#include "control/flow.h"
#include "control/pipeline.h"
#include "control/principal.h"
#include "control/pull_limits.h"
#include "control/quarantine.h"
#include "control/requests.h"
#include "control/results.h"
#include "control/schedules.h"
#include "control/settle.h"
#include "control/stop.h"
#include "control/workers.h"
#include "store/timers.h"
#include <string.h>

/* ---- jobs ------------------------------------------------------------------------------- */

static enum rc expire_lease(struct cx *cx, struct job_row *job)
{
    const char *worker = job->worker;
    struct settlement settlement = {
        .event = JOB_EV_EXPIRE,
        .code = "worker_lost",
        .message = "The worker's lease ran out or its process ended",
    };
    enum rc rc = settle(cx, job, &settlement);
    return rc == RC_OK ? pipeline_lost(cx, job, worker) : rc;
}

static enum rc outlive(struct cx *cx, struct job_row *job)
{
    struct settlement settlement = {
        .event = JOB_EV_TTL, .code = "expired", .message = "Not taken within its time to live"};
    return settle(cx, job, &settlement);
}

/* Looks again at the row: handling an earlier one may have moved it. */
static enum rc handle_job(struct cx *cx, const struct id *job_id)
{
    struct job_row job;
    enum rc rc = jobs_get(cx->db, job_id, cx->arena, &job, cx->err);
    if (rc != RC_OK || job_is_settled(job.life.state))
        return rc;
    if (job.life.state == JOB_LEASED)
        return job.life.due_us <= cx->now_us ? expire_lease(cx, &job) : RC_OK;
    if (job.life.expires_us > 0 && job.life.expires_us <= cx->now_us)
        return outlive(cx, &job);
    bool due = job.life.state == JOB_SCHEDULED && job.life.due_us <= cx->now_us;
    return due ? settle_due(cx, &job) : RC_OK;
}

/* ---- timers ----------------------------------------------------------------------------- */

static enum rc run_deadline(struct cx *cx, const struct id *run_id)
{
    CLEANUP(flow_release) struct flow flow = {0};
    enum rc rc = flow_load(cx, run_id, &flow);
    if (rc != RC_OK || run_is_terminal(flow.run.status))
        return rc;
    /* Its clock stands still, or was set anew, while this waited for the run. */
    bool still = flow.run.deadline_us == 0 || flow.run.status == RUN_AWAITING_APPROVAL;
    if (still || flow.run.deadline_us > cx->now_us)
        return RC_OK;
    struct stop_request request = {.kind = RUN_STOP_TIMEOUT,
                                   .by = "drover",
                                   .reason = "The run passed its time limit (timeouts.runMs)"};
    bool stopping;
    return stop_run(cx, &flow, &request, &stopping);
}

static enum rc queue_deadline(struct cx *cx, const struct id *run_id)
{
    CLEANUP(flow_release) struct flow flow = {0};
    enum rc rc = flow_load(cx, run_id, &flow);
    if (rc != RC_OK || flow.run.status != RUN_QUEUED)
        return rc;
    struct ending ending = {
        .event = RUN_EV_TIME_OUT,
        .code = "queue_timed_out",
        .message = arena_printf(cx->arena, "Waited too long to start (timeouts.queueMs)%s%s",
                                flow.run.deferred_reason != NULL ? ": " : "",
                                flow.run.deferred_reason != NULL ? flow.run.deferred_reason : ""),
    };
    rc = flow_end(cx, &flow, &ending);
    return rc == RC_OK ? flow_save(cx, &flow) : rc;
}

static enum rc stop_deadline(struct cx *cx, const struct id *run_id)
{
    CLEANUP(flow_release) struct flow flow = {0};
    enum rc rc = flow_load(cx, run_id, &flow);
    if (rc != RC_OK || run_is_terminal(flow.run.status))
        return rc;
    return stop_by_force(cx, &flow);
}

static const struct {
    const char *kind;
    enum rc (*fire)(struct cx *cx, const struct id *subject);
} timer_kinds[] = {
    {TIMER_RUN_DEADLINE, run_deadline},         {TIMER_QUEUE_DEADLINE, queue_deadline},
    {TIMER_STOP_DEADLINE, stop_deadline},       {TIMER_APPROVAL_EXPIRY, question_expired},
    {TIMER_APPROVAL_REMINDER, question_remind}, {TIMER_QUARANTINE, quarantine_sweep},
    {TIMER_ACCOUNT_RESET, accounts_reset},      {TIMER_RUN_HELD, accounts_release},
    {TIMER_PULL_DEADLINE, pull_deadline},       {TIMER_PULL_IDLE, pull_idle},
};

/* Whoever sets or clears a timer has its subject in hand, so it is taken last here, too.  One that
   was set anew is due later, and stays. */
static enum rc handle_timer(struct cx *cx, const struct timer_row *timer)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < COUNT_OF(timer_kinds); i++)
        if (strcmp(timer_kinds[i].kind, timer->kind) == 0)
            rc = timer_kinds[i].fire(cx, &timer->subject);
    return rc == RC_OK ? timers_done(cx->db, timer, cx->err) : rc;
}

/* ---- the commands ----------------------------------------------------------------------- */

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

static enum rc handle_jobs(struct cx *cx, const struct lease_proof *proof, size_t *ret_count)
{
    struct job_row *jobs;
    struct due_ask ask = {proof, cx->now_us, DUE_BATCH_MAX};
    enum rc rc = jobs_due(cx->db, &ask, cx->arena, &jobs, ret_count, cx->err);
    for (size_t i = 0; rc == RC_OK && i < *ret_count; i++)
        rc = handle_job(cx, &jobs[i].id);
    return rc;
}

static enum rc handle_timers(struct cx *cx, const struct lease_proof *proof, size_t *ret_count)
{
    struct timer_row *timers;
    struct due_ask ask = {proof, cx->now_us, DUE_BATCH_MAX};
    enum rc rc = timers_due(cx->db, &ask, cx->arena, &timers, ret_count, cx->err);
    for (size_t i = 0; rc == RC_OK && i < *ret_count; i++)
        rc = handle_timer(cx, &timers[i]);
    return rc;
}

static enum rc prune(struct cx *cx, bool *ret_more)
{
    enum rc rc = idempotency_prune(cx->db, cx->now_us, cx->err);
    if (rc == RC_OK)
        rc = workers_prune(cx->db, cx->now_us - WORKER_FORGET_AFTER_US, cx->err);
    if (rc == RC_OK)
        rc = requests_prune(cx->db, cx->now_us - REQUEST_FORGET_MINUTES * US_PER_MINUTE, cx->err);
    if (rc == RC_OK)
        rc = dead_letters_expire(cx, ret_more);
    return rc;
}

/* The server was away, and nobody could say that they are there. */
static enum rc grant(struct cx *cx, int64_t grace_us)
{
    enum rc rc = jobs_grant(cx->db, cx->now_us + grace_us, cx->err);
    return rc == RC_OK ? pull_grant(cx, grace_us) : rc;
}

static enum rc apply_due(struct cx *cx, struct command *command)
{
    struct cmd_due *cmd = (struct cmd_due *)command;
    size_t jobs = 0, timers = 0, schedules = 0;
    cmd->more = false;
    struct lease_proof proof;
    enum rc rc = leases_enter(cx->db, &cmd->turn, &proof, cx->err);
    if (rc == RC_OK && cmd->grace_us > 0)
        rc = grant(cx, cmd->grace_us);
    if (rc == RC_OK)
        rc = handle_jobs(cx, &proof, &jobs);
    if (rc == RC_OK)
        rc = handle_timers(cx, &proof, &timers);
    if (rc == RC_OK)
        rc = schedules_fire(cx, &proof, DUE_BATCH_MAX, &schedules);
    if (rc == RC_OK && cmd->prune)
        rc = prune(cx, &cmd->more);
    if (rc == RC_OK)
        rc = due_next(cx->db, &cmd->next_due_us, cx->err);
    cmd->more |= jobs == DUE_BATCH_MAX || timers == DUE_BATCH_MAX || schedules == DUE_BATCH_MAX;
    return rc;
}

static const struct command_ops due_ops = {.name = "due", .apply = apply_due};

struct cmd_due *cmd_due_new(void)
{
    return command_new(&due_ops, sizeof(struct cmd_due));
}

/* Looks again at the row, now under its lock. */
static enum rc reclaim_one(struct cx *cx, const struct job_row *seen)
{
    struct job_row job;
    enum rc rc = jobs_get(cx->db, &seen->id, cx->arena, &job, cx->err);
    if (rc != RC_OK || job.life.state != JOB_LEASED || job.life.epoch != seen->life.epoch)
        return rc;
    return expire_lease(cx, &job);
}

static enum rc apply_reclaim(struct cx *cx, struct command *command)
{
    struct cmd_reclaim *cmd = (struct cmd_reclaim *)command;
    struct job_row *jobs;
    size_t count;
    struct principal earlier = principal_of_node(cmd->node);
    enum rc rc = jobs_leased_to(cx->db, earlier.text, cx->arena, &jobs, &count, cx->err);
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        rc = reclaim_one(cx, &jobs[i]);
    if (rc == RC_OK && cmd->grace_us > 0)
        rc = grant(cx, cmd->grace_us);
    cmd->reclaimed = (int64_t)count;
    cx->round->admit = true;
    return rc;
}

static const struct command_ops reclaim_ops = {.name = "reclaim", .apply = apply_reclaim};

struct cmd_reclaim *cmd_reclaim_new(void)
{
    return command_new(&reclaim_ops, sizeof(struct cmd_reclaim));
}
