/*
 * requests.h - a question to a topic, and the one reply that is waited for.
 *
 *     absent -> waiting -> replied
 *                  |-----> expired     the deadline passed; set by the next command that reads it
 *
 * A request is published to every subscription that matches.  The first reply before the deadline
 * is kept; every other is dropped, and leaves an event.  The command waits, parked like a lease,
 * and may be repeated under the same id: it continues to wait, or gets the stored reply.
 */
#ifndef CONTROL_MESSAGING_REQUESTS_H
#define CONTROL_MESSAGING_REQUESTS_H
#include "control/messaging/topic_send.h"
#include "store/requests.h"

enum {
    REQUEST_TIMEOUT_MS_MAX = 60000,
    REQUEST_TIMEOUT_MS_DEFAULT = 30000,
    REQUEST_FORGET_MINUTES = 10, /* After its deadline. */
    REPLY_NAME_BYTES = 48
};

#define REPLY_PATH "/v1/replies/"

struct cmd_request { /* RC_TIMEOUT: no reply in time.  RC_NOT_FOUND: no subscription matches. */
    struct command base;
    const char *topic;
    struct message message;
    int64_t timeout_us;
    struct id id;                      /* none: made here. */
    char reply_name[REPLY_NAME_BYTES]; /* The name that wakes it: see requests.c. */
    bool waiting;                      /* The answer, when the server stops: no reply yet. */
    struct request_row row;            /* The answer: replied. */
};
struct cmd_request *cmd_request_new(void);

struct cmd_reply { /* RC_CONFLICT: it is too late, or not the first. */
    struct command base;
    struct id id;
    struct str reply; /* As struct request_row has it. */
};
struct cmd_reply *cmd_reply_new(void);
#endif
