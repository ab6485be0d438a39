/*
 * notify.c - delivers a notification: by webhook, to a chat, or through a command.
 *
 *     payload: {"kind", "channel": {...}, "event": {a CloudEvent, data.notification holds facts}}
 *
 *     webhook   POST of the event as it is; signed when the channel names a secret
 *     slack     POST {"text": ...}, in words for people; with buttons: core/config/slack.h
 *     command   the event on its stdin; exit 0 is delivered
 *
 * Secrets are named in the channel and read from the worker's environment at delivery; they are
 * removed from reports of a failure.  A failed delivery is retried with growing pauses, unless the
 * receiver refuses the message as invalid, or the channel cannot work on this machine.
 */
#include "base/hash.h"
#include "base/proc.h"
#include "core/config/notify_text.h"
#include "core/config/slack.h"
#include "core/text/prose.h"
#include "core/text/redact.h"
#include "net/http_client.h"
#include "net/url.h"
#include "work/job/step.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    ANSWER_BYTES_MAX = 64 * 1024,
    SAID_BYTES_MAX = 4 * 1024,
    MESSAGE_BODY_MAX = 512 * 1024, /* Buttons have the texts of all options. */
    SIGNATURE_BYTES = sizeof "sha256=" + SHA256_TEXT_BYTES,
    ENV_MAX = NOTIFY_ENV_MAX + 16,
};

struct notice {
    struct step *step;
    struct notify_channel channel;
    enum notify_kind kind;
    const char *event; /* Its JSON. */
    const char *event_id, *event_type;
    const struct js *data; /* Of the event. */
    struct secrets secrets;
};

/* A retry would not help. */
static enum rc give_up(struct notice *notice, enum rc rc, const char *code, const struct err *err)
{
    return step_fail(notice->step, rc, err, (struct port_failure){.code = code});
}

static enum rc read_notice(struct notice *notice, struct err *err)
{
    struct step *step = notice->step;
    const struct js *payload = step->input.payload;
    const struct js *event = js_get(payload, "event");
    enum rc rc = notify_channel_decode(js_get(payload, "channel"), "channel", step->arena,
                                       &notice->channel, err);
    if (rc == RC_OK && (js_type(event) != JS_OBJECT ||
                        !notify_kind_parse(js_get_str(payload, "kind", ""), &notice->kind)))
        rc = err_set(err, RC_INVALID, "INVALID_FIELD", "The payload has no event or no kind.");
    if (rc != RC_OK)
        return give_up(notice, rc, "payload_invalid", err);
    notice->event = js_text(event, step->arena);
    notice->event_id = js_get_str(event, "id", "");
    notice->event_type = js_get_str(event, "type", "");
    notice->data = js_get(event, "data");
    return RC_OK;
}

/* ---- secrets ---- */

/* An address as such is no secret, but with a chat's the path is all that it takes to write there:
   so the part after the host is a secret, without the slash that would make it a file path. */
static void add_secret(struct notice *notice, const char *name)
{
    const char *value = name != NULL ? getenv(name) : NULL;
    if (value == NULL)
        return;
    secrets_add(&notice->secrets, "env", value);
    const char *host = strstr(value, "://");
    const char *path = host != NULL ? strpbrk(host + 3, "/?") : NULL;
    if (path != NULL)
        secrets_add(&notice->secrets, "env", path + 1);
}

static void find_secrets(struct notice *notice)
{
    const struct notify_channel *channel = &notice->channel;
    secrets_init(&notice->secrets);
    add_secret(notice, channel->url_env);
    add_secret(notice, channel->secret_env);
    for (size_t i = 0; channel->env[i] != NULL; i++)
        add_secret(notice, channel->env[i]);
}

/* Failures are stored, and logged. */
static void hide_secrets(struct notice *notice, struct err *err)
{
    struct arena *arena = notice->step->arena;
    const char **message = &notice->step->failure.message;
    text_copy(err->text, sizeof err->text, redact_dup(&notice->secrets, err->text, arena));
    if (*message != NULL)
        *message = redact_dup(&notice->secrets, *message, arena);
}

/* ---- over HTTP ---- */

