/*
 * messages.h - what people say to the agent of a run, and how it gets there.
 */
#ifndef CONTROL_RUN_MESSAGES_H
#define CONTROL_RUN_MESSAGES_H
#include "control/queue/jobs.h"
#include "store/messages.h"

enum {
    MESSAGE_BYTES_MAX = 16 * 1024,
    MESSAGES_UNREAD_MAX = 100, /* Of a run. */
};

struct context;

/* The agent of this job has the messages of its run up to seq. */
MUST_USE enum rc messages_reached(struct context *ctx, const struct job_row *job, int64_t seq);

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
