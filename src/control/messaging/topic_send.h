/*
 * topic_send.h - sends messages to topics: a job of its own for every subscription that matches,
 * in that subscription's queue, all in one commit or none.
 *
 * The job is the message: its type is the topic, and what belongs to the message but not to its
 * payload is in its headers:
 *
 *     messageId, topic, publishedAt          always
 *     correlationId, replyTo, deadline       requests (requests.h)
 *     ...                                    headers of the sender
 */
#ifndef CONTROL_MESSAGING_TOPIC_SEND_H
#define CONTROL_MESSAGING_TOPIC_SEND_H
#include "control/commit/context.h"
#include "control/queue/jobs.h"
#include "store/subscriptions.h"

enum { HEADERS_MAX = 32, HEADER_NAME_MAX = 64, HEADER_VALUE_MAX = 1024 };

struct message {
    struct job_spec job; /* queue, type and headers are not set. */
    const struct message_header {
        const char *name, *value;
    } * headers; /* The sender's. */
    size_t header_count;
};

struct delivery {
    const char *subscription, *queue;
    struct enqueue_answer job;
};
struct topic_sent {
    struct id id; /* Of the message. */
    struct delivery *deliveries;
    size_t count;
};

/* Names that senders may not use for headers of their own. */
bool header_reserved(const char *name);

struct dispatch { /* Messages on their way to a topic. */
    const char *topic;
    const struct message *messages;
    size_t count;
    struct id request_id; /* none: not a request, no reply is expected. */
    const char *reply_to; /* With request_id. */
    int64_t deadline_us;  /* With request_id. */
};
/* Inside a command.  *ret_sent: the deliveries of each message.  RC_TOO_LARGE beyond
   JOBS_PER_CALL_MAX jobs, RC_LIMIT when a queue is full or all of them would be dropped. */
MUST_USE enum rc topic_send(struct context *ctx, const struct dispatch *dispatch,
                            struct topic_sent **ret_sent);

struct cmd_topic_send {
    struct command base;
    struct dispatch dispatch;
    struct topic_sent *answers; /* One for each message. */
};
struct cmd_topic_send *cmd_topic_send_new(void);
#endif
