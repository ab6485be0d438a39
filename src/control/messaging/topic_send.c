/*
 * topic_send.c - finds the subscriptions of a topic and enqueues a job for each.
 *
 * Subscriptions are read once for all messages of a batch, inside its transaction: those that were
 * acknowledged before a message was sent, on any node, are included.
 */
#include "control/messaging/topic_send.h"
#include "base/clock.h"
#include "base/jw.h"
#include "control/queue/enqueue.h"
#include "core/queue/topic.h"
#include <string.h>

/* All headers that a message may have, with every byte escaped. */
enum { HEADERS_BYTES_MAX = 6 * HEADERS_MAX * (HEADER_NAME_MAX + HEADER_VALUE_MAX) + 4096 };

struct subscriber_list {
    struct subscription_row *rows;
    size_t count;
};

struct found {
    struct delivery *deliveries;
    size_t count;
};

bool header_reserved(const char *name)
{
    static const char *const names[] = {"messageId",     "topic",       "publishedAt",
                                        "correlationId", "replyTo",     "deadline",
                                        "schedule",      "scheduledAt", "batch"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static enum rc load_subscriptions(struct context *ctx, const struct subscriber_list **ret_list)
{
    if (ctx->round->subscriptions == NULL) {
        struct subscriber_list *list = arena_alloc(ctx->batch_arena, sizeof *list);
        enum rc rc = subscriptions_list(ctx->db, NULL, SUBSCRIPTIONS_MAX, ctx->batch_arena,
                                        &list->rows, &list->count, ctx->err);
        if (rc != RC_OK)
            return rc;
        ctx->round->subscriptions = list;
    }
    *ret_list = ctx->round->subscriptions;
    return RC_OK;
}

/* The subscriptions that match the topic, as deliveries without jobs. */
static enum rc find_deliveries(struct context *ctx, const char *topic, struct found *ret_found)
{
    const struct subscriber_list *all;
    enum rc rc = load_subscriptions(ctx, &all);
    if (rc != RC_OK)
        return rc;
    *ret_found = (struct found){
        .deliveries = arena_array(ctx->arena, all->count, sizeof(struct delivery))};
    for (size_t i = 0; i < all->count; i++)
        if (topic_matches(all->rows[i].pattern, topic))
            ret_found->deliveries[ret_found->count++] = (struct delivery){
                .subscription = arena_strdup(ctx->arena, all->rows[i].name),
                .queue = arena_strdup(ctx->arena, all->rows[i].queue),
            };
    return RC_OK;
}

static struct str write_headers(struct context *ctx, const struct dispatch *dispatch,
                                const struct message *message, const struct id *message_id)
{
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, HEADERS_BYTES_MAX);
    struct jw jw = jw_to(&buf);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "messageId", message_id->text);
    jw_kstr(&jw, "topic", dispatch->topic);
    jw_ktime(&jw, "publishedAt", ctx->now_us);
    if (!id_is_none(&dispatch->request_id)) {
        jw_kstr(&jw, "correlationId", dispatch->request_id.text);
        jw_kstr(&jw, "replyTo", dispatch->reply_to);
        jw_ktime(&jw, "deadline", dispatch->deadline_us);
    }
    for (size_t i = 0; i < message->header_count; i++)
        jw_kstr(&jw, message->headers[i].name, message->headers[i].value);
    jw_end(&jw, '}');
    return (struct str){arena_strndup(ctx->arena, buf_text(&buf), buf.len), buf.len};
}

/* Each subscription has a dedup key of its own: two of them may share a queue. */
static struct job_spec spec_for(struct context *ctx, const struct message *message,
                                const struct delivery *delivery)
{
    struct job_spec spec = message->job;
    spec.queue = delivery->queue;
    if (spec.dedup_key != NULL)
        spec.dedup_key = arena_printf(ctx->arena, "%s/%s", delivery->subscription, spec.dedup_key);
    return spec;
}

/* To the subscriptions that match, all messages or none. */
static enum rc deliver(struct context *ctx, const struct dispatch *dispatch,
                       const struct found *found, struct topic_sent *answers)
{
    size_t jobs = dispatch->count * found->count, at = 0;
    struct job_spec *specs = arena_array(ctx->arena, jobs, sizeof *specs);
    struct enqueue_answer *taken = arena_array(ctx->arena, jobs, sizeof *taken);
    for (size_t i = 0; i < dispatch->count; i++) {
        struct id id = context_id(ctx);
        struct message message = dispatch->messages[i];
        message.job.type = dispatch->topic;
        if (found->count > 0)
            message.job.headers = write_headers(ctx, dispatch, &message, &id);
        answers[i] = (struct topic_sent){.id = id, .count = found->count};
        for (size_t j = 0; j < found->count; j++)
            specs[at++] = spec_for(ctx, &message, &found->deliveries[j]);
    }
    enum rc rc = enqueue_many(ctx, specs, jobs, taken);
    for (size_t i = 0; rc == RC_OK && i < dispatch->count; i++) {
        answers[i].deliveries = arena_array(ctx->arena, found->count, sizeof(struct delivery));
        for (size_t j = 0; j < found->count; j++) {
            answers[i].deliveries[j] = found->deliveries[j];
            answers[i].deliveries[j].job = taken[i * found->count + j];
        }
    }
    return rc;
}

enum rc topic_send(struct context *ctx, const struct dispatch *dispatch,
                   struct topic_sent **ret_sent)
{
    struct found found;
    enum rc rc = find_deliveries(ctx, dispatch->topic, &found);
    if (rc != RC_OK)
        return rc;
    if (dispatch->count * found.count > JOBS_PER_CALL_MAX)
        return err_set(ctx->err, RC_TOO_LARGE, "TOO_MANY_DELIVERIES",
                       "this would make %zu jobs (%zu messages to %zu subscriptions each), and at "
                       "most %d are made at once; send fewer messages in a call",
                       dispatch->count * found.count, dispatch->count, found.count,
                       JOBS_PER_CALL_MAX);
    struct topic_sent *answers = arena_array(ctx->arena, dispatch->count, sizeof *answers);
    rc = deliver(ctx, dispatch, &found, answers);
    if (rc == RC_OK)
        *ret_sent = answers;
    return rc;
}

static enum rc apply_send(struct context *ctx, struct command *command)
{
    struct cmd_topic_send *cmd = (struct cmd_topic_send *)command;
    return topic_send(ctx, &cmd->dispatch, &cmd->answers);
}

static const struct command_ops send_ops = {.name = "publish", .apply = apply_send};

struct cmd_topic_send *cmd_topic_send_new(void)
{
    return command_new(&send_ops, sizeof(struct cmd_topic_send));
}
