/*
 * follow.c - a person takes a pull request over, or hands it back: follow, leave.
 */
#include "control/pr/follow.h"
#include "api/routes.h"

static enum rc build(struct call *call, bool leave, struct err *err)
{
    struct cmd_follow *cmd = cmd_follow_new();
    cmd->leave = leave;
    call_own(call, &cmd->base);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_id(call, 0, &cmd->pull_request_id, err);
    return rc == RC_OK ? call_reason(call, &cmd->reason, err) : rc;
}

enum rc api_pull_request_follow(struct call *call, struct err *err)
{
    return build(call, false, err);
}

enum rc api_pull_request_leave(struct call *call, struct err *err)
{
    return build(call, true, err);
}

void api_follow_answer(struct call *call, struct command *command)
{
    const struct cmd_follow *cmd = (const struct cmd_follow *)command;
    struct jw jw = call_answer(call, 202);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "pullRequestId", cmd->pull_request_id.text);
    jw_kint(&jw, "number", cmd->number);
    jw_kstr(&jw, "repository", cmd->repository);
    jw_kstr(&jw, "state", cmd->state);
    jw_kbool(&jw, "stopped", cmd->leave);
    jw_end(&jw, '}');
}
