/*
 * subscriptions.c - see subscriptions.h.
 */
#include "control/messaging/subscriptions.h"
#include "control/commit/cx.h"
#include "store/workspaces.h"

/* One at a time, so that the limit holds on many nodes too. */
static enum rc check_room(struct cx *cx)
{
    int64_t count = 0;
    enum rc rc = RC_OK;
    if (db_is_shared(cx->db))
        rc = workspaces_lock(cx->db, &cx->workspace_id, cx->err);
    if (rc == RC_OK)
        rc = subscriptions_count(cx->db, &count, cx->err);
    if (rc == RC_OK && count >= SUBSCRIPTIONS_MAX)
        return err_set(cx->err, RC_CONFLICT, "TOO_MANY_SUBSCRIPTIONS",
                       "there are %d subscriptions, and no more are possible; remove one that is "
                       "not used, or give one a wider pattern",
                       SUBSCRIPTIONS_MAX);
    return rc;
}

static enum rc apply_put(struct cx *cx, struct command *command)
{
    struct cmd_subscription_put *cmd = (struct cmd_subscription_put *)command;
    struct subscription_row row;
    enum rc rc = subscriptions_get(cx->db, cmd->name, cx->arena, &row, cx->err);
    cmd->created = rc == RC_NOT_FOUND;
    if (cmd->created) {
        rc = check_room(cx);
        row = (struct subscription_row){.name = cmd->name, .created_us = cx->now_us};
    }
    if (rc != RC_OK)
        return rc;
    row.pattern = cmd->pattern;
    row.queue = cmd->queue;
    row.updated_us = cx->now_us;
    cmd->row = row;
    cx->round->subscriptions = NULL;
    return subscriptions_put(cx->db, &row, cx->err);
}

static const struct command_ops put_ops = {.name = "subscription_put", .apply = apply_put};

struct cmd_subscription_put *cmd_subscription_put_new(void)
{
    return command_new(&put_ops, sizeof(struct cmd_subscription_put));
}

static enum rc apply_remove(struct cx *cx, struct command *command)
{
    struct cmd_subscription_remove *cmd = (struct cmd_subscription_remove *)command;
    struct subscription_row row;
    enum rc rc = subscriptions_get(cx->db, cmd->name, cx->arena, &row, cx->err);
    if (rc != RC_OK)
        return rc;
    cx->round->subscriptions = NULL;
    return subscriptions_remove(cx->db, cmd->name, cx->err);
}

static const struct command_ops remove_ops = {.name = "subscription_remove", .apply = apply_remove};

struct cmd_subscription_remove *cmd_subscription_remove_new(void)
{
    return command_new(&remove_ops, sizeof(struct cmd_subscription_remove));
}