static enum rc variable(struct notice *notice, const char *name, const char **ret_value,
                        struct err *err)
{
    const char *value = getenv(name);
    if (!text_empty(value)) {
        *ret_value = value;
        return RC_OK;
    }
    enum rc rc = err_set(err, RC_INVALID, "NO_SUCH_VARIABLE",
                         "Channel %s needs the variable %s, which this worker does not have.",
                         notice->channel.name, name);
    return give_up(notice, rc, "notification_misconfigured", err);
}

static enum rc find_target(struct notice *notice, struct url_parts *ret_target, struct err *err)
{
    const struct notify_channel *channel = &notice->channel;
    const char *url = channel->url;
    enum rc rc = url != NULL ? RC_OK : variable(notice, channel->url_env, &url, err);
    if (rc != RC_OK)
        return rc;
    assert(url != NULL);
    *ret_target = url_split(url, notice->step->arena);
    return RC_OK;
}

static bool is_refusal(enum rc rc)
{
    return rc == RC_MALFORMED || rc == RC_INVALID || rc == RC_UNAUTHORIZED || rc == RC_DENIED ||
           rc == RC_TOO_LARGE;
}

static enum rc post(struct notice *notice, const struct http_field *headers, struct str body,
                    struct err *err)
{
    struct url_parts target;
    struct http_reply reply;
    CLEANUP(http_client_freep) struct http_client *client = NULL;
    CLEANUP(buf_release) struct buf answer;
    buf_init(&answer, ANSWER_BYTES_MAX);
    enum rc rc = find_target(notice, &target, err);
    if (rc != RC_OK)
        return rc;
    const struct http_client_options options = {
        .url = target.server,
        .timeout_ms = notice->channel.timeout_ms,
        .connect_timeout_ms = notice->channel.timeout_ms,
    };
    const struct http_call call = {.method = "POST",
                                   .path = target.path,
                                   .headers = headers,
                                   .body = body,
                                   .stop = &notice->step->stop->reason};
    rc = http_client_new(&options, &client, err);
    if (rc != RC_OK)
        return give_up(notice, rc, "notification_misconfigured", err);
    rc = http_client_call(client, &call, &answer, &reply, err);
    if (rc == RC_OK || rc == RC_CANCELLED)
        return rc;
    return step_fail(notice->step, rc == RC_TIMEOUT ? RC_UNREACHABLE : rc, err,
                     (struct port_failure){.code = is_refusal(rc) ? "notification_refused"
                                                                  : "notification_failed",
                                           .retryable = !is_refusal(rc)});
}

static enum rc send_webhook(struct notice *notice, struct err *err)
{
    char signature[SIGNATURE_BYTES] = "";
    const char *secret = NULL;
    struct str body = str_of(notice->event);
    if (notice->channel.secret_env != NULL) {
        enum rc rc = variable(notice, notice->channel.secret_env, &secret, err);
        if (rc != RC_OK)
            return rc;
        assert(secret != NULL);
        text_copy(signature, sizeof signature, "sha256=");
        hmac_sha256_hex((struct hmac_key){secret, strlen(secret)}, body.at, body.len,
                        signature + strlen("sha256="));
    }
    const struct http_field headers[] = {
        {"Content-Type", "application/cloudevents+json; charset=utf-8"},
        {"X-Drover-Event", notice->event_type},
        {"X-Drover-Delivery", notice->event_id},
        {secret != NULL ? "X-Drover-Signature" : NULL, signature},
        {NULL, NULL},
    };
    return post(notice, headers, body, err);
}

/* With buttons, if the channel wants them and there is something to answer. */
static void write_message(const struct notice *notice, const char *text, struct jw *jw)
{
    const char *approval = js_get_str(notice->data, "approvalId", NULL);
    const char *question = js_get_str(notice->data, "questionId", NULL);
    bool asks = notice->kind == NOTIFY_APPROVAL || notice->kind == NOTIFY_REMINDER ||
                notice->kind == NOTIFY_QUESTION;
    if (notice->channel.buttons && asks && (approval != NULL || question != NULL)) {
        slack_message_write(jw, &(struct slack_question){text, approval,
                                                         approval == NULL ? question : NULL,
                                                         js_get(notice->data, "options")});
        return;
    }
    jw_begin(jw, '{');
    jw_kstr(jw, "text", text);
    jw_end(jw, '}');
}

