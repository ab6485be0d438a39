#include "control/messaging/subscriptions.h"
#include "control/commit/context.h"
#include "store/workspaces.h"

/* One at a time, so that the limit holds on many nodes too. */
static enum rc check_room(struct context *ctx)
{
    int64_t count = 0;
    enum rc rc = RC_OK;
    if (db_is_shared(ctx->db))
        rc = workspaces_lock(ctx->db, &ctx->workspace_id, ctx->err);
    if (rc == RC_OK)
        rc = subscriptions_count(ctx->db, &count, ctx->err);
    if (rc == RC_OK && count >= SUBSCRIPTIONS_MAX)
        return err_set(ctx->err, RC_CONFLICT, "TOO_MANY_SUBSCRIPTIONS",
                       "there are %d subscriptions, and no more are possible; remove one that is "
                       "not used, or give one a wider pattern",
                       SUBSCRIPTIONS_MAX);
    return rc;
}

static enum rc apply_put(struct context *ctx, struct command *command)
{
    struct cmd_subscription_put *cmd = (struct cmd_subscription_put *)command;
    struct subscription_row row;
    enum rc rc = subscriptions_get(ctx->db, cmd->name, ctx->arena, &row, ctx->err);
    cmd->created = rc == RC_NOT_FOUND;
    if (cmd->created) {
        rc = check_room(ctx);
        row = (struct subscription_row){.name = cmd->name, .created_us = ctx->now_us};
    }
    if (rc != RC_OK)
        return rc;
    row.pattern = cmd->pattern;
    row.queue = cmd->queue;
    row.updated_us = ctx->now_us;
    cmd->row = row;
    ctx->round->subscriptions = NULL;
    return subscriptions_put(ctx->db, &row, ctx->err);
}

static const struct command_ops put_ops = {.name = "subscription_put", .apply = apply_put};

struct cmd_subscription_put *cmd_subscription_put_new(void)
{
    return command_new(&put_ops, sizeof(struct cmd_subscription_put));
}

static enum rc apply_remove(struct context *ctx, struct command *command)
{
    struct cmd_subscription_remove *cmd = (struct cmd_subscription_remove *)command;
    struct subscription_row row;
    enum rc rc = subscriptions_get(ctx->db, cmd->name, ctx->arena, &row, ctx->err);
    if (rc != RC_OK)
        return rc;
    ctx->round->subscriptions = NULL;
    return subscriptions_remove(ctx->db, cmd->name, ctx->err);
}

static const struct command_ops remove_ops = {.name = "subscription_remove", .apply = apply_remove};

struct cmd_subscription_remove *cmd_subscription_remove_new(void)
{
    return command_new(&remove_ops, sizeof(struct cmd_subscription_remove));
}
