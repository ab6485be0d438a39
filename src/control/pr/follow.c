/*
 * follow.c - see follow.h.
 *
 * Both only write what the person wants and make the shepherd look: what is under way is stopped,
 * and the train left, by the decision that follows (core/pr/shepherd.c).
 */
#include "control/pr/follow.h"
#include "control/pr/shepherd_flow.h"
#include "core/event_types.h"

static enum rc check(struct context *ctx, const struct shepherding *it)
{
    if (!text_same(it->pr.status, "open"))
        return err_set(ctx->err, RC_CONFLICT, "PULL_REQUEST_NOT_OPEN", "pull request #%lld is %s",
                       (long long)it->pr.number, it->pr.status);
    if (!it->config->shepherd.enabled)
        return err_set(ctx->err, RC_CONFLICT, "SHEPHERD_OFF",
                       "pull request #%lld was opened under a configuration of %s that has no "
                       "section shepherd: such ones are left to people",
                       (long long)it->pr.number, it->flow.task.repository);
    return RC_OK;
}

static enum rc emit(struct context *ctx, struct shepherding *it, const struct cmd_follow *cmd)
{
    CLEANUP(event_body_release) struct event_body body;
    shepherd_event_open(&body, it);
    jw_kstr(&body.jw, "actor", ctx->actor.id);
    jw_optstr(&body.jw, "reason", cmd->reason);
    jw_optstr(&body.jw, "head", it->row.head);
    return flow_emit(ctx, &it->flow, cmd->leave ? EV_PR_LEFT_ALONE : EV_PR_FOLLOWED, &body);
}

static enum rc apply_follow(struct context *ctx, struct command *command)
{
    struct cmd_follow *cmd = (struct cmd_follow *)command;
    CLEANUP(shepherding_release) struct shepherding it = {0};
    enum rc rc = shepherding_load(ctx, &cmd->pull_request_id, &it);
    if (rc == RC_NOT_FOUND)
        return err_set(ctx->err, rc, "PULL_REQUEST_NOT_FOUND", "there is no pull request %s",
                       cmd->pull_request_id.text);
    if (rc == RC_OK)
        rc = check(ctx, &it);
    if (rc != RC_OK)
        return rc;
    it.row.stopped = cmd->leave;
    rc = shepherd_take_back(ctx, &it); /* This answers what was asked. */
    if (rc == RC_OK && !cmd->leave)
        rc = shepherd_begin_again(ctx, &it);
    if (rc == RC_OK)
        rc = emit(ctx, &it, cmd);
    if (rc == RC_OK)
        rc = shepherding_look_in(ctx, &it, 0);
    cmd->number = it.pr.number;
    cmd->repository = arena_strdup(ctx->arena, it.flow.task.repository);
    cmd->state = shepherd_state_name(it.row.state);
    return rc == RC_OK ? shepherding_save(ctx, &it) : rc;
}

static const struct command_ops follow_ops = {.name = "follow", .apply = apply_follow};

struct cmd_follow *cmd_follow_new(void)
{
    return command_new(&follow_ops, sizeof(struct cmd_follow));
}