static enum rc send_slack(struct notice *notice, struct err *err)
{
    CLEANUP(buf_release) struct buf text;
    CLEANUP(buf_release) struct buf body;
    buf_init(&text, NOTIFY_TEXT_MAX);
    buf_init(&body, MESSAGE_BODY_MAX);
    struct jw jw = jw_to(&body);
    if (notice->kind == NOTIFY_REPLY) {
        js_write(&jw, js_get(notice->data, "reply"));
        return post(notice, NULL, buf_str(&body), err);
    }
    notify_text(&text, notice->kind, notice->data);
    buf_cut(&text, prose_fit(buf_text(&text), text.len, NOTIFY_TEXT_MAX - 4));
    write_message(notice, buf_text(&text), &jw);
    return post(notice, NULL, buf_str(&body), err);
}

/* ---- through a command ---- */

static const char **make_env(struct notice *notice)
{
    static const char *const always[] = {"PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME"};
    struct arena *arena = notice->step->arena;
    const char **env = arena_array(arena, ENV_MAX, sizeof *env);
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(always); i++) {
        if (getenv(always[i]) != NULL)
            env[count++] = arena_printf(arena, "%s=%s", always[i], getenv(always[i]));
    }
    for (size_t i = 0; notice->channel.env[i] != NULL; i++) {
        if (getenv(notice->channel.env[i]) != NULL)
            env[count++] = arena_printf(arena, "%s=%s", notice->channel.env[i],
                                        getenv(notice->channel.env[i]));
    }
    env[count++] = arena_printf(arena, "DROVER_CHANNEL=%s", notice->channel.name);
    env[count++] = arena_printf(arena, "DROVER_KIND=%s", notify_kind_name(notice->kind));
    env[count] = NULL;
    return env;
}

static enum rc run_command(struct notice *notice, struct err *err)
{
    struct step *step = notice->step;
    CLEANUP(buf_release) struct buf said;
    buf_init(&said, SAID_BYTES_MAX);
    const struct proc_spec spec = {
        .argv = notice->channel.command, .env = make_env(notice), .cwd = "/"};
    const struct proc_limits limits = {.timeout_ms = (int)notice->channel.timeout_ms,
                                       .cancel = &step->stop->reason};
    struct proc_result result;
    enum rc rc = proc_run(&spec, str_of(notice->event), NULL, &said, &limits, &result, err);
    if (rc != RC_OK)
        return give_up(notice, rc, "notification_misconfigured", err);
    if (result.cancelled)
        return err_set(err, RC_CANCELLED, "CANCELLED", "The command was stopped.");
    if (!result.timed_out && result.exit.code == 0)
        return RC_OK;
    /* Before it is cut, which might leave half a secret. */
    const char *words = redact_dup(&notice->secrets, buf_text(&said), step->arena);
    const char *last = prose_line(step->arena, words, STEP_MESSAGE_MAX / 2);
    if (result.timed_out)
        rc = err_set(err, RC_UNREACHABLE, "COMMAND_TIMEOUT", "%.100s took longer than %lld ms.",
                     notice->channel.command[0], (long long)notice->channel.timeout_ms);
    else
        rc = err_set(err, RC_UNREACHABLE, "COMMAND_FAILED", "%.100s ended with %s %d. %s",
                     notice->channel.command[0], result.exit.signal ? "signal" : "exit status",
                     result.exit.signal ? result.exit.signal : result.exit.code, last);
    return step_fail(step, rc, err,
                     (struct port_failure){.code = "notification_failed", .retryable = true});
}

enum rc step_notify(struct step *step, struct err *err)
{
    static enum rc (*const ways[])(struct notice * notice, struct err * err) = {
        [NOTIFY_WEBHOOK] = send_webhook,
        [NOTIFY_SLACK] = send_slack,
        [NOTIFY_COMMAND] = run_command,
    };
    struct notice notice = {.step = step};
    enum rc rc = read_notice(&notice, err);
    if (rc != RC_OK)
        return rc;
    find_secrets(&notice);
    rc = ways[notice.channel.type](&notice, err);
    if (rc != RC_OK) {
        hide_secrets(&notice, err);
        return rc;
    }
    struct jw jw = jw_to(step->result);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "channel", notice.channel.name);
    jw_kstr(&jw, "kind", notify_kind_name(notice.kind));
    jw_end(&jw, '}');
    return RC_OK;
}
