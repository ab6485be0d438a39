#include "control/agents/registry.h"
#include "control/agents/launch.h"
#include "store/timers.h"

enum rc agent_allows(struct context *ctx, const struct command *command, const char *bound_agent,
                     const struct agent_row *row)
{
    if (bound_agent != NULL && !text_same(bound_agent, row->name))
        return err_set(ctx->err, RC_DENIED, "AGENT_NOT_ALLOWED",
                       "this token is that of agent %s and cannot act for %s", bound_agent,
                       row->name);
    if (id_is_none(&row->token_id) || text_same(row->token_id.text, command->principal))
        return RC_OK;
    return err_set(ctx->err, RC_DENIED, "AGENT_NOT_ALLOWED",
                   "drover has launched agent %s: only its own token ($DROVER_TOKEN of its "
                   "process) acts for it",
                   row->name);
}

/* ---- register ---- */

static enum rc check_room(struct context *ctx)
{
    int64_t count;
    enum rc rc = agents_count(ctx->db, &count, ctx->err);
    if (rc == RC_OK && count >= AGENTS_MAX)
        return err_set(ctx->err, RC_CONFLICT, "TOO_MANY_AGENTS",
                       "there are %d agents already; delete some first", AGENTS_MAX);
    return rc;
}

static enum rc apply_register(struct context *ctx, struct command *command)
{
    struct cmd_agent_register *cmd = (struct cmd_agent_register *)command;
    struct agent_row *row = &cmd->row;
    row->id = command->made = context_id(ctx);
    row->workspace_id = ctx->workspace_id;
    row->state = INSTANCE_REGISTERED;
    row->created_by = ctx->actor.id;
    row->created_us = row->updated_us = ctx->now_us;
    row->job_id = (struct id){0};
    enum rc rc = check_room(ctx);
    if (rc == RC_OK && row->account != NULL &&
        account_configs_find(ctx->accounts, row->account) == NULL)
        return err_field(ctx->err, RC_INVALID, "INVALID_FIELD", "account",
                         "the server's configuration has no account %s", row->account);
    if (rc == RC_OK)
        rc = agents_insert(ctx->db, row, ctx->err);
    if (rc != RC_OK || !cmd->launch)
        return rc;
    rc = agent_move(ctx, row, INSTANCE_EV_LAUNCH);
    if (rc == RC_OK)
        rc = launch_start(ctx, row, 0);
    return rc == RC_OK ? agent_save(ctx, row) : rc;
}

static const struct command_ops register_ops = {.name = "agent_register", .apply = apply_register};

struct cmd_agent_register *cmd_agent_register_new(void)
{
    return command_new(&register_ops, sizeof(struct cmd_agent_register));
}

/* ---- heartbeat ---- */

static enum rc apply_beat(struct context *ctx, struct command *command)
{
    struct cmd_agent_beat *cmd = (struct cmd_agent_beat *)command;
    enum rc rc = agents_find(ctx->db, &cmd->ref, ctx->arena, &cmd->row, ctx->err);
    if (rc == RC_OK)
        rc = agent_allows(ctx, command, cmd->bound_agent, &cmd->row);
    return rc == RC_OK ? agent_heard(ctx, &cmd->row) : rc;
}

static const struct command_ops beat_ops = {.name = "agent_beat", .apply = apply_beat};

struct cmd_agent_beat *cmd_agent_beat_new(void)
{
    return command_new(&beat_ops, sizeof(struct cmd_agent_beat));
}

/* ---- delete ---- */

static enum rc apply_remove(struct context *ctx, struct command *command)
{
    struct cmd_agent_remove *cmd = (struct cmd_agent_remove *)command;
    struct agent_row row;
    int64_t claims = 0;
    enum rc rc = agents_find(ctx->db, &cmd->ref, ctx->arena, &row, ctx->err);
    if (rc == RC_OK)
        rc = agents_count_claims(ctx->db, row.name, &claims, ctx->err);
    if (rc != RC_OK)
        return rc;
    bool has_process = row.config.len > 0 && instance_has_process(row.state);
    if (has_process || claims > 0)
        return err_set(ctx->err, RC_CONFLICT, "AGENT_STATE",
                       "agent %s is %s and has %lld pieces of work: kill it first", row.name,
                       instance_state_name(row.state), (long long)claims);
    rc = agent_revoke(ctx, &row);
    if (rc == RC_OK)
        rc = timers_clear_subject(ctx->db, &row.id, ctx->err);
    return rc == RC_OK ? agents_remove(ctx->db, &row.id, ctx->err) : rc;
}

static const struct command_ops remove_ops = {.name = "agent_remove", .apply = apply_remove};

struct cmd_agent_remove *cmd_agent_remove_new(void)
{
    return command_new(&remove_ops, sizeof(struct cmd_agent_remove));
}
