#include "control/pr/issues.h"
#include "control/pr/intake.h"
#include "control/run/flow.h"
#include "core/event_types.h"

/* No forge tells drover what it has done there itself. */
static enum rc look(struct context *ctx, const struct cmd_issue_event *cmd)
{
    struct repository_row repository;
    enum rc rc = repositories_get(ctx->db, &cmd->repository_id, ctx->arena, &repository, ctx->err);
    return rc == RC_OK ? intake_look(ctx, &repository, cmd->number) : rc;
}

static enum rc apply_issue_event(struct context *ctx, struct command *command)
{
    const struct cmd_issue_event *cmd = (const struct cmd_issue_event *)command;
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "repositoryId", cmd->repository_id.text);
    jw_kstr(&body.jw, "repository", cmd->repository);
    jw_kint(&body.jw, "number", cmd->number);
    jw_kstr(&body.jw, "title", cmd->title);
    if (text_same(cmd->event, EV_ISSUE_COMMENTED))
        jw_kint(&body.jw, "commentNo", cmd->comment_count);
    if (text_same(cmd->event, EV_ISSUE_CREATED) || text_same(cmd->event, EV_ISSUE_LABELLED))
        jw_kraw(&body.jw, "labels", cmd->labels);
    struct event event = {
        .type = cmd->event,
        .subject = arena_printf(ctx->arena, "issue/%s/%lld", cmd->repository,
                                (long long)cmd->number),
        .correlation_id = cmd->repository_id,
        .data = event_body_close(&body),
    };
    enum rc rc = context_append(ctx, &event, NULL);
    return rc == RC_OK ? look(ctx, cmd) : rc;
}

static const struct command_ops told_ops = {.name = "issue_told", .apply = apply_issue_event};

struct cmd_issue_event *cmd_issue_event_new(void)
{
    return command_new(&told_ops, sizeof(struct cmd_issue_event));
}
