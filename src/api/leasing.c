#include "api/leasing.h"
#include "base/log.h"
#include "control/queue/complete.h"

static void release_done(struct command *command)
{
    if (command->rc != RC_OK)
        LOG(LOG_WARN, "jobs of a client that left are not given back before their lease ends",
            LOG_STR("error", command->err.text));
    command_free(command);
}

void leasing_give_back(struct call *call, const struct cmd_lease *lease)
{
    struct cmd_release *cmd = cmd_release_new();
    struct job_ref *refs = arena_array(&cmd->base.arena, lease->job_count, sizeof *refs);
    for (size_t i = 0; i < lease->job_count; i++)
        refs[i] = (struct job_ref){.id = lease->jobs[i].id, .epoch = lease->jobs[i].life.epoch};
    cmd->leases = refs;
    cmd->count = lease->job_count;
    cmd->base.principal = arena_strdup(&cmd->base.arena, lease->base.principal);
    cmd->base.done = release_done;
    if (committer_post(control_committer(call->api->control), &cmd->base) != RC_OK) {
        cmd->base.rc = err_set(&cmd->base.err, RC_BUSY, "BUSY", "too many commands wait");
        release_done(&cmd->base);
    }
}

void leasing_write_orders(struct jw *jw, const struct job_answer *answer)
{
    static const char *const holds[] = {
        [JOB_HOLD_NONE] = NULL, [JOB_HOLD_PAUSED] = "paused", [JOB_HOLD_ASKING] = "asking"};
    jw_kbool(jw, "cancel", answer->cancel);
    jw_optstr(jw, "hold", holds[answer->hold]);
    if (answer->message_seq > 0)
        jw_kint(jw, "messageSeq", answer->message_seq);
}
