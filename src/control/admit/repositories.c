#include "control/admit/repositories.h"
#include "control/admit/repo_follow.h"
#include "control/run/assignment.h"
#include "core/event_types.h"
#include "store/repositories.h"

static enum rc emit_repository(struct context *ctx, const char *type,
                               const struct repository_row *row)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "repositoryId", row->id.text);
    jw_kstr(&body.jw, "repository", row->name);
    jw_kint(&body.jw, "version", row->version);
    struct event event = {
        .type = type,
        .subject = arena_printf(ctx->arena, "repository/%s", row->name),
        .correlation_id = row->id,
        .data = event_body_close(&body),
    };
    return context_append(ctx, &event, NULL);
}

static enum rc apply_put(struct context *ctx, struct command *command)
{
    struct cmd_repository_put *cmd = (struct cmd_repository_put *)command;
    struct repository_row row;
    if (cmd->config.len > CONFIG_BYTES_MAX)
        return err_set(ctx->err, RC_TOO_LARGE, "CONFIG_TOO_LARGE",
                       "the configuration has %zu bytes, and no job can hold more than %d",
                       cmd->config.len, CONFIG_BYTES_MAX);
    enum rc rc = repositories_by_name(ctx->db, &ctx->workspace_id, cmd->name, ctx->arena, &row,
                                      ctx->err);
    cmd->created = rc == RC_NOT_FOUND || (rc == RC_OK && row.removed);
    if (rc == RC_NOT_FOUND)
        row = (struct repository_row){.id = context_id(ctx),
                                      .workspace_id = ctx->workspace_id,
                                      .name = cmd->name,
                                      .created_us = ctx->now_us};
    else if (rc != RC_OK)
        return rc;
    row.config = cmd->config;
    row.removed = false;
    row.version++;
    row.updated_us = ctx->now_us;
    rc = repositories_put(ctx->db, &row, ctx->err);
    if (rc == RC_OK)
        rc = repo_follow(ctx, &row, 0);
    if (rc != RC_OK)
        return rc;
    cmd->id = row.id;
    cmd->version = row.version;
    ctx->round->admit = true; /* Limits may have changed. */
    return emit_repository(ctx, EV_REPOSITORY_CONFIGURED, &row);
}

static const struct command_ops put_ops = {.name = "repository_put", .apply = apply_put};

struct cmd_repository_put *cmd_repository_put_new(void)
{
    return command_new(&put_ops, sizeof(struct cmd_repository_put));
}

static enum rc refuse_busy(struct context *ctx, const char *name)
{
    for (int status = 0; status < RUN_STATUS_COUNT; status++) {
        if (run_is_terminal((enum run_status)status))
            continue;
        struct run_filter filter = {.repository = name, .status = status, .limit = 1};
        struct run_row *rows;
        size_t count;
        enum rc rc = runs_list(ctx->db, &filter, ctx->arena, &rows, &count, ctx->err);
        if (rc != RC_OK)
            return rc;
        if (count > 0)
            return err_set(ctx->err, RC_CONFLICT, "REPO_IN_USE",
                           "repository %s has unfinished runs (run %s is %s); "
                           "cancel them first, or wait for their end",
                           name, rows[0].id.text, run_status_name(rows[0].status));
    }
    return RC_OK;
}

static enum rc apply_remove(struct context *ctx, struct command *command)
{
    struct cmd_repository_remove *cmd = (struct cmd_repository_remove *)command;
    struct repository_row row;
    enum rc rc = repositories_by_name(ctx->db, &ctx->workspace_id, cmd->name, ctx->arena, &row,
                                      ctx->err);
    if (rc == RC_NOT_FOUND || (rc == RC_OK && row.removed))
        return err_set(ctx->err, RC_NOT_FOUND, "REPO_NOT_FOUND", "there is no repository %s",
                       cmd->name);
    if (rc == RC_OK)
        rc = refuse_busy(ctx, cmd->name);
    if (rc == RC_OK)
        rc = repositories_remove(ctx->db, &row.id, ctx->now_us, ctx->err);
    row.removed = true;
    if (rc == RC_OK)
        rc = repo_follow(ctx, &row, 0);
    return rc == RC_OK ? emit_repository(ctx, EV_REPOSITORY_REMOVED, &row) : rc;
}

static const struct command_ops remove_ops = {.name = "repository_remove", .apply = apply_remove};

struct cmd_repository_remove *cmd_repository_remove_new(void)
{
    return command_new(&remove_ops, sizeof(struct cmd_repository_remove));
}
