#include "control/run/notify.h"
#include "control/commit/isolate.h"
#include "control/queue/enqueue.h"
#include "core/event_types.h"
#include "core/queue/rank.h"
#include "core/step_kind.h"
#include "core/text/prose.h"
#include "store/pull_requests.h"
#include <string.h>

enum { PAYLOAD_BYTES_MAX = 2 * 1024 * 1024 };

/* ---- the payload ---- */

static enum rc write_pull_request(struct context *ctx, struct jw *jw, const struct run_row *run)
{
    if (id_is_none(&run->pull_request_id))
        return RC_OK;
    struct pull_request_row pr;
    enum rc rc = pull_requests_get(ctx->db, &run->pull_request_id, ctx->arena, &pr, ctx->err);
    if (rc != RC_OK)
        return rc;
    jw_key(jw, "pullRequest");
    jw_begin(jw, '{');
    jw_kint(jw, "number", pr.number);
    jw_kstr(jw, "url", pr.url);
    jw_kbool(jw, "draft", pr.draft);
    jw_end(jw, '}');
    return RC_OK;
}

/* The facts that people need, in addition to the event's own data. */
static enum rc write_facts(struct context *ctx, const struct flow *flow, enum notify_kind kind,
                           struct buf *to)
{
    const struct run_row *run = &flow->run;
    struct jw jw = jw_to(to);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "kind", notify_kind_name(kind));
    jw_kstr(&jw, "repository", flow->task.repository);
    jw_kstr(&jw, "title", flow_title(&flow->task, ctx->arena));
    jw_kstr(&jw, "taskId", flow->task.id.text);
    jw_optstr(&jw, "runId", run->id.text);
    jw_kint(&jw, "runNo", run->run_no);
    jw_kstr(&jw, "status", task_status_name(flow->task.status));
    jw_optstr(&jw, "errorCode", run->error_code);
    jw_optstr(&jw, "errorMessage", run->error_message);
    jw_kint(&jw, "attempts", run->attempt);
    jw_kreal(&jw, "costUsd", (double)run->cost_microusd / 1e6);
    enum rc rc = write_pull_request(ctx, &jw, run);
    jw_end(&jw, '}');
    return rc;
}

/* The event as the log has it, with the facts as one more member of its data. */
static void write_event(struct jw *jw, const struct event *event, struct str facts)
{
    CLEANUP(buf_release) struct buf data;
    buf_init(&data, PAYLOAD_BYTES_MAX);
    bool empty = event->data.len <= strlen("{}");
    buf_add(&data, "{", 1);
    if (!empty) {
        buf_add(&data, event->data.at + 1, event->data.len - strlen("{}"));
        buf_addc(&data, ',');
    }
    buf_adds(&data, "\"notification\":");
    buf_add(&data, facts.at, facts.len);
    buf_addc(&data, '}');
    struct event copy = *event;
    copy.data = buf_str(&data);
    event_write(jw, &copy);
}

struct delivery {
    const struct notify_channel *channel;
    enum notify_kind kind;
    const struct event *event;
    struct str facts;
    const char *dedup_key; /* or NULL */
};

static enum rc make_job(struct context *ctx, const struct delivery *delivery, struct id *ret_job_id)
{
    CLEANUP(buf_release) struct buf payload;
    buf_init(&payload, PAYLOAD_BYTES_MAX);
    struct jw jw = jw_to(&payload);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "kind", notify_kind_name(delivery->kind));
    jw_key(&jw, "channel");
    notify_channel_write(&jw, delivery->channel);
    jw_key(&jw, "event");
    write_event(&jw, delivery->event, delivery->facts);
    jw_end(&jw, '}');
    if (payload.overflow)
        return err_set(ctx->err, RC_TOO_LARGE, "PAYLOAD_TOO_LARGE", "a notification passes 2 MB");
    const struct step_row *step = step_row(STEP_NOTIFY);
    const struct job_spec spec = {
        .queue = step->queue,
        .type = step->name,
        .payload = {arena_strndup(ctx->arena, payload.data, payload.len), payload.len},
        .priority = PRIORITY_NORMAL,
        .dedup_key = delivery->dedup_key,
        .dependency = arena_printf(ctx->arena, "notify:%s", delivery->channel->name),
        .always = true,
    };
    struct enqueue_answer answer;
    enum rc rc = enqueue_one(ctx, &spec, &answer);
    if (rc == RC_OK)
        *ret_job_id = answer.id;
    return rc;
}

static enum rc try_delivery(struct context *ctx, void *subject, const struct failure *why)
{
    (void)why;
    struct id job_id;
    return make_job(ctx, subject, &job_id);
}

/* isolate() has logged the failure: the run does not wait for a channel. */
static enum rc leave_out(struct context *ctx, void *subject, const struct failure *why)
{
    (void)ctx;
    (void)subject;
    (void)why;
    return RC_OK;
}

enum rc notify_event(struct context *ctx, const struct flow *flow, const struct event *event)
{
    static isolate_try *const tries[] = {try_delivery, leave_out, NULL};
    enum notify_kind kind;
    /* A flow without its task (flow_load_run) only appends progress. */
    if (ctx->channels->count == 0 || flow->task.repository == NULL ||
        !notify_kind_of(event->type, &kind))
        return RC_OK;
    CLEANUP(buf_release) struct buf facts;
    buf_init(&facts, PAYLOAD_BYTES_MAX);
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < ctx->channels->count; i++) {
        const struct notify_channel *channel = &ctx->channels->items[i];
        if (!notify_channel_wants(channel, kind, flow->task.repository))
            continue;
        if (facts.len == 0)
            rc = write_facts(ctx, flow, kind, &facts);
        struct delivery delivery = {
            .channel = channel,
            .kind = kind,
            .event = event,
            .facts = buf_str(&facts),
            .dedup_key = arena_printf(ctx->arena, "notify:%s:%s", channel->name, event->id.text),
        };
        const struct isolated one = {"notification", delivery.dedup_key, &delivery, tries};
        if (rc == RC_OK)
            rc = isolate(ctx, &one);
    }
    return rc;
}

