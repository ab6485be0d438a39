#include "control/watch/tokens.h"
#include "base/clock.h"
#include "control/commit/context.h"

static enum rc check_room(struct context *ctx, const char *name)
{
    struct token_row *rows;
    size_t count;
    enum rc rc = tokens_check_room(ctx->db, ctx->now_us, ctx->err);
    if (rc == RC_OK)
        rc = tokens_live(ctx->db, ctx->now_us, ctx->arena, &rows, &count, ctx->err);
    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < count; i++) {
        if (text_same(rows[i].name, name))
            return err_set(ctx->err, RC_CONFLICT, "TOKEN_NAME_TAKEN",
                           "token %s has the name %s already; revoke it first, or choose another",
                           rows[i].id.text, name);
    }
    return RC_OK;
}

static enum rc apply_create(struct context *ctx, struct command *command)
{
    struct cmd_token_create *cmd = (struct cmd_token_create *)command;
    enum rc rc = check_room(ctx, cmd->name);
    if (rc != RC_OK)
        return rc;
    cmd->row = (struct token_row){
        .id = cmd->base.made = context_id(ctx),
        .name = cmd->name,
        .role = cmd->role,
        .queues = cmd->queues,
        .writes = cmd->writes,
        .agent = cmd->agent,
        .sha256 = cmd->sha256,
        .created_us = ctx->now_us,
        .expires_us = cmd->expires_us,
    };
    return tokens_insert(ctx->db, &cmd->row, ctx->err);
}

static const struct command_ops create_ops = {.name = "token_create", .apply = apply_create};

struct cmd_token_create *cmd_token_create_new(void)
{
    return command_new(&create_ops, sizeof(struct cmd_token_create));
}

static enum rc apply_revoke(struct context *ctx, struct command *command)
{
    struct cmd_token_revoke *cmd = (struct cmd_token_revoke *)command;
    return tokens_revoke(ctx->db, &cmd->id, ctx->now_us, ctx->err);
}

static const struct command_ops revoke_ops = {.name = "token_revoke", .apply = apply_revoke};

struct cmd_token_revoke *cmd_token_revoke_new(void)
{
    return command_new(&revoke_ops, sizeof(struct cmd_token_revoke));
}

static enum rc apply_used(struct context *ctx, struct command *command)
{
    struct cmd_token_used *cmd = (struct cmd_token_used *)command;
    int64_t today_us = cmd->used_us - cmd->used_us % US_PER_DAY;
    bool first = false;
    enum rc rc = tokens_used(ctx->db, &cmd->id, cmd->used_us, today_us, &first, ctx->err);
    if (rc == RC_OK && first)
        context_audit(ctx, &(struct audit_entry){
                               .actor_type = cmd->role == ROLE_WORKER ? "worker" : "user",
                               .actor_id = cmd->name,
                               .token_id = cmd->id.text,
                               .role = role_name(cmd->role),
                               .action = "token.use",
                               .resource_id = cmd->id.text,
                           });
    return rc;
}

static const struct command_ops used_ops = {.name = "token_used", .apply = apply_used};

struct cmd_token_used *cmd_token_used_new(void)
{
    return command_new(&used_ops, sizeof(struct cmd_token_used));
}
