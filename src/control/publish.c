/*
 * publish.c - see publish.h.
 *
 * Subscriptions are read once for all messages of a batch, inside its transaction: whatever was
 * acknowledged before a message was sent, on any node, is there.
 */
#include "control/publish.h"
#include "base/clock.h"
#include "base/jw.h"
#include "control/enqueue.h"
#include "core/topic.h"
#include <string.h>

/* Everything a message may carry, with all of it escaped. */
enum { HEADERS_BYTES_MAX = 6 * HEADERS_MAX * (HEADER_NAME_MAX + HEADER_VALUE_MAX) + 4096 };

struct subscriber_list {
    struct subscription_row *rows;
    size_t count;
};

bool header_reserved(const char *name)
{
    static const char *const names[] = {"messageId", "topic",    "publishedAt", "correlationId",
                                        "replyTo",   "deadline", "schedule",    "scheduledAt"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static enum rc load_subscriptions(struct cx *cx, const struct subscriber_list **ret_list)
{
    if (cx->round->subscriptions == NULL) {
        struct subscriber_list *list = arena_alloc(cx->batch_arena, sizeof(*list));
        enum rc rc = subscriptions_list(cx->db, NULL, SUBSCRIPTIONS_MAX, cx->batch_arena,
                                        &list->rows, &list->count, cx->err);
        if (rc != RC_OK)
            return rc;
        cx->round->subscriptions = list;
    }
    *ret_list = cx->round->subscriptions;
    return RC_OK;
}

/* Those that want the topic, as deliveries without jobs. */
static enum rc find_deliveries(struct cx *cx, const char *topic, struct delivery **ret_deliveries,
                               size_t *ret_count)
{
    const struct subscriber_list *all;
    enum rc rc = load_subscriptions(cx, &all);
    if (rc != RC_OK)
        return rc;
    size_t count = 0;
    struct delivery *deliveries = arena_array(cx->arena, all->count, sizeof(*deliveries));
    for (size_t i = 0; i < all->count; i++)
        if (topic_matches(all->rows[i].pattern, topic))
            deliveries[count++] = (struct delivery){
                .subscription = arena_strdup(cx->arena, all->rows[i].name),
                .queue = arena_strdup(cx->arena, all->rows[i].queue),
            };
    *ret_deliveries = deliveries;
    *ret_count = count;
    return RC_OK;
}

static struct str write_headers(struct cx *cx, const struct message *message,
                                const struct dispatch *dispatch, const struct id *message_id)
{
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, HEADERS_BYTES_MAX);
    struct jw jw = jw_to(&buf);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "messageId", message_id->text);
    jw_kstr(&jw, "topic", dispatch->topic);
    jw_ktime(&jw, "publishedAt", cx->now_us);
    if (!id_is_none(&dispatch->request_id)) {
        jw_kstr(&jw, "correlationId", dispatch->request_id.text);
        jw_kstr(&jw, "replyTo", dispatch->reply_to);
        jw_ktime(&jw, "deadline", dispatch->deadline_us);
    }
    for (size_t i = 0; i < message->header_count; i++)
        jw_kstr(&jw, message->headers[i].name, message->headers[i].value);
    jw_end(&jw, '}');
    return (struct str){arena_strndup(cx->arena, buf_text(&buf), buf.len), buf.len};
}

/* A dedup key is each subscription's own: two of them may share a queue. */
static enum rc deliver(struct cx *cx, const struct message *message,
                       const struct dispatch *dispatch, struct published *published)
{
    struct job_spec spec = message->job;
    enum rc rc = RC_OK;
    published->id = cx_id(cx);
    spec.type = dispatch->topic;
    if (published->count > 0)
        spec.headers = write_headers(cx, message, dispatch, &published->id);
    for (size_t i = 0; rc == RC_OK && i < published->count; i++) {
        struct delivery *delivery = &published->deliveries[i];
        spec.queue = delivery->queue;
        if (message->job.dedup_key != NULL)
            spec.dedup_key = arena_printf(cx->arena, "%s/%s", delivery->subscription,
                                          message->job.dedup_key);
        rc = enqueue_one(cx, &spec, &delivery->job);
    }
    return rc;
}

enum rc publish_one(struct cx *cx, const struct message *message, const struct dispatch *dispatch,
                    size_t *ret_count)
{
    struct published published = {0};
    enum rc rc = find_deliveries(cx, dispatch->topic, &published.deliveries, &published.count);
    if (rc == RC_OK)
        rc = deliver(cx, message, dispatch, &published);
    if (rc == RC_OK)
        *ret_count = published.count;
    return rc;
}

static enum rc apply_publish(struct cx *cx, struct command *command)
{
    struct cmd_publish *cmd = (struct cmd_publish *)command;
    struct dispatch dispatch = {.topic = cmd->topic};
    struct delivery *found;
    size_t count;
    enum rc rc = find_deliveries(cx, cmd->topic, &found, &count);
    if (rc == RC_OK && count * cmd->count > JOBS_PER_CALL_MAX)
        return err_set(cx->err, RC_TOO_LARGE, "TOO_MANY_DELIVERIES",
                       "this would make %zu jobs (%zu messages to %zu subscriptions each), and at "
                       "most %d are made at once; send fewer messages in a call",
                       count * cmd->count, cmd->count, count, JOBS_PER_CALL_MAX);
    cmd->answers = arena_array(cx->arena, cmd->count, sizeof(*cmd->answers));
    for (size_t i = 0; rc == RC_OK && i < cmd->count; i++) {
        struct published *published = &cmd->answers[i];
        published->count = count;
        published->deliveries = arena_array(cx->arena, count, sizeof(*found));
        if (count > 0)
            memcpy(published->deliveries, found, count * sizeof(*found));
        rc = deliver(cx, &cmd->messages[i], &dispatch, published);
    }
    return rc;
}

static const struct command_ops publish_ops = {.name = "publish", .apply = apply_publish};

struct cmd_publish *cmd_publish_new(void)
{
    return command_new(&publish_ops, sizeof(struct cmd_publish));
}
