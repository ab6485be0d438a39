#include "control/run/append_event.h"
#include "control/commit/hooks.h"
#include "control/commit/read_ahead.h"
#include "control/run/flow.h"
#include "control/run/schemas.h"
#include "store/events.h"
#include "store/settings.h"
#include <stdio.h>
#include <string.h>

static struct event event_of(const struct cloud_event *given)
{
    return (struct event){
        .type = given->type,
        .subject = given->subject,
        .traceparent = given->traceparent,
        .correlation_id = given->correlation_id,
        .causation_id = given->causation_id,
        .tags = given->tags,
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

static enum rc check_run(struct context *ctx, const struct cmd_append_events *cmd,
                         const struct cloud_event *given, const struct run_row *run)
{
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

static enum rc append_to_run(struct context *ctx, const struct cmd_append_events *cmd,
                             const struct cloud_event *given, bool *ret_new)
{
    CLEANUP(flow_release) struct flow flow = {0};
    struct event event = event_of(given);
    enum rc rc = flow_load_run(ctx, &given->run_id, &flow);
    if (rc == RC_NOT_FOUND)
        return unknown(ctx, "runid", "run", &given->run_id);
    if (rc == RC_OK)
        rc = check_run(ctx, cmd, given, &flow.run);
    if (rc == RC_OK)
        rc = take_budget(ctx, &flow.run, given);
    if (rc != RC_OK)
        return rc;
    flow_place_event(ctx, &flow, &event);
    rc = context_append_once(ctx, &event, ret_new);
    if (rc != RC_OK || !*ret_new)
        return rc;
    flow.run.event_seq = event.run_seq;
    flow.run.last_event_id = event.id;
    return flow_save_events(ctx, &flow);
}

/* ---- of a task, or of neither ---- */

static enum rc append_to_task(struct context *ctx, const struct cloud_event *given, bool *ret_new)
{
    CLEANUP(flow_release) struct flow flow = {0};
    struct event event = event_of(given);
    enum rc rc = flow_load_latest(ctx, &given->task_id, &flow);
    if (rc == RC_NOT_FOUND)
        return unknown(ctx, "taskid", "task", &given->task_id);
    if (rc != RC_OK)
        return rc;
    flow_place_task_event(ctx, &flow, &event);
    rc = context_append_once(ctx, &event, ret_new);
    if (rc != RC_OK || !*ret_new)
        return rc;
    flow.task.last_event_id = event.id;
    return flow_save(ctx, &flow);
}

/* ---- all of them ---- */

void append_events_place(struct err *err, size_t place)
{
    struct err inner = *err;
    (void)snprintf(err->text, sizeof err->text, "event [%zu] of the batch: %.440s", place,
                   inner.text);
    (void)snprintf(err->field, sizeof err->field, "[%zu]%s%.60s", place,
                   inner.field[0] != '\0' ? "." : "", inner.field);
}

/* What was accepted once stays accepted, regardless of its run and its schema. */
static enum rc is_there(struct context *ctx, const struct cloud_event *given, bool *ret_there)
{
    const struct event event = event_of(given);
    int64_t seq;
    enum rc rc = events_find_source(ctx->db, &event, &seq, ctx->err);
    *ret_there = rc == RC_OK;
    if (rc != RC_NOT_FOUND)
        return rc;
    err_clear(ctx->err);
    return RC_OK;
}

static enum rc append_one(struct context *ctx, const struct cmd_append_events *cmd,
                          const struct cloud_event *given, bool *ret_new)
{
    struct event event = event_of(given);
    *ret_new = false;
    if (text_starts(given->type, CLOUD_EVENT_ISSUES))
        return ctx->hooks->issue_event(ctx, given, &cmd->claim, ret_new);
    if (!id_is_none(&given->run_id))
        return append_to_run(ctx, cmd, given, ret_new);
    if (!id_is_none(&given->task_id))
        return append_to_task(ctx, given, ret_new);
    return context_append_once(ctx, &event, ret_new);
}

/* There already: marked; else its data must fit.  Those of issues are checked where they are
   written, where a number may stand for a text. */
static enum rc check_one(struct context *ctx, struct schema_use *use,
                         const struct cloud_event *given, bool *ret_there)
{
    enum rc rc = is_there(ctx, given, ret_there);
    bool of_issue = text_starts(given->type, CLOUD_EVENT_ISSUES);
    return rc == RC_OK && !*ret_there && !of_issue ? schema_check_event(ctx, use, given) : rc;
}

/* Two that hold the same events in another order would wait for each other, again and again. */
static enum rc take_turn(struct context *ctx, const struct cmd_append_events *cmd)
{
    return cmd->count > 1 && db_is_shared(ctx->db)
               ? settings_lock(ctx->db, SETTING_EVENT_BATCHES, ctx->err)
               : RC_OK;
}

/* All are checked before the first is written.  A run that is not there, or has no room, is found
   later: the lane undoes what was written. */
static enum rc apply_append(struct context *ctx, struct command *command)
{
    struct cmd_append_events *cmd = (struct cmd_append_events *)command;
    CLEANUP(schema_use_release) struct schema_use use = {0};
    bool *there = arena_array(ctx->arena, cmd->count + 1, sizeof *there), is_new;
    enum rc rc = take_turn(ctx, cmd);
    size_t i = 0;
    cmd->accepted = 0;
    if (rc != RC_OK)
        return rc;
    for (; i < cmd->count; i++) {
        rc = check_one(ctx, &use, &cmd->events[i], &there[i]);
        if (rc != RC_OK)
            break;
    }
    for (i = rc == RC_OK ? 0 : i; rc == RC_OK && i < cmd->count; i++) {
        if (there[i])
            continue;
        rc = append_one(ctx, cmd, &cmd->events[i], &is_new);
        if (rc != RC_OK)
            break;
        cmd->accepted += is_new;
    }
    if (rc != RC_OK && cmd->is_batch)
        append_events_place(ctx->err, i);
    return rc;
}

static void append_names(const struct command *command, struct read_ahead *read_ahead)
{
    const struct cmd_append_events *cmd = (const struct cmd_append_events *)command;
    for (size_t i = 0; i < cmd->count; i++) {
        const struct cloud_event *given = &cmd->events[i];
        if (!id_is_none(&given->run_id))
            read_ahead_owner(read_ahead, &given->run_id);
        else if (!id_is_none(&given->task_id))
            read_ahead_owner(read_ahead, &given->task_id);
    }
}

static const struct command_ops append_ops = {
    .name = "append_event", .apply = apply_append, .names = append_names};

struct cmd_append_events *cmd_append_events_new(void)
{
    return command_new(&append_ops, sizeof(struct cmd_append_events));
}
