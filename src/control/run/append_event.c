#include "control/run/append_event.h"
#include "control/commit/read_ahead.h"
#include "control/run/flow.h"
#include "store/events.h"
#include <string.h>

static struct event event_of(const struct cloud_event *given)
{
    return (struct event){
        .type = given->type,
        .subject = given->subject,
        .traceparent = given->traceparent,
        .data = given->data,
        .source = given->source,
        .source_id = given->id,
        .attributes = given->attributes,
    };
}

static enum rc unknown(struct context *ctx, const char *field, const char *noun,
                       const struct id *id)
{
    const char *code = strcmp(noun, "task") == 0 ? "TASK_NOT_FOUND" : "RUN_NOT_FOUND";
    return err_field(ctx->err, RC_INVALID, code, field, "there is no %s %s", noun, id->text);
}

/* ---- of a run ---- */

static enum rc check_run(struct context *ctx, const struct cmd_append_event *cmd,
                         const struct run_row *run)
{
    const struct cloud_event *given = &cmd->event;
    if (!id_is_none(&cmd->agent_run) && run_is_terminal(run->status))
        return err_set(ctx->err, RC_UNAUTHORIZED, "TOKEN_EXPIRED",
                       "the run that this token was given for has ended");
    if (!id_is_none(&given->task_id) && !id_same(&given->task_id, &run->task_id))
        return err_field(ctx->err, RC_INVALID, "RUN_NOT_FOUND", "runid",
                         "task %s has no run %s; leave out taskid, or name its own run",
                         given->task_id.text, run->id.text);
    return RC_OK;
}

/* Counted like what its workers report, and refused where that would be dropped. */
static enum rc take_budget(struct context *ctx, struct run_row *run,
                           const struct cloud_event *given)
{
    int64_t bytes = (int64_t)(given->data.len + given->attributes.len);
    struct event_budget left = run->events_left;
    const struct event_verdict verdict = event_budget_take(&left, EVENT_DIAGNOSTIC, bytes);
    if (!verdict.store)
        return err_set(ctx->err, RC_CONFLICT, "EVENT_BUDGET_USED",
                       "run %s has stored as many events as its limits allow (limits.maxRunEvents, "
                       "limits.maxRunEventBytes); send this one with taskid only",
                       run->id.text);
    run->events_left = left;
    return RC_OK;
}

static enum rc append_to_run(struct context *ctx, struct cmd_append_event *cmd)
{
    const struct cloud_event *given = &cmd->event;
    CLEANUP(flow_release) struct flow flow = {0};
    struct event event = event_of(given);
    enum rc rc = flow_load_run(ctx, &given->run_id, &flow);
    if (rc == RC_NOT_FOUND)
        return unknown(ctx, "runid", "run", &given->run_id);
    if (rc == RC_OK)
        rc = check_run(ctx, cmd, &flow.run);
    if (rc == RC_OK)
        rc = take_budget(ctx, &flow.run, given);
    if (rc != RC_OK)
        return rc;
    flow_place_event(ctx, &flow, &event);
    rc = context_append_once(ctx, &event, &cmd->is_new);
    if (rc != RC_OK || !cmd->is_new)
        return rc;
    flow.run.event_seq = event.run_seq;
    flow.run.last_event_id = event.id;
    return flow_save_events(ctx, &flow);
}

/* ---- of a task, or of neither ---- */

static enum rc append_to_task(struct context *ctx, struct cmd_append_event *cmd)
{
    CLEANUP(flow_release) struct flow flow = {0};
    struct event event = event_of(&cmd->event);
    enum rc rc = flow_load_latest(ctx, &cmd->event.task_id, &flow);
    if (rc == RC_NOT_FOUND)
        return unknown(ctx, "taskid", "task", &cmd->event.task_id);
    if (rc != RC_OK)
        return rc;
    flow_place_task_event(ctx, &flow, &event);
    rc = context_append_once(ctx, &event, &cmd->is_new);
    if (rc != RC_OK || !cmd->is_new)
        return rc;
    flow.task.last_event_id = event.id;
    return flow_save(ctx, &flow);
}

static enum rc apply_append(struct context *ctx, struct command *command)
{
    struct cmd_append_event *cmd = (struct cmd_append_event *)command;
    struct event event = event_of(&cmd->event);
    int64_t seq;
    cmd->is_new = false;
    /* First: what was accepted once stays accepted, regardless of its run. */
    enum rc rc = events_find_source(ctx->db, &event, &seq, ctx->err);
    if (rc == RC_OK)
        return RC_OK;
    if (rc != RC_NOT_FOUND)
        return rc;
    err_clear(ctx->err);
    if (!id_is_none(&cmd->event.run_id))
        return append_to_run(ctx, cmd);
    if (!id_is_none(&cmd->event.task_id))
        return append_to_task(ctx, cmd);
    return context_append_once(ctx, &event, &cmd->is_new);
}

static void append_names(const struct command *command, struct read_ahead *read_ahead)
{
    const struct cloud_event *given = &((const struct cmd_append_event *)command)->event;
    if (!id_is_none(&given->run_id))
        read_ahead_owner(read_ahead, &given->run_id);
    else if (!id_is_none(&given->task_id))
        read_ahead_owner(read_ahead, &given->task_id);
}

static const struct command_ops append_ops = {
    .name = "append_event", .apply = apply_append, .names = append_names};

struct cmd_append_event *cmd_append_event_new(void)
{
    return command_new(&append_ops, sizeof(struct cmd_append_event));
}
