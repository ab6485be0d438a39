/*
 * events.c - POST /v1/events: a client appends CloudEvents to the log, one or many at once.
 *
 * The token of a run's agent appends to its own run alone, also where it names none, and with a
 * source of its own: source and id name an event, and one that it has invented would keep out that
 * of another client.
 */
#include "api/call.h"
#include "api/event_message.h"
#include "api/routes.h"
#include "control/run/append_event.h"
#include "core/conductor/issue_kind.h"
#include <string.h>

static enum rc bind_to_run(const struct identity *who, struct cmd_append_events *cmd,
                           struct cloud_event *event, struct err *err)
{
    if (who->role != ROLE_AGENT)
        return RC_OK;
    if (!id_is_none(&event->run_id) && !id_same(&event->run_id, &who->run_id))
        return err_set(err, RC_DENIED, "NOT_YOUR_RUN",
                       "an agent's token appends events to its own run only");
    event->run_id = cmd->agent_run = who->run_id;
    event->source = arena_printf(&cmd->base.arena, CLOUD_EVENT_RUNS "%s/%s", who->run_id.text,
                                 event->source);
    return RC_OK;
}

/* What the token may write about issues: an admin is the one who approves them. */
static struct issue_claim claim_of(const struct call *call)
{
    struct issue_claim claim = {.agent = auth_bound_agent(&call->who)};
    struct str rest = str_of(call->who.writes);
    enum issue_writer writer;
    if (call->who.role == ROLE_ADMIN)
        claim.writers = WRITERS(WRITER_CTO);
    while (rest.len > 0) {
        char name[TOKEN_WRITES_BYTES_MAX + 1];
        struct str word = {rest.at, strcspn(rest.at, " ")};
        text_copy(name, word.len + 1, rest.at);
        if (issue_writer_parse(name, &writer))
            claim.writers |= WRITERS(writer);
        rest = str_of(rest.at + word.len + strspn(rest.at + word.len, " "));
    }
    return claim;
}

static enum rc decode_all(struct call *call, struct cmd_append_events *cmd, struct err *err)
{
    const struct js *tree = cmd->base.tree;
    struct cloud_event *events = arena_array(&cmd->base.arena, cmd->count + 1, sizeof *events);
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < cmd->count; i++) {
        rc = cloud_event_decode(cmd->is_batch ? js_at(tree, i) : tree, &cmd->base.arena, &events[i],
                                err);
        if (rc == RC_OK)
            rc = bind_to_run(&call->who, cmd, &events[i], err);
        if (rc != RC_OK && cmd->is_batch)
            append_events_place(err, i);
    }
    cmd->events = events;
    return rc;
}

enum rc api_event_append(struct call *call, struct err *err)
{
    struct cmd_append_events *cmd = cmd_append_events_new();
    call_own(call, &cmd->base);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = event_message_read(call, &cmd->base.tree, err);
    if (rc != RC_OK)
        return rc;
    cmd->is_batch = event_message_mode(&call->http) == EVENT_BATCHED;
    cmd->count = cmd->is_batch ? js_count(cmd->base.tree) : 1;
    if (cmd->is_batch && js_type(cmd->base.tree) != JS_ARRAY)
        return err_set(err, RC_INVALID, "INVALID_FIELD",
                       "a batch is an array of CloudEvents; send one as "
                       "application/cloudevents+json");
    if (cmd->count > CLOUD_EVENT_BATCH_MAX)
        return err_set(err, RC_TOO_LARGE, "TOO_MANY_EVENTS",
                       "the batch has %zu events; it may have %d: send it in parts", cmd->count,
                       CLOUD_EVENT_BATCH_MAX);
    cmd->claim = claim_of(call);
    return decode_all(call, cmd, err);
}

void api_event_append_answer(struct call *call, struct command *command)
{
    const struct cmd_append_events *cmd = (const struct cmd_append_events *)command;
    struct jw jw = call_answer(call, 202);
    jw_begin(&jw, '{');
    jw_kint(&jw, "accepted", (int64_t)cmd->accepted);
    jw_kint(&jw, "duplicates", (int64_t)(cmd->count - cmd->accepted));
    jw_end(&jw, '}');
}
