/*
 * steering.c - people and the agent of a run: messages.
 */
#include "api/routes.h"
#include "control/run/messages.h"

#define SEQ_MAX ((int64_t)1 << 53)

/* ---- Messages ---- */

static void write_message(struct jw *jw, const struct message_row *message)
{
    jw_begin(jw, '{');
    jw_kint(jw, "seq", message->seq);
    jw_kstr(jw, "author", message->author);
    jw_kstr(jw, "text", message->text);
    jw_ktime(jw, "sentAt", message->created_us);
    jw_ktime(jw, "deliveredAt", message->delivered_us);
    jw_end(jw, '}');
}

enum rc api_job_messages(struct call *call, struct err *err)
{
    struct cmd_messages_read *cmd = cmd_messages_read_new();
    call_own(call, &cmd->base);
    struct params params;
    cmd->ref.epoch = -1;
    enum rc rc = call_id(call, 0, &cmd->ref.id, err);
    if (rc == RC_OK)
        rc = call_params(call, &params, err);
    if (rc != RC_OK)
        return rc;
    params_int(&params, "epoch", &(struct param_range){0, SEQ_MAX}, &cmd->ref.epoch);
    params_int(&params, "after", &(struct param_range){0, SEQ_MAX}, &cmd->after_seq);
    if (cmd->ref.epoch < 0)
        params_fail(&params, "epoch", "epoch is missing: that of the lease");
    return params_end(&params);
}

void api_job_messages_answer(struct call *call, struct command *command)
{
    const struct cmd_messages_read *cmd = (const struct cmd_messages_read *)command;
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_key(&jw, "messages");
    jw_begin(&jw, '[');
    for (size_t i = 0; i < cmd->count; i++)
        write_message(&jw, &cmd->messages[i]);
    jw_end(&jw, ']');
    jw_end(&jw, '}');
}
