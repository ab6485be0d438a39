#include "control/watch/replay_keep.h"
#include "base/log.h"
#include "control/commit/context.h"
#include "store/run_diagnostics.h"

struct cmd_keep {
    struct command command;
    const struct replay *replay; /* The caller waits. */
};

static enum rc apply_keep(struct context *ctx, struct command *command)
{
    const struct replay *replay = ((struct cmd_keep *)command)->replay;
    enum run_status status;
    int64_t removed = 0;
    /* A run that was deleted meanwhile gets no snapshot, nor one that has lost events since. */
    enum rc rc = runs_status_of(ctx->db, &replay->fold.run_id, ctx->arena, &status, ctx->err);
    if (rc == RC_OK)
        rc = run_diagnostics_removed(ctx->db, &replay->fold.run_id, &removed, ctx->err);
    for (size_t i = 0; rc == RC_OK && removed == replay->removed && i < replay->made_count; i++) {
        struct run_snapshot_row row = replay->made[i];
        row.created_us = ctx->now_us;
        rc = run_snapshots_put(ctx->db, &row, ctx->err);
    }
    return rc;
}

static const struct command_ops keep_ops = {.name = "replay_keep", .apply = apply_keep};

void replay_keep(struct committer *committer, const struct replay *replay)
{
    if (replay->made_count == 0)
        return;
    struct cmd_keep *cmd = command_new(&keep_ops, sizeof *cmd);
    cmd->replay = replay;
    cmd->command.actor = (struct actor){"system", "drover"};
    enum rc rc = committer_call(committer, &cmd->command);
    if (rc != RC_OK)
        LOG(LOG_WARN, "snapshots of a run could not be stored",
            LOG_STR("runId", replay->fold.run_id.text), LOG_STR("code", cmd->command.err.code),
            LOG_STR("error", cmd->command.err.text));
    command_free(&cmd->command);
}
