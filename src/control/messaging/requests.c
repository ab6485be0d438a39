/*
 * requests.c - see requests.h.
 *
 * A command that waits for a reply is woken by the name "reply/ID" among the queues that got work;
 * no queue can have such a name.
 */
#include "control/messaging/requests.h"
#include "base/clock.h"
#include "control/commit/event_body.h"
#include "core/event_types.h"
#include <stdio.h>
#include <string.h>

static void name_reply(char to[REPLY_NAME_BYTES], const struct id *id)
{
    (void)snprintf(to, REPLY_NAME_BYTES, "reply/%s", id->text);
}

/* ---- the question ---- */

static enum rc create(struct context *ctx, struct cmd_request *cmd)
{
    struct request_row row = {
        .id = cmd->id,
        .topic = cmd->topic,
        .state = REQUEST_WAITING,
        .deadline_us = ctx->now_us + cmd->timeout_us,
        .created_us = ctx->now_us,
        .updated_us = ctx->now_us,
    };
    struct dispatch dispatch = {
        .topic = cmd->topic,
        .messages = &cmd->message,
        .count = 1,
        .request_id = cmd->id,
        .reply_to = arena_printf(ctx->arena, REPLY_PATH "%s", cmd->id.text),
        .deadline_us = row.deadline_us,
    };
    struct topic_sent *sent;
    enum rc rc = topic_send(ctx, &dispatch, &sent);
    if (rc != RC_OK)
        return rc;
    if (sent->count == 0)
        return err_set(ctx->err, RC_NOT_FOUND, "NO_SUBSCRIBER", "no subscription matches %s",
                       cmd->topic);
    rc = requests_insert(ctx->db, &row, ctx->err);
    if (rc == RC_CONFLICT) /* Another lane was faster: tried again, it is found. */
        return err_wrap(ctx->err, RC_BUSY, "another call brings it just now");
    if (rc == RC_OK)
        cmd->row = row;
    return rc;
}

static enum rc expire(struct context *ctx, struct request_row *row)
{
    row->state = REQUEST_EXPIRED;
    row->updated_us = ctx->now_us;
    return requests_save(ctx->db, row, ctx->err);
}

/* The request stays waiting, has its reply, or expires. */
static enum rc look(struct context *ctx, struct cmd_request *cmd)
{
    struct request_row *row = &cmd->row;
    if (strcmp(row->state, REQUEST_REPLIED) == 0)
        return RC_OK;
    cmd->waiting = strcmp(row->state, REQUEST_WAITING) == 0 && ctx->now_us < row->deadline_us;
    cmd->base.look_us = row->deadline_us; /* Applied once more then, to expire it. */
    cmd->base.wait_until_us = row->deadline_us + US_PER_MINUTE;
    cmd->base.waiter = ""; /* No worker's. */
    if (cmd->waiting)
        return RC_OK;
    enum rc rc = strcmp(row->state, REQUEST_WAITING) == 0 ? expire(ctx, row) : RC_OK;
    if (rc == RC_OK)
        cmd->base.refused = err_set(ctx->err, RC_TIMEOUT, "REQUEST_TIMED_OUT",
                                    "request %s had no reply before its deadline", cmd->id.text);
    return rc;
}

static enum rc apply_request(struct context *ctx, struct command *command)
{
    struct cmd_request *cmd = (struct cmd_request *)command;
    cmd->waiting = false;
    if (command->abandoned)
        return RC_OK; /* No client would receive the reply. */
    if (id_is_none(&cmd->id))
        cmd->id = context_id(ctx);
    name_reply(cmd->reply_name, &cmd->id);
    enum rc rc = requests_get(ctx->db, &cmd->id, ctx->arena, &cmd->row, ctx->err);
    if (rc == RC_NOT_FOUND)
        rc = create(ctx, cmd);
    if (rc == RC_OK && strcmp(cmd->row.topic, cmd->topic) != 0)
        return err_field(ctx->err, RC_CONFLICT, "REQUEST_ID_TAKEN", "requestId",
                         "request %s was put to %s, not to %s", cmd->id.text, cmd->row.topic,
                         cmd->topic);
    return rc == RC_OK ? look(ctx, cmd) : rc;
}

static bool request_may_wait(const struct command *command)
{
    return ((const struct cmd_request *)command)->waiting;
}

static bool request_wants(const struct command *command, const char *queue)
{
    return strcmp(((const struct cmd_request *)command)->reply_name, queue) == 0;
}

static const struct command_ops request_ops = {
    .name = "request",
    .apply = apply_request,
    .may_wait = request_may_wait,
    .wants = request_wants,
};

struct cmd_request *cmd_request_new(void)
{
    return command_new(&request_ops, sizeof(struct cmd_request));
}

/* ---- the reply ---- */

static enum rc emit_dropped(struct context *ctx, const struct request_row *row, const char *reason)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "requestId", row->id.text);
    jw_kstr(&body.jw, "topic", row->topic);
    jw_kstr(&body.jw, "reason", reason);
    struct event event = {
        .type = EV_REPLY_DROPPED,
        .subject = arena_printf(ctx->arena, "request/%s", row->id.text),
        .correlation_id = row->id,
        .data = event_body_close(&body),
    };
    return context_append(ctx, &event, NULL);
}

static enum rc drop_second(struct context *ctx, struct command *command,
                           const struct request_row *row)
{
    enum rc rc = emit_dropped(ctx, row, "second");
    if (rc == RC_OK)
        command->refused = err_set(ctx->err, RC_CONFLICT, "REPLY_TAKEN",
                                   "request %s has its reply already", row->id.text);
    return rc;
}

static enum rc drop_late(struct context *ctx, struct command *command, struct request_row *row)
{
    enum rc rc = strcmp(row->state, REQUEST_WAITING) == 0 ? expire(ctx, row) : RC_OK;
    if (rc == RC_OK)
        rc = emit_dropped(ctx, row, "late");
    if (rc == RC_OK)
        command->refused = err_set(ctx->err, RC_CONFLICT, "REPLY_LATE",
                                   "the deadline of request %s has passed", row->id.text);
    return rc;
}

static enum rc apply_reply(struct context *ctx, struct command *command)
{
    struct cmd_reply *cmd = (struct cmd_reply *)command;
    struct request_row row;
    enum rc rc = requests_get(ctx->db, &cmd->id, ctx->arena, &row, ctx->err);
    if (rc == RC_NOT_FOUND)
        return err_set(ctx->err, RC_NOT_FOUND, "REQUEST_NOT_FOUND", "there is no request %s",
                       cmd->id.text);
    if (rc != RC_OK)
        return rc;
    if (strcmp(row.state, REQUEST_REPLIED) == 0)
        return drop_second(ctx, command, &row);
    if (strcmp(row.state, REQUEST_EXPIRED) == 0 || ctx->now_us >= row.deadline_us)
        return drop_late(ctx, command, &row);
    row.state = REQUEST_REPLIED;
    row.reply = cmd->reply;
    row.replied_by = ctx->actor.id;
    row.updated_us = ctx->now_us;
    rc = requests_save(ctx->db, &row, ctx->err);
    if (rc != RC_OK)
        return rc;
    char name[REPLY_NAME_BYTES];
    name_reply(name, &row.id);
    context_ready(ctx, name);
    return RC_OK;
}

static const struct command_ops reply_ops = {.name = "reply", .apply = apply_reply};

struct cmd_reply *cmd_reply_new(void)
{
    return command_new(&reply_ops, sizeof(struct cmd_reply));
}
