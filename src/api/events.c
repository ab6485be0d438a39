/*
 * events.c - POST /v1/events: a client appends one CloudEvent to the log.
 *
 * The token of a run's agent appends to its own run alone, also where it names none, and with a
 * source of its own: source and id name an event, and one that it has invented would keep out that
 * of another client.
 */
#include "api/call.h"
#include "api/routes.h"
#include "control/run/append_event.h"

static enum rc bind_to_run(const struct identity *who, struct cmd_append_event *cmd,
                           struct err *err)
{
    if (who->role != ROLE_AGENT)
        return RC_OK;
    if (!id_is_none(&cmd->event.run_id) && !id_same(&cmd->event.run_id, &who->run_id))
        return err_set(err, RC_DENIED, "NOT_YOUR_RUN",
                       "an agent's token appends events to its own run only");
    cmd->event.run_id = cmd->agent_run = who->run_id;
    cmd->event.source = arena_printf(&cmd->base.arena, CLOUD_EVENT_RUNS "%s/%s", who->run_id.text,
                                     cmd->event.source);
    return RC_OK;
}

enum rc api_event_append(struct call *call, struct err *err)
{
    struct cmd_append_event *cmd = cmd_append_event_new();
    call_own(call, &cmd->base);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_json(call, &cmd->base.tree, err);
    if (rc == RC_OK)
        rc = cloud_event_decode(cmd->base.tree, &cmd->base.arena, &cmd->event, err);
    return rc == RC_OK ? bind_to_run(&call->who, cmd, err) : rc;
}

/* Counts, as an answer to several at once would have them. */
void api_event_append_answer(struct call *call, struct command *command)
{
    const struct cmd_append_event *cmd = (const struct cmd_append_event *)command;
    struct jw jw = call_answer(call, 202);
    jw_begin(&jw, '{');
    jw_kint(&jw, "accepted", cmd->is_new ? 1 : 0);
    jw_kint(&jw, "duplicates", cmd->is_new ? 0 : 1);
    jw_end(&jw, '}');
}
