/*
 * notify.h - events that channels are subscribed to become jobs, in the commit that appends them.
 *
 * A job has the dedup key "notify:CHANNEL:EVENT", so an event is enqueued for a channel at most
 * once; the breaker "notify:CHANNEL" guards it.  Its payload holds all that a worker needs
 * (docs/PROTOCOL.md).  No run waits for it or fails with it.
 */
#ifndef CONTROL_RUN_NOTIFY_H
#define CONTROL_RUN_NOTIFY_H
#include "control/run/flow.h"
#include "core/config/notify.h"

/* After every event of a run or task that was appended. */
MUST_USE enum rc notify_event(struct context *ctx, const struct flow *flow,
                              const struct event *event);
/* After a job was settled: agent.notification.sent, or failed when it is given up. */
MUST_USE enum rc notify_job_settled(struct context *ctx, const struct job_row *job);

struct cmd_notify_test { /* RC_NOT_FOUND: no such channel. */
    struct command base;
    const char *channel;
    struct id job_id; /* The answer. */
};
struct cmd_notify_test *cmd_notify_test_new(void);

/* A message to an address that a chat has given for it, once for its name. */
struct cmd_notify_reply {
    struct command base;
    const char *url;
    const char *name;
    struct str message; /* JSON */
};
struct cmd_notify_reply *cmd_notify_reply_new(void);
#endif
