#include "control/agents/kill.h"
#include "control/agents/launch.h"
#include "control/commit/isolate.h"
#include "control/queue/job_hooks.h"
#include "control/queue/settle.h"
#include "core/event_types.h"
#include "store/timers.h"

static enum rc emit_killed(struct context *ctx, const struct cmd_agent_kill *cmd)
{
    CLEANUP(event_body_release) struct event_body body;
    agent_event_open(&body, &cmd->row);
    jw_kstr(&body.jw, "policy", kill_policy_name(cmd->policy));
    jw_optstr(&body.jw, "reason", cmd->reason);
    jw_kint(&body.jw, "claims", cmd->claims);
    return agent_emit(ctx, &cmd->row, EV_AGENT_KILLED, &body);
}

static enum rc set_settle(struct context *ctx, const struct agent_row *row)
{
    struct timer_row timer = {
        .kind = TIMER_AGENT_SETTLE, .subject = row->id, .due_us = ctx->now_us};
    context_due(ctx, timer.due_us);
    return timers_set(ctx->db, &timer, ctx->err);
}

static enum rc apply_kill(struct context *ctx, struct command *command)
{
    struct cmd_agent_kill *cmd = (struct cmd_agent_kill *)command;
    struct agent_row *row = &cmd->row;
    enum rc rc = agents_find(ctx->db, &cmd->ref, ctx->arena, row, ctx->err);
    if (rc == RC_OK)
        rc = agents_count_claims(ctx->db, row->name, &cmd->claims, ctx->err);
    if (rc != RC_OK || row->state == INSTANCE_KILLED)
        return rc;
    rc = agent_move(ctx, row, INSTANCE_EV_KILL);
    row->policy = cmd->policy;
    row->reason = cmd->reason;
    if (rc == RC_OK)
        rc = agent_revoke(ctx, row);
    if (rc == RC_OK)
        rc = launch_cancel(ctx, row);
    if (rc == RC_OK)
        rc = agent_watch(ctx, row);
    if (rc == RC_OK && cmd->claims > 0)
        rc = set_settle(ctx, row);
    context_ready(ctx, agent_bell(row->name, ctx->arena));
    return rc == RC_OK ? emit_killed(ctx, cmd) : rc;
}

static const struct command_ops kill_ops = {.name = "agent_kill", .apply = apply_kill};

struct cmd_agent_kill *cmd_agent_kill_new(void)
{
    return command_new(&kill_ops, sizeof(struct cmd_agent_kill));
}

/* ---- its claims ---- */

struct settling {
    const struct agent_row *agent;
    struct id job_id;
};

static enum rc offer_again(struct context *ctx, struct job_row *job)
{
    const struct settlement settlement = {
        .event = JOB_EV_RELEASE,
        .epoch = job->life.epoch,
        .owner = job->life.owner,
        .code = "agent_killed",
        .message = "The agent that had claimed it was killed",
    };
    enum rc rc = settle(ctx, job, &settlement);
    return rc == RC_OK ? ctx->hooks->jobs->released(ctx, job) : rc;
}

static enum rc fail(struct context *ctx, struct job_row *job, const struct agent_row *agent)
{
    const char *message = arena_printf(ctx->arena, "Agent %s was killed%s%s", agent->name,
                                       agent->reason != NULL ? ": " : "",
                                       agent->reason != NULL ? agent->reason : "");
    const struct settlement settlement = {
        .event = JOB_EV_FAIL,
        .epoch = job->life.epoch,
        .owner = job->life.owner,
        .code = "agent_killed",
        .message = message,
    };
    const struct job_failure failure = {"agent_killed", message, false, job->worker};
    enum rc rc = settle(ctx, job, &settlement);
    return rc == RC_OK ? ctx->hooks->jobs->failed(ctx, job, &failure) : rc;
}

/* Reads the row again: it may have been settled meanwhile. */
static enum rc try_settle(struct context *ctx, void *subject, const struct failure *why)
{
    (void)why;
    const struct settling *settling = subject;
    struct job_row job;
    enum rc rc = jobs_get(ctx->db, &settling->job_id, ctx->arena, &job, ctx->err);
    if (rc != RC_OK || job.life.state != JOB_LEASED ||
        !text_same(job.worker, settling->agent->name))
        return rc;
    return settling->agent->policy == KILL_FAIL ? fail(ctx, &job, settling->agent)
                                                : offer_again(ctx, &job);
}

/* The lease ends by itself. */
static enum rc leave(struct context *ctx, void *subject, const struct failure *why)
{
    (void)ctx;
    (void)subject;
    (void)why;
    return RC_OK;
}

enum rc agent_settle_due(struct context *ctx, const struct id *agent_id)
{
    static isolate_try *const tries[] = {try_settle, leave, NULL};
    struct agent_row agent;
    struct id *jobs = NULL;
    size_t count = 0;
    enum rc rc = agents_get(ctx->db, agent_id, ctx->arena, &agent, ctx->err);
    if (rc != RC_OK || agent.state != INSTANCE_KILLED)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    rc = agents_claims(ctx->db, agent.name, ctx->arena, &jobs, &count, ctx->err);
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        struct settling settling = {&agent, jobs[i]};
        const struct isolated one = {"job", jobs[i].text, &settling, tries};
        rc = isolate(ctx, &one);
    }
    return rc;
}
