#include "control/agents/claim.h"
#include "control/commit/context.h"
#include "control/commit/principal.h"
#include "control/commit/read_ahead.h"
#include "control/queue/token_scope.h"
#include "control/run/progress.h"

/* ---- claim ---- */

static const struct command_ops claim_ops = {
    .name = "claim",
    .apply = lease_apply,
    .may_wait = lease_may_wait,
    .wants = lease_wants,
    .appetite = lease_appetite,
    .picks = lease_picks,
};

struct cmd_claim *cmd_claim_new(void)
{
    struct cmd_claim *cmd = command_new(&claim_ops, sizeof *cmd);
    cmd->lease.max = 1;
    cmd->lease.filter.marked = true;
    return cmd;
}

/* ---- heartbeat ---- */

/* Events are taken only if the lease can be renewed: nothing is written otherwise. */
static enum rc take_events(struct context *ctx, const struct cmd_claim_beat *cmd,
                           struct job_answer *ret_told)
{
    const struct job_progress progress = {cmd->ref, cmd->events};
    struct job_row job;
    enum rc rc = lease_load(ctx, &cmd->base, &cmd->ref, &job, ret_told);
    if (rc != RC_OK || !ret_told->ok || cmd->events == NULL)
        return rc;
    if (cmd->agent != NULL && !worker_may_renew(cmd->agent, job.worker)) {
        *ret_told = (struct job_answer){.code = "LEASE_LOST", .state = job.life.state};
        return RC_OK;
    }
    return progress_take(ctx, &cmd->base, &progress, ret_told);
}

static enum rc apply_beat(struct context *ctx, struct command *command)
{
    struct cmd_claim_beat *cmd = (struct cmd_claim_beat *)command;
    struct token_scope_refs refs = {&cmd->ref, sizeof cmd->ref, 1};
    const struct renewal renewal = {cmd->ref, cmd->agent, cmd->extend_us};
    struct job_answer told;
    cmd->answer = (struct job_answer){0};
    enum rc rc = token_scope_check(ctx, command, &refs);
    if (rc == RC_OK)
        rc = take_events(ctx, cmd, &told);
    if (rc != RC_OK)
        return rc;
    cmd->answer = told;
    if (!told.ok)
        return RC_OK;
    rc = lease_renew(ctx, command, &renewal, &cmd->answer);
    if (rc == RC_OK && cmd->answer.ok) { /* A limit that this very report has passed. */
        cmd->answer.cancel |= told.cancel;
        cmd->answer.code = told.code;
    }
    return rc;
}

static void beat_names(const struct command *command, struct read_ahead *read_ahead)
{
    read_ahead_job(read_ahead, &((const struct cmd_claim_beat *)command)->ref.id);
}

static const struct command_ops beat_ops = {
    .name = "claim_beat", .apply = apply_beat, .names = beat_names};

struct cmd_claim_beat *cmd_claim_beat_new(void)
{
    return command_new(&beat_ops, sizeof(struct cmd_claim_beat));
}
