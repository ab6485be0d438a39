/*
 * interactions.c - POST /v1/interactions/slack: a person has used a button of a message.
 *
 * There is no token: the request is signed with the secret of the app (core/config/slack.h), and
 * the configuration lists who may answer and under which name.  What follows is the command that
 * the same answer over HTTP would be, and is recorded in the audit log like it.  Slack wants its
 * 200 within three seconds, and shows an error to the person otherwise: what came of it goes to the
 * message by a job of its own, if the configuration wants that.
 *
 * The same request twice is harmless: an approval or a question is answered once.
 */
#include "api/form.h"
#include "api/routes.h"
#include "base/clock.h"
#include "base/log.h"
#include "control/admit/answer.h"
#include "control/admit/decide.h"
#include "control/run/notify.h"
#include "core/config/slack.h"
#include <stdlib.h>
#include <string.h>

enum { FORM_BYTES_MAX = 1024 * 1024, REPLY_BYTES_MAX = 64 * 1024 };

struct interaction_head {
    const char *timestamp, *signature; /* or NULL */
};

/* On the loop, which owns the headers. */
enum rc api_slack_prepare(struct call *call, struct err *err)
{
    struct interaction_head *head = arena_alloc(&call->http.arena, sizeof *head);
    (void)err;
    head->timestamp = arena_strdup(&call->http.arena,
                                   http_header(&call->http, "X-Slack-Request-Timestamp"));
    head->signature = arena_strdup(&call->http.arena,
                                   http_header(&call->http, "X-Slack-Signature"));
    call->interaction = head;
    return RC_OK;
}

static enum rc check_signature(struct call *call, struct err *err)
{
    const struct slack_config *config = &call->api->slack;
    const char *secret = config->secret_env != NULL ? getenv(config->secret_env) : NULL;
    const struct clock clock = clock_real();
    const struct slack_signed request = {.secret = secret != NULL ? secret : "",
                                         .timestamp = call->interaction->timestamp,
                                         .signature = call->interaction->signature,
                                         .body = http_body(&call->http)};
    if (request.body.len <= FORM_BYTES_MAX && slack_is_signed(&request, clock_now_us(&clock)))
        return RC_OK;
    return err_set(
        err, RC_UNAUTHORIZED, "INTERACTION_REFUSED",
        "the request is not signed with the signing secret of the Slack app, or is older "
        "than 5 minutes: compare the variable that slack.secretEnv names with the app's "
        "Basic Information, and the clocks");
}

/* ---- what came of it ---- */

struct outcome {
    enum rc rc;
    struct err err;
    const char *text; /* For people. */
};

/* In the commands' own words where it went well. */
static const char *done_text(const struct slack_action *action, struct arena *arena)
{
    switch (action->verb) {
    case SLACK_APPROVE:
        return "Approved by";
    case SLACK_REJECT:
        return "Rejected by";
    case SLACK_ANSWER:
        break;
    }
    return arena_printf(arena, "Answered \"%.200s\" by", action->answer);
}

static void run_reply(struct call *call, struct cmd_notify_reply *cmd)
{
    enum rc rc = committer_call(control_committer(call->api->control), &cmd->base);
    if (rc != RC_OK)
        LOG(LOG_WARN, "no reply to a button", LOG_STR("requestId", call->http.id),
            LOG_STR("error", cmd->base.err.text));
    command_free(&cmd->base);
}

/* A replacement of the message where the matter is settled, else a line for the person alone. */
static void reply(struct call *call, const struct slack_action *action,
                  const struct slack_user *user, const struct outcome *outcome)
{
    CLEANUP(buf_release) struct buf body;
    bool done = outcome->rc == RC_OK, over = done || outcome->rc == RC_CONFLICT;
    buf_init(&body, REPLY_BYTES_MAX);
    if (text_empty(action->response_url) || text_empty(action->at) ||
        !slack_config_may_reply(&call->api->slack, action->response_url))
        return;
    struct cmd_notify_reply *cmd = cmd_notify_reply_new();
    struct jw jw = jw_to(&body);
    slack_reply_write(&jw, &(struct slack_reply){
                               .original_text = over ? action->original_text : NULL,
                               .outcome = outcome->text,
                               .user = done ? action->user : NULL,
                           });
    struct arena *arena = &cmd->base.arena;
    cmd->url = arena_strdup(arena, action->response_url);
    cmd->name = arena_printf(arena, "%.40s:%.40s", action->user, action->at);
    cmd->message = (struct str){arena_strndup(arena, body.data, body.len), body.len};
    cmd->base.actor = (struct actor){"user",
                                     arena_strdup(arena, user != NULL ? user->name : "slack")};
    run_reply(call, cmd);
}

