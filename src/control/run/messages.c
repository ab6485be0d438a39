#include "control/run/messages.h"
#include "control/commit/context.h"
#include "control/commit/read_ahead.h"
#include "control/queue/lease.h"
#include "control/queue/token_scope.h"
#include "core/step_kind.h"

enum rc messages_reached(struct context *ctx, const struct job_row *job, int64_t seq)
{
    const struct message_delivery delivery = {
        .run_id = job->run_id, .job_id = job->id, .seq = seq, .now_us = ctx->now_us};
    return messages_deliver(ctx->db, &delivery, ctx->err);
}

/* ---- the worker reads ---- */

static enum rc apply_read(struct context *ctx, struct command *command)
{
    struct cmd_messages_read *cmd = (struct cmd_messages_read *)command;
    struct token_scope_refs refs = {&cmd->ref, sizeof cmd->ref, 1};
    struct job_answer answer;
    struct job_row job;
    cmd->messages = NULL;
    cmd->count = 0;
    enum rc rc = token_scope_check(ctx, command, &refs);
    if (rc == RC_OK)
        rc = lease_load(ctx, command, &cmd->ref, &job, &answer);
    if (rc != RC_OK)
        return rc;
    if (!answer.ok)
        return err_set(ctx->err, RC_STALE, "LEASE_LOST", "the lease of this job was lost");
    if (id_is_none(&job.run_id) || !step_runs_agent(job.type))
        return RC_OK;
    struct message_filter filter = {.run_id = job.run_id,
                                    .after_seq = cmd->after_seq,
                                    .limit = MESSAGES_UNREAD_MAX,
                                    .unread = true};
    return messages_list(ctx->db, &filter, ctx->arena, &cmd->messages, &cmd->count, ctx->err);
}

static void read_names(const struct command *command, struct read_ahead *read_ahead)
{
    read_ahead_job(read_ahead, &((const struct cmd_messages_read *)command)->ref.id);
}

static const struct command_ops read_ops = {
    .name = "messages_read", .apply = apply_read, .names = read_names};

struct cmd_messages_read *cmd_messages_read_new(void)
{
    return command_new(&read_ops, sizeof(struct cmd_messages_read));
}
