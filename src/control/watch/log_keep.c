#include "control/watch/log_keep.h"
#include "control/commit/context.h"

static enum rc apply_keep(struct context *ctx, struct command *command)
{
    struct cmd_log_keep *cmd = (struct cmd_log_keep *)command;
    enum rc rc = RC_OK;
    cmd->removed = 0;
    for (size_t i = 0; rc == RC_OK && i < cmd->count; i++)
        rc = log_lines_insert(ctx->db, &cmd->rows[i], ctx->err);
    if (rc == RC_OK && cmd->limits.limit > 0)
        rc = log_lines_prune(ctx->db, &cmd->limits, &cmd->removed, ctx->err);
    return rc;
}

static const struct command_ops keep_ops = {.name = "log_keep", .apply = apply_keep};

struct cmd_log_keep *cmd_log_keep_new(void)
{
    return command_new(&keep_ops, sizeof(struct cmd_log_keep));
}