static void answer(struct call *call, const struct slack_action *action,
                   const struct outcome *outcome)
{
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_kbool(&jw, "ok", outcome->rc == RC_OK);
    jw_kstr(&jw, "id", action->id.text);
    if (outcome->rc != RC_OK) {
        jw_kstr(&jw, "code", outcome->err.code);
        jw_kstr(&jw, "detail", outcome->err.text);
    }
    jw_end(&jw, '}');
}

/* ---- the command ---- */

/* Recorded under the action of the route that does the same. */
static void attach_audit(struct call *call, struct command *command, const char *what,
                         const struct slack_action *action, const struct slack_user *user)
{
    struct arena *arena = &command->arena;
    struct audit_call *audit = arena_alloc(arena, sizeof *audit);
    *audit = (struct audit_call){
        .action = what,
        .resource_id = arena_strdup(arena, action->id.text),
        .role = role_name(user->role),
        .address = arena_strdup(arena, call->http.peer),
        .request_id = arena_strdup(arena, call->http.id),
    };
    command->audit = audit;
    command->actor = (struct actor){"user", arena_strdup(arena, user->name)};
}

static struct outcome run_command(struct call *call, struct command *command,
                                  const struct slack_action *action)
{
    struct arena *arena = &call->http.arena;
    struct outcome outcome = {.rc = committer_call(control_committer(call->api->control), command)};
    outcome.err = command->err;
    outcome.text = outcome.rc == RC_OK ? done_text(action, arena)
                                       : arena_strdup(arena, outcome.err.text);
    command_free(command);
    return outcome;
}

static struct outcome decide(struct call *call, const struct slack_action *action,
                             const struct slack_user *user)
{
    struct cmd_decide *cmd = cmd_decide_new();
    cmd->approval_id = action->id;
    cmd->approve = action->verb == SLACK_APPROVE;
    attach_audit(call, &cmd->base, cmd->approve ? "approval.approve" : "approval.reject", action,
                 user);
    return run_command(call, &cmd->base, action);
}

static struct outcome answer_question(struct call *call, const struct slack_action *action,
                                      const struct slack_user *user)
{
    struct cmd_answer *cmd = cmd_answer_new();
    cmd->id = action->id;
    cmd->answer = arena_strdup(&cmd->base.arena, action->answer);
    attach_audit(call, &cmd->base, "question.answer", action, user);
    return run_command(call, &cmd->base, action);
}

static enum rc deny(struct call *call, const struct slack_action *action, struct err *err)
{
    struct outcome outcome = {
        .rc = err_set(err, RC_DENIED, "SLACK_USER_UNKNOWN",
                      "the user %.32s of Slack may not answer here: an admin adds them to "
                      "slack.users of the server's configuration",
                      action->user)};
    outcome.text = err->text;
    reply(call, action, NULL, &outcome);
    return outcome.rc;
}

static enum rc act(struct call *call, const struct js *payload, struct err *err)
{
    const struct slack_config *config = &call->api->slack;
    struct slack_action action;
    enum rc rc = slack_action_decode(payload, &action, err);
    if (rc != RC_OK)
        return rc;
    const struct slack_user *user = slack_config_user(config, action.user);
    if (user == NULL || (config->team != NULL && !text_same(config->team, action.team)))
        return deny(call, &action, err);
    const struct outcome outcome = action.verb == SLACK_ANSWER
                                       ? answer_question(call, &action, user)
                                       : decide(call, &action, user);
    if (outcome.rc == RC_BUSY || outcome.rc == RC_UNREACHABLE || outcome.rc == RC_IO) {
        *err = outcome.err; /* Slack shows that it failed: the person tries again. */
        return outcome.rc;
    }
    reply(call, &action, user, &outcome);
    answer(call, &action, &outcome);
    return RC_OK;
}

enum rc api_slack_interaction(struct call *call, struct db *db, struct err *err)
{
    CLEANUP(js_freep) struct js *payload = NULL;
    const char *text = NULL;
    (void)db;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK && call->api->slack.secret_env == NULL)
        rc = err_set(err, RC_NOT_FOUND, "SLACK_NOT_CONFIGURED",
                     "the server's configuration has no slack: section");
    if (rc == RC_OK)
        rc = check_signature(call, err);
    if (rc == RC_OK && !form_field(http_body(&call->http), "payload", &call->http.arena, &text))
        rc = err_set(err, RC_MALFORMED, "MALFORMED_BODY",
                     "the form has no field payload that can be decoded");
    if (rc == RC_OK)
        rc = js_parse(text, strlen(text), &payload, err);
    return rc == RC_OK ? act(call, payload, err) : rc;
}