/* ---- what became of it ---- */

static void write_outcome(struct event_body *body, const struct job_row *job,
                          const struct js *payload)
{
    event_body_open(body);
    jw_kstr(&body->jw, "channel", js_str(js_path(payload, "channel.name"), ""));
    jw_kstr(&body->jw, "type", js_str(js_path(payload, "channel.type"), ""));
    jw_kstr(&body->jw, "kind", js_get_str(payload, "kind", ""));
    jw_kstr(&body->jw, "jobId", job->id.text);
    jw_optstr(&body->jw, "taskId", js_str(js_path(payload, "event.taskid"), NULL));
    jw_kstr(&body->jw, "eventId", js_str(js_path(payload, "event.id"), ""));
    if (job->life.state != JOB_DEAD_LETTER)
        return;
    jw_kint(&body->jw, "attempts", job->life.attempt);
    jw_optstr(&body->jw, "errorCode", job->error_code);
    jw_optstr(&body->jw, "errorMessage", job->error_message);
}

enum rc notify_job_settled(struct context *ctx, const struct job_row *job)
{
    bool dead = job->life.state == JOB_DEAD_LETTER;
    if (!text_same(job->queue, step_row(STEP_NOTIFY)->queue) ||
        (!dead && job->life.state != JOB_SUCCEEDED))
        return RC_OK;
    CLEANUP(js_freep) struct js *payload = NULL;
    enum rc rc = js_parse(job->payload.at, job->payload.len, &payload, ctx->err);
    if (rc != RC_OK)
        return err_wrap(ctx->err, RC_CORRUPT, "the payload of a notification");
    CLEANUP(event_body_release) struct event_body body;
    write_outcome(&body, job, payload);
    const struct js *about = js_get(payload, "event");
    struct event event = {
        .type = dead ? EV_NOTIFICATION_FAILED : EV_NOTIFICATION_SENT,
        .subject = arena_printf(ctx->arena, "notification/%s",
                                js_str(js_path(payload, "channel.name"), "")),
        .correlation_id = job->id,
        .data = event_body_close(&body),
    };
    /* It correlates with the task but is not of its history: the task's row is not locked here, and
       the history is in order of time. */
    if (id_parse(js_get_str(about, "taskid", ""), &event.correlation_id)) {
        event.causation_id = id_of(js_get_str(about, "id", NULL));
        event.traceparent = js_get_str(about, "traceparent", NULL);
    }
    return context_append(ctx, &event, NULL);
}

/* ---- a test ---- */

static enum rc apply_test(struct context *ctx, struct command *command)
{
    struct cmd_notify_test *cmd = (struct cmd_notify_test *)command;
    const struct notify_channel *channel = notify_channel_find(ctx->channels, cmd->channel);
    if (channel == NULL)
        return err_set(ctx->err, RC_NOT_FOUND, "NOT_FOUND",
                       "there is no channel %.100s; channels stand in the server's configuration",
                       cmd->channel);
    const struct event event = {
        .id = context_id(ctx),
        .type = EV_NOTIFICATION_TEST,
        .version = 1,
        .workspace_id = ctx->workspace_id,
        .subject = arena_printf(ctx->arena, "notification/%s", channel->name),
        .time_us = ctx->now_us,
        .actor = ctx->actor,
    };
    const struct delivery delivery = {
        .channel = channel,
        .kind = NOTIFY_TEST,
        .event = &event,
        .facts = STR("{\"kind\":\"test\"}"),
    };
    return make_job(ctx, &delivery, &cmd->job_id);
}

static const struct command_ops test_ops = {.name = "notify_test", .apply = apply_test};

struct cmd_notify_test *cmd_notify_test_new(void)
{
    return command_new(&test_ops, sizeof(struct cmd_notify_test));
}

/* ---- a reply ---- */

enum { REPLY_TIMEOUT_MS = 10 * 1000 };

static enum rc apply_reply(struct context *ctx, struct command *command)
{
    const struct cmd_notify_reply *cmd = (const struct cmd_notify_reply *)command;
    const struct notify_channel channel = {.name = "slack-reply",
                                           .on[NOTIFY_APPROVAL] = true,
                                           .type = NOTIFY_SLACK,
                                           .url = cmd->url,
                                           .timeout_ms = REPLY_TIMEOUT_MS};
    const struct event event = {
        .id = context_id(ctx),
        .type = EV_NOTIFICATION_SENT,
        .version = 1,
        .workspace_id = ctx->workspace_id,
        .subject = "notification/slack-reply",
        .time_us = ctx->now_us,
        .actor = ctx->actor,
        .data = str_of(
            arena_printf(ctx->arena, "{\"reply\":%.*s}", (int)cmd->message.len, cmd->message.at)),
    };
    const struct delivery delivery = {
        .channel = &channel,
        .kind = NOTIFY_REPLY,
        .event = &event,
        .facts = STR("{\"kind\":\"reply\"}"),
        .dedup_key = arena_printf(ctx->arena, "notify:slack-reply:%s", cmd->name),
    };
    struct id job_id;
    return make_job(ctx, &delivery, &job_id);
}

static const struct command_ops reply_ops = {.name = "notify_reply", .apply = apply_reply};

struct cmd_notify_reply *cmd_notify_reply_new(void)
{
    return command_new(&reply_ops, sizeof(struct cmd_notify_reply));
}
