/*
 * messages.h - what people say to the agent of a run, and how it gets there.
 *
 *   sent --> unread --+--> in the next assignment of the agent (messages), which a worker leases
 *              ^      +--> read by the worker of an agent that can be spoken to while it works,
 *              |      |    which reports agent.message.delivered
 *              |      v
 *              +-- delivered      the worker of that job was lost or gave it back, or the agent
 *                                 waits for its provider: the attempt begins again
 *
 * A message is in one attempt only, and messages of an attempt are in order.  An agent that ends
 * while messages are unread starts again with them, after a success or a failure, before its patch
 * is checked; and so does one whose patch was checked meanwhile, before it is published.  Not in a
 * run that has used up its turns or its money, and not after an approval: then the patch is
 * published as it is.
 */
#ifndef CONTROL_RUN_MESSAGES_H
#define CONTROL_RUN_MESSAGES_H
#include "control/queue/jobs.h"
#include "control/run/flow.h"
#include "store/messages.h"

enum {
    MESSAGE_BYTES_MAX = 16 * 1024,
    MESSAGES_UNREAD_MAX = 100, /* Of a run, */
    MESSAGES_UNREAD_BYTES_MAX = 128 * 1024,
};

/* A person speaks.  RC_CONFLICT: RUN_FINISHED, RUN_STOPPING, NO_AGENT_FOLLOWS.  RC_LIMIT: too many
   are unread. */
struct cmd_say {
    struct command base;
    struct id run_id;
    const char *text;
    struct message_row message; /* The answer. */
    enum run_status status;
    bool working; /* An agent works on it now. */
};
struct cmd_say *cmd_say_new(void);

/* Members of an assignment for an agent: messageSeq, and messages with those that are unread. */
MUST_USE enum rc messages_write(struct context *ctx, const struct flow *flow, struct jw *jw);
/* A worker has leased the assignment: its agent has the messages.  Appends an event. */
MUST_USE enum rc messages_handed_over(struct context *ctx, struct flow *flow,
                                      const struct job_row *job);
/* The agent of this job has the messages of its run up to seq. */
MUST_USE enum rc messages_reached(struct context *ctx, const struct job_row *job, int64_t seq);
/* The agent of this job is gone, with what it was told; its attempt begins again. */
MUST_USE enum rc messages_lost(struct context *ctx, const struct flow *flow,
                               const struct id *job_id);
/* Are there unread ones? */
MUST_USE enum rc messages_wait(struct context *ctx, const struct flow *flow, bool *ret_wait);

/* The holder of an agent's lease reads what the agent has not read yet.  RC_STALE: the lease is
   lost, or another's. */
struct cmd_messages_read {
    struct command base;
    struct job_ref ref;
    int64_t after_seq;
    struct message_row *messages; /* The answer, in order. */
    size_t count;
};
struct cmd_messages_read *cmd_messages_read_new(void);
#endif
